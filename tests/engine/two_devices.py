"""Two replicas on the CPU. Importing this splits the CPU, if TensorFlow has not started yet."""

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


def strategy() -> tf.distribute.Strategy:
    """Returns a mirrored strategy of two logical CPUs; skips the test if there is one only."""
    if not _AVAILABLE:
        pytest.skip("TensorFlow was started with one CPU device before this test was collected")
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
