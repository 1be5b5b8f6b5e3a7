"""Writes HDF5 files as Keras lays them out."""

import h5py
import numpy as np


def write(path, weights, group=None):
    """Writes [(layer, weight name, array)]; `group`: inside that group, as whole models are."""
    layers = {}
    for layer, name, value in weights:
        layers.setdefault(layer, []).append((name, value))
    with h5py.File(path, "w") as file:
        root = file.create_group(group) if group else file
        root.attrs["layer_names"] = [layer.encode() for layer in ("input_image", *layers)]
        root.create_group("input_image").attrs["weight_names"] = []
        for layer, stored in layers.items():
            inside = root.create_group(layer)
            inside.attrs["weight_names"] = [name.encode() for name, _ in stored]
            for name, value in stored:
                inside.create_dataset(name, data=np.asarray(value, np.float32))
