"""A `.h5` file as fine_tune_checkpoint."""

import h5_files
import pytest
import tensorflow as tf

from object_detection.engine import checkpoints, fine_tune


class Model:
    """A backbone layer and a head, by the names in the file."""

    def __init__(self):
        self.variables_by_name = {"conv1/bias": tf.Variable([0.0]),
                                  "mrcnn_mask/bias": tf.Variable([0.0, 0.0])}

    def restore_map(self, kind, load_all=False):
        return {name: variable for name, variable in self.variables_by_name.items()
                if kind == "full" or load_all or name == "conv1/bias"}


def write(tmp_path, mask=(3.0, 4.0)):
    path = str(tmp_path / "w.h5")
    h5_files.write(path, [("conv1", "conv1/bias:0", [2.0]),
                          ("mrcnn_mask", "mrcnn_mask/bias:0", mask)])
    return path


def test_backbone_and_all(tmp_path):
    prefix = fine_tune.resolve(write(tmp_path))
    model = Model()
    report = fine_tune.restore(model, prefix, "detection")
    assert report.restored == ("conv1/bias",)
    assert [v.numpy().tolist() for v in model.variables_by_name.values()] == [[2.0], [0.0, 0.0]]
    fine_tune.restore(model, prefix, "detection", load_all_detection_checkpoint_vars=True)
    assert model.variables_by_name["mrcnn_mask/bias"].numpy().tolist() == [3.0, 4.0]


def test_heads_for_other_classes_stay_as_they_are(tmp_path):
    model = Model()
    report = fine_tune.restore(model, write(tmp_path, [1.0]), "detection", True)
    assert report.restored == ("conv1/bias",) and len(report.other_shape) == 1
    with pytest.raises(checkpoints.CheckpointError, match="full"):
        fine_tune.restore(model, write(tmp_path, [1.0]), "full")
