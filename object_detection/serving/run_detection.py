"""Runs a detector over image files: drawings, a COCO results file, one line of report each."""

import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from typing import Any

import numpy as np
import tensorflow as tf

from object_detection.serving import coco_results, image_io
from object_detection.serving.detector import Detector, ImageDetections
from object_detection.utils import config_util, drawing, label_map_util, visualization_utils

CategoryIndex = Mapping[int, Mapping[str, Any]]

DRAWINGS = "drawn"
RESULTS = "detections.json"
_MASK_ALPHA = 0.45


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """Where results go, and what counts as a detection."""

    output_dir: str
    min_score: float = 0.5  # lower ones are neither drawn nor written
    max_boxes: int = 100  # per image
    batch_size: int = 1


@dataclasses.dataclass
class Summary:
    """What a run did; `text` is for people."""

    output_dir: str
    images: int = 0
    detections: int = 0
    milliseconds: list[float] = dataclasses.field(default_factory=list)
    failures: dict[str, str] = dataclasses.field(default_factory=dict)  # path to reason
    without_id: list[str] = dataclasses.field(default_factory=list)

    def text(self) -> str:
        """Returns the closing lines: counts, where everything lies, what went wrong."""
        total = self.images + len(self.failures)
        speed = (f", median {statistics.median(self.milliseconds):.0f} ms per image"
                 if self.milliseconds else "")
        lines = [f"{self.images} of {total} images done, {self.detections} detections{speed}",
                 f"drawings: {os.path.join(self.output_dir, DRAWINGS)}",
                 f"results:  {os.path.join(self.output_dir, RESULTS)} (COCO results)"]
        if self.without_id:
            lines.append(f"not in the annotation file, so drawn but not in the results: "
                         f"{len(self.without_id)}, the first {self.without_id[0]}")
        if self.failures:
            lines.append(f"failed:   {len(self.failures)}")
            lines += [f"  {path}: {reason}" for path, reason in self.failures.items()]
        return "\n".join(lines)


def run(detector: Detector, paths: Sequence[str], settings: RunSettings,
        category_index: CategoryIndex | None = None,
        image_ids: Mapping[str, int | str] | None = None,
        report: Callable[[str], None] = print) -> Summary:
    """Detects in each file; one that fails is reported, and the others go on.

    Args:
        category_index: names to draw; without it classes are drawn by number.
        image_ids: ids for the results file, by path; by default from the file names.
        report: is given one line per image.
    Raises:
        ValueError: if an argument cannot work, before anything is run.
        OSError: if the output cannot be written. Results found until then are kept if possible.
    """
    if image_ids is None:
        image_ids = coco_results.ids_from_names(paths)
    folder = os.path.join(settings.output_dir, DRAWINGS)
    names = _drawing_names(paths, folder)
    os.makedirs(folder, exist_ok=True)
    summary = Summary(settings.output_dir)
    summary.without_id = [path for path in paths if path not in image_ids]
    results: list[coco_results.Row] = []
    try:
        for path, image, found, spent in _detections(detector, paths, settings, summary, report):
            height, width = image.shape[:2]
            if path in image_ids:
                results += coco_results.rows(found, image_ids[path], height, width)
            draw(image, found, category_index)
            visualization_utils.save_image_array_as_png(image, names[path])
            summary.images += 1
            summary.detections += len(found.scores)
            summary.milliseconds.append(spent)
            report(f"{path}: {len(found.scores)} detections, {spent:.0f} ms")
    finally:
        coco_results.write(os.path.join(settings.output_dir, RESULTS), results)
    return summary


def draw(image: np.ndarray, found: ImageDetections,
         category_index: CategoryIndex | None = None) -> None:
    """Draws boxes, labels and masks on uint8 [H, W, 3] in place, in lines that suit its size."""
    height, width = image.shape[:2]
    if not category_index:
        category_index = {class_id: {"name": f"class {class_id}"}
                          for class_id in found.classes.tolist()}
    if found.masks is not None:
        for number in reversed(range(len(found.masks))):
            mask = found.placed_mask(number, height, width)
            colors = visualization_utils.STANDARD_COLORS
            drawing.blend_mask(image, mask.pixels, colors[found.classes[number] % len(colors)],
                               _MASK_ALPHA, mask.top, mask.left)
    visualization_utils.visualize_boxes_and_labels_on_image_array(
        image, found.boxes, found.classes, found.scores, category_index,
        use_normalized_coordinates=True, max_boxes_to_draw=None, min_score_thresh=-1.0,
        line_thickness=drawing.line_thickness(height, width))


