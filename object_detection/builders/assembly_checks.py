"""Checks of a FasterRcnn message that names the detector of another program as a whole.

Such a message (`matterport { }`, `torchvision { }`) fixes parts that are open otherwise.
"""

from collections.abc import Sequence

from object_detection.protos import faster_rcnn_pb2, post_processing_pb2

_NAME = "model.faster_rcnn"
_REQUIRED = ("image_resizer", "feature_extractor", "first_stage_anchor_generator",
             "first_stage_box_predictor_conv_hyperparams")
_OPEN_PARTS = ("hard_example_miner", "second_stage_classification_loss", "context_config")


def check(config: faster_rcnn_pb2.FasterRcnn, kind: str, positive: Sequence[str],
          excluded: Sequence[str] = ()) -> None:
    """Checks what both assemblies want.

    Args:
        kind: field of the assembly's message, with `mask_crop_size`.
        positive: its fields that must be at least 1.
        excluded: more fields of `config` that do not go with it.
    Raises:
        ValueError: naming the field, what it should be and what it is.
    """
    if config.number_of_stages not in (2, 3):
        raise ValueError(f"{_NAME}.number_of_stages: `{kind}` wants 2 or, with masks, 3, got "
                         f"{config.number_of_stages}")
    if config.num_classes < 1:
        raise ValueError(f"{_NAME}.num_classes: want at least 1, got {config.num_classes}")
    for field in _REQUIRED:
        if not config.HasField(field):
            raise ValueError(f"{_NAME}.{field}: must be set")
    own = getattr(config, kind)
    for field in positive:
        if getattr(own, field) < 1:
            raise ValueError(f"{_NAME}.{kind}.{field}: want at least 1, got {getattr(own, field)}")
    for field in (*excluded, *_OPEN_PARTS):
        if config.HasField(field):
            raise ValueError(f"{_NAME}.{field}: does not go with `{kind}`; remove one of both")
    _check_second_stage(config, kind, 2 * own.mask_crop_size)


def _check_second_stage(config: faster_rcnn_pb2.FasterRcnn, kind: str, side: int) -> None:
    predictor = f"{_NAME}.second_stage_box_predictor"
    if not config.second_stage_box_predictor.HasField("mask_rcnn_box_predictor"):
        raise ValueError(f"{predictor}: `{kind}` wants mask_rcnn_box_predictor")
    head = config.second_stage_box_predictor.mask_rcnn_box_predictor
    if config.number_of_stages == 3 and not head.predict_instance_masks:
        raise ValueError(f"{_NAME}.number_of_stages: 3 draws masks; set {predictor}.mask_rcnn_box_"
                         "predictor.predict_instance_masks: true")
    if config.initial_crop_size < 1:
        raise ValueError(f"{_NAME}.initial_crop_size: want at least 1 (7 is usual), got "
                         f"{config.initial_crop_size}")
    if head.predict_instance_masks and (head.mask_height, head.mask_width) != (side, side):
        raise ValueError(f"{predictor}.mask_rcnn_box_predictor: masks are twice as large as "
                         f"{kind}.mask_crop_size; set mask_height and mask_width to {side}, "
                         f"got {head.mask_height} and {head.mask_width}")
    if config.second_stage_post_processing.score_converter != (
            post_processing_pb2.PostProcessing.SOFTMAX):
        raise ValueError(f"{_NAME}.second_stage_post_processing.score_converter: `{kind}` wants "
                         "SOFTMAX")
