"""Finds TFRecord files and reads encoded records from them.

Shuffling happens here, on encoded bytes: a buffer of 2048 JPEG files takes megabytes where one of
2048 decoded images with masks takes the whole memory.
"""

import dataclasses
import struct
from collections.abc import Mapping, Sequence

import tensorflow as tf
from absl import logging


@dataclasses.dataclass(frozen=True)
class ReaderSettings:
    """What to read, and in which order."""

    patterns: tuple[str, ...]  # paths or globs; one text may hold several, separated by commas
    shuffle: bool = True
    shuffle_buffer_size: int = 2048  # encoded records
    num_epochs: int = 0  # 0: without end
    sample_1_of_n_examples: int = 1
    num_readers: int = 64  # files read at the same time, at most
    read_block_length: int = 32  # records taken from one file before the next one's turn
    seed: int | None = None  # makes the shuffled order repeatable, at some cost in speed
    weights: tuple[float, ...] = ()  # empty, or the share of each pattern in what is read
    # Empty, or a serialized tf.Example for each pattern, with features for records without them.
    defaults: tuple[bytes, ...] = ()


@dataclasses.dataclass(frozen=True)
class Shard:
    """Which part of the records one of several input workers reads."""

    index: int = 0
    count: int = 1


def read(settings: ReaderSettings, shard: Shard = Shard()) -> tf.data.Dataset:  # noqa: B008
    """Returns a dataset of serialized records, shuffled and repeated as the settings say.

    Each epoch holds every record once: shuffling does not mix epochs.

    Raises:
        ValueError: if a pattern matches no file, a file holds no TFRecords, all files are empty, or
            the settings contradict each other.
    """
    _check_settings(settings)
    groups = [find_files([pattern]) for pattern in settings.patterns or ("",)]
    files = [path for group in groups for path in group]
    check_files(files)
    defaults = settings.defaults or (b"",) * len(groups)
    default_of = {path: default for group, default in zip(groups[::-1], defaults[::-1])
                  for path in group}  # of a file in several groups the first one counts
    if settings.weights:
        datasets = [_one_epoch(group, settings, shard, default_of) for group in groups]
        if settings.num_epochs != 1:
            datasets = [dataset.repeat(settings.num_epochs or None) for dataset in datasets]
        return tf.data.Dataset.sample_from_datasets(datasets, weights=list(settings.weights),
                                                    seed=settings.seed)
    return _one_epoch(files, settings, shard, default_of).repeat(settings.num_epochs or None)


def find_files(patterns: Sequence[str]) -> list[str]:
    """Expands globs and comma-separated lists; the order is that of the patterns, each sorted.

    A file that several of these patterns match is named once.

    Raises:
        ValueError: if there is no pattern, or one of them matches no file.
    """
    pieces = [piece.strip() for text in patterns for piece in text.split(",") if piece.strip()]
    if not pieces:
        raise ValueError("tf_record_input_reader.input_path: no path is given")
    files: list[str] = []
    for piece in pieces:
        found = sorted(tf.io.gfile.glob(piece))
        if not found:
            raise ValueError(
                f"tf_record_input_reader.input_path: no file matches {piece!r} (relative paths "
                "start from the directory the command runs in); check the path, or create the "
                "records with a script in scripts/")
        files.extend(path for path in found if path not in files)
    return files


def check_files(files: Sequence[str]) -> None:
    """Checks that each file starts like a TFRecord file, and that not all of them are empty.

    Raises:
        ValueError: naming the first file that holds something else, and what it looks like.
    """
    sizes = [_check_file(path) for path in files]
    if not any(sizes):
        raise ValueError(f"input: all {len(files)} record files are empty, the first is "
                         f"{files[0]!r}; the conversion has written no example")
    for path, size in zip(files, sizes):
        if not size:
            logging.warning("input: %s is empty and adds no example", path)


def locate_damage(files: Sequence[str]) -> str | None:
    """Walks over all record headers and says which file is cut or damaged, or None if none is.

    For use after a `tf.errors.DataLossError`, which gives an offset but no file.
    """
    for path in files:
        with tf.io.gfile.GFile(path, "rb") as file:
            size, offset, count = file.size(), 0, 0
            while offset < size:
                file.seek(offset)
                header = file.read(12)
                if not _is_record_header(header):
                    return (f"{path}: damaged at byte {offset}, after {count} whole records; "
                            "write the file anew")
                offset += 16 + struct.unpack("<Q", header[:8])[0]
                if offset > size:
                    return (f"{path}: the last record is cut off, after {count} whole records; "
                            "write or copy the file anew")
                count += 1
    return None


