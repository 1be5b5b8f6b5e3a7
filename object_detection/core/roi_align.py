"""RoIAlign: averages of bilinear samples in each cell of a region, without rounding its edges.

He et al., Mask R-CNN (arXiv:1703.06870), section 3. Shapes: B images, P regions per image.
"""

import dataclasses

import tensorflow as tf

from object_detection.utils import map_samples, sample_matrix

# A sample up to one pixel past the centre of an end pixel takes that pixel's value.
_MARGIN = 1.0


@dataclasses.dataclass(frozen=True)
class RoiAlign:
    """Settings of the operation.

    Attributes:
        height, width: cells of the result.
        sampling_ratio: samples per cell along each axis.
        aligned: the centre of the first pixel lies at 0.5, where box coordinates put it. False
            puts it at 0, as the first implementations did, and widens regions to at least a pixel.
    Raises:
        ValueError: if a number is under 1.
    """

    height: int
    width: int
    sampling_ratio: int = 2
    aligned: bool = True

    def __post_init__(self) -> None:
        if min(self.height, self.width, self.sampling_ratio) < 1:
            raise ValueError("RoiAlign: want height, width and sampling_ratio of 1 or more, got "
                             f"{self.height}, {self.width} and {self.sampling_ratio}")


def roi_align(features: tf.Tensor, boxes: tf.Tensor, settings: RoiAlign,
              use_matmul: bool = False) -> tf.Tensor:
    """Pools regions of one map.

    Args:
        features: float [B, h, w, depth].
        boxes: float32 [B, P, 4], in pixels of the map: image coordinates over the map's stride.
        settings: the operation.
        use_matmul: multiply with interpolation matrices, for devices that gather slowly and have
            no sparse matrices; the results are equal.
    Returns:
        [B, P, height, width, depth] of the type of `features`.
    """
    if not use_matmul:
        return multilevel_roi_align([features], boxes, tf.zeros_like(boxes[..., 0], tf.int32),
                                    settings)
    size = tf.shape(features)[1:3]
    rows = _matrix(boxes, 0, settings.height, size[0], settings)
    columns = _matrix(boxes, 1, settings.width, size[1], settings)
    strips = tf.einsum("bpyh,bhwd->bpywd", rows, tf.cast(features, tf.float32))
    return tf.cast(tf.einsum("bpxw,bpywd->bpyxd", columns, strips), features.dtype)


def multilevel_roi_align(features: list[tf.Tensor], boxes: tf.Tensor, levels: tf.Tensor,
                         settings: RoiAlign, use_static_shapes: bool = False) -> tf.Tensor:
    """Pools every region from its own map, all maps at once.

    Boxes get no gradient.

    Args:
        features: float [B, h, w, depth] each; all have one depth and one type.
        boxes: float32 [B, P, 4], each in pixels of its own map.
        levels: int32 [B, P], index into `features`; a level that does not exist gives zeros.
        settings: the operation.
        use_static_shapes: gather the samples, which compiles with static shapes, instead of
            multiplying with a sparse matrix, which takes a tenth of the time on CPU.
    Returns:
        [B, P, height, width, depth] of the type of `features`.
    """
    boxes = tf.stop_gradient(boxes)
    maps = map_samples.flatten(features)
    known = (levels >= 0) & (levels < len(features))
    level = tf.where(known, levels, 0)
    extents = tf.gather(maps.extents, level)
    rows = _samples(boxes, 0, settings.height, extents[..., 0], settings)
    columns = _samples(boxes, 1, settings.width, extents[..., 1], settings)
    starts = tf.where(known, tf.gather(maps.starts, level), -1)
    read = map_samples.read if use_static_shapes else sample_matrix.read
    cells = read(maps.pixels, starts, extents[..., 1], rows, columns, settings.sampling_ratio)
    return tf.cast(cells, features[0].dtype)


def _samples(boxes: tf.Tensor, axis: int, cells: int, size: tf.Tensor,
             settings: RoiAlign) -> map_samples.AxisSamples:
    """Places `sampling_ratio` samples in each cell of an axis: [B, P, cells * sampling_ratio]."""
    low, high = boxes[..., axis], boxes[..., axis + 2]
    extent = high - low if settings.aligned else tf.maximum(high - low, 1.0)
    count = cells * settings.sampling_ratio
    share = (tf.range(count, dtype=tf.float32) + 0.5) / count
    positions = low[..., None] + extent[..., None] * share
    return map_samples.around(positions - 0.5 if settings.aligned else positions, size, _MARGIN)


def _matrix(boxes: tf.Tensor, axis: int, cells: int, size: tf.Tensor,
            settings: RoiAlign) -> tf.Tensor:
    """Returns float32 [B, P, cells, size]: the weight of each row or column in each cell."""
    samples = _samples(boxes, axis, cells, tf.fill(tf.shape(boxes)[:2], size), settings)
    share = samples.share[..., None]
    weights = (tf.one_hot(samples.first, size) * (1.0 - share)
               + tf.one_hot(samples.second, size) * share)
    weights = tf.where(samples.inside[..., None], weights, 0.0)
    shape = tf.shape(boxes)
    weights = tf.reshape(weights, [shape[0], shape[1], cells, settings.sampling_ratio, size])
    return tf.reduce_mean(weights, axis=3)
