"""Paths of variables, in objects and in checkpoints."""

import numpy as np
import pytest
import small_detector
import tensorflow as tf

from object_detection.builders import model_builder
from object_detection.meta_architectures import object_tree


def test_a_path_leads_through_attributes_and_items():
    root, variable = tf.Module(), tf.Variable(3.0)
    object_tree.attach(root, {"_heads/boxes/0/kernel": variable})
    assert root._heads.boxes[0].kernel is variable


def test_a_checkpoint_has_the_paths_as_keys(tmp_path):
    root = tf.Module()
    object_tree.attach(root, {"layer-1/kernel": tf.Variable(1.0), "layer-1/bias": tf.Variable(2.0)})
    path = tf.train.Checkpoint(model=root).write(str(tmp_path / "ckpt"))
    keys = [key for key, _ in tf.train.list_variables(path)]
    assert "model/layer-1/kernel/.ATTRIBUTES/VARIABLE_VALUE" in keys
    assert len(keys) == 3  # and the object graph


def test_of_no_variables_is_the_bare_root():
    root = tf.Module()
    object_tree.attach(root, {})
    assert root.variables == ()


@pytest.mark.parametrize("paths", [["a", "a"], ["a/b", "a/b/c"], ["a/b", "a"]])
def test_two_variables_in_one_place_are_refused(paths):
    root = tf.Module()
    with pytest.raises(ValueError, match="is taken"):
        for path in paths:
            object_tree.attach(root, {path: tf.Variable(0.0)})


class TestModel:
    def test_a_checkpoint_restores_a_model_into_another(self, tmp_path):
        first, second = (model_builder.build(small_detector.config(2), True) for _ in range(2))
        name = next(name for name in first.variables_by_name if name.endswith("/weights"))
        first.variables_by_name[name].assign_add(
            tf.ones_like(first.variables_by_name[name]))
        path = tf.train.Checkpoint(model=first).write(str(tmp_path / "ckpt"))
        tf.train.Checkpoint(model=second).read(path).assert_consumed()
        for key, variable in second.variables_by_name.items():
            np.testing.assert_array_equal(variable, first.variables_by_name[key], err_msg=key)

    def test_detection_restores_the_backbone_alone(self):
        model = model_builder.build(small_detector.config(2), True)
        (root,) = model.restore_from_objects("detection").items()
        assert root[0] == "model"
        restored = {variable.name for variable in root[1].variables}
        assert any(name.startswith("FirstStageFeatureExtractor/") for name in restored)
        assert not any("BoxPredictor" in name for name in restored)

    def test_an_attribute_of_other_models_says_what_to_use(self):
        model = model_builder.build(small_detector.config(1), True)
        with pytest.raises(AttributeError, match="_mask_rcnn_box_predictor for the classes"):
            model._box_predictor  # noqa: B018
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            model.nonsense  # noqa: B018
        with pytest.raises(ValueError, match="set classification, detection, full or fine_tune"):
            model.restore_from_objects("half")
