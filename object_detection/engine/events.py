"""Event files for TensorBoard, written without TensorBoard being installed.

`tf.summary.scalar` and `tf.summary.image` live in the tensorboard package, which TensorFlow no
longer brings along; `tf.summary.write` is TensorFlow's own. The plugin names and layouts below are
those that TensorBoard's scalar and image plugins read.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf


class EventFile:
    """Writes scalars and images into one event file, created with the first value."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._writer: tf.summary.SummaryWriter | None = None

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Writes finite values under their names as tags."""
        metadata = _metadata("scalars", "DATA_CLASS_SCALAR")
        with self._open().as_default():
            for name, value in values.items():
                if np.isfinite(value):
                    tf.summary.write(name, np.float32(value), step=step, metadata=metadata)
        self._open().flush()

    def images(self, name: str, images: Sequence[np.ndarray], step: int) -> None:
        """Writes uint8 [H, W, 3] images as `name/0`, `name/1`, ..."""
        metadata = _metadata("images", "DATA_CLASS_BLOB_SEQUENCE")
        with self._open().as_default():
            for number, image in enumerate(images):
                height, width = image.shape[:2]
                tensor = tf.stack([str(width), str(height), tf.io.encode_png(image)])
                tf.summary.write(f"{name}/{number}", tensor, step=step, metadata=metadata)
        self._open().flush()

    def close(self) -> None:
        """Ends the file; nothing may be written after that."""
        if self._writer is not None:
            self._writer.close()

    def _open(self) -> tf.summary.SummaryWriter:
        if self._writer is None:
            self._writer = tf.summary.create_file_writer(self._folder)
        return self._writer


def _metadata(plugin: str, kind: str) -> tf.compat.v1.SummaryMetadata:
    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = plugin
    values = type(metadata).DESCRIPTOR.fields_by_name["data_class"].enum_type.values_by_name
    metadata.data_class = values[kind].number
    return metadata
