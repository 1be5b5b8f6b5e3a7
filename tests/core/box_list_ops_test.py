"""User operations on box lists: values by hand, empty lists, and the original's numbers."""

import golden
import numpy as np
import op_cases
import pytest
import tensorflow as tf

from object_detection.core import box_list_ops, region_similarity_calculator
from object_detection.core.box_list import BoxList

TOLERANCE = 1e-5


def make(rows, **fields):
    boxlist = BoxList(tf.constant(rows, tf.float32, shape=[len(rows), 4]))
    for name, values in fields.items():
        boxlist.add_field(name, tf.constant(values))
    return boxlist


THREE = [[0, 0, 2, 2], [0, 0, 1, 4], [3, 3, 9, 9]]


def test_fields_follow_their_rows():
    window = tf.constant([0.0, 0.0, 4.0, 4.0])
    kept, rows = box_list_ops.prune_outside_window(make(THREE, scores=[0.1, 0.2, 0.3]), window)
    assert rows.numpy().tolist() == [0, 1]
    np.testing.assert_allclose(kept.get_field("scores"), [0.1, 0.2])


def test_sort_and_filters():
    boxlist = make(THREE, scores=[0.1, 0.9, 0.5])
    down = box_list_ops.sort_by_field(boxlist, "scores")
    up = box_list_ops.sort_by_field(boxlist, "scores", box_list_ops.SortOrder.ascend)
    np.testing.assert_allclose(down.get_field("scores"), [0.9, 0.5, 0.1])
    np.testing.assert_allclose(up.get(), [THREE[0], THREE[2], THREE[1]])
    assert box_list_ops.filter_greater_than(boxlist, 0.5).num_boxes() == 1  # 0.5 is not above
    assert box_list_ops.filter_field_value_equals(boxlist, "scores", 0.5).num_boxes() == 1
    with pytest.raises(ValueError, match="SortOrder"):
        box_list_ops.sort_by_field(boxlist, "scores", 7)


def test_concatenate():
    joined = box_list_ops.concatenate([make(THREE, scores=[1.0, 2.0, 3.0]),
                                       make([], scores=np.zeros([0], np.float32))])
    assert joined.num_boxes() == 3 and joined.get_extra_fields() == ["scores"]
    with pytest.raises(ValueError, match="one or more"):
        box_list_ops.concatenate([])
    with pytest.raises(ValueError, match="no field 'scores'"):
        box_list_ops.concatenate([make(THREE, scores=[1.0, 2.0, 3.0]), make(THREE)])


def test_prune_small_and_non_overlapping():
    assert box_list_ops.prune_small_boxes(make(THREE), 2.0).num_boxes() == 2
    other = make([[0, 0, 2, 2]])
    # The second box has half its area under the other, the third nothing.
    kept, rows = box_list_ops.prune_non_overlapping_boxes(make(THREE), other, 0.5)
    assert rows.numpy().tolist() == [0, 1] and kept.num_boxes() == 2


def test_non_max_suppression_drops_the_weaker_of_two_alike():
    boxlist = make([[0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30]], scores=[0.6, 0.9, 0.7])
    kept = box_list_ops.non_max_suppression(boxlist, 0.5, 10)
    np.testing.assert_allclose(kept.get_field("scores"), [0.9, 0.7])
    with pytest.raises(ValueError, match="thresh"):
        box_list_ops.non_max_suppression(boxlist, 1.5, 10)


def test_range_checks():
    normalized, pixels = make([[0, 0, 1, 1]]), make(THREE)
    with pytest.raises(tf.errors.InvalidArgumentError, match="want pixels"):
        box_list_ops.to_normalized_coordinates(normalized, 10, 10)
    with pytest.raises(tf.errors.InvalidArgumentError, match="want normalized"):
        box_list_ops.to_absolute_coordinates(pixels, 10, 10)
    np.testing.assert_allclose(
        box_list_ops.to_absolute_coordinates(pixels, 2, 1, check_range=False).get()[0],
        [0, 0, 4, 2])


def test_no_boxes():
    empty, window = make([]), tf.constant([0.0, 0.0, 1.0, 1.0])
    assert box_list_ops.clip_to_window(empty, window).num_boxes() == 0
    assert box_list_ops.to_normalized_coordinates(empty, 5, 5).num_boxes() == 0
    assert box_list_ops.to_absolute_coordinates(empty, 5, 5).num_boxes() == 0
    assert box_list_ops.pad_or_clip_box_list(empty, 3).get().shape == [3, 4]
    assert box_list_ops.iou(empty, empty).shape == [0, 0]


