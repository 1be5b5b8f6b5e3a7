"""AutoAugment's operations that move pixels, or work inside boxes.

A move is given by the matrix [2, 3] that leads from a place in the result to the place it is read
from: (y, x, 1) to (y, x), in pixels, pixel i reaching from i to i + 1.
"""

import math
from collections.abc import Callable

import tensorflow as tf

from object_detection.core.augment import autoaugment_pixels as pixels
from object_detection.core.augment.tensors import (
    Tensors,
    changed,
    image_size,
    keep_objects,
    split,
    uniform,
    uniform_int,
)
from object_detection.core.standard_fields import InputDataFields as Fields


def translation_y(amount: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Reads `amount` pixels further down."""
    return _matrix(1.0, 0.0, amount, 0.0, 1.0, 0.0)


def translation_x(amount: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Reads `amount` pixels further right."""
    return _matrix(1.0, 0.0, 0.0, 0.0, 1.0, amount)


def shear_y(amount: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Reads further down by `amount` times x; the first column stays."""
    return _matrix(1.0, amount, -0.5 * amount, 0.0, 1.0, 0.0)


def shear_x(amount: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Reads further right by `amount` times y; the first row stays."""
    return _matrix(1.0, 0.0, 0.0, amount, 1.0, -0.5 * amount)


def rotation(degrees: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Turns about the middle of an image of `size` (float32 [2])."""
    angle = degrees * (math.pi / 180.0)
    cos, sin = tf.cos(angle), tf.sin(angle)
    middle_y, middle_x = tf.unstack(size / 2.0)
    return _matrix(cos, sin, middle_y - cos * middle_y - sin * middle_x,
                   -sin, cos, middle_x + sin * middle_y - cos * middle_x)


def moved(tensors: Tensors, matrix: tf.Tensor) -> Tensors:
    """Moves the pixels, and what there is of masks, boxes and keypoints.

    A box becomes the upright box around its moved corners, cut at the image. Objects with nothing
    of their box inside are dropped.
    """
    size = tf.cast(tf.stack(image_size(tensors)), tf.float32)
    tensors = changed(tensors, Fields.image,
                      lambda image: _read(image[tf.newaxis], matrix, pixels.FILL)[0])
    tensors = changed(tensors, Fields.groundtruth_instance_masks,
                      lambda masks: _read(masks[..., tf.newaxis], matrix, 0.0)[..., 0])
    tensors = changed(tensors, Fields.groundtruth_keypoints,
                      lambda points: _forward(points * size, matrix) / size)
    if Fields.groundtruth_boxes not in tensors:
        return tensors
    boxes = tensors[Fields.groundtruth_boxes]
    corners = tf.gather(boxes, [[0, 1], [0, 3], [2, 1], [2, 3]], axis=1)
    corners = _forward(corners * size, matrix) / size
    boxes = tf.concat([tf.reduce_min(corners, axis=1), tf.reduce_max(corners, axis=1)], axis=1)
    boxes = tf.clip_by_value(boxes, 0.0, 1.0)
    tensors = {**tensors, Fields.groundtruth_boxes: boxes}
    return keep_objects(tensors, tf.reduce_all(boxes[:, 2:] > boxes[:, :2], axis=1))


def flipped(tensors: Tensors) -> Tensors:
    """Swaps left and right of image and masks."""
    tensors = changed(tensors, Fields.image, lambda image: tf.reverse(image, [1]))
    return changed(tensors, Fields.groundtruth_instance_masks, lambda m: tf.reverse(m, [2]))


def inside_boxes(tensors: Tensors, seed: tf.Tensor, probability: float,
                 operation: Callable[[Tensors, tf.Tensor], Tensors]) -> Tensors:
    """Applies an operation to what is inside of boxes, each by a probability, in random order.

    The operation gets the pixels of the box and the same part of all masks.
    """
    if probability <= 0.0:
        return tensors
    keys = [key for key in (Fields.image, Fields.groundtruth_instance_masks) if key in tensors]
    regions = _pixel_boxes(tensors)
    seeds = split(seed, 2)
    count = tf.shape(regions)[0]
    regions = tf.gather(regions, tf.argsort(tf.random.stateless_uniform([count], seeds[0])))

    def step(index: tf.Tensor, *values: tf.Tensor) -> tuple[tf.Tensor, ...]:
        own = split(tf.random.fold_in(seeds[1], index), 2)
        current = dict(zip(keys, values))
        changed_one = tf.cond(
            uniform(own[0]) < probability,
            lambda: _inside_box(current, own[1], regions[index], operation), lambda: current)
        return index + 1, *(changed_one[key] for key in keys)

    values = tuple(tensors[key] for key in keys)
    found = tf.while_loop(lambda index, *_: index < count, step, (0, *values), shape_invariants=(
        tf.TensorShape([]), *(value.shape for value in values)))
    return {**tensors, **dict(zip(keys, found[1:]))}


def cutout_in_one_box(tensors: Tensors, seed: tf.Tensor, share: float) -> Tensors:
    """Fills a part of one box, chosen at random: this share of its height and width, at most."""
    seeds = split(seed, 3)
    regions = _pixel_boxes(tensors)
    # One more row, so that there is one to choose without objects; it fills nothing.
    count = tf.shape(regions)[0]
    region = tf.pad(regions, [[0, 1], [0, 0]])[uniform_int(seeds[0], 0, count)]
    half = tf.cast(share * tf.cast(region[2:] - region[:2], tf.float32) / 2.0, tf.int32)
    middle = tf.stack([uniform_int(seeds[1 + axis], region[axis], region[2 + axis])
                       for axis in range(2)])
    return changed(tensors, Fields.image,
                   lambda image: pixels.filled(image, middle - half, middle + half))


def _inside_box(tensors: Tensors, seed: tf.Tensor, region: tf.Tensor,
                operation: Callable[[Tensors, tf.Tensor], Tensors]) -> Tensors:
    top, left, bottom, right = tf.unstack(region)
    around = [[top, image_size(tensors)[0] - bottom], [left, image_size(tensors)[1] - right]]
    content = {key: value[top:bottom, left:right] if key == Fields.image
               else value[:, top:bottom, left:right] for key, value in tensors.items()}
    outside = tf.pad(tf.zeros([bottom - top, right - left], tf.bool), around, constant_values=True)
    result = {}
    for key, value in operation(content, seed).items():
        zero = [[0, 0]]
        if key == Fields.image:
            padded, keep = tf.pad(value, around + zero), outside[..., tf.newaxis]
        else:
            padded, keep = tf.pad(value, zero + around), outside
        result[key] = tf.ensure_shape(tf.where(keep, tensors[key], padded), tensors[key].shape)
    return result


def _pixel_boxes(tensors: Tensors) -> tf.Tensor:
    """Returns int32 [N, 4]: first row and column of boxes, and those after the last ones."""
    size = tf.stack(image_size(tensors))
    sides = tf.tile(tf.cast(size, tf.float32), [2])
    touched = tf.cast(tensors[Fields.groundtruth_boxes] * sides, tf.int32)
    touched = tf.clip_by_value(touched, 0, tf.tile(size - 1, [2]))
    return touched + tf.constant([0, 0, 1, 1])


def _matrix(*values: float | tf.Tensor) -> tf.Tensor:
    return tf.reshape(tf.stack([tf.cast(value, tf.float32) for value in values]), [2, 3])


def _read(images: tf.Tensor, matrix: tf.Tensor, fill: float) -> tf.Tensor:
    """Reads [B, H, W, channels] by the nearest pixel; `fill` where the image has none."""
    (yy, yx, y), (xy, xx, x) = (tf.unstack(row) for row in tf.unstack(matrix))
    # The kernel counts in centres of pixels, x before y.
    y, x = y + 0.5 * (yy + yx - 1.0), x + 0.5 * (xy + xx - 1.0)
    transform = tf.stack([xx, xy, x, yx, yy, y, 0.0, 0.0])[tf.newaxis]
    found = tf.raw_ops.ImageProjectiveTransformV3(
        images=images, transforms=transform, output_shape=tf.shape(images)[1:3],
        interpolation="NEAREST", fill_mode="CONSTANT", fill_value=fill)
    return tf.ensure_shape(found, images.shape)


def _forward(places: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
    """Returns where places [..., 2] (y, x, pixels) go."""
    back = tf.linalg.inv(matrix[:, :2])
    return tf.linalg.matvec(back, places - matrix[:, 2])
