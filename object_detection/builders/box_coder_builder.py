"""Builds the coder that a `box_coder` block asks for."""

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.box_coders.keypoint_box_coder import KeypointBoxCoder
from object_detection.box_coders.mean_stddev_box_coder import MeanStddevBoxCoder
from object_detection.box_coders.square_box_coder import SquareBoxCoder
from object_detection.core.box_coder import BoxCoder
from object_detection.protos import (
    box_coder_pb2,
    faster_rcnn_box_coder_pb2,
    keypoint_box_coder_pb2,
    mean_stddev_box_coder_pb2,
    square_box_coder_pb2,
)


def build(config: box_coder_pb2.BoxCoder) -> BoxCoder:
    """Builds the coder named by `box_coder_oneof`. Raises ValueError if none is set."""
    kind = config.WhichOneof("box_coder_oneof")
    if kind not in _BUILDERS:
        raise ValueError(f"box_coder: set one of {sorted(_BUILDERS)}, got {kind or 'none of them'}")
    return _BUILDERS[kind](getattr(config, kind))


def _faster_rcnn(config: faster_rcnn_box_coder_pb2.FasterRcnnBoxCoder) -> FasterRcnnBoxCoder:
    return FasterRcnnBoxCoder(
        (config.y_scale, config.x_scale, config.height_scale, config.width_scale))


def _mean_stddev(config: mean_stddev_box_coder_pb2.MeanStddevBoxCoder) -> MeanStddevBoxCoder:
    return MeanStddevBoxCoder(config.stddev)


def _square(config: square_box_coder_pb2.SquareBoxCoder) -> SquareBoxCoder:
    return SquareBoxCoder((config.y_scale, config.x_scale, config.length_scale))


def _keypoint(config: keypoint_box_coder_pb2.KeypointBoxCoder) -> KeypointBoxCoder:
    return KeypointBoxCoder(
        config.num_keypoints,
        (config.y_scale, config.x_scale, config.height_scale, config.width_scale))


_BUILDERS = {
    "faster_rcnn_box_coder": _faster_rcnn,
    "mean_stddev_box_coder": _mean_stddev,
    "square_box_coder": _square,
    "keypoint_box_coder": _keypoint,
}