def load_categories(label_map_path: str | None,
                    pipeline_config_path: str | None) -> CategoryIndex | None:
    """Reads the class names of a label map, or of the one that a config names, if it is there.

    Raises:
        ValueError: if `label_map_path` is given and is no label map.
    """
    if label_map_path:
        return label_map_util.create_category_index_from_labelmap(label_map_path)
    if not pipeline_config_path:
        return None
    try:
        configs = config_util.get_configs_from_pipeline_file(pipeline_config_path)
        readers = [*configs["eval_input_configs"], configs["train_input_config"]]
        for path in (reader.label_map_path for reader in readers):
            if path and tf.io.gfile.exists(path):
                return label_map_util.create_category_index_from_labelmap(path)
    except config_util.ConfigError:
        pass  # the names are a courtesy here; whoever needs the config reports what is wrong
    return None


def _detections(detector: Detector, paths: Sequence[str], settings: RunSettings, summary: Summary,
                report: Callable[[str], None]
                ) -> Iterator[tuple[str, np.ndarray, ImageDetections, float]]:
    """Gives path, image, detections and milliseconds; the next files are read meanwhile."""
    def failed(path: str, reason: str) -> None:
        summary.failures[path] = reason
        report(f"{path}: failed: {reason}")

    size = settings.batch_size
    chunks = [paths[start:start + size] for start in range(0, len(paths), size)]
    with futures.ThreadPoolExecutor(max_workers=2) as pool:
        waiting = [pool.submit(_read, path) for path in chunks[0]] if chunks else []
        for number, chunk in enumerate(chunks):
            reading = waiting
            following = chunks[number + 1] if number + 1 < len(chunks) else ()
            waiting = [pool.submit(_read, path) for path in following]
            images: dict[str, np.ndarray] = {}
            for path, task in zip(chunk, reading):
                try:
                    images[path] = task.result()
                except image_io.ImageReadError as error:
                    failed(path, str(error))
            yield from _run_chunk(detector, images, settings, failed)


def _run_chunk(detector: Detector, images: dict[str, np.ndarray], settings: RunSettings,
               failed: Callable[[str, str], None]
               ) -> Iterator[tuple[str, np.ndarray, ImageDetections, float]]:
    if not images:
        return
    start = time.perf_counter()
    try:
        found = detector.detect(list(images.values()), settings.min_score, settings.max_boxes)
    except (ValueError, tf.errors.OpError) as error:
        if len(images) > 1:  # perhaps only one of them is the trouble, or all are too much at once
            for path, image in images.items():
                yield from _run_chunk(detector, {path: image}, settings, failed)
            return
        failed(next(iter(images)), _first_line(error))
        return
    spent = 1e3 * (time.perf_counter() - start) / len(images)
    for (path, image), detections in zip(images.items(), found):
        yield path, image, detections, spent


def _read(path: str) -> np.ndarray:
    return image_io.read_image(path)


def _first_line(error: Exception) -> str:
    text = getattr(error, "message", None) or str(error)
    return text.strip().splitlines()[0][:300] if text.strip() else type(error).__name__


def _drawing_names(paths: Sequence[str], folder: str) -> dict[str, str]:
    """Returns where each drawing goes. Raises ValueError if one would replace an input."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    inputs = {os.path.realpath(path) for path in paths}
    for path in paths:
        stem = os.path.splitext(os.path.basename(path))[0]
        name, number = f"{stem}.png", 2
        while name.lower() in taken:  # some file systems ignore case
            name, number = f"{stem}_{number}.png", number + 1
        taken.add(name.lower())
        names[path] = os.path.join(folder, name)
        if os.path.realpath(names[path]) in inputs:
            raise ValueError(f"output_dir: the drawing of {path} would replace the input "
                             f"{names[path]}; choose another folder")
    return names

