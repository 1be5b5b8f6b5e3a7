import h5_files
import numpy as np
import pytest
import tensorflow as tf

from object_detection.engine import checkpoints
from object_detection.engine.importers import convert, table


def variables():
    return {"conv1/kernel": tf.Variable([[0.0, 0.0]]), "conv1/bias": tf.Variable([7.0]),
            "mrcnn_mask/kernel": tf.Variable([5.0]), "mrcnn_mask_conv1/kernel": tf.Variable([5.0]),
            "new/bias": tf.Variable([6.0])}


VALUES = {"conv1/kernel": np.float32([[1, 2]]), "conv1/bias": np.float32([1, 2]),
          "mrcnn_mask/kernel": np.float32([3]), "mrcnn_mask_conv1/kernel": np.float32([4]),
          "old/gamma": np.float32([9]), "old/beta": np.float32([9])}


def test_what_fits_is_set_and_the_rest_is_listed():
    ours = variables()
    report = table.assign(ours, VALUES, "w.h5", exclude=["mrcnn_mask", "mrcnn_bbox"])
    assert report.restored == ("conv1/kernel", "mrcnn_mask_conv1/kernel")
    assert report.excluded == ("mrcnn_mask/kernel",)
    assert report.other_shape == (("conv1/bias", (1,), (2,)),)
    assert report.absent == ("new/bias",)
    assert report.unused == ("old/gamma", "old/beta")
    assert [float(tf.reduce_sum(v)) for v in ours.values()] == [3.0, 7.0, 5.0, 4.0, 6.0]
    text = str(report)
    assert "conv1/bias  model [1], file [2]" in text
    assert "old/ gamma beta" in text and "new/ bias" in text


def test_patterns_exclude_layers():
    report = table.assign(variables(), VALUES, "w.h5", exclude=["mrcnn_*"])
    assert report.restored == ("conv1/kernel",)


def test_nothing_fits():
    with pytest.raises(checkpoints.CheckpointError, match="another network"):
        table.assign({"a/kernel": tf.Variable([1.0])}, VALUES, "w.h5")


def test_kinds(tmp_path):
    path = str(tmp_path / "w.h5")
    h5_files.write(path, [("conv1", "conv1/bias:0", [1.0])])
    assert table.kind_of(path) == "keras_h5"
    prefix = str(tmp_path / "model.ckpt")
    checkpoints.write(prefix, {"conv1/bias": np.float32([1])})
    assert table.kind_of(prefix) == "checkpoint"
    assert list(table.read(prefix)) == ["conv1/bias"]
    with pytest.raises(checkpoints.CheckpointError, match="does not exist.*keras_h5"):
        table.kind_of(str(tmp_path / "absent"))


def test_conversion_without_a_model(tmp_path):
    path, prefix = str(tmp_path / "w.h5"), str(tmp_path / "out" / "model.ckpt")
    h5_files.write(path, [("conv1", "conv1/bias:0", [1.0]),
                          ("mrcnn_mask", "mrcnn_mask/bias:0", [2])])
    report = convert.run(convert.Settings(path, prefix, exclude=("mrcnn_mask",)))
    assert "1 of 2 weights kept" in report and prefix in report
    assert checkpoints.shapes(prefix) == {"conv1/bias": [1]}


def test_settings_that_do_not_go_together():
    with pytest.raises(ValueError, match="output"):
        convert.run(convert.Settings("w.h5"))
    with pytest.raises(ValueError, match="keras_h5"):
        convert.run(convert.Settings("w.h5", "out", kind="pickle"))