def test_static_mask_fills_with_other_rows_and_needs_its_size():
    indicator = tf.constant([False, True, False])
    got = box_list_ops.boolean_mask(make(THREE), indicator, use_static_shapes=True,
                                    indicator_sum=2)
    np.testing.assert_allclose(got.get(), [THREE[1], THREE[0]])
    with pytest.raises(ValueError, match="indicator_sum"):
        box_list_ops.boolean_mask(make(THREE), indicator, use_static_shapes=True)


@pytest.mark.parametrize("case", ["pad", "pad_clip", "boolean_mask", "boolean_mask_static"])
def test_rows_as_in_the_original(case):
    inputs, outputs = op_cases.load("boxes", case)
    boxlist = make(inputs["boxes"], scores=inputs["scores"])
    got = {
        "pad": lambda: box_list_ops.pad_or_clip_box_list(boxlist, 15),
        "pad_clip": lambda: box_list_ops.pad_or_clip_box_list(boxlist, 7),
        "boolean_mask": lambda: box_list_ops.boolean_mask(boxlist, inputs["indicator"]),
        "boolean_mask_static": lambda: box_list_ops.boolean_mask(
            boxlist, inputs["indicator"], use_static_shapes=True, indicator_sum=5),
    }[case]()
    golden.assert_close(got.get(), outputs["boxes"], TOLERANCE)
    golden.assert_close(got.get_field("scores"), outputs["scores"], TOLERANCE)


@pytest.mark.parametrize("case", [
    "clip_filter", "clip_keep", "change_coordinate_frame", "prune_outside",
    "prune_completely_outside", "to_absolute", "to_normalized"])
def test_frames_as_in_the_original(case):
    inputs, outputs = op_cases.load("boxes", case)
    boxlist, window = make(inputs["boxes"]), inputs.get("window")
    got = {
        "clip_filter": lambda: box_list_ops.clip_to_window(boxlist, window),
        "clip_keep": lambda: box_list_ops.clip_to_window(boxlist, window, False),
        "change_coordinate_frame": lambda: box_list_ops.change_coordinate_frame(boxlist, window),
        "prune_outside": lambda: box_list_ops.prune_outside_window(boxlist, window),
        "prune_completely_outside":
            lambda: box_list_ops.prune_completely_outside_window(boxlist, window),
        "to_absolute": lambda: box_list_ops.to_absolute_coordinates(boxlist, 120, 90),
        "to_normalized": lambda: box_list_ops.to_normalized_coordinates(boxlist, 120, 90),
    }[case]()
    if "indices" in outputs:
        got, rows = got
        np.testing.assert_array_equal(rows, outputs["indices"])
    golden.assert_close(got.get(), outputs["boxes"], TOLERANCE)


@pytest.mark.parametrize("case", ["iou", "ioa", "neg_sq_dist", "matched_iou"])
def test_pairs_as_in_the_original(case):
    inputs, outputs = op_cases.load("boxes", case)
    first, second = make(inputs["boxes1"]), make(inputs["boxes2"])
    got = {
        "iou": lambda: {"value": box_list_ops.iou(first, second)},
        "ioa": lambda: {"value": box_list_ops.ioa(first, second)},
        "neg_sq_dist": lambda: {"value": -box_list_ops.sq_dist(first, second)},
        "matched_iou": lambda: {
            "iou": box_list_ops.matched_iou(first, second), "area": box_list_ops.area(first),
            "intersection": box_list_ops.intersection(first, second)},
    }[case]()
    for name, expected in outputs.items():
        golden.assert_close(got[name], expected, TOLERANCE, name)


def test_every_case_of_the_original_is_compared():
    similarity = region_similarity_calculator.ThresholdedIouSimilarity(0.3)
    inputs, outputs = op_cases.load("boxes", "thresholded_iou")
    golden.assert_close(similarity.compare(inputs["boxes1"], inputs["boxes2"], inputs["scores1"]),
                        outputs["value"], TOLERANCE)
    assert op_cases.cases("boxes") == {
        "pad", "pad_clip", "boolean_mask", "boolean_mask_static", "clip_filter", "clip_keep",
        "change_coordinate_frame", "prune_outside", "prune_completely_outside", "to_absolute",
        "to_normalized", "iou", "ioa", "neg_sq_dist", "matched_iou", "thresholded_iou"}
