"""What a two-stage detector is put together from."""

import dataclasses

from object_detection.core.box_frame import BoxFrame, EdgeFrame
from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.core.resizers import Resizer
from object_detection.core.roi_cropper import RoiCropper
from object_detection.meta_architectures.losses import BoxClassifierLoss, MaskLoss, RpnLoss
from object_detection.meta_architectures.proposals import ProposalSampler, Proposer
from object_detection.meta_architectures.results import DetectionPostprocessor
from object_detection.meta_architectures.rpn import RegionProposalNetwork
from object_detection.predictors.mask_rcnn_box_predictor import MaskRCNNBoxPredictor
from object_detection.predictors.rfcn_box_predictor import RfcnBoxPredictor


@dataclasses.dataclass(frozen=True)
class DetectorSettings:
    """Numbers and switches of the meta-architecture itself.

    Attributes:
        num_classes: foreground classes C.
        number_of_stages: 1 proposes regions, 2 adds boxes and classes, 3 adds masks.
        is_training: predict on sampled proposals instead of the best.
        clip_anchors: in training, cut anchors at the image's edge instead of dropping those that
            cross it (at inference they are always cut).
        keep_crossing_anchors: neither cut nor drop anchors that cross the edge, ever.
        masks_cropped_in_true_frame: fault of the original, see docs/differences.md.
        resize_masks: ground truth masks may come in the size of the images before resizing.
        raw_detections_in_predict: add `raw_detection_boxes` of every class to the predictions.
        box_features_in_output, rpn_features_in_output: add to the detections what the second stage
            makes of their regions (`detection_features`), what it reads of them
            (`cropped_rpn_box_features`).
        crops_ignore_map_padding: fault of the original, see docs/differences.md.
        frame: what boxes in pixels mean.
    """

    num_classes: int
    number_of_stages: int
    is_training: bool
    clip_anchors: bool = False
    keep_crossing_anchors: bool = False
    masks_cropped_in_true_frame: bool = False
    resize_masks: bool = True
    raw_detections_in_predict: bool = False
    box_features_in_output: bool = False
    rpn_features_in_output: bool = False
    crops_ignore_map_padding: bool = False
    frame: BoxFrame = EdgeFrame()


@dataclasses.dataclass(frozen=True)
class FirstStage:
    """Image to proposals."""

    resizer: Resizer
    extractor: FasterRCNNFeatureExtractor
    rpn: RegionProposalNetwork
    proposer: Proposer
    loss: RpnLoss


@dataclasses.dataclass(frozen=True)
class SecondStage:
    """Proposals to boxes, classes and masks.

    Attributes:
        mask_loss: None: there are no masks, and the predictor has no head for them.
        sampler: None: all proposals are trained on (hard example mining chooses later).
        mask_cropper: cuts regions for the mask head alone; None: it reads the box features.
        masks_of_objects: in training, let the loss draw the masks of the regions that it reads, a
            few of those sampled. A step that was traced as a whole then never draws the others.
            Not for mask heads that move statistics, nor for static shapes.
    """

    cropper: RoiCropper
    predictor: MaskRCNNBoxPredictor | RfcnBoxPredictor
    postprocessor: DetectionPostprocessor
    loss: BoxClassifierLoss
    mask_loss: MaskLoss | None
    sampler: ProposalSampler | None
    mask_cropper: RoiCropper | None = None
    masks_of_objects: bool = False
