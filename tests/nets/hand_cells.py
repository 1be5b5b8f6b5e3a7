"""Cells of NASNet and PNASNet with weights that can be followed by hand."""

import numpy as np
import tensorflow as tf

from object_detection.nets import drop_path, nasnet, nasnet_cells
from object_detection.nets.nasnet_cells import Map
from object_detection.nets.slim_layers import BatchNorm
from object_detection.nets.variable_store import VariableStore

FROZEN = BatchNorm(is_training=False, decay=0.9, epsilon=0.001, scale=True)


def column(values):
    """Returns [1, h, w, 1] of a list of rows."""
    return np.array(values, np.float32)[None, :, :, None]


def set_weights(store, separable):
    """Makes 1x1 convolutions pass their channels on, batch norm do nothing.

    Args:
        separable: what separable convolutions multiply by; their windows see the middle only.
    """
    for name, variable in store.by_name.items():
        shape = variable.shape.as_list()
        value = np.zeros(shape, np.float32)
        if name.endswith("moving_variance"):
            value[:] = 1 - FROZEN.epsilon
        elif name.endswith("gamma"):
            value[:] = 1
        elif name.endswith("depthwise_weights"):
            value[shape[0] // 2, shape[1] // 2] = separable
        elif name.endswith("weights"):
            value[0, 0] = np.eye(*shape[2:])
        variable.assign(value)


def run_cell(cell, net, previous, filters=1, stride=1, separable=0.0, previous_stride=8):
    """Runs a cell on arrays with the weights of `set_weights`; returns [h, w, outputs]."""
    store = VariableStore()

    def run():
        with store.scope(), nasnet_cells.arg_scope(FROZEN, 0.0):
            earlier = None if previous is None else Map(tf.constant(previous), previous_stride)
            return nasnet_cells.run(cell, "cell", Map(tf.constant(net), 8), earlier, filters,
                                    stride)
    run()
    set_weights(store, separable)
    result = run()
    assert result.stride == 8 * stride
    return result.values.numpy()[0]


class Calls:
    """Stands in for the cells of a network and notes how they are called.

    Attributes:
        rows: per cell its scope, input, previous input, filters, stride, place among all cells.
        cells: what each computes.
    """

    def __init__(self, monkeypatch):
        self.rows = []
        self.cells = []
        monkeypatch.setattr(nasnet_cells, "run", self._run)
        # A map holds the number of its cell; that of the first convolution is 0.
        monkeypatch.setattr(nasnet.layers, "conv2d", lambda *args, **settings: tf.zeros([1] * 4))

    def names(self, values):
        """Returns the scopes of the cells whose maps lie side by side in `values`."""
        return [self.rows[int(number) - 1][0] if number else "conv0"
                for number in np.ravel(values)]

    def _run(self, cell, scope, net, previous, filters, stride=1, keep_prob=None):
        (before,) = [None] if previous is None else self.names(previous.values)
        self.rows.append((scope, *self.names(net.values), before, filters, stride, keep_prob))
        self.cells.append(cell)
        return Map(tf.fill([1] * 4, float(len(self.rows))), net.stride * stride)


class _Places(drop_path.DropPath):
    def keep_prob(self, cell):
        return cell


PLACES = _Places(last_keep_prob=0.5, num_cells=1)
