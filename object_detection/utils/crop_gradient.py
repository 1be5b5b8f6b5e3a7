"""The crop kernel with a gradient that loses nothing.

The CPU kernel that TensorFlow has for the image gradient of `crop_and_resize` adds the shares of
different boxes from different threads without a lock: where boxes overlap, sums get lost, and two
runs differ. Here the gradient is the product of a sparse matrix (map pixels by samples, four
neighbours each) with the incoming gradient. Each thread adds up pixels of its own: it repeats bit
by bit on CPU and needs no memory beyond the matrix's entries. `benchmarks/crop_gradient.py`
compares it with other ways.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.utils import sample_matrix


def crop_bilinear(features: tf.Tensor, boxes_normalized: tf.Tensor, owner: tf.Tensor,
                  crop_size: Sequence[int] | tf.Tensor) -> tf.Tensor:
    """Crops as `tf.image.crop_and_resize` does, bilinear, samples outside the map 0.

    Args:
        features: float32 [B, h, w, depth].
        boxes_normalized: float32 [R, 4].
        owner: int32 [R], the image of each box.
        crop_size: height and width of the result, ints or an int32 tensor [2].
    Returns:
        float32 [R, crop height, crop width, depth].
    """
    crops = _crop(features, boxes_normalized, owner, tf.convert_to_tensor(crop_size))
    sides = [None, None] if isinstance(crop_size, tf.Tensor) else crop_size
    return tf.ensure_shape(crops, [boxes_normalized.shape[0], *sides, features.shape[3]])


# TensorFlow keeps what a custom gradient closes over for the life of the process, and with it the
# graph it was traced in and that graph's variables. This function has none, and is traced once.
@tf.function(autograph=False, input_signature=[
    tf.TensorSpec([None] * 4), tf.TensorSpec([None, 4]), tf.TensorSpec([None], tf.int32),
    tf.TensorSpec([2], tf.int32)])
def _crop(features: tf.Tensor, boxes_normalized: tf.Tensor, owner: tf.Tensor,
          crop_size: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def run(features: tf.Tensor, boxes: tf.Tensor) -> tuple:
        crops = tf.image.crop_and_resize(features, boxes, owner, crop_size)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return (image_gradient(upstream, boxes, owner, tf.shape(features)),
                    tf.raw_ops.CropAndResizeGradBoxes(
                        grads=upstream, image=features, boxes=boxes, box_ind=owner))

        return crops, gradient

    return run(features, boxes_normalized)


def image_gradient(upstream: tf.Tensor, boxes_normalized: tf.Tensor, owner: tf.Tensor,
                   map_shape: tf.Tensor) -> tf.Tensor:
    """Returns the gradient of `crop_bilinear` with respect to the features.

    Args:
        upstream: float32 [R, crop height, crop width, depth].
        boxes_normalized, owner: as in `crop_bilinear`.
        map_shape: int32 [4], shape of the features and of the result.
    """
    boxes = tf.stop_gradient(boxes_normalized)
    batch, height, width, depth = tf.unstack(map_shape)
    count, rows, columns = tf.unstack(tf.shape(upstream)[:3])
    y, y_weight = _neighbours(boxes[:, 0], boxes[:, 2], rows, height)
    x, x_weight = _neighbours(boxes[:, 1], boxes[:, 3], columns, width)
    # [R, rows, columns, 2, 2]: the four pixels around each sample, and their weights.
    pixel = ((owner[:, None, None, None, None] * height + y[:, :, None, :, None]) * width
             + x[:, None, :, None, :])
    weight = y_weight[:, :, None, :, None] * x_weight[:, None, :, None, :]
    # Which samples lie outside depends on rounding, so the kernel itself has to say it.
    inside = tf.image.crop_and_resize(
        tf.ones(tf.stack([batch, height, width, 1])), boxes, owner, tf.stack([rows, columns])) > 0.0
    weight = tf.where(inside[..., None], weight, 0.0)
    samples = count * rows * columns
    flat = sample_matrix.transposed_product(
        tf.reshape(pixel, [-1, 4]), tf.reshape(weight, [-1, 4]),
        tf.reshape(upstream, tf.stack([samples, depth])), batch * height * width)
    return tf.reshape(flat, map_shape)


def _neighbours(low: tf.Tensor, high: tf.Tensor, samples: tf.Tensor,
                size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the two pixels around each sample of an axis, int32 and weight [R, samples, 2]."""
    last = tf.cast(size - 1, tf.float32)
    start = tf.where(samples > 1, low, 0.5 * (low + high)) * last
    step = (high - low) * last / tf.cast(tf.maximum(samples - 1, 1), tf.float32)
    position = start[:, None] + tf.cast(tf.range(samples), tf.float32) * step[:, None]
    position = tf.clip_by_value(position, 0.0, last)
    first = tf.floor(position)
    share = position - first
    pixel = tf.stack([first, tf.minimum(first + 1.0, last)], axis=-1)
    return tf.cast(pixel, tf.int32), tf.stack([1.0 - share, share], axis=-1)