def _one_epoch(files: list[str], settings: ReaderSettings, shard: Shard,
               default_of: Mapping[str, bytes]) -> tf.data.Dataset:
    paths = tf.data.Dataset.from_tensor_slices((files, [default_of[path] for path in files]))
    by_file = len(files) >= shard.count
    if by_file:
        paths = paths.shard(shard.count, shard.index)
    if settings.shuffle:
        paths = paths.shuffle(len(files), seed=settings.seed)
    readers = max(1, min(settings.num_readers, len(files)))
    dataset = paths.interleave(
        _records_of_file if settings.defaults else lambda path, _: tf.data.TFRecordDataset(path),
        cycle_length=readers, block_length=settings.read_block_length,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=not settings.shuffle or settings.seed is not None)
    if not by_file:
        dataset = dataset.shard(shard.count, shard.index)
    if settings.sample_1_of_n_examples > 1:
        dataset = dataset.shard(settings.sample_1_of_n_examples, 0)
    if settings.shuffle:
        dataset = dataset.shuffle(settings.shuffle_buffer_size, seed=settings.seed)
    return dataset


def _records_of_file(path: tf.Tensor, default: tf.Tensor) -> tf.data.Dataset:
    """Reads a file and puts `default` before each record.

    Serialized messages are merged by joining them: what comes later, here the record's own
    features, replaces what comes before.
    """
    return tf.data.TFRecordDataset(path).map(lambda record: tf.strings.join([default, record]))


def _check_settings(settings: ReaderSettings) -> None:
    for name in ("sample_1_of_n_examples", "num_readers", "read_block_length"):
        if getattr(settings, name) < 1:
            raise ValueError(f"input_reader.{name}: want at least 1, got {getattr(settings, name)}")
    if settings.shuffle and settings.shuffle_buffer_size < 1:
        raise ValueError("input_reader.shuffle_buffer_size: want at least 1, got "
                         f"{settings.shuffle_buffer_size}; to keep the order set shuffle: false")
    if settings.weights and len(settings.weights) != len(settings.patterns):
        raise ValueError(
            f"input_reader.sample_from_datasets_weights: want one weight per input_path, got "
            f"{len(settings.weights)} weights for {len(settings.patterns)} paths")
    if settings.defaults and len(settings.defaults) != len(settings.patterns):
        raise ValueError(
            f"input_reader.known_classes: want one block per input_path, got "
            f"{len(settings.defaults)} blocks for {len(settings.patterns)} paths")
    if any(weight < 0 for weight in settings.weights) or (
            settings.weights and not sum(settings.weights)):
        raise ValueError("input_reader.sample_from_datasets_weights: want weights of 0 or more, "
                         f"not all 0, got {list(settings.weights)}")


def _check_file(path: str) -> int:
    """Returns the size of a record file; raises ValueError if it starts like something else."""
    if tf.io.gfile.isdir(path):
        raise ValueError(f"{path}: is a directory; name the record files in it, for example "
                         f"{path.rstrip('/')}/*.record")
    with tf.io.gfile.GFile(path, "rb") as file:
        start, size = file.read(16), file.size()
    if size and not _is_record_header(start[:12]):
        raise ValueError(f"{path}: not a TFRecord file, {_guess(start)}; input_path wants files "
                         "of tf.Example records, uncompressed")
    return size


def _guess(start: bytes) -> str:
    if start.startswith(b"\x1f\x8b"):
        return "it looks gzip-compressed"
    if start.startswith((b"\xff\xd8", b"\x89PNG")):
        return "it looks like an image"
    if len(start) < 16:
        return f"it has only {len(start)} bytes"
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start):
        return f"it looks like text ({start.decode('ascii')!r})"
    return f"it starts with {start[:12].hex(' ')}"


def _is_record_header(header: bytes) -> bool:
    """Whether 12 bytes are a record length (uint64) and its masked CRC-32C, little endian."""
    if len(header) < 12:
        return False
    crc = 0xFFFFFFFF
    for byte in header[:8]:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    return masked == struct.unpack("<I", header[8:12])[0]
