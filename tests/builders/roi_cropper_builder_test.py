"""Region pooling from the config: the original by default, every field, errors."""

import pytest
from google.protobuf import text_format

from object_detection.builders import roi_cropper_builder
from object_detection.core.roi_align import RoiAlign
from object_detection.protos import faster_rcnn_pb2
from object_detection.roi_croppers.position_sensitive import PositionSensitiveCropper
from object_detection.roi_croppers.pyramid import LevelRule, PyramidCropper, Rounding
from object_detection.roi_croppers.single_map import SingleMapCropper

SIZES = "initial_crop_size: 14 maxpool_kernel_size: 2 maxpool_stride: 2 "


def _build(text, levels=None, is_training=True):
    config = text_format.Parse(SIZES + text, faster_rcnn_pb2.FasterRcnn())
    return roi_cropper_builder.build(config, is_training, levels)


def test_one_map():
    assert _build("") == SingleMapCropper(14, 2, 2)
    assert _build("use_matmul_crop_and_resize: true") == SingleMapCropper(14, 2, 2, use_matmul=True)


def test_pyramid_by_default_as_the_original():
    # The last level but one of 2 to 6 is that of 224 pixels, and every level is cropped from.
    assert _build("", (2, 6)) == PyramidCropper(14, 2, 6, LevelRule(5, 224.0), 2, 2)
    assert _build("", (3, 6)) == PyramidCropper(14, 3, 6, LevelRule(5), 2, 2)


def test_pyramid_with_static_shapes_where_they_are_wanted():
    static = "use_static_shapes: true "
    assert _build(static, (2, 6)).use_static_shapes
    assert not _build(static, (2, 6), is_training=False).use_static_shapes
    assert _build(static + "use_static_shapes_for_eval: true", (2, 6),
                  is_training=False).use_static_shapes
    assert not _build("use_matmul_crop_and_resize: true", (2, 6)).use_static_shapes


def test_far_edge_fault_is_the_native_kernels_alone():
    fault = "original_faults { far_edge_crops_blank: true } "
    assert _build(fault, (2, 6)).original_far_edge
    assert not _build(fault + "use_matmul_crop_and_resize: true", (2, 6)).original_far_edge


def test_every_field():
    got = _build("""region_pooling { kind: ROI_ALIGN sampling_ratio: 3 aligned: false max_level: 5
                 canonical_level: 4 canonical_size: 200 level_rounding: NEAREST }""", (2, 6))
    assert got == PyramidCropper(14, 2, 5, LevelRule(4, 200.0, Rounding.NEAREST), 2, 2,
                                 roi_align=RoiAlign(14, 14, 3, aligned=False))


@pytest.mark.parametrize("stride, level", [(8, 3), (16, 4)])
def test_roi_align_on_one_map_is_a_pyramid_of_its_stride(stride, level):
    got = _build("region_pooling { kind: ROI_ALIGN } "
                 f"feature_extractor {{ first_stage_features_stride: {stride} }}")
    assert (got.min_level, got.max_level, got.roi_align) == (level, level, RoiAlign(14, 14))


def test_rfcn():
    rfcn = """second_stage_box_predictor { rfcn_box_predictor {
           num_spatial_bins_height: 3 num_spatial_bins_width: 3 crop_height: 6 crop_width: 6 } } """
    assert _build(rfcn) == PositionSensitiveCropper((3, 3), (6, 6))
    with pytest.raises(ValueError, match="region_pooling: has no effect on R-FCN"):
        _build(rfcn + "region_pooling {}")
    with pytest.raises(ValueError, match="rfcn_box_predictor: crops from one map"):
        _build(rfcn, (2, 6))


@pytest.mark.parametrize("text, levels, message", [
    ("sampling_ratio: 0", (2, 6), "sampling_ratio: want at least 1, got 0"),
    ("canonical_size: 0", (2, 6), "canonical_size: want above 0 pixels, got 0"),
    ("max_level: 7", (2, 6), "max_level: want one of the pyramid's levels, 2 to 6, got 7"),
    ("max_level: 4", None, "max_level: this feature extractor gives one map")])
def test_fields_that_cannot_work(text, levels, message):
    with pytest.raises(ValueError, match=message):
        _build(f"region_pooling {{ {text} }}", levels)
