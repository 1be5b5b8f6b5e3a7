"""Evaluators by the names in eval_config.metrics_set, and the result of one image for them."""

from collections.abc import Mapping, Sequence

import tensorflow as tf

from object_detection.core.standard_fields import DetectionResultFields, InputDataFields
from object_detection.metrics import coco_evaluation
from object_detection.metrics.detection_evaluator import DetectionEvaluator
from object_detection.protos import eval_pb2
from object_detection.utils import ops

# Metric set name to class. Users add their own; a class takes the categories, then options.
EVAL_METRICS_CLASS_DICT = {
    "coco_detection_metrics": coco_evaluation.CocoDetectionEvaluator,
    "coco_mask_metrics": coco_evaluation.CocoMaskEvaluator,
}
EVAL_DEFAULT_METRIC = "coco_detection_metrics"

MASK_THRESHOLD = 0.5  # a pixel of a detected mask counts above this
LABEL_ID_OFFSET = 1  # detections count classes from 0, label maps from 1

Tensors = Mapping[str, tf.Tensor]


def get_evaluators(eval_config: eval_pb2.EvalConfig, categories: Sequence[Mapping],
                   evaluator_options: Mapping[str, Mapping] | None = None,
                   ) -> list[DetectionEvaluator]:
    """Builds the evaluators that a config names, or COCO boxes if it names none.

    Args:
        categories: the label map as dictionaries with `id` and `name`.
        evaluator_options: keyword arguments by metric set name; from the config where absent.
    Raises:
        ValueError: for a metric set that does not exist, with a list of those that do.
    """
    if eval_config.parameterized_metric:
        raise ValueError(f"eval_config.parameterized_metric: {_choices()}")
    if evaluator_options is None:
        evaluator_options = evaluator_options_from_eval_config(eval_config)
    evaluators = []
    for name in dict.fromkeys(eval_config.metrics_set or [EVAL_DEFAULT_METRIC]):
        if name not in EVAL_METRICS_CLASS_DICT:
            raise ValueError(f"eval_config.metrics_set: no metric is called {name!r}; {_choices()}")
        options = dict(evaluator_options.get(name, {}))
        evaluators.append(EVAL_METRICS_CLASS_DICT[name](categories, **options))
    return evaluators


def evaluator_options_from_eval_config(eval_config: eval_pb2.EvalConfig) -> dict[str, dict]:
    """Returns the keyword arguments that a config gives to each of the built-in evaluators."""
    groups = {name: [member.strip() for member in members.split(",") if member.strip()]
              for name, members in eval_config.super_categories.items()}
    shared = {"include_metrics_per_category": eval_config.include_metrics_per_category,
              "all_metrics_per_category": eval_config.all_metrics_per_category,
              "super_categories": groups or None}
    boxes = {**shared, "skip_predictions_for_unlabeled_class":
             eval_config.skip_predictions_for_unlabeled_class}
    return {"coco_detection_metrics": boxes, "coco_mask_metrics": shared}


def result_dict_for_single_example(image: tf.Tensor, key: tf.Tensor, detections: Tensors,
                                   groundtruth: Tensors | None = None,
                                   class_agnostic: bool = False,
                                   scale_to_absolute: bool = False) -> dict[str, tf.Tensor]:
    """Puts one image, its detections and its ground truth into the dictionary evaluators take.

    Args:
        image: uint8 [1, H, W, 3], the original image.
        key: its id.
        detections: a batch of one as `postprocess` gives it; classes count from 0.
        groundtruth: without batch dimension: boxes [N, 4] normalized, classes [N] from 1, and
            whatever else there is, which is passed on.
        class_agnostic: sets every class to 1.
        scale_to_absolute: multiplies normalized boxes by the image's size.
    Returns:
        original_image, key, `detection_*` and `groundtruth_*` without batch dimension; classes
        count from 1, masks are uint8 [N, H, W] of the whole image.
    """
    size = tf.shape(image)[1:3]
    one = {name: value[0] for name, value in detections.items()}
    output = {InputDataFields.original_image: image, InputDataFields.key: key}
    output.update(detections_of_image(one, size, scale_to_absolute))
    classes = DetectionResultFields.detection_classes
    if class_agnostic:
        output[classes] = tf.ones_like(output[classes])
    if groundtruth is None:
        return output
    output.update(groundtruth)
    if scale_to_absolute:
        boxes = InputDataFields.groundtruth_boxes
        output[boxes] = groundtruth[boxes] * _scale(size)
    if class_agnostic:
        classes = InputDataFields.groundtruth_classes
        output[classes] = tf.ones_like(groundtruth[classes])
    return output


def detections_of_image(detections: Tensors, size: tf.Tensor,
                        scale_to_absolute: bool = True) -> dict[str, tf.Tensor]:
    """Returns one image's detections as evaluators want them, without rows of padding.

    Args:
        detections: one image of what `postprocess` returns; boxes normalized to the image without
            padding, masks in the frame of their boxes.
        size: int32 [2], height and width of the original image.
    """
    names = DetectionResultFields
    count = tf.cast(detections[names.num_detections], tf.int32)
    boxes = detections[names.detection_boxes][:count]
    scores = detections[names.detection_scores][:count]
    found = {names.detection_boxes: boxes * _scale(size) if scale_to_absolute else boxes,
             names.detection_scores: scores}
    if names.detection_classes in detections:
        classes = tf.cast(detections[names.detection_classes][:count], tf.int64)
        found[names.detection_classes] = classes + LABEL_ID_OFFSET
    else:  # a region proposal network knows one class only
        found[names.detection_classes] = tf.ones_like(scores, tf.int64)
    if names.detection_masks in detections:
        found[names.detection_masks] = full_image_masks(
            detections[names.detection_masks][:count], boxes, size)
    return found


def full_image_masks(masks: tf.Tensor, boxes: tf.Tensor, size: tf.Tensor,
                     at_once: int = 8) -> tf.Tensor:
    """Returns uint8 [N, H, W] from scores [N, h, w] in the frame of normalized boxes [N, 4].

    Args:
        at_once: masks worked on together; float32 masks of large images take much memory.
    """
    height, width = int(size[0]), int(size[1])
    parts = [tf.zeros([0, height, width], tf.uint8)]
    for start in range(0, int(masks.shape[0]), at_once):
        whole = ops.reframe_box_masks_to_image_masks(
            masks[start:start + at_once], boxes[start:start + at_once], height, width)
        parts.append(tf.cast(whole > MASK_THRESHOLD, tf.uint8))
    return tf.concat(parts, axis=0)


def _scale(size: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.tile(size, [2]), tf.float32)


def _choices() -> str:
    return f"available are {', '.join(sorted(EVAL_METRICS_CLASS_DICT))}"
