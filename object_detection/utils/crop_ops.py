"""Bilinear crops of boxes from images and feature maps.

A crop samples a grid whose corners are the corners of the box, where 0 and 1 mean the centres of
the first and last pixel. Shapes: B images, P boxes per image. Users outside `utils` import
`object_detection.core.crops`.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.utils.crop_gradient import crop_bilinear

# A box edge this close to the edge of the map is meant to lie on it.
_ON_EDGE = 1e-6
# The kernel's last sample position is off by up to 5 float32 roundings of 6e-8 each.
_NUDGE = 4e-7


def crop_and_resize(features: tf.Tensor, boxes_normalized: tf.Tensor, crop_size: Sequence[int],
                    original_far_edge: bool = False) -> tf.Tensor:
    """Crops by the native kernel; samples outside the map are 0.

    Args:
        features: float [B, h, w, depth].
        boxes_normalized: float32 [B, P, 4].
        crop_size: height and width of the result.
        original_far_edge: keep a fault of the original. It fills the last row or column of a crop
            that ends at the edge of the map with 0 where rounding puts the sample just outside.
    Returns:
        [B, P, crop height, crop width, depth] of the type of `features`.
    """
    batch, count = (_static_or_dynamic(boxes_normalized, axis) for axis in (0, 1))
    flat = tf.reshape(boxes_normalized, [-1, 4])
    owner = tf.repeat(tf.range(batch), count)
    crops = crop_flat(features, flat, owner, crop_size, original_far_edge)
    crops = tf.cast(crops, features.dtype)
    return tf.reshape(crops, [batch, count, *crop_size, _static_or_dynamic(features, 3)])


def crop_flat(features: tf.Tensor, boxes_normalized: tf.Tensor, owner: tf.Tensor,
              crop_size: Sequence[int] | tf.Tensor, original_far_edge: bool = False,
              method: str = "bilinear") -> tf.Tensor:
    """Crops boxes [R, 4] of any mix of images; the result is float32.

    Args:
        features: [B, h, w, depth]; uint8 is read as it is.
        boxes_normalized: float32 [R, 4].
        owner: int32 [R], the image of each box.
        crop_size: height and width of the result, ints or an int32 tensor [2].
        original_far_edge: see `crop_and_resize`.
        method: "bilinear" or "nearest".
    """
    if not original_far_edge:
        boxes_normalized = _onto_map(boxes_normalized, far=1.0 - _NUDGE)
    if method != "bilinear" or not features.dtype.is_floating:
        readable = features if features.dtype == tf.uint8 else tf.cast(features, tf.float32)
        return tf.image.crop_and_resize(readable, boxes_normalized, owner, crop_size, method=method)
    return crop_bilinear(tf.cast(features, tf.float32), boxes_normalized, owner, crop_size)


def matmul_crop_and_resize(features: tf.Tensor, boxes_normalized: tf.Tensor,
                           crop_size: Sequence[int],
                           extrapolation_value: float = 0.0) -> tf.Tensor:
    """As `crop_and_resize`, by matrix products, for devices without a crop kernel.

    Inside the map the result is the same. Outside, it fades to `extrapolation_value` over the width
    of one pixel instead of jumping to it. All shapes may be static.
    """
    dtype = features.dtype
    features = tf.cast(features, tf.float32) - extrapolation_value
    boxes = _onto_map(tf.cast(boxes_normalized, tf.float32), far=1.0)
    ymin, xmin, ymax, xmax = tf.unstack(boxes, axis=-1)
    height, width = _static_or_dynamic(features, 1), _static_or_dynamic(features, 2)
    rows = _bilinear_kernel(ymin, ymax, crop_size[0], height)
    columns = _bilinear_kernel(xmin, xmax, crop_size[1], width)
    strips = tf.einsum("bpyh,bhwd->bpywd", rows, features)
    crops = tf.einsum("bpxw,bpywd->bpyxd", columns, strips)
    return tf.cast(crops + extrapolation_value, dtype)


def position_sensitive_crop(features: tf.Tensor, boxes_normalized: tf.Tensor,
                            crop_size: Sequence[int], num_spatial_bins: Sequence[int],
                            global_pool: bool, use_matmul: bool = False,
                            original_far_edge: bool = False) -> tf.Tensor:
    """Crops each part of a box from its own group of channels.

    Dai et al., R-FCN (arXiv:1605.06409), section 3: a box is split into bins (rows, then columns),
    and bin i reads the i-th group of depth channels.

    Args:
        features: float [B, h, w, bins * depth].
        boxes_normalized: float32 [B, P, 4].
        crop_size: samples per box; each must be a multiple of the number of bins.
        num_spatial_bins: rows and columns of bins.
        global_pool: average all samples of a box.
        use_matmul: see `matmul_crop_and_resize`.
        original_far_edge: see `crop_and_resize`; without effect for matrix products.
    Returns:
        [B, P, 1, 1, depth] if pooled, else [B, P, crop height, crop width, depth].
    Raises:
        ValueError: if a crop size is no multiple of the bins, or the channels are not.
    """
    bins_y, bins_x = num_spatial_bins
    if min(num_spatial_bins) < 1 or crop_size[0] % bins_y or crop_size[1] % bins_x:
        raise ValueError("position-sensitive crop: crop_size must be a multiple of "
                         f"num_spatial_bins (1 or more), got {list(crop_size)} and "
                         f"{list(num_spatial_bins)}")
    bins = bins_y * bins_x
    channels = features.shape[-1]
    if channels is None or channels % bins:
        raise ValueError(f"position-sensitive crop: {bins} bins need a multiple of {bins} "
                         f"channels, got {channels}")
    cell = [crop_size[0] // bins_y, crop_size[1] // bins_x]
    batch, height, width = (_static_or_dynamic(features, axis) for axis in range(3))
    count, depth = _static_or_dynamic(boxes_normalized, 1), channels // bins
    # One "image" per image and bin: [B * bins, h, w, depth].
    grouped = tf.transpose(tf.reshape(features, [batch, height, width, bins, depth]),
                           [0, 3, 1, 2, 4])
    grouped = tf.reshape(grouped, [batch * bins, height, width, depth])
    parts = tf.reshape(_split_boxes(boxes_normalized, bins_y, bins_x), [batch * bins, count, 4])
    if use_matmul:
        crops = matmul_crop_and_resize(grouped, parts, cell)
    else:
        crops = crop_and_resize(grouped, parts, cell, original_far_edge)
    crops = tf.reshape(crops, [batch, bins_y, bins_x, count, *cell, depth])
    if global_pool:
        return tf.reduce_mean(crops, axis=[1, 2, 4, 5])[:, :, None, None, :]
    crops = tf.transpose(crops, [0, 3, 1, 4, 2, 5, 6])
    return tf.reshape(crops, [batch, count, crop_size[0], crop_size[1], depth])


def _onto_map(boxes: tf.Tensor, far: float) -> tf.Tensor:
    """Moves coordinates a rounding away from the edges of the map to at least 0, at most `far`."""
    boxes = tf.where(tf.abs(boxes) < _ON_EDGE, tf.maximum(boxes, 0.0), boxes)
    return tf.where(tf.abs(boxes - 1.0) < _ON_EDGE, tf.minimum(boxes, far), boxes)


def _bilinear_kernel(low: tf.Tensor, high: tf.Tensor, samples: int,
                     size: int | tf.Tensor) -> tf.Tensor:
    """Returns float32 [B, P, samples, size]: the weight of each pixel in each sample."""
    share = tf.linspace(0.0, 1.0, samples) if samples > 1 else tf.constant([0.5])
    span = tf.cast(size - 1, tf.float32)
    position = span * (low[..., None] * (1.0 - share) + high[..., None] * share)
    return tf.nn.relu(1.0 - tf.abs(position[..., None] - tf.range(size, dtype=tf.float32)))


def _split_boxes(boxes: tf.Tensor, bins_y: int, bins_x: int) -> tf.Tensor:
    """Cuts boxes [B, P, 4] into a grid of parts: [B, bins_y * bins_x, P, 4]."""
    ymin, xmin, ymax, xmax = tf.unstack(boxes, axis=-1)
    step_y, step_x = (ymax - ymin) / bins_y, (xmax - xmin) / bins_x
    parts = [tf.stack([ymin + y * step_y, xmin + x * step_x,
                       ymin + (y + 1) * step_y, xmin + (x + 1) * step_x], axis=-1)
             for y in range(bins_y) for x in range(bins_x)]
    return tf.stack(parts, axis=1)


def _static_or_dynamic(tensor: tf.Tensor, axis: int) -> int | tf.Tensor:
    size = tensor.shape[axis]
    return tf.shape(tensor)[axis] if size is None else size
