"""Crop and resize from one map, then max pool: the region operation of the C4 detectors."""

import dataclasses

import tensorflow as tf

from object_detection.core import crops, roi_cropper
from object_detection.nets import slim_layers as layers


@dataclasses.dataclass(frozen=True)
class SingleMapCropper(roi_cropper.RoiCropper):
    """Bilinear samples on a grid of `crop_size` squared, reduced by a max pool.

    Attributes:
        crop_size: side of the sampled grid (`initial_crop_size`).
        pool_size, pool_stride: of the max pool after it; both 1: none.
        use_matmul: sample by matrix products, which accelerators without a crop kernel prefer.
        original_far_edge: see `crops.crop_and_resize`.
    """

    crop_size: int
    pool_size: int = 1
    pool_stride: int = 1
    use_matmul: bool = False
    original_far_edge: bool = False

    def crop(self, features: list[tf.Tensor], boxes_normalized: tf.Tensor,
             size: tf.Tensor | None = None) -> tf.Tensor:
        """Crops every region of the one map; `size` has no effect. See RoiCropper."""
        (feature_map,) = features
        shape = [self.crop_size, self.crop_size]
        if self.use_matmul:
            crop = crops.matmul_crop_and_resize(feature_map, boxes_normalized, shape)
        else:
            crop = crops.crop_and_resize(feature_map, boxes_normalized, shape,
                                         original_far_edge=self.original_far_edge)
        flat = tf.reshape(crop, [-1, self.crop_size, self.crop_size, feature_map.shape[-1]])
        if self.pool_size == 1 and self.pool_stride == 1:
            return flat
        return layers.max_pool2d(flat, self.pool_size, stride=self.pool_stride)
