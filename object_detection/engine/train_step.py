"""One step of training: losses, gradients, clipping, new weights, moving averages.

A step runs under any `tf.distribute` strategy. Each replica takes the losses of its share of the
batch over the number of replicas, and gradients are summed, so that N replicas with 1/N of the
batch each make the same change as one device with all of it. Clipping sees the summed gradient.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from object_detection.builders.optimizer_builder import OptimizerPlan
from object_detection.core.model import DetectionModel
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine import batches, phases
from object_detection.engine.phases import Phase, PhaseSettings
from object_detection.engine.selection import select_variables
from object_detection.nets import drop_path, training_scope
from object_detection.protos import train_pb2

REGULARIZATION_LOSS = "Loss/regularization_loss"
TOTAL_LOSS = "Loss/total_loss"
GLOBAL_STEP = "global_step"


class NonFiniteLossError(ValueError):
    """The loss or its gradient is NaN or infinite; weights have not been saved."""


@dataclasses.dataclass(frozen=True)
class TrainSettings:
    """What train_config says about a step, besides the optimizer."""

    clipping_norm: float = 0.0  # 0: gradients are not clipped
    add_regularization_loss: bool = True
    bias_gradient_factor: float = 0.0  # 0: gradients of biases stay as they are
    train_patterns: tuple[str, ...] = ()  # empty: all variables
    freeze_patterns: tuple[str, ...] = ()
    gradient_norms: bool = False  # report the gradient's norm of each variable
    phases: tuple[PhaseSettings, ...] = ()  # empty: one way from start to end
    jit_compile: bool = False  # compile the step with XLA
    # Run the convolutions in bfloat16; variables, boxes, scores and losses stay float32.
    bfloat16: bool = False
    variable_clipping_norm: float = 0.0  # bounds each variable's gradient alone; 0: none

    @classmethod
    def from_config(cls, config: train_pb2.TrainConfig) -> "TrainSettings":
        """Reads the settings. Raises ValueError if the phases cannot work."""
        return cls(
            clipping_norm=config.gradient_clipping_by_norm,
            add_regularization_loss=config.add_regularization_loss,
            bias_gradient_factor=config.bias_grad_multiplier,
            train_patterns=tuple(config.update_trainable_variables),
            freeze_patterns=tuple(config.freeze_variables),
            gradient_norms=config.summarize_gradients,
            phases=phases.read(config),
            jit_compile=config.jit_compile,
            bfloat16=config.use_bfloat16,
            variable_clipping_norm=config.per_variable_gradient_clipping_by_norm)


class StepResult(NamedTuple):
    """What one step reports; scalars are float32 and stand for the whole batch."""

    losses: Mapping[str, tf.Tensor]  # parts and total by name, `Loss/...`
    learning_rate: tf.Tensor
    gradient_norm: tf.Tensor  # before clipping
    gradient_norms: Mapping[str, tf.Tensor]  # by variable, if asked for

    @property
    def total_loss(self) -> tf.Tensor:
        return self.losses[TOTAL_LOSS]


class TrainStep:
    """Holds everything that changes in training; calling it with a batch makes one step.

    Attributes:
        global_step: int64 variable, the number of steps made.
        trained: the variables that change in any phase, by TF1 name.
    """

    def __init__(self, model: DetectionModel, plan: OptimizerPlan, settings: TrainSettings,
                 strategy: tf.distribute.Strategy | None = None) -> None:
        """Creates slots and averages; weights should have their starting values by now."""
        self.model = model
        self._plan = plan
        self._settings = settings
        self._strategy = strategy or tf.distribute.get_strategy()
        if settings.jit_compile and self._strategy.num_replicas_in_sync > 1:
            raise ValueError("train_config.jit_compile: a step over several devices cannot be "
                             "compiled; set it to false, or train on one device")
        chosen = select_variables(model.variables_by_name, settings.train_patterns,
                                  settings.freeze_patterns)
        self._phases = phases.resolve(settings.phases, chosen, plan.learning_rate)
        self._phase = -1  # number of the phase of the step before; -1: none yet
        self.trained = {name: variable for name, variable in chosen.items()
                        if any(name in phase.trained for phase in self._phases)}
        with self._strategy.scope():
            plan.optimizer.build(list(self.trained.values()))
            if plan.moving_average is not None:
                plan.moving_average.build(list(self.trained.values()))
            self.global_step = tf.Variable(
                0, trainable=False, dtype=tf.int64, name=GLOBAL_STEP,
                aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
        self._traced = [self._function(phase, reduce_retracing=True) for phase in self._phases]

    def trace_for(self, element_spec: tuple) -> None:
        """Fixes the types of batches (`dataset.element_spec`): one trace, whatever the sizes."""
        signature = [batches.to_tensors(*element_spec)]
        self._traced = [self._function(phase, input_signature=signature)
                        for phase in self._phases]

    def __call__(self, features: Mapping[str, tf.Tensor],
                 labels: Mapping[str, tf.Tensor]) -> StepResult:
        """Changes the weights once.

        Args:
            features, labels: a batch as the input pipeline gives it (distributed over replicas
                under a strategy of several).
        Raises:
            NonFiniteLossError: if the loss or its gradient is not finite; the message names step,
                losses and images. The weights must not be saved after that.
        """
        result = self._traced[self._present_phase()](batches.to_tensors(features, labels))
        if not math.isfinite(float(result.total_loss)) or not math.isfinite(
                float(result.gradient_norm)):
            raise NonFiniteLossError(self._complaint(result, features))
        return result

    @property
    def steps_made(self) -> int:
        """Returns the value of global_step."""
        return int(self.global_step.numpy())

    def state(self) -> dict[str, tf.Variable]:
        """Returns all variables that a checkpoint holds, by the names they have in it."""
        state = dict(self.model.variables_by_name)
        state.update(self._plan.optimizer.slots)
        if self._plan.moving_average is not None:
            state.update(self._plan.moving_average.shadows)
        state[GLOBAL_STEP] = self.global_step
        return state

    def averaged(self) -> dict[str, str]:
        """Returns the checkpoint name of each moving average by the name of its variable."""
        if self._plan.moving_average is None:
            return {}
        return {name: f"{name}/ExponentialMovingAverage" for name in self.trained}

    def reset_moving_averages(self) -> None:
        """Lets the averages start anew from the present weights."""
        if self._plan.moving_average is not None:
            self._plan.moving_average.reset(list(self.trained.values()))

    def _function(self, phase: Phase, reduce_retracing: bool = False,
                  input_signature: Sequence | None = None) -> Callable:
        return tf.function(lambda batch: self._all_replicas(batch, phase), autograph=False,
                           reduce_retracing=reduce_retracing, input_signature=input_signature,
                           jit_compile=self._settings.jit_compile or None)

    def _present_phase(self) -> int:
        """Returns the number of the next step's phase; says so where another one begins."""
        if len(self._phases) == 1 and not self._settings.phases:
            return 0
        number = phases.index_at(self._phases, self.steps_made)
        if number != self._phase:
            self._phase = number
            phase = self._phases[number]
            total = sum(variable.trainable for variable in self.model.variables_by_name.values())
            logging.info("%s: %d of %d trainable variables are trained", phase.title,
                         len(phase.trained), total)
        return number

    def _all_replicas(self, batch: batches.Batch, phase: Phase | None = None) -> StepResult:
        phase = phase or self._phases[0]
        # The rate of a step is that of the steps made before it: the first step is step 0.
        rate = phase.learning_rate(self.global_step.read_value())
        per_replica = self._strategy.run(self._one_replica, args=(batch, rate, phase))
        self.global_step.assign_add(1)
        reduced = tf.nest.map_structure(
            lambda value: self._strategy.reduce(tf.distribute.ReduceOp.MEAN, value, axis=None),
            per_replica)
        losses, norm, norms = reduced
        return StepResult(losses, tf.cast(rate, tf.float32), norm, norms)

    def _one_replica(self, batch: batches.Batch, rate: tf.Tensor, phase: Phase) -> tuple:
        variables = list(phase.trained.values())
        context = tf.distribute.get_replica_context()
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            with self._frozen_statistics(phase), drop_path.training_step(self.global_step):
                losses = self._losses(batch)
            share = losses[TOTAL_LOSS] / context.num_replicas_in_sync
        gradients = tape.gradient(share, variables)
        pairs = [(tf.convert_to_tensor(gradient), variable)
                 for gradient, variable in zip(gradients, variables) if gradient is not None]
        if not pairs:
            raise ValueError("training: no trainable variable has any part in the loss; check "
                             "freeze_variables and update_trainable_variables in train_config")
        summed, used = [list(part) for part in zip(*pairs)]
        if context.num_replicas_in_sync > 1:  # it keeps the graph for the life of the process
            summed = context.all_reduce(tf.distribute.ReduceOp.SUM, summed)
        summed, norm = self._clipped(self._scaled(summed, used))
        norms = {}
        if self._settings.gradient_norms:
            norms = {variable.name.split(":")[0]: tf.norm(gradient)
                     for gradient, variable in zip(summed, used)}
        self._plan.optimizer.apply(zip(summed, used), rate)
        if self._plan.moving_average is not None:
            self._plan.moving_average.update(list(self.trained.values()))
        return losses, norm, norms

    def _frozen_statistics(self, phase: Phase) -> contextlib.AbstractContextManager:
        """Holds the statistics of layers that a phase leaves alone.

        Without phases all statistics move, also those of layers that freeze_variables names: so
        it is in the original, and in the checkpoints and configs made with it.
        """
        if not self._settings.phases:
            return contextlib.nullcontext()
        return training_scope.only(phase.trained.values())

    def _losses(self, batch: batches.Batch) -> dict[str, tf.Tensor]:
        batches.provide_groundtruth(self.model, batch)
        images = batch.images
        if self._settings.bfloat16:
            images = tf.cast(images, tf.bfloat16)  # layers follow the type of what they read
        predictions = self.model.predict(images, batch.true_shapes)
        losses = dict(self.model.loss(predictions, batch.true_shapes))
        penalties = self.model.regularization_losses()
        if self._settings.add_regularization_loss and penalties:
            losses[REGULARIZATION_LOSS] = tf.add_n(penalties)
        losses[TOTAL_LOSS] = tf.add_n(list(losses.values()))
        return losses

    def _scaled(self, gradients: Sequence[tf.Tensor],
                variables: Sequence[tf.Variable]) -> list[tf.Tensor]:
        factor = self._settings.bias_gradient_factor
        if not factor:
            return list(gradients)
        return [gradient * factor if is_bias(variable) else gradient
                for gradient, variable in zip(gradients, variables)]

    def _clipped(self, gradients: list[tf.Tensor]) -> tuple[list[tf.Tensor], tf.Tensor]:
        norm = tf.linalg.global_norm(gradients)
        if self._settings.variable_clipping_norm > 0:
            gradients = [tf.clip_by_norm(gradient, self._settings.variable_clipping_norm)
                         for gradient in gradients]
        if self._settings.clipping_norm > 0:
            gradients, _ = tf.clip_by_global_norm(
                gradients, self._settings.clipping_norm, tf.linalg.global_norm(gradients))
        return gradients, norm

    def _complaint(self, result: StepResult, features: Mapping[str, tf.Tensor]) -> str:
        parts = ", ".join(f"{name.removeprefix('Loss/')} {float(value):.6g}"
                          for name, value in result.losses.items())
        names = ", ".join(repr(name) for name in source_ids(self._strategy, features)) or "unknown"
        return (f"training stopped at step {self.steps_made}: the loss or its gradient is "
                f"not finite ({parts}, gradient norm {float(result.gradient_norm):.6g}, learning "
                f"rate {float(result.learning_rate):.6g}). Images of this batch (source_id): "
                f"{names}. Nothing of this step was saved; lower the learning rate, set "
                "train_config.gradient_clipping_by_norm (10.0 is usual), or look at the boxes of "
                "these images")


def is_bias(variable: tf.Variable) -> bool:
    """Whether a variable is a layer's bias: `biases` in slim's networks, `bias` in all others."""
    return variable.name.split(":")[0].rpartition("/")[2] in ("biases", "bias")


def source_ids(strategy: tf.distribute.Strategy, features: Mapping[str, tf.Tensor]) -> list[str]:
    """Returns the ids of all images in a batch, over all replicas of this process."""
    if Fields.source_id not in features:
        return []
    parts = strategy.experimental_local_results(features[Fields.source_id])
    return [value.decode("utf-8", "replace")
            for part in parts for value in np.ravel(part.numpy())]
