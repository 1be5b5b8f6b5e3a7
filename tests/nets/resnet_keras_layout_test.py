"""Where the strides are; the layers themselves are checked by the models' recordings."""

import numpy as np
import tensorflow as tf

from object_detection.nets import resnet_keras
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import VariableStore

ONES = Hyperparams(initializer=tf.ones_initializer())


def stem_of_an_impulse(layout):
    store = VariableStore()
    image = np.zeros([1, 16, 16, 3], np.float32)
    image[0, 4, 4] = 1.0
    with store.scope("net"):
        return resnet_keras.stem(tf.constant(image), ONES, 1 / 64, layout)[0, :, :, 0].numpy()


def test_the_windows_of_the_pooling():
    # The kernel of 7 sees pixel 4 from pixels 2, 4 and 6 of the image: 1, 2 and 3 of its map.
    paper, centred = (stem_of_an_impulse(layout) for layout in (
        resnet_keras.PAPER, resnet_keras.TORCHVISION))
    assert (paper[0] > 0).tolist() == [True, True, False, False]  # windows 0-2, 2-4
    assert (centred[0] > 0).tolist() == [True, True, True, False]  # windows 0-1, 1-3, 3-5
    assert paper.shape == centred.shape == (4, 4)


def test_the_stride_of_a_stage():
    """With ones as weights, a pixel reaches what its stride lets through."""
    def reached(layout, row):
        store = VariableStore()
        image = np.zeros([1, 8, 8, 1], np.float32)
        image[0, row, row] = 1.0
        with store.scope("net"):
            return bool(tf.reduce_any(resnet_keras.stage(
                tf.constant(image), 3, 50, ONES, 1 / 128, layout) > 0))

    assert reached(resnet_keras.PAPER, 2) and not reached(resnet_keras.PAPER, 3)
    assert reached(resnet_keras.TORCHVISION, 2) and reached(resnet_keras.TORCHVISION, 3)
