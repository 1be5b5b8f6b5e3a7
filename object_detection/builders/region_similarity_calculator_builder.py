"""Builds the measure that a `region_similarity_calculator` block asks for."""

from object_detection.core.region_similarity_calculator import (
    IoaSimilarity,
    IouSimilarity,
    NegSqDistSimilarity,
    RegionSimilarityCalculator,
    ThresholdedIouSimilarity,
)
from object_detection.protos import region_similarity_calculator_pb2


def build(config: region_similarity_calculator_pb2.RegionSimilarityCalculator,
          ) -> RegionSimilarityCalculator:
    """Builds the measure named by `region_similarity`. Raises ValueError if none is set."""
    kind = config.WhichOneof("region_similarity")
    if kind not in _BUILDERS:
        raise ValueError(f"region_similarity_calculator: set one of {sorted(_BUILDERS)}, "
                         f"got {kind or 'none of them'}")
    return _BUILDERS[kind](getattr(config, kind))


_BUILDERS = {
    "neg_sq_dist_similarity": lambda config: NegSqDistSimilarity(),
    "iou_similarity": lambda config: IouSimilarity(),
    "ioa_similarity": lambda config: IoaSimilarity(),
    "thresholded_iou_similarity":
        lambda config: ThresholdedIouSimilarity(config.iou_threshold),
}
