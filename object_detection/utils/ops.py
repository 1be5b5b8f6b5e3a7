"""Operations on masks, boxes and dicts of annotations, under the names of the OD API."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.utils import crop_ops

TensorDict = dict[str, tf.Tensor]

_BOXES = "groundtruth_boxes"
_IS_CROWD = "groundtruth_is_crowd"
# Keys with one row per object; the names are those of core/standard_fields.InputDataFields.
_PER_OBJECT = frozenset(["groundtruth_" + name for name in (
    "boxes", "classes", "class_texts", "weights", "confidences", "area", "is_crowd", "difficult",
    "group_of", "label_types", "instance_masks", "instance_mask_weights", "instance_boundaries",
    "instance_classes", "keypoints", "keypoint_visibilities", "keypoint_weights", "keypoint_depths",
    "keypoint_depth_weights", "dp_num_points", "dp_part_ids", "dp_surface_coords", "track_ids",
    "temporal_offsets", "track_match_flags")])


def reframe_box_masks_to_image_masks(box_masks: tf.Tensor, boxes: tf.Tensor,
                                     image_height: int | tf.Tensor, image_width: int | tf.Tensor,
                                     resize_method: str = "bilinear") -> tf.Tensor:
    """Draws masks, each in the frame of its box, into the whole image.

    Args:
        box_masks: [N, h, w]; uint8 masks are resized with nearest neighbours.
        boxes: float32 [N, 4], normalized to the image.
        image_height, image_width: size of the result.
        resize_method: "bilinear" or "nearest".
    Returns:
        [N, image_height, image_width] of the type of `box_masks`, 0 outside the box.
    """
    box_masks = tf.convert_to_tensor(box_masks)
    method = "nearest" if box_masks.dtype == tf.uint8 else resize_method
    boxes = tf.cast(boxes, tf.float32)
    low, high = boxes[:, :2], boxes[:, 2:]
    # The image as seen from the box; boxes of almost no size would divide by zero.
    size = tf.maximum(high - low, 1e-4)
    image_in_box = tf.concat([-low / size, (1.0 - low) / size], axis=1)
    image_masks = crop_ops.crop_flat(
        box_masks[..., None], image_in_box, tf.range(tf.shape(box_masks)[0]),
        tf.stack([image_height, image_width]), method=method)
    return tf.cast(image_masks[..., 0], box_masks.dtype)


def normalized_to_image_coordinates(normalized_boxes: tf.Tensor,
                                    image_shape: tf.Tensor | Sequence[int],
                                    parallel_iterations: int = 32) -> tf.Tensor:
    """Maps normalized boxes to pixels.

    Args:
        normalized_boxes: float32 [B, N, 4].
        image_shape: int [4], batch, height, width and channels; all images have one size.
        parallel_iterations: without effect; nothing runs image by image.
    """
    del parallel_iterations
    size = tf.cast(tf.convert_to_tensor(image_shape)[1:3], normalized_boxes.dtype)
    return normalized_boxes * tf.tile(size, [2])


def position_sensitive_crop_regions(image: tf.Tensor, boxes: tf.Tensor, crop_size: Sequence[int],
                                    num_spatial_bins: Sequence[int],
                                    global_pool: bool) -> tf.Tensor:
    """As `batch_position_sensitive_crop_regions`, for image [h, w, channels] and boxes [P, 4]."""
    return batch_position_sensitive_crop_regions(
        image[None], boxes[None], crop_size, num_spatial_bins, global_pool)[0]


def batch_position_sensitive_crop_regions(images: tf.Tensor, boxes: tf.Tensor,
                                          crop_size: Sequence[int],
                                          num_spatial_bins: Sequence[int], global_pool: bool,
                                          parallel_iterations: int = 64) -> tf.Tensor:
    """Crops each part of a box from its own group of channels, as R-FCN does.

    Where all shapes are known, samples are matrix products, as in the original; the two ways differ
    only for boxes that leave the image.

    Args:
        images: float [B, h, w, bins * depth].
        boxes: float32 [B, P, 4], normalized.
        crop_size: samples per box, multiples of `num_spatial_bins` (rows and columns of parts).
        num_spatial_bins: rows and columns of parts.
        global_pool: average all samples of a box.
        parallel_iterations: without effect; nothing runs image by image.
    Returns:
        [B, P, 1, 1, depth] if pooled, else [B, P, crop height, crop width, depth].
    """
    del parallel_iterations
    static = images.shape.is_fully_defined() and boxes.shape.is_fully_defined()
    return crop_ops.position_sensitive_crop(images, boxes, crop_size, num_spatial_bins,
                                            global_pool, use_matmul=static)


def nearest_neighbor_upsampling(input_tensor: tf.Tensor, scale: int | None = None,
                                height_scale: int | None = None,
                                width_scale: int | None = None) -> tf.Tensor:
    """Repeats rows and columns of [B, h, w, channels].

    Args:
        input_tensor: the map.
        scale: factor of height and width; or give `height_scale` and `width_scale`.
        height_scale, width_scale: factors of the two.
    Raises:
        ValueError: if a factor is missing.
    """
    if scale is None and (height_scale is None or width_scale is None):
        raise ValueError("nearest_neighbor_upsampling: give scale, or height_scale and width_scale")
    rows = tf.repeat(input_tensor, height_scale or scale, axis=1)
    return tf.repeat(rows, width_scale or scale, axis=2)


def retain_groundtruth(tensor_dict: TensorDict, valid_indices: tf.Tensor) -> TensorDict:
    """Keeps only some objects in all entries that have one row per object.

    Args:
        tensor_dict: annotations of one image, by the names of `InputDataFields`.
        valid_indices: int [K], rows to keep.
    Returns:
        A new dict. An optional entry that holds no rows at all stays empty.
    Raises:
        ValueError: if there are no boxes.
    """
    if _BOXES not in tensor_dict:
        raise ValueError(f"retain_groundtruth: {_BOXES} is missing, got {sorted(tensor_dict)}")
    indices = tf.reshape(valid_indices, [-1])
    count = tf.shape(tensor_dict[_BOXES])[0]
    return {key: _gather_or_empty(values, indices, count) if key in _PER_OBJECT else values
            for key, values in tensor_dict.items()}


def filter_groundtruth_with_crowd_boxes(tensor_dict: TensorDict) -> TensorDict:
    """Drops objects that stand for a crowd; without `groundtruth_is_crowd`, nothing changes."""
    if _IS_CROWD not in tensor_dict:
        return tensor_dict
    is_crowd = tf.cast(tensor_dict[_IS_CROWD], tf.bool)
    count = tf.shape(tensor_dict[_BOXES])[0]
    # A record that does not say has an empty tensor here, and no crowds.
    is_crowd = tf.cond(tf.shape(is_crowd)[0] == count, lambda: is_crowd,
                       lambda: tf.fill([count], False))
    return retain_groundtruth(tensor_dict, tf.where(tf.logical_not(is_crowd)))


def filter_groundtruth_with_nan_box_coordinates(tensor_dict: TensorDict) -> TensorDict:
    """Drops objects whose box has a NaN."""
    broken = tf.reduce_any(tf.math.is_nan(tensor_dict[_BOXES]), axis=1)
    return retain_groundtruth(tensor_dict, tf.where(tf.logical_not(broken)))


def merge_boxes_with_multiple_labels(
        boxes: tf.Tensor, classes: tf.Tensor, confidences: tf.Tensor, num_classes: int,
        quantization_bins: int = 10000) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Joins rows with one box and several classes into one row.

    Args:
        boxes: float32 [N, 4], normalized.
        classes: int [N], from 0.
        confidences: float32 [N].
        num_classes: columns of the results.
        quantization_bins: boxes equal after rounding to this many steps are one.
    Returns:
        For M unlike boxes, in order of their first row: boxes [M, 4], k-hot int64 classes and
        float32 confidences (0 where a class is absent) [M, num_classes], and int32 [M], the first
        row of each.
    """
    steps = tf.cast(boxes * (quantization_bins - 1), tf.int64)
    code = tf.reduce_sum(steps * [quantization_bins ** i for i in range(4)], axis=1)
    unlike, owner = tf.unique(code)
    count = tf.shape(unlike)[0]
    rows = tf.math.unsorted_segment_min(tf.range(tf.shape(boxes)[0]), owner, count)
    places = tf.stack([owner, tf.cast(classes, tf.int32)], axis=1)
    shape = [count, num_classes]
    encoded = tf.tensor_scatter_nd_update(
        tf.zeros(shape, tf.int64), places, tf.ones_like(owner, tf.int64))
    sure = tf.tensor_scatter_nd_update(tf.zeros(shape), places, confidences)
    return tf.gather(boxes, rows), encoded, sure, rows


def _gather_or_empty(values: tf.Tensor, indices: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Gathers rows; decoders give no rows for an optional key that a record lacks: keeps that."""
    has_rows = tf.shape(values)[0] == count
    return tf.gather(values, tf.boolean_mask(indices, tf.fill(tf.shape(indices), has_rows)))
