"""Where a config wants static shapes, and what can be done where it does not."""

from object_detection.predictors.heads.mask_head import MaskHead
from object_detection.predictors.heads.matterport_mask_head import MatterportMaskHead
from object_detection.protos import faster_rcnn_pb2

Config = faster_rcnn_pb2.FasterRcnn


def are_wanted(config: Config, is_training: bool) -> bool:
    """Returns whether a model for training, or for evaluation and serving, has static shapes."""
    return config.use_static_shapes and (is_training or config.use_static_shapes_for_eval)


def masks_of_objects(config: Config, is_training: bool,
                     mask_head: MaskHead | MatterportMaskHead | None) -> bool:
    """Returns whether the loss may draw some masks again; see settings.SecondStage."""
    return (is_training and mask_head is not None and not config.use_static_shapes
            and not mask_head.hyperparams.moves_statistics)
