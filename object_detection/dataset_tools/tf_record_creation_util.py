"""Opens TFRecord files that appear under their final name only when they are complete."""

import contextlib
import os
from collections.abc import Iterator

import tensorflow as tf


def shard_paths(base_path: str, num_shards: int) -> list[str]:
    """Returns the names of the shards: `base-00000-of-00010`, or `base` itself for one shard.

    Raises:
        ValueError: if num_shards is below 1.
    """
    if num_shards < 1:
        raise ValueError(f"num_shards: want 1 or more, got {num_shards}")
    if num_shards == 1:
        return [base_path]
    return _numbered(base_path, num_shards)


def open_sharded_output_tfrecords(exit_stack: contextlib.ExitStack, base_path: str,
                                  num_shards: int) -> list[tf.io.TFRecordWriter]:
    """Opens `num_shards` writers, named `base-00000-of-00010` even if there is only one.

    The files are written under temporary names. They get their own names when the stack is left
    normally, and are deleted when it is left by an exception.
    """
    return [exit_stack.enter_context(atomic_writer(path))
            for path in _numbered(base_path, num_shards)]


@contextlib.contextmanager
def atomic_writer(path: str) -> Iterator[tf.io.TFRecordWriter]:
    """Opens one record file for writing; it appears under `path` when the block ends normally."""
    temporary = temporary_name(path)
    writer = tf.io.TFRecordWriter(temporary)
    try:
        yield writer
        writer.close()
        tf.io.gfile.rename(temporary, path, overwrite=True)
    except BaseException:  # also on Ctrl-C: leave no half file behind
        writer.close()
        if tf.io.gfile.exists(temporary):
            tf.io.gfile.remove(temporary)
        raise


def write_file_atomically(path: str, content: bytes) -> None:
    """Writes a whole file under a temporary name, then renames it to `path`."""
    temporary = temporary_name(path)
    with tf.io.gfile.GFile(temporary, "wb") as file:
        file.write(content)
    tf.io.gfile.rename(temporary, path, overwrite=True)


def temporary_name(path: str) -> str:
    """Returns a hidden name in the folder of `path` that no pattern like `train*` matches."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".tmp-{os.getpid()}-{name}")


def _numbered(base_path: str, num_shards: int) -> list[str]:
    return [f"{base_path}-{index:05d}-of-{num_shards:05d}" for index in range(num_shards)]
