"""Region operation of feature pyramids: each region is cut from the level that fits its size."""

import dataclasses
import enum

import tensorflow as tf

from object_detection.core import crops, roi_cropper
from object_detection.core.roi_align import RoiAlign, multilevel_roi_align
from object_detection.nets import slim_layers as layers

# Keeps a side of a power of two times the canonical size on its own level whatever the rounding.
_TIE = 1e-6


class Rounding(enum.Enum):
    """How a level between two others is rounded: down, or to the nearest, halves to even."""

    FLOOR = "floor"
    NEAREST = "nearest"


@dataclasses.dataclass(frozen=True)
class LevelRule:
    """Chooses the level by the size of a region: large regions from coarse maps.

    Lin et al., Feature Pyramid Networks (arXiv:1612.03144), equation 1.

    Attributes:
        canonical_level: level of a region with a side of `canonical_size`; each doubling of the
            side moves one level up.
        canonical_size: in pixels; the side of the images that backbones are trained on.
        rounding: the paper rounds down.
    """

    canonical_level: int = 4
    canonical_size: float = 224.0
    rounding: Rounding = Rounding.FLOOR

    def levels(self, height: tf.Tensor, width: tf.Tensor, min_level: int,
               max_level: int) -> tf.Tensor:
        """Returns int32 levels in [min_level, max_level]; a region without area gets the finest.

        Args:
            height, width: float32 [...], of the regions, in pixels of the network input.
        """
        side = tf.sqrt(tf.maximum(height, 0.0) * tf.maximum(width, 0.0))
        # Small enough for the finest level, large enough for a logarithm.
        side = tf.maximum(side, 1e-6)
        octaves = tf.math.log(side / self.canonical_size) / tf.math.log(2.0)
        if self.rounding is Rounding.NEAREST:
            octaves = tf.round(octaves)
        else:
            octaves = tf.floor(octaves + _TIE)
        level = self.canonical_level + tf.cast(octaves, tf.int32)
        return tf.clip_by_value(level, min_level, max_level)


@dataclasses.dataclass(frozen=True)
class PyramidCropper(roi_cropper.RoiCropper):
    """Cuts every region from one level, all levels at once.

    Attributes:
        crop_size: side of the sampled grid.
        min_level: level of the finest map; level n has stride 2^n.
        max_level: coarsest level to cut from; coarser maps serve the region proposals alone.
        rule: chooses the level.
        pool_size, pool_stride: of a max pool over the grid; both 1: none.
        use_static_shapes: see `crops.multilevel_crop_and_resize`.
        original_far_edge: see `crops.crop_and_resize`.
        roi_align: average samples in cells instead of crop and resize; its size replaces
            `crop_size`.
    """

    crop_size: int
    min_level: int
    max_level: int
    rule: LevelRule = LevelRule()
    pool_size: int = 1
    pool_stride: int = 1
    use_static_shapes: bool = False
    original_far_edge: bool = False
    roi_align: RoiAlign | None = None

    def crop(self, features: list[tf.Tensor], boxes_normalized: tf.Tensor,
             size: tf.Tensor | None = None) -> tf.Tensor:
        """Crops every region; see RoiCropper.

        Args:
            features: float [B, h, w, depth] each, finest first; at least those up to `max_level`.
            boxes_normalized: float32 [B, P, 4].
            size: float32 [2], the height and width in pixels that the boxes are relative to; None:
                what the finest map covers.
        Raises:
            ValueError: if there are too few maps.
        """
        count = self.max_level - self.min_level + 1
        if len(features) < count:
            raise ValueError(f"regions are cut from levels {self.min_level} to {self.max_level}, "
                             f"but there are only {len(features)} maps")
        features = features[:count]
        if size is None:
            size = tf.cast(tf.shape(features[0])[1:3] * 2 ** self.min_level, tf.float32)
        pixels = boxes_normalized * tf.tile(size, [2])
        levels = self.rule.levels(pixels[..., 2] - pixels[..., 0], pixels[..., 3] - pixels[..., 1],
                                  self.min_level, self.max_level)
        index = levels - self.min_level
        if self.roi_align is not None:
            strides = tf.cast(2 ** levels, tf.float32)
            crop = multilevel_roi_align(features, pixels / strides[..., None], index,
                                        self.roi_align, self.use_static_shapes)
        else:
            crop = crops.multilevel_crop_and_resize(
                features, boxes_normalized, index, [self.crop_size, self.crop_size],
                self.use_static_shapes, self.original_far_edge)
        flat = tf.reshape(crop, [-1, *crop.shape[2:]])
        if self.pool_size == 1 and self.pool_stride == 1:
            return flat
        return layers.max_pool2d(flat, self.pool_size, stride=self.pool_stride)
