import io

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image, ImageColor

from object_detection.utils import drawing
from object_detection.utils import visualization_utils as viz

CATEGORIES = {1: {"id": 1, "name": "cat"}, 2: {"id": 2, "name": "dog"}}


def blank(height=40, width=60):
    return np.zeros([height, width, 3], np.uint8)


def color_of(name):
    return ImageColor.getrgb(name)


def test_standard_colors_are_126_names_that_pillow_knows():
    assert len(viz.STANDARD_COLORS) == len(set(viz.STANDARD_COLORS)) == 126
    assert viz.STANDARD_COLORS[:3] == ["AliceBlue", "Chartreuse", "Aqua"]
    assert viz.STANDARD_COLORS[-1] == "YellowGreen"
    for name in viz.STANDARD_COLORS:
        color_of(name)


def test_a_box_is_a_frame_of_the_asked_thickness():
    image = blank()
    viz.draw_bounding_box_on_image_array(image, 10, 20, 30, 50, "red", 2,
                                         use_normalized_coordinates=False)
    np.testing.assert_array_equal(image[10, 20], [255, 0, 0])
    np.testing.assert_array_equal(image[11, 21], [255, 0, 0])
    assert not image[12:29, 22:49].any()  # the inside is left alone
    assert not image[:10].any() and not image[:, :20].any()


def test_a_normalized_box_beyond_the_image_is_drawn_along_its_border():
    image = blank()
    viz.draw_bounding_box_on_image_array(image, -0.5, -0.5, 1.5, 1.5, "red", 1)
    assert (image[0, :, 0] == 255).all() and (image[:, -1, 0] == 255).all()
    assert not image[1:-1, 1:-1].any()


@pytest.mark.parametrize("box", [[np.nan, 0, 1, 1], [0, 0, np.inf, 1]])
def test_a_box_that_is_not_finite_is_not_drawn(box):
    image = blank()
    viz.draw_bounding_boxes_on_image_array(image, np.array([box]))
    assert not image.any()


def test_swapped_sides_are_drawn_as_the_same_box():
    first, second = blank(), blank()
    viz.draw_bounding_box_on_image_array(first, 0.2, 0.3, 0.8, 0.9)
    viz.draw_bounding_box_on_image_array(second, 0.8, 0.9, 0.2, 0.3)
    np.testing.assert_array_equal(first, second)


def test_boxes_want_four_columns():
    viz.draw_bounding_boxes_on_image_array(blank(), np.zeros([0, 4]))
    with pytest.raises(ValueError, match=r"want shape \[N, 4\], got \[4\]"):
        viz.draw_bounding_boxes_on_image_array(blank(), np.zeros([4]))


def test_a_mask_mixes_its_color_in():
    image = np.full([2, 3, 3], 100, np.uint8)
    mask = np.array([[0, 1, 0], [0, 0, 0]], np.uint8)
    viz.draw_mask_on_image_array(image, mask, "red", alpha=0.4)
    # 0.6 * 100 + 0.4 * 255 = 162, and 0.6 * 100 = 60 where red has no green or blue
    np.testing.assert_array_equal(image[0, 1], [162, 60, 60])
    assert (np.delete(image.reshape(-1, 3), 1, axis=0) == 100).all()


def test_an_empty_mask_changes_nothing():
    image = blank()
    viz.draw_mask_on_image_array(image, np.zeros([40, 60], np.uint8))
    assert not image.any()


@pytest.mark.parametrize("image, mask, message", [
    (blank().astype(np.float32), np.zeros([40, 60], np.uint8), "uint8 images"),
    (blank(), np.zeros([40, 60], np.float32), "want uint8, got float32"),
    (blank(), np.full([40, 60], 255, np.uint8), "values 0 and 1"),
    (blank(), np.zeros([33, 33], np.uint8), "reframe_box_masks_to_image_masks")])
def test_masks_that_cannot_be_drawn_say_why(image, mask, message):
    with pytest.raises(ValueError, match=message):
        viz.draw_mask_on_image_array(image, mask)


def test_keypoints_and_edges_of_points_that_are_there():
    image = blank()
    points = np.array([[0.5, 0.25], [0.5, 0.75], [np.nan, 0.5], [0.1, 0.5]])
    viz.draw_keypoints_on_image_array(
        image, points, np.array([0.9, 0.9, 0.9, 0.2]), keypoint_edges=[(0, 1), (0, 3), (1, 9)],
        radius=1)
    np.testing.assert_array_equal(image[20, 15], [255, 0, 0])
    np.testing.assert_array_equal(image[20, 30], color_of("green"))
    assert not image[:15].any()  # the fourth point scores too low, and so its edge is gone


def draw(image, boxes, classes, scores, **options):
    return viz.visualize_boxes_and_labels_on_image_array(
        image, np.array(boxes, float).reshape(-1, 4), np.array(classes), scores, CATEGORIES,
        **options)


