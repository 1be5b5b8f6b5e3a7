"""Non-max suppression: the original's numbers, worked cases, ties, empty images, static shapes."""

import dataclasses
import json

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.core import nms, post_processing
from object_detection.core.nms import NmsSettings

_SINGLE = ["shared_box", "per_class_box", "no_total_limit", "clip", "clip_frame", "masks_features",
           "soft", "soft_hard_iou", "hard", "pad", "pad_partitioned", "agnostic", "agnostic_masks",
           "agnostic_pad", "agnostic_soft"]
_BATCH = ["batch", "batch_shared", "batch_all", "batch_few", "batch_static", "batch_agnostic",
          "batch_soft", "batch_combined"]
_NAMES = {"score_thresh": "score_threshold", "iou_thresh": "iou_threshold",
          "use_class_agnostic_nms": "use_class_agnostic", "use_combined_nms": "use_combined",
          "use_partitioned_nms": "use_partitioned", "use_hard_nms": "use_hard",
          "pad_to_max_output_size": "use_static_shapes"}


def _case(name):
    folder = shared_files.require("fixtures/tf1/ops")
    params = json.loads((folder / "params.json").read_text())["nms"][name]
    function = params.pop("function")
    settings = NmsSettings(**{_NAMES.get(key, key): value for key, value in params.items()})
    data = np.load(folder / "nms.npz")
    inputs = {k.rsplit("/", 1)[1]: data[k] for k in data.files if k.startswith(f"{name}/in/")}
    outputs = {k.rsplit("/", 1)[1]: data[k] for k in data.files if k.startswith(f"{name}/out/")}
    return function, settings, inputs, outputs


def _check_image(got, expected, count):
    np.testing.assert_array_equal(got.classes[:count], expected["classes"][:count])
    for name in ("boxes", "scores"):
        want = expected[name][:count]
        np.testing.assert_allclose(getattr(got, name)[:count], want, rtol=0,
                                   atol=1e-5 * np.abs(want).max(initial=1.0))
        assert not np.any(getattr(got, name)[count:])
    assert not np.any(got.classes[count:]) and not np.any(got.indices[count:])


def _check_extra(got, inputs, expected, count):
    """What else is known about a candidate is fetched with the indices."""
    rows = got.indices[:count].numpy()
    if "features" in expected:
        np.testing.assert_allclose(inputs["features"][rows], expected["features"][:count])
    if "anchor_indices" in expected:
        np.testing.assert_allclose(inputs["anchor_indices"][rows],
                                   expected["anchor_indices"][:count])
    if "masks" in expected:
        np.testing.assert_allclose(inputs["masks"][rows, got.classes[:count].numpy()],
                                   expected["masks"][:count])


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("name", _SINGLE)
def test_one_image_equals_the_original(name, static):
    function, settings, inputs, expected = _case(name)
    settings = dataclasses.replace(settings, use_static_shapes=static)
    got = getattr(post_processing, function)(
        tf.constant(inputs["boxes"]), tf.constant(inputs["scores"]), inputs.get("clip_window"),
        settings)
    assert got.num_valid == expected["num_valid"]
    _check_image(got, expected, int(expected["num_valid"]))
    _check_extra(got, inputs, expected, int(expected["num_valid"]))


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("name", _BATCH)
def test_batch_equals_the_original(name, static):
    _, settings, inputs, expected = _case(name)
    settings = dataclasses.replace(settings, use_static_shapes=static)
    run = tf.function(post_processing.batch_multiclass_non_max_suppression)
    got = run(tf.constant(inputs["boxes"]), tf.constant(inputs["scores"]),
              inputs.get("clip_window"), settings, inputs.get("num_valid_boxes"))
    np.testing.assert_array_equal(got.num_valid, expected["num_detections"])
    for i, count in enumerate(expected["num_detections"]):
        image = type(got)(*(field[i] for field in got))
        _check_image(image, {k: v[i] for k, v in expected.items()}, count)
        _check_extra(image, {k: v[i] for k, v in inputs.items()},
                     {k: v[i] for k, v in expected.items()}, count)


