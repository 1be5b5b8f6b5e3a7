"""The list of augmentations and how it is run."""

import numpy as np
import tensorflow as tf

from object_detection.core import preprocessor


def test_steps_run_in_order_with_seeds_of_their_own():
    seeds = []

    def add(tensors, seed):
        seeds.append(seed.numpy().tolist())
        return {**tensors, "image": tensors["image"] + 1.0}

    def double(tensors, seed):
        seeds.append(seed.numpy().tolist())
        return {**tensors, "image": tensors["image"] * 2.0}

    before = {"image": tf.ones([1, 1, 3], tf.uint8)}
    got = preprocessor.preprocess(before, [add, double], tf.constant([1, 2]))
    np.testing.assert_array_equal(got["image"], [[[4.0] * 3]])
    assert seeds[0] != seeds[1]
    assert before["image"].dtype == tf.uint8  # the input is left alone
    assert preprocessor.preprocess(before, [], tf.constant([1, 2]))["image"].dtype == tf.float32


def test_every_name_is_a_function_of_that_name():
    assert all(name == function.__name__
               for name, function in preprocessor.AUGMENTATIONS.items())
    assert "random_horizontal_flip" in preprocessor.AUGMENTATIONS
