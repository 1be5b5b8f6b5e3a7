"""Times a frozen batch norm folded into its convolution against one of its own op.

    python benchmarks/frozen_batch_norm.py

Runs the first stage of MobileNet v1 forward and backward both ways in one process and prints one
JSON line: median milliseconds of each, and their ratio. The outputs are compared first.
"""

import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from object_detection.models.faster_rcnn_mobilenet_v1_feature_extractor import (
    FasterRCNNMobilenetV1FeatureExtractor,
)
from object_detection.nets import slim_layers as layers
from object_detection.nets.variable_store import VariableStore

SHAPE = (2, 240, 320, 3)


def as_own_op(outputs, offset, normalizer, activation_fn):
    """Stands in for slim_layers._finish where the kernel was left as it is."""
    if normalizer is not None:
        gamma, beta, mean, variance = layers._batch_norm_variables(outputs.shape[-1], normalizer)
        outputs, _, _ = tf.compat.v1.nn.fused_batch_norm(
            outputs, tf.convert_to_tensor(gamma), tf.convert_to_tensor(beta),
            tf.convert_to_tensor(mean), tf.convert_to_tensor(variance),
            epsilon=normalizer.epsilon, is_training=False)
    return outputs if activation_fn is None else activation_fn(outputs)


def traced(store: VariableStore) -> Callable:
    """Returns a function of pixels that gives the map and the gradient of its sum."""
    extractor = FasterRCNNMobilenetV1FeatureExtractor(stride=8, depth_multiplier=0.5)

    @tf.function
    def run(pixels):
        with tf.GradientTape() as tape, store.scope("FirstStageFeatureExtractor"):
            (feature_map,) = extractor.feature_maps(pixels)
            total = tf.reduce_sum(feature_map)
        return feature_map, tape.gradient(total, store.trainable_variables)

    return run


def build(store: VariableStore) -> None:
    """Makes the variables before the gradient asks for them."""
    extractor = FasterRCNNMobilenetV1FeatureExtractor(stride=8, depth_multiplier=0.5)
    with store.scope("FirstStageFeatureExtractor"):
        extractor.feature_maps(tf.zeros(SHAPE))


def milliseconds(fn: Callable, pixels: tf.Tensor) -> float:
    """Returns the time of one call, results fetched."""
    start = time.perf_counter()
    tf.nest.map_structure(lambda t: t.numpy(), fn(pixels))
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    """Runs the benchmark."""
    store = VariableStore()
    build(store)
    pixels = tf.random.stateless_uniform(SHAPE, seed=[1, 2], minval=-1.0)
    folded = traced(store)
    folded_map, _ = folded(pixels)
    finish, fold = layers._finish, layers._folded
    layers._finish, layers._folded = as_own_op, lambda kernel, *_: (kernel, None)
    own_op = traced(store)
    own_map, _ = own_op(pixels)
    layers._finish, layers._folded = finish, fold
    np.testing.assert_allclose(folded_map, own_map, atol=1e-4 * np.abs(own_map).max())
    times = {"folded": [], "own_op": []}
    for _ in range(25):  # in turn, so that other work on the machine slows both alike
        times["folded"].append(milliseconds(folded, pixels))
        times["own_op"].append(milliseconds(own_op, pixels))
    medians = {name: statistics.median(values[5:]) for name, values in times.items()}
    print(json.dumps({"benchmark": "frozen_batch_norm", "shape": SHAPE, "median_ms": medians,
                      "ratio": medians["folded"] / medians["own_op"]}))


if __name__ == "__main__":
    main()