_BOTH = pytest.mark.parametrize("static", [False, True])


def _run(boxes, scores, window=None, num_valid=None, **settings):
    boxes = tf.reshape(tf.constant(boxes, tf.float32), [1, len(scores), -1, 4])
    return post_processing.batch_multiclass_non_max_suppression(
        boxes, tf.constant([scores], tf.float32), window, NmsSettings(**settings), num_valid)


@_BOTH
def test_thresholds_are_strict(static):
    # The second box shares half of the first: an overlap equal to the threshold is kept. The
    # third has exactly the score threshold and is not.
    got = _run([[0, 0, 2, 2], [0, 0, 2, 1], [5, 5, 6, 6]], [[0.9], [0.8], [0.25]],
               iou_threshold=0.5, score_threshold=0.25, max_total_size=3, use_static_shapes=static)
    np.testing.assert_array_equal(got.indices, [[0, 1, 0]])
    np.testing.assert_array_equal(got.num_valid, [2])


@_BOTH
def test_ties_go_by_class_then_row(static):
    boxes = [[i * 10, 0, i * 10 + 5, 5] for i in range(4)]
    got = _run(boxes, [[0.5, 0.5]] * 4, max_total_size=6, use_static_shapes=static)
    np.testing.assert_array_equal(got.classes, [[0, 0, 0, 0, 1, 1]])
    np.testing.assert_array_equal(got.indices, [[0, 1, 2, 3, 0, 1]])


@_BOTH
def test_equal_boxes_with_equal_scores_keep_the_first(static):
    got = _run([[0, 0, 1, 1]] * 3, [[0.5]] * 3, max_total_size=3, use_static_shapes=static)
    np.testing.assert_array_equal(got.num_valid, [1])
    np.testing.assert_array_equal(got.indices, [[0, 0, 0]])


@_BOTH
def test_box_outside_the_window_frees_its_place_in_the_image_but_not_in_the_class(static):
    boxes = [[20, 20, 30, 30], [0, 0, 4, 4], [6, 6, 12, 10]]
    scores = [[0.9], [0.8], [0.7]]
    window = tf.constant([0.0, 0.0, 10.0, 10.0])
    got = _run(boxes, scores, window, max_total_size=2, use_static_shapes=static)
    np.testing.assert_array_equal(got.indices, [[1, 2]])
    np.testing.assert_array_equal(got.boxes, [[[0, 0, 4, 4], [6, 6, 10, 10]]])
    got = _run(boxes, scores, window, max_total_size=2, max_size_per_class=2,
               use_static_shapes=static)
    np.testing.assert_array_equal(got.num_valid, [1])


@_BOTH
def test_frame_of_a_window_per_image(static):
    boxes = tf.constant([[[[0, 0, 5, 10]]], [[[0, 0, 5, 10]]]], tf.float32)
    got = post_processing.batch_multiclass_non_max_suppression(
        boxes, tf.ones([2, 1, 1]), tf.constant([[0, 0, 10, 10], [0, 0, 5, 20]], tf.float32),
        NmsSettings(max_total_size=1, change_coordinate_frame=True, use_static_shapes=static))
    np.testing.assert_allclose(got.boxes, [[[0, 0, 0.5, 1]], [[0, 0, 1, 0.5]]])


@_BOTH
def test_rows_past_num_valid_and_nan_scores_take_no_part(static):
    boxes = [[i * 10, 0, i * 10 + 5, 5] for i in range(3)]
    got = _run(boxes, [[np.nan], [0.2], [0.9]], None, tf.constant([2]), max_total_size=2,
               use_static_shapes=static)
    np.testing.assert_array_equal(got.indices, [[1, 0]])
    np.testing.assert_array_equal(got.num_valid, [1])


