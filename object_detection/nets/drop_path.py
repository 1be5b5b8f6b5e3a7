"""Drop path: in training, whole operations of a cell are left out at random.

Larsson et al., FractalNet (arXiv:1605.07648), scheduled as for NASNet (arXiv:1707.07012): the
probability grows with the depth of the cell and linearly over the steps of training.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator

import tensorflow as tf


class _Progress(threading.local):
    """The step this thread traces; a mirrored strategy has a thread per replica."""

    def __init__(self) -> None:
        self.step: tf.Tensor | None = None


_PROGRESS = _Progress()


@contextlib.contextmanager
def training_step(step: tf.Tensor | tf.Variable) -> Iterator[None]:
    """Tells the networks called inside how many steps were made; without it, none were."""
    before = _PROGRESS.step
    _PROGRESS.step = tf.cast(step, tf.float32)
    try:
        yield
    finally:
        _PROGRESS.step = before


@dataclasses.dataclass(frozen=True)
class DropPath:
    """How often operations are kept.

    Attributes:
        last_keep_prob: of the last cell's operations, once `steps` steps were made.
        num_cells: of the whole network, those of the stem and reductions included.
        steps: over which the probability falls from 1.
    """

    last_keep_prob: float
    num_cells: int
    steps: int = 250_000

    def keep_prob(self, cell: int) -> tf.Tensor | None:
        """Returns the probability in the cell of this number, from 0; None if nothing is dropped.

        The step is that of the `training_step` around.
        """
        if _PROGRESS.step is None or self.last_keep_prob == 1.0:
            return None
        progress = tf.minimum(_PROGRESS.step / self.steps, 1.0)
        depth = (cell + 1) / self.num_cells
        return 1.0 - progress * depth * (1.0 - self.last_keep_prob)


NO_DROP_PATH = DropPath(last_keep_prob=1.0, num_cells=1)


def drop(values: tf.Tensor, keep_prob: tf.Tensor | float | None) -> tf.Tensor:
    """Zeroes whole examples of [B, h, w, depth]; those kept are scaled up to the same mean.

    Args:
        keep_prob: share of examples kept, in (0, 1]; None keeps all.
    """
    if keep_prob is None:
        return values
    examples = values.shape[0]
    if examples is None:
        examples = tf.shape(values)[0]
    kept = tf.floor(keep_prob + tf.random.uniform([examples, 1, 1, 1]))
    return values * tf.cast(kept / keep_prob, values.dtype)
