"""Builds the matcher that a `matcher` block asks for."""

from object_detection.core.matcher import Matcher
from object_detection.matchers.argmax_matcher import ArgMaxMatcher
from object_detection.matchers.bipartite_matcher import GreedyBipartiteMatcher
from object_detection.protos import argmax_matcher_pb2, bipartite_matcher_pb2, matcher_pb2


def build(config: matcher_pb2.Matcher) -> Matcher:
    """Builds the matcher named by `matcher_oneof`.

    `use_matmul_gather` is not the matcher's: see `target_assigner_builder`.

    Raises:
        ValueError: if none is set, or its thresholds contradict each other.
    """
    kind = config.WhichOneof("matcher_oneof")
    if kind not in _BUILDERS:
        raise ValueError(f"matcher: set one of {sorted(_BUILDERS)}, got {kind or 'none of them'}")
    return _BUILDERS[kind](getattr(config, kind))


def _argmax(config: argmax_matcher_pb2.ArgMaxMatcher) -> ArgMaxMatcher:
    thresholds = (None, None) if config.ignore_thresholds else (
        config.matched_threshold, config.unmatched_threshold)
    return ArgMaxMatcher(
        *thresholds, negatives_lower_than_unmatched=config.negatives_lower_than_unmatched,
        force_match_for_each_row=config.force_match_for_each_row)


def _bipartite(config: bipartite_matcher_pb2.BipartiteMatcher) -> GreedyBipartiteMatcher:
    return GreedyBipartiteMatcher()


_BUILDERS = {"argmax_matcher": _argmax, "bipartite_matcher": _bipartite}
