"""NASNet-A large with the layout and variable names of tf-slim.

Zoph et al., Learning Transferable Architectures for Scalable Image Recognition (arXiv:1707.07012),
NASNet-A (6 @ 4032): three blocks of six cells; a reduction cell before the second and the third
halves the resolution, and the depth doubles.
"""

import tensorflow as tf

from object_detection.nets import nasnet_cells as cells
from object_detection.nets import slim_layers as layers
from object_detection.nets.drop_path import DropPath
from object_detection.nets.nasnet_cells import Map

FILTERS = 168
DROP_PATH = DropPath(last_keep_prob=0.7, num_cells=22)

_CELLS_PER_BLOCK = 6
_STEM_DEPTH = 96


def base(images: tf.Tensor, filters: int = FILTERS,
         drop_path: DropPath | None = None) -> tf.Tensor:
    """Runs the stem and two blocks.

    Args:
        images: float [B, H, W, 3].
        filters: of a state of the first block; a multiple of 8.
        drop_path: in training.
    Returns:
        float [B, h, w, 24 * filters], the maps of the last two cells side by side. Their stride is
        16: h is ceil((H - 1) // 2 / 8), since the first convolution sees no padding.
    """
    maps = stem(images, cells.NASNET_REDUCTION, filters, drop_path)
    _run_block(maps, 0, filters, drop_path)
    _run_block(maps, 1, filters, drop_path)
    return tf.concat([maps[-2].values, maps[-1].values], axis=-1)


def tail(features: tf.Tensor, filters: int = FILTERS,
         drop_path: DropPath | None = None) -> tf.Tensor:
    """Runs the third block on regions cropped from `base`.

    Args:
        features: float [regions, h, w, 24 * filters].
    Returns:
        float [regions, ceil(h / 2), ceil(w / 2), 24 * filters].
    """
    maps = [Map(values, 16) for values in tf.split(features, 2, axis=-1)]
    _run_block(maps, 2, filters, drop_path)
    return tf.nn.relu(maps[-1].values)


def stem(images: tf.Tensor, cell: cells.Cell, filters: int,
         drop_path: DropPath | None) -> list[Map]:
    """Returns the maps of the first convolution and two reducing cells: strides 2, 4 and 8."""
    net = layers.conv2d(images, _STEM_DEPTH, 3, stride=2, padding="VALID", scope="conv0")
    maps = [Map(net, 2)]
    for number, divisor in enumerate((4, 2)):
        previous = maps[-2] if number else None
        maps.append(cells.run(cell, f"cell_stem_{number}", maps[-1], previous, filters // divisor,
                              stride=2, keep_prob=drop_path and drop_path.keep_prob(number)))
    return maps


def _run_block(maps: list[Map], block: int, filters: int, drop_path: DropPath | None) -> None:
    """Appends the maps of a block's cells."""
    filters *= 2 ** block
    first = block * _CELLS_PER_BLOCK
    place = 2 + first + max(block - 1, 0)  # of all cells, with those of the stem
    previous = maps[-2]
    if block:
        # The cell behind the reduction sees the same previous map as the reduction itself.
        maps.append(cells.run(cells.NASNET_REDUCTION, f"reduction_cell_{block - 1}", maps[-1],
                              previous, filters, stride=2,
                              keep_prob=drop_path and drop_path.keep_prob(place)))
        place += 1
    for number in range(_CELLS_PER_BLOCK):
        maps.append(cells.run(cells.NASNET_NORMAL, f"cell_{first + number}", maps[-1], previous,
                              filters,
                              keep_prob=drop_path and drop_path.keep_prob(place + number)))
        previous = maps[-2]