@_BOTH
def test_boxes_without_area_never_overlap_and_go_unless_the_image_comes_alone(static):
    settings = NmsSettings(max_total_size=3, use_static_shapes=static)
    boxes = tf.constant([[[1.0, 1, 1, 1]], [[1, 1, 1, 1]], [[0, 0, 2, 1]]])
    scores = tf.constant([[0.9], [0.8], [0.7]])
    got = post_processing.multiclass_non_max_suppression(boxes, scores, None, settings)
    assert got.num_valid == 3
    got = post_processing.batch_multiclass_non_max_suppression(
        boxes[None], scores[None], None, settings)
    np.testing.assert_array_equal(got.indices, [[2, 0, 0]])


@_BOTH
@pytest.mark.parametrize("agnostic", [False, True])
@pytest.mark.parametrize("sigma", [0.0, 0.5])
@pytest.mark.parametrize("count", [0, 3])
def test_no_candidates(static, agnostic, sigma, count):
    settings = NmsSettings(max_total_size=4, use_static_shapes=static, soft_nms_sigma=sigma,
                           use_class_agnostic=agnostic, score_threshold=0.5)
    dynamic = tf.function(
        lambda b, s: post_processing.batch_multiclass_non_max_suppression(
            b, s, tf.constant([0.0, 0.0, 1.0, 1.0]), settings),
        input_signature=[tf.TensorSpec([None, None, 2, 4]), tf.TensorSpec([None, None, 2])])
    for run in (dynamic, dynamic.python_function):
        got = run(tf.zeros([2, count, 2, 4]), tf.zeros([2, count, 2]))
        np.testing.assert_array_equal(got.num_valid, [0, 0])
        assert got.boxes.shape == [2, 4, 4]
        assert not np.any(got.boxes) and not np.any(got.scores) and not np.any(got.indices)


@pytest.mark.parametrize("agnostic", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_both_ways_agree_on_random_boxes_with_ties(agnostic, shared):
    rng = np.random.default_rng(0)
    corner = rng.uniform(0, 50, [3, 40, 1 if shared else 4, 2])
    boxes = tf.constant(np.concatenate([corner, corner + rng.uniform(5, 30, corner.shape)], -1),
                        tf.float32)
    scores = tf.constant(rng.integers(0, 12, [3, 40, 4]) / 12, tf.float32)
    native, static = (
        post_processing.batch_multiclass_non_max_suppression(
            boxes, scores, tf.constant([5.0, 5.0, 60.0, 60.0]),
            NmsSettings(0.1, 0.4, 9, 30, use_class_agnostic=agnostic, use_static_shapes=flag),
            tf.constant([40, 17, 0]))
        for flag in (False, True))
    tf.nest.map_structure(np.testing.assert_array_equal, native, static)
    assert native.num_valid[0] > 5 and native.num_valid[2] == 0


@pytest.mark.parametrize("shared", [False, True])
def test_tiles_agree_with_single_steps(shared):
    rng = np.random.default_rng(2)
    corner = rng.uniform(0, 300, [2, 1 if shared else 2, 700, 2])
    boxes = tf.constant(np.concatenate([corner, corner + rng.uniform(-5, 60, corner.shape)], -1),
                        tf.float32)
    scores = tf.constant(rng.integers(0, 300, [2, 2, 700]) / 300, tf.float32)
    scores = tf.where(scores > 0.1, scores, float("-inf"))
    scores = tf.concat([scores[:1], tf.where(scores[1:] > 0.9, scores[1:], float("-inf"))], axis=0)
    for slots, threshold in ((30, 0.5), (600, 0.3)):
        settings = NmsSettings(iou_threshold=threshold)
        one_by_one = tf.function(nms.greedy)(boxes, scores, slots, settings)
        tf.nest.map_structure(np.testing.assert_array_equal, one_by_one,
                              tf.function(nms.tiled)(boxes, scores, slots, settings))
        filled = np.sum(one_by_one[1] > float("-inf"), axis=-1)
        assert np.all(filled == 30) if slots == 30 else np.all((filled > 30) & (filled < 600))


def test_many_candidates_compile():
    rng = np.random.default_rng(3)
    corner = rng.uniform(0, 300, [1, 2100, 1, 2])
    boxes = tf.constant(np.concatenate([corner, corner + 40], axis=-1), tf.float32)
    scores = tf.constant(rng.uniform(0, 1, [1, 2100, 1]), tf.float32)
    settings = NmsSettings(0.1, 0.4, 60, 60, use_static_shapes=True)
    plain = post_processing.batch_multiclass_non_max_suppression
    compiled = tf.function(plain, jit_compile=True)(boxes, scores, None, settings)
    native = plain(boxes, scores, None, dataclasses.replace(settings, use_static_shapes=False))
    tf.nest.map_structure(np.testing.assert_array_equal, compiled, native)


def test_static_shapes_compile():
    settings = NmsSettings(0.1, 0.4, 9, 30, use_static_shapes=True, soft_nms_sigma=0.1)
    window = tf.constant([0.0, 0.0, 1.0, 1.0])
    rng = np.random.default_rng(1)
    boxes = tf.constant(rng.uniform(0, 1, [2, 20, 1, 4]), tf.float32)
    scores = tf.constant(rng.uniform(0, 1, [2, 20, 3]), tf.float32)
    plain = post_processing.batch_multiclass_non_max_suppression
    compiled = tf.function(plain, jit_compile=True)(boxes, scores, window, settings)
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), compiled,
                          plain(boxes, scores, window, settings))


