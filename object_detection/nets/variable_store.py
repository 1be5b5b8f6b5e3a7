"""Named variables for networks that are plain functions.

A network function asks for a variable by name (`variable("weights", shape, initializer)`). The
store that is current creates it once, outside of any traced function, and hands the same one out
whenever its full name is asked for again. So a network is built once and can then be traced under
any `tf.function`, distribution strategy or XLA, and its variables carry the names they have in TF1
checkpoints (`FirstStageFeatureExtractor/resnet_v1_50/conv1/weights`), or, for networks that come
from Keras, what a renaming function makes of these.

Each store owns its variables: nothing is kept in TensorFlow's collections, so two models in one
process never share by accident. The scope stack is per thread, because a mirrored strategy traces
each replica in a thread of its own.
"""

import contextlib
import threading
from collections.abc import Callable, Container, Iterator, Sequence

import tensorflow as tf

Initializer = Callable[..., tf.Tensor]
Regularizer = Callable[[tf.Tensor], tf.Tensor]


class _Scopes(threading.local):
    """The (store, name prefix) pairs entered by this thread, innermost last."""

    def __init__(self) -> None:
        self.stack: list[tuple[VariableStore, str]] = []


class _Facts:
    """What is known about the variables; hidden from TensorFlow's object tracking.

    Attributes:
        regularizers: functions by full name.
        asked: the names that the networks ask for, by full name.
    """

    def __init__(self) -> None:
        self.regularizers: dict[str, Regularizer] = {}
        self.asked: dict[str, str] = {}


class VariableStore(tf.Module):
    """Creates, keeps and finds variables by full name.

    Attributes:
        by_name: variables by full name, in the order they were created.
    """

    def __init__(self, renamed: Callable[[str], str] | None = None) -> None:
        """Args:
            renamed: gives the full name to keep a variable under, from the one the network asks
                for; None: the same.
        """
        super().__init__(name="variable_store")
        self._renamed = renamed
        self.by_name: dict[str, tf.Variable] = {}
        self._facts = _Facts()
        self._frozen = False

    @contextlib.contextmanager
    def scope(self, name: str = "") -> Iterator[None]:
        """Makes this store current; variables asked for inside get names under `name`."""
        _SCOPES.stack.append((self, name))
        try:
            yield
        finally:
            _SCOPES.stack.pop()

    @property
    def is_frozen(self) -> bool:
        """Whether the set of variables is complete."""
        return self._frozen

    def freeze(self) -> None:
        """From now on a name that does not exist is an error instead of a new variable."""
        self._frozen = True

    def get(self, name: str, shape: Sequence[int], initializer: Initializer,
            regularizer: Regularizer | None = None, trainable: bool = True) -> tf.Variable:
        """Returns the float32 variable of this full name, creating it on the first call.

        A variable that is not trainable holds statistics: under a strategy each replica updates
        its own copy, and a read outside gives the mean.

        Raises:
            ValueError: if it exists with another shape, or is unknown to a frozen store.
        """
        shape, asked = list(shape), name
        if self._renamed is not None:
            name = self._renamed(asked)
        if name in self.by_name:
            found = self.by_name[name]
            if found.shape.as_list() != shape:
                raise ValueError(f"variable {name}: asked for with shape {shape}, but it was built "
                                 f"with {found.shape.as_list()}")
            return found
        if self._frozen:
            raise ValueError(f"variable {name} {shape} does not exist: the network was built "
                             "without this layer, and is now called with other settings")
        statistics = {} if trainable else {
            "synchronization": tf.VariableSynchronization.ON_READ,
            "aggregation": tf.VariableAggregation.MEAN}
        with tf.init_scope():
            created = tf.Variable(
                initial_value=lambda: initializer(shape, dtype=tf.float32),
                trainable=trainable, dtype=tf.float32, shape=shape, name=name, **statistics)
        self.by_name[name] = created
        self._facts.asked[name] = asked
        if regularizer is not None:
            self._facts.regularizers[name] = regularizer
        return created

    def asked_name(self, name: str) -> str:
        """Returns the name that the network asks for, given a full name."""
        return self._facts.asked[name]

    def regularization_losses(self, names: Container[str] | None = None) -> list[tf.Tensor]:
        """Returns one scalar per regularized variable (of `names`, if given), from its value."""
        return [regularizer(self.by_name[name])
                for name, regularizer in self._facts.regularizers.items()
                if names is None or name in names]


_SCOPES = _Scopes()


@contextlib.contextmanager
def variable_scope(name: str) -> Iterator[None]:
    """Appends `name` to the prefix of the store that is current in this thread."""
    store, prefix = _current(name)
    with store.scope(f"{prefix}/{name}" if prefix else name):
        yield


def variable(name: str, shape: Sequence[int], initializer: Initializer,
             regularizer: Regularizer | None = None, trainable: bool = True) -> tf.Variable:
    """Returns `prefix/name` from the store current in this thread; see VariableStore.get."""
    store, prefix = _current(name)
    return store.get(f"{prefix}/{name}" if prefix else name, shape, initializer, regularizer,
                     trainable)


def _current(name: str) -> tuple[VariableStore, str]:
    if not _SCOPES.stack:
        raise ValueError(f"{name}: no variable store is current; call networks inside "
                         "`with store.scope(...)`")
    return _SCOPES.stack[-1]
