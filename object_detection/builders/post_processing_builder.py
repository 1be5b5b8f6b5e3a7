"""Builds what turns logits and boxes into detections."""

from object_detection.builders import calibration_builder
from object_detection.core.nms import NmsSettings
from object_detection.core.score_converters import ScoreConverter
from object_detection.protos import faster_rcnn_pb2, post_processing_pb2

_CONVERTERS = {post_processing_pb2.PostProcessing.IDENTITY: "identity",
               post_processing_pb2.PostProcessing.SIGMOID: "sigmoid",
               post_processing_pb2.PostProcessing.SOFTMAX: "softmax"}


def build(config: post_processing_pb2.PostProcessing,
          faults: faster_rcnn_pb2.OriginalFaults | None = None,
          ) -> tuple[NmsSettings, ScoreConverter]:
    """Builds the settings of non-max suppression and the score converter.

    Args:
        faults: of the original's calibration, see `calibration_builder`.
    Raises:
        ValueError: if a value cannot work, naming the field.
    """
    temperature, calibration = 1.0, None
    if config.HasField("calibration_config"):
        temperature, calibration = calibration_builder.build(config.calibration_config, faults)
    converter = ScoreConverter(_CONVERTERS[config.score_converter],
                               config.logit_scale * temperature, calibration)
    return build_nms(config.batch_non_max_suppression), converter


def build_nms(config: post_processing_pb2.BatchNonMaxSuppression) -> NmsSettings:
    """Builds the settings of one non-max suppression."""
    return NmsSettings(
        score_threshold=config.score_threshold, iou_threshold=config.iou_threshold,
        max_size_per_class=config.max_detections_per_class,
        max_total_size=config.max_total_detections, soft_nms_sigma=config.soft_nms_sigma,
        use_class_agnostic=config.use_class_agnostic_nms,
        max_classes_per_detection=config.max_classes_per_detection,
        change_coordinate_frame=config.change_coordinate_frame,
        use_static_shapes=config.use_static_shapes, use_hard=config.use_hard_nms,
        use_cpu=config.use_cpu_nms, use_combined=config.use_combined_nms,
        use_partitioned=config.use_partitioned_nms)
