"""Optimizers with TensorFlow 1 arithmetic, and moving averages of variables.

They run the fused TensorFlow kernels (`ResourceApplyMomentum` and its like) on the variables of
the current replica. So one class serves plain eager code, `tf.function`, XLA, and the replicas of a
mirrored strategy. In a replica, gradients must be summed over replicas already: each replica then
makes the same change to its own copy, and the copies stay equal without further communication.

Slots carry the names that TensorFlow 1 gave them (`conv1/weights/Momentum`), both as variable
names and as keys of `slots`, which `tf.train.Checkpoint` saves by.
"""

import abc
from collections.abc import Iterable, Sequence

import tensorflow as tf

GradientsAndVariables = Iterable[tuple[tf.Tensor | tf.IndexedSlices | None, tf.Variable]]


def variable_name(variable: tf.Variable) -> str:
    """Returns the name of a variable without its output number (`:0`)."""
    return variable.name.split(":")[0]


class Optimizer(tf.Module, abc.ABC):
    """Base of all optimizers: `build` once, eagerly, under the scope of the variables; `apply`."""

    # Name in TensorFlow 1 and initial value of each slot.
    slot_names: tuple[tuple[str, float], ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.slots: dict[str, tf.Variable] = {}  # by "<variable>/<slot name>"

    def build(self, variables: Sequence[tf.Variable]) -> None:
        """Creates the slots of `variables`; variables that have theirs already are skipped."""
        for variable in variables:
            for slot_name, value in self.slot_names:
                key = f"{variable_name(variable)}/{slot_name}"
                if key not in self.slots:
                    initial = tf.fill(variable.shape, tf.constant(value, variable.dtype))
                    self.slots[key] = _colocated(variable, initial, key)

    def apply(self, grads_and_vars: GradientsAndVariables,
              learning_rate: float | tf.Tensor) -> None:
        """Changes each variable by one step; a variable without gradient (None) stays as it is.

        Raises:
            ValueError: if no variable has a gradient, or `build` has not seen a variable.
        """
        pairs = [(tf.convert_to_tensor(gradient), variable)
                 for gradient, variable in grads_and_vars if gradient is not None]
        if not pairs:
            raise ValueError("optimizer: no trainable variable has a gradient; check "
                             "freeze_variables and update_trainable_variables in train_config")
        for gradient, variable in pairs:
            rate = tf.cast(learning_rate, variable.dtype)
            slots = [self._slot(variable, name).handle for name, _ in self.slot_names]
            self._update(variable.handle, slots, gradient, rate)
        self._finish()

    def _slot(self, variable: tf.Variable, slot_name: str) -> tf.Variable:
        key = f"{variable_name(variable)}/{slot_name}"
        if key not in self.slots:
            raise ValueError(f"optimizer: call build() with variable {variable_name(variable)!r} "
                             "before apply()")
        return self.slots[key]

    @abc.abstractmethod
    def _update(self, handle: tf.Tensor, slots: list[tf.Tensor], gradient: tf.Tensor,
                rate: tf.Tensor) -> None:
        """Runs the kernel on resource handles of one variable and its slots."""

    def _finish(self) -> None:
        """Runs after all variables of a step are updated."""


class MomentumOptimizer(Optimizer):
    """accumulator = momentum * accumulator + gradient; variable -= rate * accumulator."""

    slot_names = (("Momentum", 0.0),)

    def __init__(self, momentum: float = 0.9, nesterov: bool = False) -> None:
        super().__init__()
        self._momentum = momentum
        self._nesterov = nesterov

    def _update(self, handle: tf.Tensor, slots: list[tf.Tensor], gradient: tf.Tensor,
                rate: tf.Tensor) -> None:
        tf.raw_ops.ResourceApplyMomentum(
            var=handle, accum=slots[0], lr=rate, grad=gradient,
            momentum=tf.constant(self._momentum, gradient.dtype), use_nesterov=self._nesterov)


class RmsPropOptimizer(Optimizer):
    """Divides the gradient by its running root mean square, then applies momentum.

    As in TensorFlow 1, the mean square starts at 1 and epsilon is added under the root.
    """

    slot_names = (("RMSProp", 1.0), ("RMSProp_1", 0.0))  # mean square, momentum

    def __init__(self, decay: float = 0.9, momentum: float = 0.9, epsilon: float = 1.0) -> None:
        super().__init__()
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon

    def _update(self, handle: tf.Tensor, slots: list[tf.Tensor], gradient: tf.Tensor,
                rate: tf.Tensor) -> None:
        dtype = gradient.dtype
        tf.raw_ops.ResourceApplyRMSProp(
            var=handle, ms=slots[0], mom=slots[1], lr=rate, grad=gradient,
            rho=tf.constant(self._decay, dtype), momentum=tf.constant(self._momentum, dtype),
            epsilon=tf.constant(self._epsilon, dtype))


class AdamOptimizer(Optimizer):
    """Kingma and Ba, Adam (arXiv:1412.6980), in the form with epsilon outside the root."""

    slot_names = (("Adam", 0.0), ("Adam_1", 0.0))  # first and second moment

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> None:
        super().__init__()
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def build(self, variables: Sequence[tf.Variable]) -> None:
        super().build(variables)
        for key, beta in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            if key not in self.slots:
                self.slots[key] = tf.Variable(beta, trainable=False, name=key, dtype=tf.float32)

    def _update(self, handle: tf.Tensor, slots: list[tf.Tensor], gradient: tf.Tensor,
                rate: tf.Tensor) -> None:
        dtype = gradient.dtype
        tf.raw_ops.ResourceApplyAdam(
            var=handle, m=slots[0], v=slots[1], lr=rate, grad=gradient,
            beta1_power=tf.cast(self.slots["beta1_power"], dtype),
            beta2_power=tf.cast(self.slots["beta2_power"], dtype),
            beta1=tf.constant(self._beta1, dtype), beta2=tf.constant(self._beta2, dtype),
            epsilon=tf.constant(self._epsilon, dtype))

    def _finish(self) -> None:
        for key, beta in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            power = self.slots[key]
            tf.raw_ops.AssignVariableOp(resource=power.handle, value=power.read_value() * beta)


class MovingAverage(tf.Module):
    """Exponential moving averages ("shadows") of variables; each starts at its variable's value.

    The decay is constant from the first step on (the OD API gives no `num_updates`).
    """

    def __init__(self, decay: float = 0.9999) -> None:
        super().__init__()
        if not 0.0 <= decay <= 1.0:
            raise ValueError(f"optimizer.moving_average_decay: want a value in [0, 1], got {decay}")
        self._decay = decay
        self.shadows: dict[str, tf.Variable] = {}  # by "<variable>/ExponentialMovingAverage"

    def build(self, variables: Sequence[tf.Variable]) -> None:
        """Creates a shadow of each variable that has none; call after weights are restored."""
        for variable in variables:
            key = f"{variable_name(variable)}/ExponentialMovingAverage"
            if key not in self.shadows:
                self.shadows[key] = _colocated(variable, variable.read_value(), key)

    def update(self, variables: Sequence[tf.Variable]) -> None:
        """Moves each shadow by (1 - decay) towards its variable; call after `Optimizer.apply`."""
        for variable in variables:
            shadow = self.shadow(variable)
            change = (shadow.read_value() - variable.read_value()) * (1.0 - self._decay)
            tf.raw_ops.AssignSubVariableOp(resource=shadow.handle, value=change)

    def reset(self, variables: Sequence[tf.Variable]) -> None:
        """Sets each shadow to its variable's present value, for example after a restore."""
        for variable in variables:
            self.shadow(variable).assign(variable.read_value())

    def shadow(self, variable: tf.Variable) -> tf.Variable:
        """Returns the shadow of a variable. Raises ValueError if `build` has not seen it."""
        key = f"{variable_name(variable)}/ExponentialMovingAverage"
        if key not in self.shadows:
            raise ValueError(f"moving average: call build() with variable "
                             f"{variable_name(variable)!r} first")
        return self.shadows[key]


def _colocated(variable: tf.Variable, initial: tf.Tensor, name: str) -> tf.Variable:
    strategy = tf.distribute.get_strategy()
    with strategy.extended.colocate_vars_with(variable):
        return tf.Variable(initial, trainable=False, name=name)
