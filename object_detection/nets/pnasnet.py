"""PNASNet-5 large with the layout and variable names of tf-slim.

Liu et al., Progressive Neural Architecture Search (arXiv:1712.00559), PNASNet-5 (4, 216): three
blocks of four equal cells. The first cell of the second and third block has stride 2, and the depth
doubles there.
"""

import tensorflow as tf

from object_detection.nets import nasnet
from object_detection.nets import nasnet_cells as cells
from object_detection.nets.drop_path import DropPath
from object_detection.nets.nasnet_cells import Map

FILTERS = 216
DROP_PATH = DropPath(last_keep_prob=0.6, num_cells=14)

_CELLS_PER_BLOCK = 4


def base(images: tf.Tensor, filters: int = FILTERS,
         drop_path: DropPath | None = None) -> tf.Tensor:
    """Runs the stem and two blocks.

    Args:
        images: float [B, H, W, 3].
        filters: of a state of the first block; a multiple of 8.
        drop_path: in training.
    Returns:
        float [B, h, w, 20 * filters], the maps of the last two cells side by side. Their stride is
        16: h is ceil((H - 1) // 2 / 8), since the first convolution sees no padding.
    """
    maps = nasnet.stem(images, cells.PNASNET, filters, drop_path)
    _run_block(maps, 0, filters, drop_path)
    _run_block(maps, 1, filters, drop_path)
    return tf.concat([maps[-2].values, maps[-1].values], axis=-1)


def tail(features: tf.Tensor, filters: int = FILTERS,
         drop_path: DropPath | None = None) -> tf.Tensor:
    """Runs the third block on regions cropped from `base`.

    Args:
        features: float [regions, h, w, 20 * filters].
    Returns:
        float [regions, ceil(h / 2), ceil(w / 2), 20 * filters].
    """
    maps = [Map(values, 16) for values in tf.split(features, 2, axis=-1)]
    _run_block(maps, 2, filters, drop_path)
    return tf.nn.relu(maps[-1].values)


def _run_block(maps: list[Map], block: int, filters: int, drop_path: DropPath | None) -> None:
    """Appends the maps of a block's cells."""
    first = block * _CELLS_PER_BLOCK
    for number in range(first, first + _CELLS_PER_BLOCK):
        maps.append(cells.run(cells.PNASNET, f"cell_{number}", maps[-1], maps[-2],
                              filters * 2 ** block, stride=2 if block and number == first else 1,
                              keep_prob=drop_path and drop_path.keep_prob(2 + number)))
