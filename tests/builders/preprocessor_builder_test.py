"""Augmentations built from text."""

import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import preprocessor_builder
from object_detection.core import preprocessor
from object_detection.protos import preprocessor_pb2

# Settings without which a block with its default values cannot work.
NEEDED = {
    "normalize_image": "original_maxval: 255",
    "subtract_channel_mean": "means: [1, 2, 3]",
    "random_absolute_pad_image": "max_height_padding: 5 max_width_padding: 5",
    "random_resize_method": "target_height: 10 target_width: 12",
    "resize_image": "new_height: 10 new_width: 12",
    "random_scale_crop_and_pad_to_square": "output_size: 20",
    "random_image_scale": "min_scale_ratio: 0.7 max_scale_ratio: 0.7",
    "random_downscale_to_target_pixels": "min_target_pixels: 200 max_target_pixels: 300",
    "random_crop_image": "min_object_covered: 0.3 random_coef: 0.1",
    "ssd_random_crop": "operations { min_object_covered: 0.5 min_aspect_ratio: 0.5 "
                       "max_aspect_ratio: 2 min_area: 0.1 max_area: 1 overlap_thresh: 0.5 }",
}


def build(text):
    return preprocessor_builder.build(
        text_format.Parse(text, preprocessor_pb2.PreprocessingStep()))


def record(boxes, size=(24, 32)):
    boxes = tf.reshape(tf.constant(boxes, tf.float32), [-1, 4])
    count = boxes.shape[0]
    return {
        "image": tf.random.stateless_uniform([*size, 3], [3, 4], maxval=255.0),
        "groundtruth_boxes": boxes,
        "groundtruth_classes": tf.ones([count], tf.int64),
        "groundtruth_weights": tf.ones([count]),
        "groundtruth_instance_masks": tf.ones([count, *size], tf.uint8),
        "multiclass_scores": tf.ones([count, 3]),
    }


@pytest.mark.parametrize("kind", sorted(preprocessor.AUGMENTATIONS))
@pytest.mark.parametrize("boxes", [[[0.1, 0.2, 0.6, 0.9], [0.5, 0.5, 0.9, 0.8]], []])
def test_every_augmentation_keeps_a_record_sound(kind, boxes):
    step = build(f"{kind} {{ {NEEDED.get(kind, '')} }}")
    traced = tf.function(lambda tensors, seed: step(tensors, seed))
    before = record(boxes)
    for number in range(3):
        seed = tf.constant([7, number])
        got = traced(before, seed)
        assert set(got) == set(before)
        height, width = got["image"].shape[:2]
        count = len(got["groundtruth_boxes"])
        assert got["groundtruth_instance_masks"].shape == [count, height, width]
        assert len(got["groundtruth_classes"]) == len(got["groundtruth_weights"]) == count
        assert got["image"].dtype == tf.float32 and np.isfinite(got["image"]).all()
        if kind not in ("scale_boxes_to_pixel_coordinates",):
            assert (got["groundtruth_boxes"].numpy() >= -1e-6).all()
            assert (got["groundtruth_boxes"].numpy() <= 1 + 1e-6).all()
        again = traced(before, seed)
        for key in got:
            np.testing.assert_array_equal(got[key], again[key])


def test_blocks_without_a_known_step_are_refused():
    with pytest.raises(ValueError, match="the block is empty; set one of"):
        build("")


def test_every_step_of_the_proto_exists():
    assert {field.name for field in preprocessor_pb2.PreprocessingStep.DESCRIPTOR.fields} == set(
        preprocessor.AUGMENTATIONS)


@pytest.mark.parametrize("text, message", [
    ("normalize_image { }", "original_maxval"),
    ("subtract_channel_mean { means: [1] }", "want 3 values"),
    ("random_distort_color { color_ordering: 2 }", "want 0 or 1"),
    ("resize_image { }", "new_height"),
    ("random_pad_image { pad_color: [1, 2] }", "pad_color: want 3"),
    ("random_absolute_pad_image { }", "max_height_padding")])
def test_settings_that_cannot_work_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        build(text)(record([]), tf.constant([1, 2]))


@pytest.mark.parametrize("case, text, key", [
    ("normalize", "normalize_image { original_maxval: 255 target_minval: -1 }", "image"),
    ("subtract_mean", "subtract_channel_mean { means: [123.68, 116.779, 103.939] }", "image"),
    ("gray", "rgb_to_gray { }", "image"),
    ("pixel_boxes", "scale_boxes_to_pixel_coordinates { }", "boxes"),
    *((case, f"{step} {{ probability: 1.0 }}", key)
      for case, step in (("horizontal_flip", "random_horizontal_flip"),
                         ("vertical_flip", "random_vertical_flip"),
                         ("rotation90", "random_rotation90"))
      for key in ("image", "boxes", "masks"))])
def test_results_of_the_original(case, text, key):
    names = {"image": "image", "boxes": "groundtruth_boxes", "masks": "groundtruth_instance_masks"}
    arrays = np.load(shared_files.require("fixtures/tf1/ops/preprocessing.npz"))
    tensors = {name: tf.cast(arrays[f"{case}/in/{short}"], tf.float32)
               for short, name in names.items() if f"{case}/in/{short}" in arrays}
    got = build(text)(tensors, tf.constant([0, 0]))[names[key]]
    expected = arrays[f"{case}/out/{key}"]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