def test_detections_are_drawn_in_place_in_the_color_of_their_class():
    image = blank()
    result = draw(image, [[10, 20, 30, 50]], [2], np.array([0.9]), skip_labels=True,
                  skip_scores=True)
    assert result is image
    np.testing.assert_array_equal(image[10, 20], color_of(viz.STANDARD_COLORS[2]))
    np.testing.assert_array_equal(image[11, 20], color_of(viz.STANDARD_COLORS[2]))


def test_a_score_must_be_above_the_threshold():
    image = blank()
    draw(image, [[10, 20, 30, 50]], [1], np.array([0.5]))
    assert not image.any()


def test_no_detections_leave_the_image_as_it_is():
    image = blank()
    draw(image, [], [], np.zeros([0]), instance_masks=np.zeros([0, 40, 60], np.uint8))
    assert not image.any()


def test_at_most_max_boxes_are_drawn_and_none_or_zero_means_all():
    boxes = [[2, 2, 8, 8], [12, 12, 18, 18], [22, 22, 28, 28]]
    for limit, expected in ((1, 1), (None, 3), (0, 3)):
        image = blank()
        draw(image, boxes, [1, 1, 1], np.array([0.9, 0.8, 0.7]), max_boxes_to_draw=limit,
             skip_labels=True, skip_scores=True)
        drawn = sum(image[y, x].any() for y, x in ((2, 2), (12, 12), (22, 22)))
        assert drawn == expected


def test_ground_truth_has_one_color_and_no_label(monkeypatch):
    monkeypatch.setattr(drawing, "draw_labels", lambda image, labels: seen.extend(labels))
    seen = []
    image = np.full([40, 60, 3], 255, np.uint8)
    draw(image, [[10, 20, 30, 50]], [1], None, groundtruth_box_visualization_color="blue")
    np.testing.assert_array_equal(image[10, 20], [0, 0, 255])
    assert [label.lines for label in seen] == [()]


@pytest.mark.parametrize("options, expected", [
    ({}, "dog: 87%"), ({"skip_scores": True}, "dog"), ({"skip_labels": True}, "87%"),
    ({"agnostic_mode": True}, "87%"), ({"track_ids": np.array([7])}, "dog: 87%: ID 7"),
    ({"track_ids": np.array([7]), "skip_track_ids": True}, "dog: 87%")])
def test_what_a_label_says(monkeypatch, options, expected):
    seen = []
    monkeypatch.setattr(drawing, "draw_labels", lambda image, labels: seen.extend(labels))
    draw(blank(), [[10, 20, 30, 50]], [2], np.array([0.87]), **options)
    assert [label.lines for label in seen] == [(expected,)]


def test_equal_boxes_share_a_frame_and_unknown_classes_read_na(monkeypatch):
    seen = []
    monkeypatch.setattr(drawing, "draw_labels", lambda image, labels: seen.extend(labels))
    draw(blank(), [[1, 1, 9, 9], [1, 1, 9, 9]], [1.0, 9.0], np.array([0.9, 0.8]))
    assert [label.lines for label in seen] == [("cat: 90%", "N/A: 80%")]


@pytest.mark.parametrize("height, width", [(1, 1), (12, 9), (40, 60), (600, 20), (900, 1200)])
def test_labels_stay_inside_and_readable_on_images_of_any_size(height, width):
    image = blank(height, width)
    boxes = [[0, 0, 1, 1], [0.9, 0.9, 1, 1], [0.4, 0.9, 0.6, 1.0]]
    draw(image, boxes, [1, 2, 1], np.ones(3), use_normalized_coordinates=True)
    assert image.any()
    if width > 50:  # dark text on the bright background of the label
        label = image[:12, :40].reshape(-1, 3).astype(int)
        assert (label.sum(axis=1) < 100).any() and (label.sum(axis=1) > 300).any()


def test_label_text_contrasts_with_its_background():
    for name in viz.STANDARD_COLORS:
        red, green, blue = color_of(name)
        brightness = 0.299 * red + 0.587 * green + 0.114 * blue
        text = 0 if drawing._text_color(name) == (0, 0, 0) else 255
        assert abs(brightness - text) > 100, name


@pytest.mark.parametrize("image, message", [
    (np.zeros([4, 4], np.uint8), r"\[height, width, 3\], got \(4, 4\)"),
    (np.zeros([4, 4, 4], np.uint8), r"got \(4, 4, 4\)"), ([[0]], "got list"),
    (np.zeros([0, 4, 3], np.uint8), "no pixels")])
def test_images_that_cannot_be_drawn_on(image, message):
    with pytest.raises(ValueError, match=message):
        draw(image, [[0, 0, 1, 1]], [1], np.ones(1))


def test_a_read_only_image_says_so():
    image = blank()
    image.flags.writeable = False
    with pytest.raises(ValueError, match=r"np\.array\(image\)"):
        draw(image, [[0, 0, 1, 1]], [1], np.ones(1))


