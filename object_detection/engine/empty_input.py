"""Notices a training input without objects, on which a detector learns to find nothing."""

from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf
from absl import logging

from object_detection.core.standard_fields import InputDataFields as Fields


def watched(dataset: Iterable, strategy: tf.distribute.Strategy,
            images: int = 200) -> Iterator[tuple]:
    """Yields the batches; warns once if the first images, or all of them, have no object.

    It stops looking at the first object.

    Args:
        dataset: (features, labels), distributed if the strategy has several replicas.
        images: number of images to look at.
    """
    seen = 0
    looking = True
    for features, labels in dataset:
        if looking and Fields.num_groundtruth_boxes in labels:
            counts = _counts(strategy, labels[Fields.num_groundtruth_boxes])
            seen += counts.size
            looking = not counts.any() and seen < images
            if not counts.any() and not looking:
                _warn(seen)
        yield features, labels
    if looking and seen:
        _warn(seen)


def _counts(strategy: tf.distribute.Strategy, per_replica: tf.Tensor) -> np.ndarray:
    parts = strategy.experimental_local_results(per_replica)
    return np.concatenate([np.ravel(part.numpy()) for part in parts])


def _warn(images: int) -> None:
    logging.warning(
        "training input: none of the first %d images has an object. Check that the names in the "
        "records are those of train_input_reader.label_map_path, that the records hold boxes "
        "(image/object/bbox/*), and what was said about dropped boxes before", images)
