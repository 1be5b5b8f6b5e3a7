"""Resizers as the configs name them, against the OD API's results."""

import json

import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import image_resizer_builder
from object_detection.core import centered_resizers, resizers
from object_detection.core.half_pixel_resizer import HalfPixelResizer
from object_detection.protos import image_resizer_pb2


def build(text):
    return image_resizer_builder.build(text_format.Parse(text, image_resizer_pb2.ImageResizer()))


def _cases():
    folder = shared_files.find("fixtures/tf1/ops")
    if folder is None:
        return {}
    return json.loads((folder / "params.json").read_text())["image_resizers"]


@pytest.mark.parametrize("case", sorted(_cases()) or [
    pytest.param("none", marks=pytest.mark.skip("shared/fixtures is not beside this checkout"))])
@pytest.mark.parametrize("static", [True, False])
def test_same_pixels_masks_and_shape_as_the_original(case, static):
    arrays = np.load(shared_files.require("fixtures/tf1/ops/image_resizers.npz"))
    image = tf.cast(arrays[f"{case}/in/image"], tf.float32)
    masks = tf.constant(arrays[f"{case}/in/masks"])
    resizer = build(_cases()[case])
    if static:
        got = resizer(image, masks)
    else:
        got = resizers.Resized(*tf.function(lambda i, m: tuple(resizer(i, m)), input_signature=[
            tf.TensorSpec([None, None, 3]), tf.TensorSpec([None, None, None])])(image, masks))
    np.testing.assert_allclose(got.image, arrays[f"{case}/out/image"], rtol=0, atol=2e-3)
    np.testing.assert_array_equal(got.masks, arrays[f"{case}/out/masks"])
    np.testing.assert_array_equal(got.true_shape, arrays[f"{case}/out/shape"])


@pytest.mark.parametrize("text, expected", [
    ("centered_square_resizer { }", centered_resizers.CenteredSquareResizer()),
    ("centered_square_resizer { min_dimension: 4 max_dimension: 8 min_scale: 2 }",
     centered_resizers.CenteredSquareResizer(min_dimension=4, max_dimension=8, min_scale=2.0)),
    ("centered_pad_to_multiple_resizer { min_dimension: 4 multiple: 32 keep_fractions: true }",
     centered_resizers.CenteredPadToMultipleResizer(
         min_dimension=4, multiple=32, keep_fractions=True)),
    ("random_crop_resizer { min_dimension: 64 min_scale: 1.5 }",
     centered_resizers.RandomCropResizer(min_dimension=64, min_scale=1.5))])
def test_the_modes_of_matterport(text, expected):
    assert build(text) == expected


def test_the_resizing_of_torchvision():
    assert build("half_pixel_resizer { }") == HalfPixelResizer(
        min_dimension=800, max_dimension=1333)
    small = build("half_pixel_resizer { min_dimension: 96 max_dimension: 160 }")
    assert small == HalfPixelResizer(min_dimension=96, max_dimension=160)


@pytest.mark.parametrize("text, message", [
    ("", "set one of .*got none"),
    ("keep_aspect_ratio_resizer { min_dimension: 9 max_dimension: 5 }", "min_dimension 9"),
    ("fixed_shape_resizer { height: 0 }", "at least 1"),
    ("pad_to_multiple_resizer { multiple: 0 }", "multiple"),
    ("conditional_shape_resizer { condition: INVALID }", "GREATER or SMALLER"),
    ("centered_square_resizer { max_dimension: 600 }", "centered_square_resizer: want max_dim"),
    ("centered_pad_to_multiple_resizer { multiple: 0 }", "multiple of at least 1"),
    ("random_crop_resizer { min_dimension: 0 }", "random_crop_resizer.min_dimension"),
    ("half_pixel_resizer { min_dimension: 9 max_dimension: 5 }", "half_pixel_resizer: want 1 <=")])
def test_a_bad_block_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        build(text)
