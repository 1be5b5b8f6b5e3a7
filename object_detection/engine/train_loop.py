"""The loop: a batch, a step, the hooks, until the last step or a reason to stop."""

import contextlib
from collections.abc import Iterable, Sequence

from object_detection.engine.hooks import Hook, StepState, StopTraining
from object_detection.engine.train_step import TrainStep


class _Progress:
    """The newest state that is fit to be saved."""

    def __init__(self) -> None:
        self.state: StepState | None = None
        self.healthy = True

    def finish(self, hook: Hook) -> None:
        hook.after_training(self.state if self.healthy else None)


def run(step: TrainStep, dataset: Iterable, hooks: Sequence[Hook], last_step: int | None,
        images_per_step: int) -> StopTraining | None:
    """Trains until `last_step` steps have been made in all.

    Hooks run in order, and their `after_training` in reverse order, also after an error. A hook
    then gets the last state, so that work is saved when the input fails, but no state if a step
    itself failed, so that nothing broken is saved.

    Args:
        dataset: batches, (features, labels); distributed if the step's strategy has replicas.
        last_step: None: until the dataset ends or a hook stops.
        images_per_step: over all replicas, for hooks that report speed.
    Returns:
        None if all steps were made, else why a hook ended training.
    Raises:
        ValueError: if the dataset ends before the first step.
    """
    first_step = step.steps_made
    if last_step is not None and first_step >= last_step:
        return None
    progress = _Progress()
    try:
        with contextlib.ExitStack() as stack:
            for hook in hooks:
                hook.before_training(first_step)
                stack.callback(progress.finish, hook)
            variables = step.state()
            for made, (features, labels) in enumerate(dataset, start=first_step + 1):
                progress.healthy = False
                result = step(features, labels)
                progress.healthy = True
                progress.state = StepState(made, first_step, last_step, result, images_per_step,
                                           variables)
                for hook in hooks:
                    hook.after_step(progress.state)
                if made == last_step:
                    break
            if progress.state is None:
                raise ValueError(
                    "training: the input gives no whole batch; with num_epochs set, "
                    "train_config.batch_size must not be above the number of records")
    except StopTraining as reason:
        return reason
    return None
