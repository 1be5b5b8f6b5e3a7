"""What a box coder is: it states boxes relative to anchors, as networks predict them."""

import abc
from collections.abc import Sequence

import tensorflow as tf

# Least size of a side before a division or a logarithm, so that empty boxes and anchors have
# finite codes. The original's value; other values change the codes of empty boxes.
EPSILON = 1e-8


class BoxCoder(abc.ABC):
    """Maps boxes to codes of a few numbers and back, one anchor per box.

    Boxes and anchors are float [..., 4] in one unit and frame. Their leading dimensions broadcast:
    anchors [A, 4] serve codes [B, A, code_size].
    """

    @property
    @abc.abstractmethod
    def code_size(self) -> int:
        """Numbers in the code of one box."""

    @abc.abstractmethod
    def encode(self, boxes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        """Returns float [..., code_size]; finite for empty boxes and anchors too."""

    @abc.abstractmethod
    def decode(self, codes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        """Returns boxes, float [..., 4]; the inverse of `encode`."""


def checked_scale_factors(coder: str, scale_factors: Sequence[float] | None,
                          size: int) -> tuple[float, ...]:
    """Returns `size` factors, ones where None is given.

    Raises:
        ValueError: if their number is wrong or one is not positive.
    """
    if scale_factors is None:
        return (1.0,) * size
    factors = tuple(float(factor) for factor in scale_factors)
    if len(factors) != size or min(factors) <= 0.0:
        raise ValueError(f"{coder}: scale_factors: want {size} positive numbers, got {factors}")
    return factors
