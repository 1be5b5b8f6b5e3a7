"""Gives every test process two logical CPU devices, before anything starts TensorFlow."""

import gc
import os

import pytest


def pytest_configure() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(2)])


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Frees large models at once: they are cycles, which Python would keep for many tests."""
    if item.get_closest_marker("slow"):
        gc.collect()