def test_png_bytes_and_file_hold_the_same_pixels(tmp_path):
    image = np.random.default_rng(0).integers(0, 255, [7, 5, 3], np.uint8)
    path = tmp_path / "picture.out"
    viz.save_image_array_as_png(image, str(path))
    for data in (path.read_bytes(), viz.encode_image_array_as_png_str(image)):
        decoded = Image.open(io.BytesIO(data))
        assert decoded.format == "PNG"
        np.testing.assert_array_equal(np.asarray(decoded), image)


def batch_of(count, height=20, width=30, channels=3):
    images = tf.zeros([count, height, width, channels], tf.uint8)
    boxes = tf.tile([[[0.5, 0.5, 0.9, 0.9]]], [count, 1, 1])
    return images, boxes, tf.ones([count, 1], tf.int64), tf.ones([count, 1])


@pytest.mark.parametrize("channels", [1, 3, 5])
def test_tensors_are_drawn_eagerly_and_in_a_function(channels):
    images, boxes, classes, scores = batch_of(2, channels=channels)
    eager = viz.draw_bounding_boxes_on_image_tensors(images, boxes, classes, scores, CATEGORIES)
    traced = tf.function(lambda *args: viz.draw_bounding_boxes_on_image_tensors(*args, CATEGORIES))
    assert eager.dtype == tf.uint8 and eager.shape == [2, 20, 30, 3]
    np.testing.assert_array_equal(eager, traced(images, boxes, classes, scores))
    assert (eager[0].numpy() == color_of(viz.STANDARD_COLORS[1])).all(axis=-1).any()


def test_an_empty_batch_of_tensors():
    drawn = viz.draw_bounding_boxes_on_image_tensors(*batch_of(0), CATEGORIES)
    assert drawn.shape == [0, 20, 30, 3]


def test_padding_is_cut_off_before_drawing_and_sizes_are_restored():
    images, boxes, classes, scores = batch_of(2)
    drawn = viz.draw_bounding_boxes_on_image_tensors(
        images, boxes, classes, scores, CATEGORIES,
        original_image_spatial_shape=tf.constant([[20, 20], [40, 30]]),
        true_image_shape=tf.constant([[10, 10, 3], [20, 15, 3]]),
        instance_masks=tf.ones([2, 1, 20, 30], tf.uint8))
    assert drawn.shape == [2, 40, 30, 3]  # the larger of both
    assert drawn[0, 10, 10].numpy().any() and not drawn[0, 20:].numpy().any()
    assert drawn[1, 20, 15].numpy().any()
    # The mask of the padded size follows the image.
    assert drawn[1, 39, 29].numpy().any() and not drawn[0, :, 20:].numpy().any()


def evaluation(count=1):
    images, boxes, classes, scores = batch_of(count)
    return {"original_image": images, "detection_boxes": boxes, "detection_classes": classes,
            "detection_scores": 0.0 * scores, "groundtruth_boxes": boxes,
            "groundtruth_classes": classes}


def test_detections_left_and_ground_truth_right():
    pictures = viz.draw_side_by_side_evaluation_image(evaluation(2), CATEGORIES)
    assert [picture.shape for picture in pictures] == [[1, 20, 60, 3]] * 2
    left, right = np.split(pictures[0].numpy(), 2, axis=2)
    assert not left.any() and right.any()  # the scores are 0, ground truth needs none


def test_one_image_may_come_without_batch_dimension_and_the_dict_stays_as_it_is():
    given = {key: value if key == "original_image" else value[0]
             for key, value in evaluation().items()}
    shapes = {key: value.shape for key, value in given.items()}
    (picture,) = viz.draw_side_by_side_evaluation_image(given, CATEGORIES)
    assert picture.shape == [1, 20, 60, 3]
    assert {key: value.shape for key, value in given.items()} == shapes


def test_padding_rows_of_ground_truth_are_not_drawn():
    given = evaluation() | {"num_groundtruth_boxes_per_image": tf.constant([0])}
    (picture,) = viz.draw_side_by_side_evaluation_image(given, CATEGORIES)
    assert not picture.numpy().any()


def test_pictures_of_an_evaluation_are_limited_and_written(tmp_path):
    visualizer = viz.VisualizeSingleFrameDetections(CATEGORIES, max_examples_to_draw=3)
    for _ in range(2):
        kept = visualizer.get_estimator_eval_metric_ops(evaluation(2))
    assert sorted(kept) == [f"Detections_Left_Groundtruth_Right/{i}" for i in range(3)]
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        visualizer.write_summaries(7)
    (path,) = tmp_path.iterdir()
    values = [value for record in tf.data.TFRecordDataset(str(path))
              for value in tf.compat.v1.Event.FromString(record.numpy()).summary.value]
    assert [value.tag for value in values] == sorted(kept)
    assert values[0].metadata.plugin_data.plugin_name == "images"
    width, height, png = values[0].tensor.string_val
    assert (width, height) == (b"60", b"20")
    np.testing.assert_array_equal(tf.io.decode_png(png),
                                  kept["Detections_Left_Groundtruth_Right/0"][0])
    visualizer.clear()
    assert len(visualizer.get_estimator_eval_metric_ops(evaluation())) == 1
