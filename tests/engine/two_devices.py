"""Two replicas on the CPU. Importing this splits the CPU, if TensorFlow has not started yet."""

import functools

import pytest
import tensorflow as tf


def _split() -> bool:
    physical = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(physical) or ()) < 2:
        try:
            tf.config.set_logical_device_configuration(
                physical, [tf.config.LogicalDeviceConfiguration()] * 2)
        except RuntimeError:  # TensorFlow has started with one
            return False
    return True


_AVAILABLE = _split()


@functools.cache
def strategy() -> tf.distribute.Strategy:
    """Returns the process's mirrored strategy of two logical CPUs; skips if there is one only.

    There is one, since TensorFlow numbers the reductions of each strategy from the same start, and
    takes those of a second one for those of the first.
    """
    if not _AVAILABLE:
        pytest.skip("TensorFlow was started with one CPU device before this test was collected")
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