@pytest.mark.parametrize("spread", [600.0, 3.0])  # few overlaps; so many that all are looked at
@pytest.mark.parametrize("agnostic", [False, True])
def test_looking_at_the_best_first_changes_nothing(spread, agnostic):
    rng = np.random.default_rng(5)
    corner = rng.uniform(0, spread, [2, 5000, 1, 2])
    boxes = tf.constant(np.concatenate([corner, corner + 40], axis=-1), tf.float32)
    scores = tf.constant(rng.integers(0, 900, [2, 5000, 2]) / 900, tf.float32)  # with ties
    window = tf.constant([0.0, 0.0, 300.0, 300.0])  # many boxes of high scores lie outside
    settings = NmsSettings(0.1, 0.4, 200, 70, use_class_agnostic=agnostic)
    plain = post_processing.batch_multiclass_non_max_suppression
    got = tf.function(lambda b, s: plain(b, s, window, settings), input_signature=[
        tf.TensorSpec([None, None, 1, 4]), tf.TensorSpec([None, None, 2])])(boxes, scores)
    static = plain(boxes, scores, window, dataclasses.replace(settings, use_static_shapes=True))
    tf.nest.map_structure(np.testing.assert_array_equal, got, static)
    # Without classes the limit holds before boxes outside the window are dropped.
    assert np.all(got.num_valid == 70) == (spread > 100 and not agnostic)


_THREE_CLASSES = [[0.9, 0.8, 0.2], [0.7, 0.1, 0.85], [0.3, 0.6, 0.5]]


@_BOTH
def test_several_classes_per_box(static):
    # Row 1 is dropped for its overlap with row 0, whatever its classes; row 2 stands alone.
    got = _run([[0, 0, 10, 10], [0, 0, 10, 9], [50, 0, 60, 10]], _THREE_CLASSES, iou_threshold=0.5,
               use_class_agnostic=True, max_classes_per_detection=2, max_total_size=5,
               use_static_shapes=static)
    np.testing.assert_array_equal(got.num_valid, [4])
    np.testing.assert_allclose(got.scores, [[0.9, 0.8, 0.6, 0.5, 0.0]])
    np.testing.assert_array_equal(got.classes, [[0, 1, 1, 2, 0]])
    np.testing.assert_array_equal(got.indices, [[0, 0, 2, 2, 0]])
    np.testing.assert_array_equal(got.boxes[0, :, 0], [0, 0, 50, 50, 0])


