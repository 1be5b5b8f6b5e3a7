"""Builds target assigners: from a `target_assigner` block, or those fixed by a paper."""

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.builders import (
    box_coder_builder,
    matcher_builder,
    region_similarity_calculator_builder,
)
from object_detection.core.region_similarity_calculator import IouSimilarity
from object_detection.core.target_assigner import TargetAssigner
from object_detection.matchers.argmax_matcher import ArgMaxMatcher
from object_detection.protos import target_assigner_pb2

# Ren et al., Faster R-CNN (arXiv:1506.01497): anchors match from an IoU of 0.7 on, or as the best
# of a box, and are background below 0.3 (section 3.1.2); regions match from 0.5 on.
_MATCHERS = {
    ("FasterRCNN", "proposal"): lambda: ArgMaxMatcher(0.7, 0.3, force_match_for_each_row=True),
    ("FasterRCNN", "detection"): lambda: ArgMaxMatcher(0.5),
}
_SCALE_FACTORS = (10.0, 10.0, 5.0, 5.0)


def build(config: target_assigner_pb2.TargetAssigner) -> TargetAssigner:
    """Builds the assigner of a block. Raises ValueError if one of its three parts is missing."""
    for part in ("matcher", "similarity_calculator", "box_coder"):
        if not config.HasField(part):
            raise ValueError(f"target_assigner: {part} is not set; it needs matcher, "
                             "similarity_calculator and box_coder")
    matcher_kind = config.matcher.WhichOneof("matcher_oneof")
    matcher = matcher_builder.build(config.matcher)
    return TargetAssigner(
        similarity=region_similarity_calculator_builder.build(config.similarity_calculator),
        matcher=matcher,
        box_coder=box_coder_builder.build(config.box_coder),
        use_matmul_gather=getattr(config.matcher, matcher_kind).use_matmul_gather)


def create_target_assigner(reference: str, stage: str, negative_class_weight: float = 1.0,
                           use_matmul_gather: bool = False) -> TargetAssigner:
    """Makes the assigner that a paper describes for one of its stages.

    Args:
        reference: "FasterRCNN".
        stage: "proposal" or "detection".
        negative_class_weight: classification weight of background.
        use_matmul_gather: fetch matched rows by matrix products, see `Match.gather`.
    Raises:
        ValueError: if there is no such reference or stage.
    """
    if (reference, stage) not in _MATCHERS:
        raise ValueError(f"create_target_assigner: want one of {sorted(_MATCHERS)}, "
                         f"got {(reference, stage)}")
    return TargetAssigner(
        similarity=IouSimilarity(), matcher=_MATCHERS[reference, stage](),
        box_coder=FasterRcnnBoxCoder(_SCALE_FACTORS),
        negative_class_weight=negative_class_weight, use_matmul_gather=use_matmul_gather)
