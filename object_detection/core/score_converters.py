"""From class logits to scores, and from scores to better estimates of probability."""

import dataclasses
from collections.abc import Callable
from typing import Literal

import tensorflow as tf

Calibration = Callable[[tf.Tensor], tf.Tensor]

_FUNCTIONS = {"identity": tf.identity, "sigmoid": tf.sigmoid, "softmax": tf.nn.softmax}


@dataclasses.dataclass(frozen=True)
class ScoreConverter:
    """Turns logits [..., C + 1] (background first) into float32 scores of the same shape.

    Attributes:
        kind: the function: classes exclude each other (softmax), are independent (sigmoid), or the
            network gives scores already (identity).
        logit_scale: logits are divided by it first; a calibrated temperature belongs here too.
        calibration: maps scores to scores; None: leaves them.
    """

    kind: Literal["identity", "sigmoid", "softmax"] = "identity"
    logit_scale: float = 1.0
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        if self.kind not in _FUNCTIONS:
            raise ValueError(f"score converter: want one of {sorted(_FUNCTIONS)}, got {self.kind}")
        if self.logit_scale <= 0.0:
            raise ValueError(f"logit_scale: want a value above 0, got {self.logit_scale}")

    def __call__(self, logits: tf.Tensor) -> tf.Tensor:
        scores = _FUNCTIONS[self.kind](tf.cast(logits, tf.float32) / self.logit_scale)
        return scores if self.calibration is None else self.calibration(scores)


@dataclasses.dataclass(frozen=True)
class PiecewiseLinear:
    """A function through given points, constant before the first and after the last.

    Attributes:
        xs, ys: the points, by rising x.
        high_as_low: fault of the original: what lies 1 or more above the last point gets the value
            of the first one.
    """

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    high_as_low: bool = False

    def __post_init__(self) -> None:
        if not self.xs or len(self.xs) != len(self.ys) or list(self.xs) != sorted(self.xs):
            raise ValueError("calibration: want points by rising x, got x of "
                             f"{list(self.xs)} and y of {list(self.ys)}")

    def __call__(self, scores: tf.Tensor) -> tf.Tensor:
        xs, ys = tf.constant(self.xs, tf.float32), tf.constant(self.ys, tf.float32)
        last = len(self.xs) - 1
        flat = tf.reshape(scores, [-1])
        if self.high_as_low:
            flat = tf.where(flat >= self.xs[-1] + 1.0, self.xs[0], flat)
        upper = tf.searchsorted(xs, flat, side="right")
        left, right = tf.maximum(upper - 1, 0), tf.minimum(upper, last)
        x0, y0 = tf.gather(xs, left), tf.gather(ys, left)
        share = tf.math.divide_no_nan(flat - x0, tf.gather(xs, right) - x0)
        return tf.reshape(y0 + share * (tf.gather(ys, right) - y0), tf.shape(scores))


@dataclasses.dataclass(frozen=True)
class PlattScaling:
    """1 / (1 + exp(a x + b)), where x is the logit of the score.

    Platt, Probabilistic Outputs for Support Vector Machines (1999), equation 5.
    """

    a: float = -1.0
    b: float = 0.0

    def __call__(self, scores: tf.Tensor) -> tf.Tensor:
        inside = tf.clip_by_value(scores, 1e-7, 1.0 - 1e-7)
        return tf.sigmoid(-self.a * (tf.math.log(inside) - tf.math.log1p(-inside)) - self.b)


@dataclasses.dataclass(frozen=True)
class PerClass:
    """Calibrates each class by itself.

    Attributes:
        functions: pairs of column (0 is background, so it is the id of the label map) and function;
            other columns keep their scores.
    """

    functions: tuple[tuple[int, Calibration], ...]

    def __call__(self, scores: tf.Tensor) -> tf.Tensor:
        by_column = dict(self.functions)
        return tf.stack([by_column[i](column) if i in by_column else column
                         for i, column in enumerate(tf.unstack(scores, axis=-1))], axis=-1)