@_BOTH
@pytest.mark.parametrize("limits, scores", [
    (dict(score_threshold=0.55), [0.9, 0.8, 0.6, 0.0]),  # each class for itself
    (dict(max_total_size=3), [0.9, 0.8, 0.6]),  # detections, not boxes
    (dict(max_classes_per_detection=9), [0.9, 0.8, 0.6, 0.5]),  # more than there are
    (dict(use_class_agnostic=False), [0.9, 0.85, 0.8, 0.6])])  # no effect
def test_limits_with_several_classes_per_box(static, limits, scores):
    settings = dict(iou_threshold=0.5, use_class_agnostic=True, max_classes_per_detection=2,
                    max_total_size=4, use_static_shapes=static)
    got = _run([[0, 0, 10, 10], [0, 0, 10, 9], [50, 0, 60, 10]], _THREE_CLASSES,
               **{**settings, **limits})
    np.testing.assert_allclose(got.scores, [scores])


def test_soft_suppression_lowers_all_classes_of_a_box():
    # Overlap 0.9, so that row 1 keeps exp(-0.5 / 0.5 * 0.81) = 0.4449 of its scores.
    got = _run([[0, 0, 10, 10], [0, 0, 10, 9]], [[0.9, 0.1], [0.8, 0.4]], soft_nms_sigma=0.5,
               iou_threshold=1.0, use_class_agnostic=True, max_classes_per_detection=2,
               max_total_size=4)
    np.testing.assert_allclose(got.scores, [[0.9, 0.8 * 0.44486, 0.4 * 0.44486, 0.1]], rtol=1e-4)


def test_the_class_of_a_further_class_takes_the_box_of_the_best_one():
    got = _run([[[0, 0, 1, 1], [5, 5, 9, 9]]], [[0.9, 0.8]], use_class_agnostic=True,
               max_classes_per_detection=2, max_total_size=2)
    np.testing.assert_array_equal(got.boxes, [[[0, 0, 1, 1], [0, 0, 1, 1]]])


@pytest.mark.parametrize("kernel", [dict(use_combined=True), dict(use_partitioned=True)])
def test_the_kernel_asked_for_changes_nothing(kernel):
    """TensorFlow's combined kernel agrees where boxes lie in [0, 1]; elsewhere it would cut them
    to it, whatever the window, and give no indices."""
    rng = np.random.default_rng(6)
    corner = rng.uniform(0, 0.6, [2, 80, 3, 2])
    boxes = tf.constant(np.concatenate([corner, corner + 0.3], axis=-1), tf.float32)
    scores = tf.constant(rng.uniform(0, 1, [2, 80, 3]), tf.float32)
    combined = tf.image.combined_non_max_suppression(boxes, scores, 9, 20, 0.4, 0.1)
    got = post_processing.batch_multiclass_non_max_suppression(
        boxes, scores, None, NmsSettings(0.1, 0.4, 9, 20, **kernel))
    np.testing.assert_array_equal(got.boxes, combined.nmsed_boxes)
    np.testing.assert_array_equal(got.scores, combined.nmsed_scores)
    np.testing.assert_array_equal(got.classes, combined.nmsed_classes)
    pixels = post_processing.batch_multiclass_non_max_suppression(
        100.0 * boxes, scores, tf.constant([0.0, 0.0, 100.0, 100.0]),
        NmsSettings(0.1, 0.4, 9, 20, **kernel))
    np.testing.assert_allclose(pixels.boxes, 100.0 * got.boxes)


def test_errors_name_the_setting():
    with pytest.raises(ValueError, match="iou_threshold.*1.5"):
        NmsSettings(iou_threshold=1.5)
    with pytest.raises(ValueError, match="max_classes_per_detection: want at least 1, got 0"):
        NmsSettings(max_classes_per_detection=0)
    with pytest.raises(ValueError, match="change_coordinate_frame"):
        _run([[0, 0, 1, 1]], [[0.5]], change_coordinate_frame=True)
    with pytest.raises(ValueError, match="1 box or one per class"):
        _run([[0, 0, 1, 1]] * 2, [[0.5, 0.5, 0.5]])
