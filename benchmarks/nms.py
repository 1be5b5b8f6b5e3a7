"""Times multi-class non-max suppression against a plain loop over images and classes.

    python benchmarks/nms.py

Prints one JSON line per case: median milliseconds of both, and the ratio of the loop to ours. Both
must first give the same detections.
"""

import json
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from timing import median_ms

from object_detection.core import post_processing
from object_detection.core.nms import NmsSettings

# Images, boxes, classes: a second stage, the anchors of a one-stage detector, a first stage, both.
CASES = ((1, 300, 90), (8, 300, 90), (1, 1917, 90), (8, 1917, 90), (1, 10000, 1), (8, 10000, 1),
         (1, 10000, 90))
# The settings of the published COCO models.
SETTINGS = NmsSettings(score_threshold=0.0, iou_threshold=0.6, max_size_per_class=100,
                       max_total_size=100)


def candidates(images: int, boxes: int, classes: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns boxes [B, N, 1, 4] in clusters, as around objects, and scores that sum to below 1."""
    rng = np.random.default_rng(0)
    objects = rng.uniform(0.0, 0.8, [images, 20, 2])
    corner = objects[:, rng.integers(20, size=boxes)] + rng.normal(0, 0.03, [images, boxes, 2])
    size = rng.uniform(0.1, 0.2, [images, boxes, 2])
    found = np.concatenate([corner, corner + size], axis=-1)[:, :, None, :]
    logits = tf.constant(rng.normal(0.0, 3.0, [images, boxes, classes + 1]), tf.float32)
    return tf.constant(found, tf.float32), tf.nn.softmax(logits)[..., 1:]


def in_a_loop(boxes: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Suppresses class after class of image after image; returns boxes, scores and classes."""
    def one_image(inputs: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, ...]:
        image_boxes, image_scores = inputs
        kept_boxes, kept_scores, kept_classes = [], [], []
        for label in range(scores.shape[2]):
            chosen = tf.image.non_max_suppression(
                image_boxes, image_scores[:, label], SETTINGS.max_size_per_class,
                SETTINGS.iou_threshold, SETTINGS.score_threshold)
            kept_boxes.append(tf.gather(image_boxes, chosen))
            kept_scores.append(tf.gather(image_scores[:, label], chosen))
            kept_classes.append(tf.fill(tf.shape(chosen), label))
        size = SETTINGS.max_total_size
        kept = tf.pad(tf.concat(kept_scores, 0), [[0, size]])
        best, order = tf.math.top_k(kept, size)
        found = tf.pad(tf.concat(kept_boxes, 0), [[0, size], [0, 0]])
        labels = tf.pad(tf.concat(kept_classes, 0), [[0, size]])
        return tf.gather(found, order), best, tf.gather(labels, order)

    return tf.map_fn(one_image, (boxes[:, :, 0, :], scores),
                     fn_output_signature=(tf.float32, tf.float32, tf.int32))


def at_once(boxes: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """As `in_a_loop`, by the package."""
    kept = post_processing.batch_multiclass_non_max_suppression(boxes, scores, None, SETTINGS)
    return kept.boxes, kept.scores, kept.classes


def run(case: tuple[int, int, int], repeats: int = 10) -> dict:
    """Checks and times one case of (images, boxes, classes)."""
    inputs = candidates(*case)
    functions: dict[str, Callable] = {"loop": tf.function(in_a_loop), "ours": tf.function(at_once)}
    tf.nest.map_structure(np.testing.assert_array_equal,
                          *(function(*inputs) for function in functions.values()))
    medians = median_ms(functions, *inputs, repeats=repeats)
    return {"benchmark": "nms", "images": case[0], "boxes": case[1], "classes": case[2],
            "median_ms": medians, "loop_over_ours": medians["loop"] / medians["ours"]}


def main() -> None:
    """Runs the benchmark."""
    for case in CASES:
        print(json.dumps(run(case)), flush=True)


if __name__ == "__main__":
    main()
