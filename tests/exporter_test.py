import os

import numpy as np
import pytest
import tensorflow as tf
from serving import fake_model

from object_detection import exporter
from object_detection.engine import checkpoints
from object_detection.protos import pipeline_pb2
from object_detection.serving.detector import Detector

IMAGE = np.zeros([1, 20, 20, 3], np.uint8)
IMAGE[:, 2:6, 4:8] = 255


@pytest.fixture(autouse=True)
def _fake(monkeypatch):
    monkeypatch.setattr(exporter.model_builder, "build",
                        lambda config, is_training: fake_model.FakeModel(3))


@pytest.fixture
def trained(tmp_path):
    folder = tmp_path / "run"
    for step, strength in ((5, 0.25), (10, 0.5)):
        checkpoints.write(f"{folder}/model.ckpt-{step}", {
            "Head/strength": np.float32(strength), "global_step": np.int64(step),
            "Head/strength/ExponentialMovingAverage": np.float32(1.0)})
    return str(folder)


def config():
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    pipeline.model.faster_rcnn.num_classes = 2
    return pipeline


def test_what_an_export_holds(tmp_path, trained):
    out = str(tmp_path / "deep" / "out")
    exporter.export_inference_graph("image_tensor", config(), trained, out)
    assert sorted(os.listdir(out)) == ["checkpoint", "model.ckpt.data-00000-of-00001",
                                       "model.ckpt.index", "pipeline.config", "saved_model"]
    assert os.listdir(os.path.dirname(out)) == ["out"]  # no scratch folder stays
    assert "num_classes: 2" in (tmp_path / "deep" / "out" / "pipeline.config").read_text()
    # The weights alone, of the latest checkpoint, found as a folder too.
    assert tf.train.latest_checkpoint(out) == f"{out}/model.ckpt"
    assert checkpoints.read(f"{out}/model.ckpt") == {"Head/strength": 0.5}
    (found,) = Detector.from_saved_model(out).detect(list(IMAGE))
    np.testing.assert_allclose(found.scores, [0.45])  # 0.9 * 0.5


def test_one_checkpoint_of_several_and_a_fixed_shape(tmp_path, trained):
    out = str(tmp_path / "out")
    exporter.export_inference_graph("image_tensor", config(), f"{trained}/model.ckpt-5", out,
                                    [1, 20, 20, 3])
    loaded = tf.saved_model.load(f"{out}/saved_model")
    np.testing.assert_allclose(loaded(IMAGE)["detection_scores"][:, 0], [0.225])
    spec = loaded.signatures["serving_default"].structured_input_signature[1]["input_tensor"]
    assert spec.shape.as_list() == [1, 20, 20, 3]


def test_moving_averages_are_exported_where_evaluation_uses_them(tmp_path, trained):
    pipeline = config()
    pipeline.eval_config.use_moving_averages = True
    exporter.export_inference_graph("image_tensor", pipeline, trained, str(tmp_path / "out"))
    assert checkpoints.read(f"{tmp_path}/out/model.ckpt") == {"Head/strength": 1.0}


def test_an_empty_output_folder_is_filled(tmp_path, trained):
    (tmp_path / "out").mkdir()
    exporter.export_inference_graph("tf_example", config(), trained, f"{tmp_path}/out/")
    assert len(os.listdir(tmp_path / "out")) == 5


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path, trained):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"is not empty \(it holds 'notes.txt'\)"):
        exporter.export_inference_graph("image_tensor", config(), trained, str(tmp_path / "out"))
    assert os.listdir(tmp_path / "out") == ["notes.txt"]
    with pytest.raises(ValueError, match="is a file"):
        exporter.export_inference_graph("image_tensor", config(), trained,
                                        str(tmp_path / "out" / "notes.txt"))


@pytest.mark.parametrize("checkpoint", ["", "empty", "absent/model.ckpt-3"])
def test_without_a_checkpoint_nothing_is_written(tmp_path, checkpoint):
    (tmp_path / "empty").mkdir()
    path = str(tmp_path / checkpoint) if checkpoint else ""
    with pytest.raises(ValueError, match="^trained checkpoint: "):
        exporter.export_inference_graph("image_tensor", config(), path, str(tmp_path / "out"))
    assert os.listdir(tmp_path) == ["empty"]


def test_a_checkpoint_of_another_program_is_exported_by_name(tmp_path):
    model = fake_model.FakeModel()
    model.strength.assign(0.5)
    tf.train.CheckpointManager(tf.train.Checkpoint(model=model), f"{tmp_path}/zoo/checkpoint",
                               max_to_keep=1).save(checkpoint_number=0)
    exporter.export_inference_graph("image_tensor", config(), f"{tmp_path}/zoo", f"{tmp_path}/out")
    assert checkpoints.read(f"{tmp_path}/out/model.ckpt") == {"Head/strength": 0.5}


def test_full_image_masks(tmp_path, trained):
    exporter.export_inference_graph("image_tensor", config(), trained, f"{tmp_path}/out",
                                    full_image_masks=True)
    found = tf.saved_model.load(f"{tmp_path}/out/saved_model")(IMAGE)
    assert found["detection_masks"].shape == [1, 3, 20, 20]


def test_masks_in_given_boxes(tmp_path, trained):
    exporter.export_inference_graph("image_and_boxes_tensor", config(), trained, f"{tmp_path}/out")
    found = tf.saved_model.load(f"{tmp_path}/out/saved_model")(
        IMAGE, tf.zeros([1, 2, 4]), tf.ones([1, 2]))
    assert found["detection_masks"].shape == [1, 2, 5, 5]
    with pytest.raises(ValueError, match="input_shape: image_and_boxes_tensor needs the number of"):
        exporter.export_inference_graph("image_and_boxes_tensor", config(), trained,
                                        f"{tmp_path}/more", [None, 20, 20, 3])


def test_a_checkpoint_that_does_not_cover_the_model(tmp_path):
    checkpoints.write(f"{tmp_path}/run/model.ckpt-1", {"other": np.float32(1)})
    with pytest.raises(ValueError, match="does not cover the model"):
        exporter.export_inference_graph("image_tensor", config(), f"{tmp_path}/run",
                                        str(tmp_path / "out"))
    assert os.listdir(tmp_path) == ["run"]


def test_a_failure_while_writing_leaves_nothing(tmp_path, trained, monkeypatch):
    def full(*args):
        raise OSError("disk full")

    monkeypatch.setattr(exporter.config_util, "save_pipeline_config", full)
    with pytest.raises(OSError, match="disk full"):
        exporter.export_inference_graph("image_tensor", config(), trained, str(tmp_path / "out"))
    assert os.listdir(tmp_path) == ["run"]


def test_an_unknown_input_type(tmp_path, trained):
    with pytest.raises(ValueError, match="input_type: want one of"):
        exporter.export_inference_graph("image", config(), trained, str(tmp_path / "out"))
