import h5_files
import h5py
import numpy as np
import pytest

from object_detection.engine.checkpoints import CheckpointError
from object_detection.engine.importers import keras_h5


@pytest.mark.parametrize("group", [None, "model_weights"])
def test_weights_by_layer_and_kind(tmp_path, group):
    path = str(tmp_path / "w.h5")
    h5_files.write(path, [("conv1", "conv1/kernel:0", [[1, 2]]), ("conv1", "conv1/bias:0", [3]),
                          ("rpn_model", "rpn_conv_shared/kernel:0", [4])], group)
    got = keras_h5.read_h5(path)
    assert list(got) == ["conv1/kernel", "conv1/bias", "rpn_conv_shared/kernel"]
    np.testing.assert_array_equal(got["conv1/kernel"], [[1, 2]])
    assert keras_h5.is_h5(path)


@pytest.mark.parametrize("layer, stored, name", [
    ("conv1", "conv1/kernel:0", "conv1/kernel"),
    ("conv1", "conv1_2/kernel:0", "conv1/kernel"),  # third model of one process
    ("mrcnn_mask_bn1", "mrcnn_mask_bn1/moving_mean:0", "mrcnn_mask_bn1/moving_mean"),
    ("rpn_model", "rpn_model/rpn_class_raw/bias:0", "rpn_class_raw/bias"),
    ("conv1", "conv1_W:0", "conv1/kernel"),  # Keras 1
    ("bn_conv1", "bn_conv1_running_std:0", "bn_conv1/moving_variance"),
    ("res2a_branch1", "res2a_branch1_b_1:0", "res2a_branch1/bias")])
def test_names(layer, stored, name):
    assert keras_h5.weight_name(layer, stored) == name


def test_a_list_of_names_in_parts(tmp_path):
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file.attrs["layer_names0"], file.attrs["layer_names1"] = [b"a"], [b"b"]
        for layer in "ab":
            file.create_group(layer).attrs["weight_names"] = [f"{layer}/bias:0".encode()]
            file[layer][f"{layer}/bias:0"] = np.zeros(2)
    assert list(keras_h5.read_h5(str(tmp_path / "w.h5"))) == ["a/bias", "b/bias"]


def test_files_that_are_not_keras(tmp_path):
    path = tmp_path / "w.h5"
    path.write_bytes(b"no HDF5")
    assert not keras_h5.is_h5(str(path))
    with pytest.raises(CheckpointError, match="cannot be read as a Keras"):
        keras_h5.read_h5(str(path))
    with h5py.File(path, "w") as file:
        file["layers/conv/vars/0"] = np.zeros(1)
    with pytest.raises(CheckpointError, match="Keras 3"):
        keras_h5.read_h5(str(path))
    h5_files.write(str(path), [])
    with pytest.raises(CheckpointError, match="no weights"):
        keras_h5.read_h5(str(path))
    with pytest.raises(CheckpointError, match="absent.h5"):
        keras_h5.read_h5(str(tmp_path / "absent.h5"))
    assert not keras_h5.is_h5(str(tmp_path / "absent.h5"))


def test_a_data_set_that_is_listed_but_absent(tmp_path):
    path = str(tmp_path / "w.h5")
    h5_files.write(path, [("conv1", "conv1/kernel:0", [1])])
    with h5py.File(path, "a") as file:
        del file["conv1/conv1/kernel:0"]
    with pytest.raises(CheckpointError, match="w.h5"):
        keras_h5.read_h5(path)
