"""Builds optimizer, learning rate and moving average from an `optimizer` block."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf
from absl import logging

from object_detection.core import optimizers
from object_detection.protos import optimizer_pb2
from object_detection.utils import learning_schedules

LearningRate = Callable[[tf.Tensor | int], tf.Tensor]


class OptimizerPlan(NamedTuple):
    """What one training step needs to turn gradients into new weights."""

    optimizer: optimizers.Optimizer
    learning_rate: LearningRate  # step (integer, any shape) -> float32 of that shape
    moving_average: optimizers.MovingAverage | None


def build(config: optimizer_pb2.Optimizer, num_steps: int = 0) -> OptimizerPlan:
    """Builds the optimizer named by the `optimizer` oneof.

    Args:
        config: `train_config.optimizer`.
        num_steps: length of the training if known (0: unknown); a schedule that does not fit it
            is reported as a warning.
    Raises:
        ValueError: if no optimizer or learning rate is set, or the schedule contradicts itself.
    """
    kind = config.WhichOneof("optimizer")
    if kind not in _OPTIMIZERS:
        raise ValueError(f"optimizer: set one of {sorted(_OPTIMIZERS)}, "
                         f"got {kind or 'none of them'}")
    settings = getattr(config, kind)
    average = None
    if config.use_moving_average:
        average = optimizers.MovingAverage(config.moving_average_decay)
    return OptimizerPlan(_OPTIMIZERS[kind](settings),
                         build_learning_rate(settings.learning_rate, num_steps), average)


def build_learning_rate(config: optimizer_pb2.LearningRate, num_steps: int = 0) -> LearningRate:
    """Builds the schedule named by the `learning_rate` oneof; raises ValueError on a bad one."""
    kind = config.WhichOneof("learning_rate")
    if kind not in _SCHEDULES:
        raise ValueError(f"optimizer.learning_rate: set one of {sorted(_SCHEDULES)}, "
                         f"got {kind or 'none of them'}")
    return _SCHEDULES[kind](getattr(config, kind), num_steps)


def _momentum(config: optimizer_pb2.MomentumOptimizer) -> optimizers.MomentumOptimizer:
    return optimizers.MomentumOptimizer(config.momentum_optimizer_value)


def _rms_prop(config: optimizer_pb2.RMSPropOptimizer) -> optimizers.RmsPropOptimizer:
    return optimizers.RmsPropOptimizer(config.decay, config.momentum_optimizer_value,
                                       config.epsilon)


def _adam(config: optimizer_pb2.AdamOptimizer) -> optimizers.AdamOptimizer:
    return optimizers.AdamOptimizer(epsilon=config.epsilon)


def _constant(config: optimizer_pb2.ConstantLearningRate, num_steps: int) -> LearningRate:
    rate = config.learning_rate
    return lambda step: learning_schedules.constant(step, rate)


def _exponential(config: optimizer_pb2.ExponentialDecayLearningRate,
                 num_steps: int) -> LearningRate:
    settings = dict(
        learning_rate_base=config.initial_learning_rate,
        learning_rate_decay_steps=config.decay_steps,
        learning_rate_decay_factor=config.decay_factor,
        burnin_learning_rate=config.burnin_learning_rate,
        burnin_steps=config.burnin_steps,
        min_learning_rate=config.min_learning_rate,
        staircase=config.staircase)
    learning_schedules.exponential_decay_with_burnin(0, **settings)  # checks the settings now
    return lambda step: learning_schedules.exponential_decay_with_burnin(step, **settings)


def _manual(config: optimizer_pb2.ManualStepLearningRate, num_steps: int) -> LearningRate:
    if not config.schedule:
        raise ValueError("manual_step_learning_rate: the schedule is empty; add schedule entries, "
                         "or use constant_learning_rate")
    boundaries = [entry.step for entry in config.schedule]
    rates = [config.initial_learning_rate, *(entry.learning_rate for entry in config.schedule)]
    warmup = config.warmup
    learning_schedules.check_manual_stepping(boundaries, rates)
    return lambda step: learning_schedules.manual_stepping(step, boundaries, rates, warmup)


def _cosine(config: optimizer_pb2.CosineDecayLearningRate, num_steps: int) -> LearningRate:
    base, total = config.learning_rate_base, config.total_steps
    start, rise, hold = (config.warmup_learning_rate, config.warmup_steps,
                         config.hold_base_rate_steps)
    learning_schedules.check_cosine(base, total, start, rise, hold)
    if num_steps and num_steps < total:
        logging.warning(
            "cosine_decay_learning_rate: total_steps is %d but num_steps is %d: training ends "
            "before the rate has decayed; set both to the same value", total, num_steps)
    elif num_steps > total:
        logging.warning(
            "cosine_decay_learning_rate: total_steps is %d but num_steps is %d: the rate is 0 for "
            "the last %d steps; set both to the same value", total, num_steps, num_steps - total)
    return lambda step: learning_schedules.cosine_decay_with_warmup(
        step, base, total, start, rise, hold)


_OPTIMIZERS = {
    "momentum_optimizer": _momentum,
    "rms_prop_optimizer": _rms_prop,
    "adam_optimizer": _adam,
}
_SCHEDULES = {
    "constant_learning_rate": _constant,
    "exponential_decay_learning_rate": _exponential,
    "manual_step_learning_rate": _manual,
    "cosine_decay_learning_rate": _cosine,
}
