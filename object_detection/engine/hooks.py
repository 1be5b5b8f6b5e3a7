"""What happens around training steps: progress, events, checkpoints, evaluation, stopping.

The loop calls hooks and knows nothing of them; a hook that has to act every so often is `Every`
around an action.
"""

import dataclasses
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import TextIO

import tensorflow as tf

from object_detection.engine import checkpoints, events
from object_detection.engine.train_step import StepResult


class StopTraining(Exception):
    """Raised by a hook to end training early, after all hooks have finished.

    Attributes:
        exit_status: what the process should end with.
    """

    def __init__(self, reason: str, exit_status: int) -> None:
        super().__init__(reason)
        self.exit_status = exit_status


@dataclasses.dataclass(frozen=True)
class StepState:
    """What hooks see after a step."""

    step: int  # steps made so far, over all runs
    first_step: int  # steps made before this run
    last_step: int | None  # None: training has no end
    result: StepResult
    images_per_step: int
    variables: Mapping[str, tf.Variable]  # everything a checkpoint holds


class Hook:
    """Called around training; each method may be left out."""

    def before_training(self, step: int) -> None:
        """Called once, with the steps made so far."""

    def after_step(self, state: StepState) -> None:
        """Called after each step whose loss is finite."""

    def after_training(self, state: StepState | None) -> None:
        """Called once at the end, early or not; `state` is None if no step was made."""


@dataclasses.dataclass(frozen=True)
class Every(Hook):
    """Calls `action(state)` after each `steps`-th step and after the last one."""

    steps: int
    action: Callable[[StepState], None]

    def after_step(self, state: StepState) -> None:
        if state.step % self.steps == 0 or state.step == state.last_step:
            self.action(state)


class ProgressLine(Hook):
    """Prints step, losses, speed and time left: one line that updates, or one per interval."""

    def __init__(self, every: int = 100, stream: TextIO | None = None) -> None:
        self._every = every
        self._stream = stream or sys.stderr
        self._updates = self._stream.isatty()
        self._started = self._shown = 0.0
        self._marked = 0
        self._open = False  # whether the terminal's line still has to be ended

    def before_training(self, step: int) -> None:
        self._started = time.perf_counter()
        self._marked = step

    def after_step(self, state: StepState) -> None:
        now = time.perf_counter()
        due = state.step % self._every == 0 or state.step == state.last_step
        first = state.step == state.first_step + 1
        if first:
            # The first step holds the tracing of the network, which says nothing about speed.
            self._started, self._marked = now, state.step
        if not (due or first or (self._updates and now - self._shown >= 0.5)):
            return
        self._shown = now
        text = self._line(state, now)
        if self._updates:
            self._stream.write(f"\r\x1b[K{text}")
            self._open = True
        else:
            self._stream.write(f"{text}\n")
        if due:
            self._end_line()
            self._started, self._marked = now, state.step
        self._stream.flush()

    def after_training(self, state: StepState | None) -> None:
        self._end_line()

    def _end_line(self) -> None:
        if self._open:
            self._stream.write("\n")
            self._open = False

    def _line(self, state: StepState, now: float) -> str:
        total = f"/{state.last_step}" if state.last_step else ""
        parts = " ".join(f"{_short_name(name)} {float(value):.4f}"
                         for name, value in state.result.losses.items()
                         if name != "Loss/total_loss")
        text = (f"step {state.step}{total}  loss {float(state.result.total_loss):.4f} ({parts})  "
                f"lr {float(state.result.learning_rate):.3g}")
        steps = state.step - self._marked
        if not steps:
            return text
        rate = steps / max(now - self._started, 1e-9)
        text += f"  {rate * state.images_per_step:.1f} images/s"
        if state.last_step:
            text += f"  {duration((state.last_step - state.step) / rate)} left"
        return text


class EventWriter(Hook):
    """Writes losses, learning rate and speed for TensorBoard, under the OD API's tags."""

    def __init__(self, folder: str, every: int = 100) -> None:
        self._every = every
        self._file = events.EventFile(folder)
        self._time, self._step = 0.0, 0

    def before_training(self, step: int) -> None:
        self._time, self._step = time.perf_counter(), step

    def after_step(self, state: StepState) -> None:
        if state.step % self._every and state.step != state.last_step:
            return
        now = time.perf_counter()
        values = {name: float(value) for name, value in state.result.losses.items()}
        values["loss"] = float(state.result.total_loss)
        values["learning_rate"] = float(state.result.learning_rate)
        values["gradient_norm"] = float(state.result.gradient_norm)
        values["global_step/sec"] = (state.step - self._step) / max(now - self._time, 1e-9)
        for name, norm in state.result.gradient_norms.items():
            values[f"gradient_norm/{name}"] = float(norm)
        self._file.scalars(values, state.step)
        self._time, self._step = now, state.step

    def after_training(self, state: StepState | None) -> None:
        self._file.close()


class CheckpointSaver(Hook):
    """Saves every so many steps and at the end; never the same step twice.

    Attributes:
        saved: prefix of the newest checkpoint written, or None.
    """

    def __init__(self, folder: checkpoints.CheckpointFolder | None, every: int) -> None:
        """Takes the folder, or None in a worker that only takes part in reading variables."""
        self._folder = folder
        self._every = every
        self._saved_step = -1
        self.saved: str | None = None

    def before_training(self, step: int) -> None:
        self._saved_step = step if step else -1

    def after_step(self, state: StepState) -> None:
        if state.step % self._every == 0:
            self.save(state)

    def after_training(self, state: StepState | None) -> None:
        if state is not None:
            self.save(state)

    def save(self, state: StepState) -> None:
        """Writes a checkpoint now, unless this step has one."""
        if state.step == self._saved_step:
            return
        values = checkpoints.snapshot(state.variables)
        self._saved_step = state.step
        if self._folder is not None:
            self.saved = self._folder.save(state.step, values)


class StopOnSignal(Hook):
    """Ends training after the present step when the process is asked to stop.

    The loop then runs every hook's `after_training`, which saves a checkpoint. A second signal ends
    the process at once.
    """

    signals = (signal.SIGTERM, signal.SIGINT)

    def __init__(self) -> None:
        self._received: int | None = None
        self._previous: dict[int, object] = {}

    def before_training(self, step: int) -> None:
        for number in self.signals:
            self._previous[number] = signal.signal(number, self._note)

    def after_step(self, state: StepState) -> None:
        if self._received is not None:
            name = signal.Signals(self._received).name
            raise StopTraining(f"{name} received after step {state.step}", 128 + self._received)

    def after_training(self, state: StepState | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}

    def _note(self, number: int, frame: object) -> None:
        self._received = number
        signal.signal(number, self._previous.get(number) or signal.SIG_DFL)


def duration(seconds: float) -> str:
    """Returns a time as `1d 02h`, `3h 05m` or `4m 10s`."""
    whole = int(seconds)
    if whole >= 86400:
        return f"{whole // 86400}d {whole % 86400 // 3600:02d}h"
    if whole >= 3600:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 60}m {whole % 60:02d}s"


def _short_name(loss: str) -> str:
    """Shortens `Loss/RPNLoss/objectness_loss` to `rpn_objectness`."""
    name = loss.removeprefix("Loss/").removesuffix("_loss")
    for stage, short in (("RPNLoss/", "rpn_"), ("BoxClassifierLoss/", "box_")):
        name = name.replace(stage, short)
    return name
