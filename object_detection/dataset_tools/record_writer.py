"""The common writer: annotated images in, TFRecord shards, a label map and a report out.

Annotation formats have a reader each (create_pascal_tf_record, create_coco_tf_record,
create_csv_tf_record, create_via_tf_record), which only has to produce `SourceImage`s. Everything
after that is here, so that all formats share one treatment of boxes, images, classes, shards,
processes and errors.
"""

import collections
import contextlib
import dataclasses
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import process
from typing import NamedTuple

import tensorflow as tf

from object_detection.dataset_tools import (
    class_names,
    example_builder,
    image_check,
    report,
    sources,
    tf_record_creation_util,
)

_CHUNK = 8  # images that a worker process is handed at a time
_PROGRESS_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class WriterSettings:
    """Options that all converters share."""

    output_path: str
    label_map_path: str = ""  # empty: use or make label_map.pbtxt beside the output
    num_shards: int = 1
    num_workers: int = 1
    include_masks: bool = False
    ignore_difficult_instances: bool = False
    skip_unknown_classes: bool = False


class _Converted(NamedTuple):
    """One image after conversion; `serialized` is None if it is skipped."""

    file: str
    serialized: bytes | None
    skip_reason: str = ""
    num_objects: int = 0
    dropped: Sequence[example_builder.DroppedObject] = ()
    notes: Sequence[str] = ()


def write_records(images: Sequence[sources.SourceImage], settings: WriterSettings,
                  category_ids: Mapping[str, int] | None = None,
                  warnings: Sequence[str] = ()) -> report.ConversionReport:
    """Writes the records of annotated images and the report beside them.

    Example i goes to shard i modulo num_shards, so the files do not depend on num_workers.
    Nothing appears under a final name before everything is written; an interrupted run leaves
    earlier files as they were.

    Args:
        images: what the reader of an annotation format found.
        settings: where to and how.
        category_ids: labels of the classes where the format has them (COCO); used to make a label
            map if there is none.
        warnings: what the reader wants to have in the report.
    Raises:
        ValueError: for an unknown class, a faulty label map, or if no image can be written.
    """
    if settings.num_workers < 1:
        raise ValueError(f"num_workers: want 1 or more, got {settings.num_workers}")
    paths = tf_record_creation_util.shard_paths(settings.output_path, settings.num_shards)
    folder = os.path.dirname(settings.output_path)
    if folder:
        tf.io.gfile.makedirs(folder)
    labels = class_names.resolve_labels(
        images, settings.label_map_path, settings.output_path, category_ids)
    if not settings.skip_unknown_classes:
        class_names.check_known(images, labels)
    example_settings = example_builder.ExampleSettings(
        labels.ids, settings.include_masks, settings.ignore_difficult_instances)
    result = report.ConversionReport(
        output_files=paths, label_map_path=labels.path,
        report_path=os.path.splitext(settings.output_path)[0] + "_report.json",
        warnings=list(warnings))
    _note_repeated_ids(images, result)
    _note_other_shards(settings.output_path, paths, result)
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(tf_record_creation_util.atomic_writer(path))
                   for path in paths]
        for item in _progress(_convert_all(images, example_settings, settings.num_workers),
                              len(images)):
            _write_item(item, writers, result)
        if not result.images_written:
            raise ValueError(f"{settings.output_path}: no image to write out of "
                             f"{result.images_read} read{_first_reason(result)}")
    result.finish()
    if labels.new_text:
        tf_record_creation_util.write_file_atomically(labels.path, labels.new_text.encode("utf-8"))
    tf_record_creation_util.write_file_atomically(
        result.report_path, result.to_json().encode("utf-8"))
    return result


def _write_item(item: _Converted, writers: Sequence[tf.io.TFRecordWriter],
                result: report.ConversionReport) -> None:
    if item.serialized is None:
        result.add_skipped(item.file, item.skip_reason)
        return
    writers[result.images_written % len(writers)].write(item.serialized)
    result.add_written(item.file, item.num_objects, list(item.dropped), list(item.notes))


def _convert_all(images: Sequence[sources.SourceImage], settings: example_builder.ExampleSettings,
                 num_workers: int) -> Iterator[_Converted]:
    """Converts in order; with several workers in processes of their own, a few chunks ahead."""
    if num_workers == 1:
        for image in images:
            yield convert_image(image, settings)
        return
    chunks = (images[start:start + _CHUNK] for start in range(0, len(images), _CHUNK))
    # Spawned, not forked: TensorFlow's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(num_workers, mp_context=context) as pool:
        pending: collections.deque[futures.Future] = collections.deque()
        try:
            for chunk in chunks:
                pending.append(pool.submit(_convert_chunk, chunk, settings))
                if len(pending) >= 4 * num_workers:
                    yield from pending.popleft().result()
            while pending:
                yield from pending.popleft().result()
        except process.BrokenProcessPool as error:
            raise ChildProcessError(
                "a worker process died, perhaps for want of memory: try fewer workers "
                "(--num_workers)") from error
        finally:
            for future in pending:
                future.cancel()


def _convert_chunk(images: Sequence[sources.SourceImage],
                   settings: example_builder.ExampleSettings) -> list[_Converted]:
    return [convert_image(image, settings) for image in images]


def convert_image(image: sources.SourceImage,
                  settings: example_builder.ExampleSettings) -> _Converted:
    """Reads, checks and converts one image; what is wrong with it becomes a reason to skip it."""
    if image.fault:
        return _Converted(image.where, None, image.fault)
    try:
        with open(image.path, "rb") as file:
            prepared = image_check.prepare_image(file.read(), image.size)
        built = example_builder.build_example(image, prepared, settings)
    except FileNotFoundError:
        return _Converted(image.where, None, f"image file not found: {image.path}")
    except (OSError, image_check.ImageError) as error:
        return _Converted(image.where, None, str(error))
    return _Converted(image.where, example_builder.serialize(built.example), "",
                      built.num_objects, built.dropped, built.notes)


def _first_reason(result: report.ConversionReport) -> str:
    if not result.skipped_images:
        return ""
    first = result.skipped_images[0]
    return f"; first: {first['file']}: {first['reason']}"


def _note_repeated_ids(images: Iterable[sources.SourceImage],
                       result: report.ConversionReport) -> None:
    counts = collections.Counter(image.source_id for image in images)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        result.warnings.append(
            f"{len(repeated)} image id(s) belong to more than one image, for example "
            f"{repeated[0]!r}; evaluation takes such images for one")


def _note_other_shards(output_path: str, paths: Sequence[str],
                       result: report.ConversionReport) -> None:
    """Warns of shards of an earlier run with another count, which a pattern would also match."""
    old = set(tf.io.gfile.glob(output_path + "-?????-of-?????")) - set(paths)
    if old:
        result.warnings.append(f"{len(old)} file(s) of another sharding lie beside the output, "
                               f"for example {sorted(old)[0]}: delete them or they are read too")


def _progress(items: Iterator[_Converted], total: int) -> Iterator[_Converted]:
    """Passes items on and reports to stderr how far the conversion has come."""
    start = shown = time.monotonic()
    end = "\r" if sys.stderr.isatty() else "\n"
    for count, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - shown > _PROGRESS_SECONDS or (count == total and shown > start):
            shown = now
            print(f"{count} of {total} images, {count / (now - start):.0f} a second",
                  end="\n" if count == total else end, file=sys.stderr, flush=True)
