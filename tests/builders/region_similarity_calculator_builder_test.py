"""Similarities from config text."""

import pytest
from google.protobuf import text_format

from object_detection.builders import region_similarity_calculator_builder
from object_detection.core import region_similarity_calculator as similarities
from object_detection.protos import region_similarity_calculator_pb2


def build(text):
    return region_similarity_calculator_builder.build(text_format.Parse(
        text, region_similarity_calculator_pb2.RegionSimilarityCalculator()))


@pytest.mark.parametrize("text, kind", [
    ("iou_similarity {}", similarities.IouSimilarity),
    ("ioa_similarity {}", similarities.IoaSimilarity),
    ("neg_sq_dist_similarity {}", similarities.NegSqDistSimilarity)])
def test_kinds(text, kind):
    assert type(build(text)) is kind


def test_threshold_and_its_default():
    assert build("thresholded_iou_similarity {}").iou_threshold == 0.5
    assert build("thresholded_iou_similarity { iou_threshold: 0.25 }").iou_threshold == 0.25


def test_nothing_set_lists_the_choices():
    with pytest.raises(ValueError, match="set one of .*iou_similarity.*none of them"):
        build("")
