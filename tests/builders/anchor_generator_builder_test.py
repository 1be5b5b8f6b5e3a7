"""Anchor generators from config text, with the original's anchors."""

import golden
import numpy as np
import op_cases
import pytest
from google.protobuf import text_format

from object_detection.builders import anchor_generator_builder
from object_detection.protos import anchor_generator_pb2

GRIDS = ["grid_default", "grid_offset", "grid_one"]
PYRAMIDS = ["multiscale_absolute", "multiscale_normalized", "multiscale_odd_image"]


def build(text):
    return anchor_generator_builder.build(
        text_format.Parse(text, anchor_generator_pb2.AnchorGenerator()))


@pytest.mark.parametrize("case", GRIDS)
def test_grid_as_in_the_original(case):
    inputs, outputs = op_cases.load("anchors", case)
    generator = build(op_cases.params("anchors", case))
    (anchors,) = generator.generate([tuple(inputs["feature_map_shape"])])
    golden.assert_close(anchors, outputs["anchors"], 1e-5)
    assert generator.num_anchors_per_location() == outputs["num_per_location"].tolist()


@pytest.mark.parametrize("case", PYRAMIDS)
def test_pyramid_as_in_the_original(case):
    inputs, outputs = op_cases.load("anchors", case)
    generator = build(op_cases.params("anchors", case))
    height, width = inputs["image_size"].tolist()
    levels = generator.generate(inputs["feature_map_shapes"].tolist(), height, width)
    assert generator.num_anchors_per_location() == outputs["num_per_location"].tolist()
    for level, anchors in enumerate(levels):
        golden.assert_close(anchors, outputs[f"anchors_{level}"], 1e-5)


def test_every_case_of_the_original_is_compared():
    assert op_cases.cases("anchors") == {*GRIDS, *PYRAMIDS}


def test_flexible_grid():
    generator = build("""flexible_grid_anchor_generator {
        anchor_grid { base_sizes: [4] aspect_ratios: [1] height_stride: 8 width_stride: 8
                      height_offset: 2 width_offset: 3 }
        normalize_coordinates: false }""")
    np.testing.assert_allclose(generator.generate([(1, 1)])[0], [[0, 1, 4, 5]])


def test_whole_pixels():
    generator = build("whole_pixel_anchor_generator { sizes: [5, 9] aspect_ratios: 1 }")
    fine, coarse = generator.generate([(1, 1), (1, 1)], 4, 4)
    np.testing.assert_array_equal(fine, [[-2, -2, 2, 2]])
    np.testing.assert_array_equal(coarse, [[-4, -4, 4, 4]])


@pytest.mark.parametrize("text, got", [("", "none of them"), ("ssd_anchor_generator {}", "ssd_")])
def test_other_kinds_are_refused_with_the_choices(text, got):
    with pytest.raises(ValueError, match=f"grid_anchor_generator.*got {got}"):
        build(text)
