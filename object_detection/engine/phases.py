"""Training in phases: which variables change when, and at which learning rate.

A model that starts from a classifier is often trained heads first, then the whole of it. Phases
follow each other by the global step, so that a training that was stopped goes on in its phase.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import tensorflow as tf

from object_detection.builders import optimizer_builder
from object_detection.builders.optimizer_builder import LearningRate
from object_detection.engine import layer_groups, selection
from object_detection.protos import train_pb2

_FIELD = "train_config.phases"


@dataclasses.dataclass(frozen=True)
class PhaseSettings:
    """One phase as the config gives it."""

    name: str
    num_steps: int
    patterns: tuple[str, ...] = ()  # of the trained variables; empty: all
    preset: str = ""  # the same by a name of layer_groups.PRESETS
    learning_rate: LearningRate | None = None  # of the phase's own steps; None: the optimizer's


class Phase(NamedTuple):
    """One phase of the training of a certain model."""

    title: str  # for the log
    first_step: int
    trained: dict[str, tf.Variable]
    learning_rate: LearningRate  # of the steps made since the training began


def read(config: train_pb2.TrainConfig) -> tuple[PhaseSettings, ...]:
    """Reads the phases of a config; none if it has none.

    Raises:
        ValueError: if a phase cannot work, or their lengths do not add up to num_steps.
    """
    found = tuple(_read_one(f"{_FIELD}[{number}]", phase)
                  for number, phase in enumerate(config.phases))
    total = total_steps(found)
    if found and config.num_steps not in (0, total):
        raise ValueError(f"train_config.num_steps is {config.num_steps}, but the steps of "
                         f"train_config.phases add up to {total}; set num_steps to {total}, or "
                         "leave it out")
    return found


def total_steps(settings: Sequence[PhaseSettings]) -> int:
    """Returns the length of all phases together; 0 without phases."""
    return sum(phase.num_steps for phase in settings)


def resolve(settings: Sequence[PhaseSettings], variables: Mapping[str, tf.Variable],
            learning_rate: LearningRate) -> list[Phase]:
    """Returns the phases of a training; a single one if the config has none.

    Args:
        variables: all that may be trained, by name.
        learning_rate: the optimizer's.
    Raises:
        ValueError: if a phase would train nothing, or names what the model does not have.
    """
    if not settings:
        return [Phase("", 0, dict(variables), learning_rate)]
    phases = []
    first_step = 0
    for number, one in enumerate(settings):
        trained = _trained(f"{_FIELD}[{number}]", one, variables)
        rate = learning_rate
        if one.learning_rate is not None:
            rate = _shifted(one.learning_rate, first_step)
        end = first_step + one.num_steps
        name = f" ({one.name})" if one.name else ""
        phases.append(Phase(
            f"phase {number + 1} of {len(settings)}{name}, steps {first_step} to {end}",
            first_step, trained, rate))
        first_step = end
    return phases


def index_at(phases: Sequence[Phase], steps_made: int) -> int:
    """Returns the number, from 0, of the phase that the next step belongs to."""
    return max(number for number, phase in enumerate(phases)
               if phase.first_step <= max(steps_made, 0))


def _read_one(where: str, phase: train_pb2.TrainPhase) -> PhaseSettings:
    if phase.num_steps < 1:
        raise ValueError(f"{where}.num_steps: want 1 or more, got {phase.num_steps}")
    if phase.trainable_layers and phase.trainable_variables:
        raise ValueError(f"{where}: set trainable_layers or trainable_variables, got both")
    if phase.trainable_layers and phase.trainable_layers not in layer_groups.PRESETS:
        raise ValueError(f"{where}.trainable_layers: want one of "
                         f"{', '.join(layer_groups.PRESETS)}, got {phase.trainable_layers!r}")
    rate = None
    if phase.HasField("learning_rate"):
        rate = optimizer_builder.build_learning_rate(phase.learning_rate, phase.num_steps)
    return PhaseSettings(phase.name, phase.num_steps, tuple(phase.trainable_variables),
                         phase.trainable_layers, rate)


def _trained(where: str, phase: PhaseSettings,
             variables: Mapping[str, tf.Variable]) -> dict[str, tf.Variable]:
    names = list(variables)
    if phase.preset:
        try:
            names = layer_groups.select(variables, phase.preset)
        except ValueError as error:
            raise ValueError(f"{where}.trainable_layers: {error}") from error
    elif phase.patterns:
        found = selection.matching(variables, f"{where}.trainable_variables", phase.patterns)
        names = [name for name in variables if name in found]
    if not names:
        raise ValueError(f"{where}: none of the {len(variables)} variables that freeze_variables "
                         "and update_trainable_variables leave is trained in this phase; names "
                         f"look like {next(iter(variables), '')!r}")
    return {name: variables[name] for name in names}


def _shifted(rate: LearningRate, first_step: int) -> LearningRate:
    return lambda step: rate(step - first_step)
