"""Bilinear samples of feature maps as a product: a sparse matrix times the maps' pixels.

A row of the matrix belongs to one result and holds the weights of the pixels it is made of. The
gradient of the pixels is the product with the transposed matrix. Each thread makes rows of its own,
so that both repeat bit by bit, and no sample is kept but in the result. XLA cannot compile it:
`map_samples` serves static shapes. `benchmarks/pyramid_crop.py` compares the two.
"""

import tensorflow as tf

from object_detection.utils import shape_utils
from object_detection.utils.map_samples import AxisSamples


def read(pixels: tf.Tensor, starts: tf.Tensor, widths: tf.Tensor, rows: AxisSamples,
         columns: AxisSamples, per_cell: int = 1) -> tf.Tensor:
    """Samples a grid of each region; see `map_samples.read`, which gives the same.

    Only `pixels` get a gradient.
    """
    batch, count, depth = tf.shape(pixels)[0], tf.shape(pixels)[1], pixels.shape[-1]
    first = tf.maximum(starts, 0) + tf.range(batch)[:, None] * count
    inside = (rows.inside[..., :, None] & columns.inside[..., None, :]
              & (starts >= 0)[..., None, None])
    pixel, weight = [], []
    for y, y_share in ((rows.first, 1.0 - rows.share), (rows.second, rows.share)):
        for x, x_share in ((columns.first, 1.0 - columns.share), (columns.second, columns.share)):
            pixel.append(first[..., None, None] + y[..., :, None] * widths[..., None, None]
                         + x[..., None, :])
            weight.append(tf.where(inside, y_share[..., :, None] * x_share[..., None, :], 0.0))
    pixel = _by_cell(tf.stack(pixel, axis=-1), per_cell)
    weight = _by_cell(tf.stack(weight, axis=-1), per_cell) / per_cell ** 2
    grid = [rows.share.shape[-1] // per_cell, columns.share.shape[-1] // per_cell]
    values = _product(tf.reshape(tf.cast(pixels, tf.float32), [-1, depth]), pixel,
                      tf.stop_gradient(weight))
    regions = shape_utils.combined_static_and_dynamic_shape(starts)
    return tf.reshape(values, [*regions, *grid, depth])


def transposed_product(pixel: tf.Tensor, weight: tf.Tensor, upstream: tf.Tensor,
                       num_pixels: tf.Tensor) -> tf.Tensor:
    """Adds what results hand back to the pixels they are made of.

    Args:
        pixel: int32 [S, n], the pixels of each result; one may be there twice.
        weight: float32 [S, n], their shares in it.
        upstream: float32 [S, depth], gradient of the results.
        num_pixels: int32 scalar, the number of all pixels.
    Returns:
        float32 [num_pixels, depth].
    """
    matrix = _matrix(pixel, weight, num_pixels)
    return tf.raw_ops.SparseMatrixMatMul(
        a=tf.raw_ops.SparseMatrixTranspose(input=matrix, type=tf.float32), b=upstream)


def _by_cell(values: tf.Tensor, per_cell: int) -> tf.Tensor:
    """Joins what belongs to one cell: [B, P, rows, columns, 4] to [cells, 4 * samples]."""
    if per_cell > 1:
        batch, count = tf.unstack(tf.shape(values)[:2])
        rows, columns = (size // per_cell for size in values.shape[2:4])
        values = tf.reshape(values, [batch, count, rows, per_cell, columns, per_cell, 4])
        values = tf.transpose(values, [0, 1, 2, 4, 3, 5, 6])
    return tf.reshape(values, [-1, 4 * per_cell ** 2])


def _matrix(pixel: tf.Tensor, weight: tf.Tensor, num_pixels: tf.Tensor) -> tf.Tensor:
    """Returns the matrix [S, num_pixels] in compressed rows.

    Rows are results, also for the gradient: they come in order, and sorting by pixel costs more
    than to transpose.
    """
    results = tf.shape(pixel)[0]
    # The kernels do not check what a box of NaN makes of an index.
    pixel = tf.clip_by_value(pixel, 0, num_pixels - 1)
    row = tf.broadcast_to(tf.range(results)[:, None], tf.shape(pixel))
    return tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=tf.cast(tf.stack([tf.reshape(row, [-1]), tf.reshape(pixel, [-1])], 1), tf.int64),
        values=tf.reshape(weight, [-1]),
        dense_shape=tf.cast(tf.stack([results, num_pixels]), tf.int64))


# TensorFlow keeps what a custom gradient closes over for the life of the process, and with it the
# graph it was traced in and that graph's variables. This function has none, and is traced once.
@tf.function(autograph=False, input_signature=[
    tf.TensorSpec([None, None]), tf.TensorSpec([None, None], tf.int32),
    tf.TensorSpec([None, None])])
def _product(pixels: tf.Tensor, pixel: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    """Returns the results, float32 [S, depth], of pixels [N, depth]."""
    @tf.custom_gradient
    def run(pixels: tf.Tensor) -> tuple:
        # One row more, for TensorFlow's kernel divides by the number of rows.
        matrix = _matrix(tf.pad(pixel, [[0, 1], [0, 0]]), tf.pad(weight, [[0, 1], [0, 0]]),
                         tf.shape(pixels)[0])
        values = tf.raw_ops.SparseMatrixMatMul(a=matrix, b=pixels)[:-1]

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return transposed_product(pixel, weight, upstream, tf.shape(pixels)[0])

        return values, gradient

    return run(pixels)
