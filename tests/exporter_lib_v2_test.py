import os

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from serving import fake_model

from object_detection import exporter, exporter_lib_v2
from object_detection.builders import model_builder
from object_detection.engine import checkpoints
from object_detection.protos import pipeline_pb2
from object_detection.serving.detector import Detector

KERAS = """
model { faster_rcnn {
  number_of_stages: 3
  num_classes: 2
  image_resizer { fixed_shape_resizer { height: 64 width: 64 } }
  feature_extractor { type: "faster_rcnn_resnet50_keras" }
  first_stage_anchor_generator {
    grid_anchor_generator { scales: [0.25, 0.5] aspect_ratios: 1 } }
  first_stage_box_predictor_conv_hyperparams {
    initializer { truncated_normal_initializer { stddev: 0.01 } } }
  first_stage_max_proposals: 4
  initial_crop_size: 4 maxpool_kernel_size: 2 maxpool_stride: 2
  second_stage_batch_size: 4
  second_stage_box_predictor { mask_rcnn_box_predictor {
    fc_hyperparams { op: FC initializer { truncated_normal_initializer { stddev: 0.01 } } }
    conv_hyperparams { initializer { truncated_normal_initializer { stddev: 0.01 } } }
    predict_instance_masks: true mask_height: 5 mask_width: 5 mask_prediction_conv_depth: 4 } }
  second_stage_post_processing {
    batch_non_max_suppression { max_detections_per_class: 3 max_total_detections: 3 }
    score_converter: SOFTMAX }
} }
"""


@pytest.fixture(name="trained")
def _trained(tmp_path, monkeypatch):
    monkeypatch.setattr(exporter.model_builder, "build",
                        lambda config, is_training: fake_model.FakeModel(3))
    checkpoints.write(f"{tmp_path}/run/model.ckpt-5", {"Head/strength": np.float32(0.5)})
    return f"{tmp_path}/run"


def pipeline(text="model { faster_rcnn { num_classes: 2 } }"):
    return text_format.Parse(text, pipeline_pb2.TrainEvalPipelineConfig())


def test_what_an_export_holds(tmp_path, trained):
    out = f"{tmp_path}/out"
    exporter_lib_v2.export_inference_graph("image_tensor", pipeline(), trained, out)
    assert sorted(os.listdir(out)) == ["checkpoint", "pipeline.config", "saved_model"]
    assert sorted(os.listdir(f"{out}/checkpoint")) == [
        "checkpoint", "ckpt-0.data-00000-of-00001", "ckpt-0.index"]
    # The state file names it by a path that moves with the folder.
    os.rename(out, f"{tmp_path}/moved")
    model = fake_model.FakeModel()
    tf.train.Checkpoint(model=model).restore(
        tf.train.latest_checkpoint(f"{tmp_path}/moved/checkpoint")).expect_partial()
    assert model.strength.numpy() == 0.5


@pytest.mark.parametrize("side", [{"use_side_inputs": True}, {"side_input_names": "context"}])
def test_side_inputs(tmp_path, trained, side):
    with pytest.raises(ValueError, match="^use_side_inputs: two-stage detectors take nothing but"):
        exporter_lib_v2.export_inference_graph("image_tensor", pipeline(), trained,
                                               f"{tmp_path}/out", **side)
    assert not os.path.exists(f"{tmp_path}/out")


@pytest.mark.slow
def test_a_keras_network_goes_round(tmp_path):
    """A training's ckpt-N is exported; SavedModel, ckpt-0 and the training's detect the same."""
    config = pipeline(KERAS)
    tf.random.set_seed(2)
    model = model_builder.build(config.model, is_training=False)
    tf.train.CheckpointManager(
        tf.train.Checkpoint(model=model, step=tf.Variable(30, dtype=tf.int64)),
        f"{tmp_path}/run", max_to_keep=2).save()
    exporter_lib_v2.export_inference_graph("image_tensor", config, f"{tmp_path}/run",
                                           f"{tmp_path}/out")
    held = checkpoints.shapes(f"{tmp_path}/out/checkpoint/ckpt-0")
    suffix = "/.ATTRIBUTES/VARIABLE_VALUE"
    assert {name for name in held if name.startswith("model/")} == {
        f"model/{path}{suffix}" for path in model.object_paths().values()}
    image = np.random.default_rng(0).integers(0, 255, [64, 64, 3]).astype(np.uint8)
    path = f"{tmp_path}/out/pipeline.config"
    detectors = [Detector.from_saved_model(f"{tmp_path}/out"),
                 Detector.from_checkpoint(path, f"{tmp_path}/out"),
                 Detector.from_checkpoint(path, f"{tmp_path}/run")]
    first, *others = (one.detect([image])[0] for one in detectors)
    assert len(first.scores) > 0
    for other in others:
        for got, expected in zip(other, first):
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)
