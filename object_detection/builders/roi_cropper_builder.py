"""Builds the operation that cuts the features of regions out of the maps."""

from object_detection.builders import static_shapes
from object_detection.core.roi_align import RoiAlign
from object_detection.core.roi_cropper import RoiCropper
from object_detection.protos import faster_rcnn_pb2
from object_detection.roi_croppers.position_sensitive import PositionSensitiveCropper
from object_detection.roi_croppers.pyramid import LevelRule, PyramidCropper, Rounding
from object_detection.roi_croppers.single_map import SingleMapCropper

Config = faster_rcnn_pb2.FasterRcnn
Pooling = faster_rcnn_pb2.RegionPooling

_NAME = "model.faster_rcnn.region_pooling"
_ROUNDINGS = {Pooling.FLOOR: Rounding.FLOOR, Pooling.NEAREST: Rounding.NEAREST}


def build(config: Config, is_training: bool,
          pyramid_levels: tuple[int, int] | None) -> RoiCropper:
    """Builds the cropper of the second stage.

    Args:
        pyramid_levels: finest and coarsest level of the extractor's maps; None: it gives one map.
    Raises:
        ValueError: for fields that cannot work, naming them.
    """
    _check(config, pyramid_levels)
    if config.second_stage_box_predictor.HasField("rfcn_box_predictor"):
        return _position_sensitive(config)
    align = config.region_pooling.kind == Pooling.ROI_ALIGN
    if pyramid_levels is None and not align:
        return SingleMapCropper(
            config.initial_crop_size, config.maxpool_kernel_size, config.maxpool_stride,
            use_matmul=config.use_matmul_crop_and_resize,
            original_far_edge=config.original_faults.far_edge_crops_blank)
    # RoIAlign reads a single map as a pyramid of one level: stride 8 is level 3, stride 16 level 4.
    level = config.feature_extractor.first_stage_features_stride.bit_length() - 1
    return _pyramid(config, is_training, pyramid_levels or (level, level))


def _pyramid(config: Config, is_training: bool,
             pyramid_levels: tuple[int, int]) -> PyramidCropper:
    pooling, size = config.region_pooling, config.initial_crop_size
    min_level, last = pyramid_levels
    # The original counts the last level but one as the one of the canonical size, not level 4.
    canonical = pooling.canonical_level if pooling.HasField("canonical_level") else last - 1
    align = None
    if pooling.kind == Pooling.ROI_ALIGN:
        align = RoiAlign(size, size, pooling.sampling_ratio, pooling.aligned)
    # The fault is the native kernel's, which the original does not use with one of these.
    other_way = config.use_static_shapes or config.use_matmul_crop_and_resize
    return PyramidCropper(
        crop_size=size, min_level=min_level,
        max_level=pooling.max_level if pooling.HasField("max_level") else last,
        rule=LevelRule(canonical, pooling.canonical_size, _ROUNDINGS[pooling.level_rounding]),
        pool_size=config.maxpool_kernel_size, pool_stride=config.maxpool_stride,
        use_static_shapes=static_shapes.are_wanted(config, is_training),
        original_far_edge=config.original_faults.far_edge_crops_blank and not other_way,
        roi_align=align)


def _position_sensitive(config: Config) -> PositionSensitiveCropper:
    head = config.second_stage_box_predictor.rfcn_box_predictor
    return PositionSensitiveCropper(
        num_bins=(head.num_spatial_bins_height, head.num_spatial_bins_width),
        crop_size=(head.crop_height, head.crop_width),
        # As the original: with static shapes, R-FCN always samples by matrix products.
        use_matmul=config.use_matmul_crop_and_resize or config.use_static_shapes,
        original_far_edge=config.original_faults.far_edge_crops_blank)


def _check(config: Config, pyramid_levels: tuple[int, int] | None) -> None:
    pooling = config.region_pooling
    rfcn = config.second_stage_box_predictor.HasField("rfcn_box_predictor")
    if rfcn and pyramid_levels is not None:
        raise ValueError("model.faster_rcnn.second_stage_box_predictor.rfcn_box_predictor: crops "
                         "from one map, and this feature extractor gives a pyramid; use "
                         "mask_rcnn_box_predictor")
    if rfcn and config.HasField("region_pooling"):
        raise ValueError(f"{_NAME}: has no effect on R-FCN, which pools by position; remove it")
    if pooling.sampling_ratio < 1:
        raise ValueError(f"{_NAME}.sampling_ratio: want at least 1, got {pooling.sampling_ratio}")
    if pooling.canonical_size <= 0:
        raise ValueError(f"{_NAME}.canonical_size: want above 0 pixels, got "
                         f"{pooling.canonical_size}")
    if not pooling.HasField("max_level"):
        return
    if pyramid_levels is None:
        raise ValueError(f"{_NAME}.max_level: this feature extractor gives one map, not a pyramid; "
                         "remove the field")
    if not pyramid_levels[0] <= pooling.max_level <= pyramid_levels[1]:
        raise ValueError(f"{_NAME}.max_level: want one of the pyramid's levels, "
                         f"{pyramid_levels[0]} to {pyramid_levels[1]}, got {pooling.max_level}")
