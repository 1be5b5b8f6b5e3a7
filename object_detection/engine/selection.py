"""Chooses the variables to train by regular expressions on their names."""

import re
from collections.abc import Mapping, Sequence

import tensorflow as tf
from absl import logging


def select_variables(variables: Mapping[str, tf.Variable], train_patterns: Sequence[str] = (),
                     freeze_patterns: Sequence[str] = ()) -> dict[str, tf.Variable]:
    """Returns the trainable variables that match a train pattern (if any) and no freeze pattern.

    A pattern may match anywhere in the name (`re.search`), as in the OD API. Patterns that
    match nothing are reported as warnings.

    Raises:
        ValueError: if a pattern is no regular expression, or no variable is left.
    """
    chosen = {name: variable for name, variable in variables.items() if variable.trainable}
    total = len(chosen)
    if train_patterns:
        kept = matching(chosen, "train_config.update_trainable_variables", train_patterns)
        chosen = {name: variable for name, variable in chosen.items() if name in kept}
    frozen = matching(chosen, "train_config.freeze_variables", freeze_patterns)
    chosen = {name: variable for name, variable in chosen.items() if name not in frozen}
    if not chosen:
        raise ValueError(
            "train_config: freeze_variables and update_trainable_variables leave none of the "
            f"{total} trainable variables to train; names look like {next(iter(variables), '')!r}")
    if len(chosen) < total:
        logging.info("training %d of %d trainable variables", len(chosen), total)
    return chosen


def matching(variables: Mapping[str, tf.Variable], field: str,
             patterns: Sequence[str]) -> set[str]:
    """Returns the names in which a pattern is found; `field` names the patterns in messages.

    Raises:
        ValueError: if a pattern is no regular expression.
    """
    found = set()
    for pattern in patterns:
        try:
            expression = re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{field}: {pattern!r} is no regular expression: {error}") from error
        # Patterns written for TF1 may end in the output number, `weights:0`.
        names = {name for name in variables
                 if expression.search(name) or expression.search(f"{name}:0")}
        if not names:
            logging.warning("%s: %r matches no trainable variable; names look like %r", field,
                            pattern, next(iter(variables), ""))
        found |= names
    return found
