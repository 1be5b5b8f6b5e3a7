"""Position-sensitive pooling: the region operation of R-FCN."""

import dataclasses
import math

import tensorflow as tf

from object_detection.core import crops, roi_cropper


@dataclasses.dataclass(frozen=True)
class PositionSensitiveCropper(roi_cropper.RoiCropper):
    """Averages each part of a region from the part's own group of channels, then all parts.

    Dai et al., R-FCN (arXiv:1605.06409), equation 1 and the vote after it.

    Attributes:
        num_bins: rows and columns of parts.
        crop_size: rows and columns of samples in a region, multiples of `num_bins`.
        use_matmul: sample by matrix products, which accelerators without a crop kernel prefer.
        original_far_edge: see `crops.crop_and_resize`.
    """

    num_bins: tuple[int, int]
    crop_size: tuple[int, int]
    use_matmul: bool = False
    original_far_edge: bool = False

    def crop(self, features: list[tf.Tensor], boxes_normalized: tf.Tensor,
             size: tf.Tensor | None = None) -> tf.Tensor:
        """Maps one [B, h, w, parts * depth] to [B * P, 1, 1, depth]; see RoiCropper.

        `size` has no effect.
        """
        (score_map,) = features
        votes = crops.position_sensitive_crop(
            score_map, boxes_normalized, self.crop_size, self.num_bins, global_pool=True,
            use_matmul=self.use_matmul, original_far_edge=self.original_far_edge)
        return tf.reshape(votes, [-1, 1, 1, score_map.shape[-1] // math.prod(self.num_bins)])
