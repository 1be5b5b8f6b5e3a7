"""Learning rates as functions of the step: constant, exponential, cosine, manual steps.

Each function takes the step (an integer or an integer tensor of any shape) first and returns
float32 of the step's shape. Settings are checked before anything is computed, so a schedule that
cannot be right fails when the training starts and not thousands of steps later.
"""

import math
from collections.abc import Sequence

import tensorflow as tf


def constant(global_step: tf.Tensor | int, learning_rate: float) -> tf.Tensor:
    """Returns the same rate at every step."""
    return tf.fill(tf.shape(global_step), tf.constant(learning_rate, tf.float32))


def exponential_decay_with_burnin(
        global_step: tf.Tensor | int,
        learning_rate_base: float,
        learning_rate_decay_steps: int,
        learning_rate_decay_factor: float,
        burnin_learning_rate: float = 0.0,
        burnin_steps: int = 0,
        min_learning_rate: float = 0.0,
        staircase: bool = True) -> tf.Tensor:
    """Multiplies the rate by a factor every so many steps, after a burn-in at a constant rate.

    Args:
        global_step: integer, any shape.
        learning_rate_base: rate when the burn-in ends; the decay is counted from there.
        learning_rate_decay_steps: steps per factor.
        learning_rate_decay_factor: the factor.
        burnin_learning_rate: rate of the burn-in; 0 means learning_rate_base.
        burnin_steps: length of the burn-in.
        min_learning_rate: lower bound of every rate.
        staircase: decay in jumps, not smoothly.
    Raises:
        ValueError: if learning_rate_decay_steps is not positive.
    """
    if learning_rate_decay_steps < 1:
        raise ValueError("exponential_decay_learning_rate.decay_steps: want at least 1, got "
                         f"{learning_rate_decay_steps}")
    step = tf.cast(global_step, tf.float32)
    periods = (step - float(burnin_steps)) / float(learning_rate_decay_steps)
    if staircase:
        periods = tf.floor(periods)
    decayed = learning_rate_base * tf.pow(tf.constant(learning_rate_decay_factor, tf.float32),
                                          periods)
    burnin = burnin_learning_rate or learning_rate_base
    rate = tf.where(step < float(burnin_steps), tf.constant(burnin, tf.float32), decayed)
    return tf.maximum(rate, min_learning_rate)


def cosine_decay_with_warmup(
        global_step: tf.Tensor | int,
        learning_rate_base: float,
        total_steps: int,
        warmup_learning_rate: float = 0.0,
        warmup_steps: int = 0,
        hold_base_rate_steps: int = 0) -> tf.Tensor:
    """Rises linearly, holds, then falls along half a cosine to 0 at `total_steps`.

    Loshchilov and Hutter, SGDR (arXiv:1608.03983), one period. Steps past `total_steps` get 0.

    Raises:
        ValueError: if warm-up and hold do not fit into total_steps, or the warm-up starts above
            learning_rate_base.
    """
    check_cosine(learning_rate_base, total_steps, warmup_learning_rate, warmup_steps,
                 hold_base_rate_steps)
    step = tf.cast(global_step, tf.float32)
    flat_until = float(warmup_steps + hold_base_rate_steps)
    decay_steps = max(total_steps - flat_until, 1.0)
    progress = (step - flat_until) / decay_steps
    rate = 0.5 * learning_rate_base * (1.0 + tf.cos(math.pi * progress))
    if hold_base_rate_steps:
        rate = tf.where(step > flat_until, rate, learning_rate_base)
    if warmup_steps:
        slope = (learning_rate_base - warmup_learning_rate) / warmup_steps
        rate = tf.where(step < float(warmup_steps), slope * step + warmup_learning_rate, rate)
    return tf.where(step > float(total_steps), 0.0, rate)


def check_cosine(learning_rate_base: float, total_steps: int, warmup_learning_rate: float,
                 warmup_steps: int, hold_base_rate_steps: int) -> None:
    """Raises ValueError where a cosine schedule contradicts itself."""
    where = "cosine_decay_learning_rate"
    if warmup_steps + hold_base_rate_steps > total_steps:
        raise ValueError(
            f"{where}: warmup_steps ({warmup_steps}) + hold_base_rate_steps "
            f"({hold_base_rate_steps}) exceed total_steps ({total_steps}), so the rate would never "
            "decay; shorten the warm-up or raise total_steps")
    if warmup_steps and warmup_learning_rate > learning_rate_base:
        raise ValueError(
            f"{where}: warmup_learning_rate ({warmup_learning_rate:g}) is above "
            f"learning_rate_base ({learning_rate_base:g}); a warm-up must not start above the base")


def manual_stepping(
        global_step: tf.Tensor | int,
        boundaries: Sequence[int],
        rates: Sequence[float],
        warmup: bool = False) -> tf.Tensor:
    """Uses rates[i + 1] from step boundaries[i] on, and rates[0] before the first boundary.

    Args:
        global_step: integer, any shape.
        boundaries: strictly increasing steps; a first one of 0 replaces the initial rate.
        rates: one more than boundaries.
        warmup: rise linearly from rates[0] to rates[1] up to the first boundary.
    Raises:
        ValueError: if lengths do not fit or boundaries do not increase.
    """
    check_manual_stepping(boundaries, rates)
    if boundaries and boundaries[0] == 0:
        boundaries, rates = boundaries[1:], rates[1:]
    step = tf.cast(global_step, tf.int64)
    index = tf.zeros_like(step)
    for boundary in boundaries:
        index += tf.cast(step >= boundary, tf.int64)
    rate = tf.gather(tf.constant(rates, tf.float32), index)
    if warmup and boundaries:
        slope = (rates[1] - rates[0]) / boundaries[0]
        rising = rates[0] + slope * tf.cast(step, tf.float32)
        rate = tf.where(step < boundaries[0], rising, rate)
    return rate


def check_manual_stepping(boundaries: Sequence[int], rates: Sequence[float]) -> None:
    """Raises ValueError unless boundaries increase and there is one rate more than boundaries."""
    if len(rates) != len(boundaries) + 1:
        raise ValueError(f"manual_step_learning_rate: want one rate more than boundaries, got "
                         f"{len(rates)} rates and {len(boundaries)} boundaries")
    for i, boundary in enumerate(boundaries):
        if boundary < 0:
            raise ValueError(f"manual_step_learning_rate.schedule[{i}].step: want 0 or more, got "
                             f"{boundary}")
        if i and boundary <= boundaries[i - 1]:
            raise ValueError(
                f"manual_step_learning_rate.schedule[{i}].step: steps must increase, but "
                f"{boundary} follows {boundaries[i - 1]}; sort the schedule entries by step")
