"""Fills models with the fixtures' rule for weights and compares arrays with their tolerance."""

import importlib.util
from collections.abc import Callable, Mapping

import numpy as np
import shared_files
import tensorflow as tf


def deterministic_value() -> Callable[[str, list[int]], np.ndarray]:
    """Returns the rule that gives each variable its value by name and shape."""
    path = shared_files.require("fixtures/deterministic_weights.py")
    spec = importlib.util.spec_from_file_location("deterministic_weights", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.deterministic_value


def fill(variables: Mapping[str, tf.Variable]) -> None:
    """Assigns the rule's value to every variable."""
    value = deterministic_value()
    for name, variable in variables.items():
        variable.assign(value(name, variable.shape.as_list()))


def load(case: str) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """Returns inputs and expected outputs of an end-to-end case."""
    folder = shared_files.require(f"fixtures/tf1/{case}")
    return np.load(folder / "inputs.npz"), np.load(folder / "outputs.npz")


def assert_close(got: tf.Tensor, expected: np.ndarray, relative: float, name: str = "") -> None:
    """Compares within `relative` of the largest expected absolute value."""
    got = np.asarray(got)
    np.testing.assert_equal(got.shape, expected.shape, err_msg=name)
    scale = np.abs(expected).max() if expected.size else 0.0
    np.testing.assert_allclose(got, expected, rtol=0, atol=relative * max(scale, 1e-12),
                               err_msg=name)
