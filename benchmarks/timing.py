"""Times functions in turn, so that other work on the machine slows all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping

import tensorflow as tf


def median_ms(functions: Mapping[str, Callable], *args: tf.Tensor, warmup: int = 2,
              repeats: int = 10) -> dict[str, float]:
    """Returns the median milliseconds of each function; results are fetched, tracing is not timed.

    Args:
        functions: by name; each is called with `args`.
        warmup: rounds that do not count.
        repeats: rounds that do.
    """
    times = {name: [] for name in functions}
    for _ in range(warmup + repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            tf.nest.map_structure(lambda tensor: tensor.numpy(), function(*args))
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(values[warmup:]) for name, values in times.items()}
