"""Matchers from config text."""

import pytest
from google.protobuf import text_format

from object_detection.builders import matcher_builder
from object_detection.matchers.argmax_matcher import ArgMaxMatcher
from object_detection.matchers.bipartite_matcher import GreedyBipartiteMatcher
from object_detection.protos import matcher_pb2


def build(text):
    return matcher_builder.build(text_format.Parse(text, matcher_pb2.Matcher()))


@pytest.mark.parametrize("text, thresholds, force", [
    ("argmax_matcher {}", (0.5, 0.5), False),
    ("argmax_matcher { matched_threshold: 0.75 unmatched_threshold: 0.25 "
     "force_match_for_each_row: true }", (0.75, 0.25), True),
    ("argmax_matcher { ignore_thresholds: true }", (None, None), False)])
def test_argmax(text, thresholds, force):
    matcher = build(text)
    assert type(matcher) is ArgMaxMatcher
    assert (matcher.matched_threshold, matcher.unmatched_threshold) == thresholds
    assert matcher.force_match_for_each_row is force


def test_bipartite():
    assert type(build("bipartite_matcher {}")) is GreedyBipartiteMatcher


def test_wrong_configs_are_refused():
    with pytest.raises(ValueError, match="matcher: set one of .*argmax_matcher.*none of them"):
        build("")
    with pytest.raises(ValueError, match="must differ"):
        build("argmax_matcher { negatives_lower_than_unmatched: false }")
