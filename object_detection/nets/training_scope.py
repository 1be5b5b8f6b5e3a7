"""Which variables change in the training step that is being traced.

Layers that keep statistics ask this: a layer that is left alone in a phase of the training must not
move them either.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator

import tensorflow as tf


class _Trained(threading.local):
    """Identities of the trained variables, per thread, as replicas are traced in threads."""

    def __init__(self) -> None:
        self.ids: frozenset[int] | None = None


_TRAINED = _Trained()


@contextlib.contextmanager
def only(variables: Iterable[tf.Variable]) -> Iterator[None]:
    """Declares inside that just these variables are trained."""
    before = _TRAINED.ids
    _TRAINED.ids = frozenset(id(variable) for variable in variables)
    try:
        yield
    finally:
        _TRAINED.ids = before


def is_declared() -> bool:
    """Whether the trained variables have been declared by `only`."""
    return _TRAINED.ids is not None


def are_frozen(variables: Iterable[tf.Variable]) -> bool:
    """Whether there are variables and none of them is trained; false where nothing is declared."""
    ids = [id(variable) for variable in variables]
    return is_declared() and bool(ids) and _TRAINED.ids.isdisjoint(ids)
