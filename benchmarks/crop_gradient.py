"""Times ways to the image gradient of crop_and_resize: TensorFlow's kernel and four without races.

    python benchmarks/crop_gradient.py

Regions of 14 x 14 samples from a map of 38 x 64 x 1024 (a C4 detector on 600 x 1024 pixels). Each
line of JSON is for one number of boxes: median milliseconds of each way, their ratio to the kernel,
and the kernel's largest error as a share of the largest gradient. The others must first agree.
`sparse` is what this project does: a product with a matrix in compressed rows; `coordinates` is the
same with TensorFlow's other sparse product, which runs on one thread.
"""

import json
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from timing import median_ms

from object_detection.utils import crop_gradient

BOXES = (64, 128, 256, 512)
MAP_SHAPE = (1, 38, 64, 1024)
SIZE = 14


def random_boxes(count: int) -> tf.Tensor:
    """Returns float32 [R, 4] inside the map, many of them overlapping."""
    rng = np.random.default_rng(0)
    centre, half = rng.uniform(0.1, 0.9, [count, 2]), rng.uniform(0.02, 0.3, [count, 2])
    corners = np.concatenate([centre - half, centre + half], axis=1)
    return tf.constant(np.clip(corners, 0.0, 0.9999), tf.float32)


def weights(low: tf.Tensor, high: tf.Tensor, size: int) -> tf.Tensor:
    """Returns float32 [R, samples, size], the share of each pixel of an axis in each sample."""
    position = (size - 1) * tf.linspace(low, high, SIZE, axis=1)
    return tf.nn.relu(1.0 - tf.abs(position[..., None] - tf.range(size, dtype=tf.float32)))


def neighbours(rows: tf.Tensor, columns: tf.Tensor, width: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the four pixels of each sample, int32 and share [samples, 4]."""
    y_share, y = tf.math.top_k(rows, 2)
    x_share, x = tf.math.top_k(columns, 2)
    share = y_share[:, :, None, :, None] * x_share[:, None, :, None, :]
    pixel = y[:, :, None, :, None] * width + x[:, None, :, None, :]
    return tf.reshape(pixel, [-1, 4]), tf.reshape(share, [-1, 4])


def ways(boxes: tf.Tensor, map_shape: tuple[int, ...]) -> dict[str, Callable]:
    """Returns functions of the incoming gradient [R, SIZE, SIZE, depth] by name."""
    owner = tf.zeros([boxes.shape[0]], tf.int32)
    _, height, width, depth = map_shape
    rows = weights(boxes[:, 0], boxes[:, 2], height)
    columns = weights(boxes[:, 1], boxes[:, 3], width)

    def kernel(upstream: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.CropAndResizeGradImage(
            grads=upstream, boxes=boxes, box_ind=owner, image_size=map_shape, T=tf.float32)

    def sparse(upstream: tf.Tensor) -> tf.Tensor:
        return crop_gradient.image_gradient(upstream, boxes, owner, tf.constant(map_shape))

    def coordinates(upstream: tf.Tensor) -> tf.Tensor:
        pixel, share = neighbours(rows, columns, width)
        sample = tf.broadcast_to(tf.range(pixel.shape[0])[:, None], pixel.shape)
        pairs = tf.stack([tf.reshape(pixel, [-1]), tf.reshape(sample, [-1])], axis=1)
        matrix = tf.SparseTensor(tf.cast(pairs, tf.int64), tf.reshape(share, [-1]),
                                 [height * width, pixel.shape[0]])
        flat = tf.sparse.sparse_dense_matmul(matrix, tf.reshape(upstream, [-1, depth]))
        return tf.reshape(flat, map_shape)

    def matmul(upstream: tf.Tensor) -> tf.Tensor:
        strips = tf.matmul(columns[:, None], upstream, transpose_a=True)
        flat = tf.matmul(tf.reshape(rows, [-1, height]),
                         tf.reshape(strips, [-1, width * depth]), transpose_a=True)
        return tf.reshape(flat, map_shape)

    def segments(upstream: tf.Tensor) -> tf.Tensor:
        pixel, share = neighbours(rows, columns, width)
        flat = tf.reshape(upstream, [-1, depth])
        total = tf.add_n([
            tf.math.unsorted_segment_sum(flat * share[:, i, None], pixel[:, i], height * width)
            for i in range(4)])
        return tf.reshape(total, map_shape)

    return {function.__name__: tf.function(function)
            for function in (kernel, sparse, coordinates, matmul, segments)}


def run(count: int, map_shape: tuple[int, ...] = MAP_SHAPE, repeats: int = 5) -> dict:
    """Checks and times all ways for a number of boxes."""
    upstream = tf.random.stateless_normal([count, SIZE, SIZE, map_shape[-1]], seed=[1, 2])
    functions = ways(random_boxes(count), map_shape)
    gradients = {name: function(upstream).numpy() for name, function in functions.items()}
    scale = np.abs(gradients["matmul"]).max()
    for name in ("sparse", "coordinates", "segments"):
        np.testing.assert_allclose(gradients[name], gradients["matmul"], rtol=0, atol=1e-4 * scale)
    medians = median_ms(functions, upstream, repeats=repeats)
    return {"benchmark": "crop_gradient", "boxes": count, "map": list(map_shape[1:]),
            "median_ms": medians,
            "over_kernel": {name: value / medians["kernel"] for name, value in medians.items()},
            "kernel_error": float(np.abs(gradients["kernel"] - gradients["matmul"]).max() / scale)}


def main() -> None:
    """Runs the benchmark."""
    for count in BOXES:
        print(json.dumps(run(count)), flush=True)


if __name__ == "__main__":
    main()
