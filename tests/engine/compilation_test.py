"""Compiling with XLA: what has to be set, and that the results stay the same."""

import numpy as np
import pytest
import tensorflow as tf
from engine import fake_model, pipelines, two_devices
from google.protobuf import text_format

from object_detection.engine import compilation, estimator
from object_detection.engine.evaluator import EvaluationSettings, Evaluator
from object_detection.engine.run_config import RunConfig
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.metrics import coco_evaluation
from object_detection.protos import pipeline_pb2

STATIC = """
  model { faster_rcnn {
    image_resizer { fixed_shape_resizer { height: 64 width: 64 } }
    use_static_shapes: true
    use_static_shapes_for_eval: true
    use_matmul_crop_and_resize: true
    clip_anchors_to_image: true
    second_stage_post_processing { batch_non_max_suppression { use_static_shapes: true } }
  } }
"""


def parsed(text):
    return text_format.Parse(text, pipeline_pb2.TrainEvalPipelineConfig())


def test_static_settings_pass():
    compilation.check_training(parsed(STATIC))
    compilation.check_inference(parsed(STATIC))


def test_all_that_is_missing_is_named_at_once():
    with pytest.raises(ValueError) as caught:
        compilation.check_training(parsed("train_input_reader { drop_remainder: false }"))
    for field in ("model.faster_rcnn.use_static_shapes: true",
                  "model.faster_rcnn.use_matmul_crop_and_resize: true",
                  "model.faster_rcnn.clip_anchors_to_image: true",
                  "train_input_reader.drop_remainder: true"):
        assert field in str(caught.value)
    with pytest.raises(ValueError, match="use_static_shapes_for_eval: true; .*batch_non_max_"
                       "suppression.use_static_shapes: true; .*force_no_resize: false"):
        compilation.check_inference(parsed("eval_config { force_no_resize: true }"))


def test_images_of_unlike_sizes_are_not_evaluated():
    pipeline = parsed(STATIC)
    text_format.Merge("identity_resizer {}", pipeline.model.faster_rcnn.image_resizer)
    with pytest.raises(ValueError, match="image_resizer: fixed_shape_resizer, or keep_aspect"):
        compilation.check_inference(pipeline)


def test_one_stage_rfcn_and_pyramids_need_no_matrix_products():
    compilation.check_training(parsed("""
      model { faster_rcnn { number_of_stages: 1 use_static_shapes: true
                            clip_anchors_to_image: true } }"""))
    compilation.check_training(parsed("""
      model { faster_rcnn { use_static_shapes: true clip_anchors_to_image: true
                            second_stage_box_predictor { rfcn_box_predictor {} } } }"""))
    for text in ('feature_extractor { type: "faster_rcnn_resnet50_fpn_keras" }',
                 "region_pooling { kind: ROI_ALIGN }"):
        compilation.check_training(parsed("model { faster_rcnn { use_static_shapes: true "
                                          f"clip_anchors_to_image: true {text} }} }}"))
    compilation.check_training(parsed(
        "model { faster_rcnn { use_static_shapes: true matterport {} } }"))


def spec(image=(2, 8, 8, 3), boxes=(2, 5, 4)):
    features, labels = fake_model.batch()
    found = tf.nest.map_structure(lambda value: tf.TensorSpec(value.shape, value.dtype),
                                  (features, labels))
    found[0]["image"] = tf.TensorSpec(image)
    found[1]["groundtruth_boxes"] = tf.TensorSpec(boxes)
    return found


@pytest.mark.parametrize("changes, message", [
    ({"image": (2, None, None, 3)}, "image_resizer: fixed_shape_resizer, or keep_aspect"),
    ({"image": (None, 8, 8, 3)}, "drop_remainder: true"),
    ({"boxes": (2, None, 4)}, "max_number_of_boxes")])
def test_batches_of_unlike_shapes(changes, message):
    compilation.check_batches(spec())
    with pytest.raises(ValueError, match=message):
        compilation.check_batches(spec(**changes))


def test_a_compiled_step_is_the_same_step():
    steps = [TrainStep(fake_model.FakeModel(penalty=0.1), fake_model.plan(average=0.5),
                       TrainSettings(clipping_norm=0.3, jit_compile=compiled))
             for compiled in (False, True)]
    for seed in range(2):
        plain, compiled = (step(*fake_model.batch(seed=seed)) for step in steps)
        np.testing.assert_allclose(compiled.total_loss, plain.total_loss, rtol=1e-5)
    plain, compiled = (step.state() for step in steps)
    for name, variable in plain.items():
        np.testing.assert_allclose(compiled[name], variable, rtol=1e-5, err_msg=name)


def test_a_compiled_evaluation_is_the_same_evaluation():
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    data = tf.data.Dataset.from_tensor_slices(fake_model.batch(images=3)).batch(2)
    plain, compiled = (
        Evaluator(fake_model.FakeModel(), [coco_evaluation.CocoDetectionEvaluator(categories)],
                  EvaluationSettings(jit_compile=choice)).run(data) for choice in (False, True))
    assert compiled == pytest.approx(plain)


def test_several_devices_are_refused():
    strategy = two_devices.strategy()
    with strategy.scope():
        model = fake_model.FakeModel()
    with pytest.raises(ValueError, match="several devices cannot be compiled"):
        TrainStep(model, fake_model.plan(), TrainSettings(jit_compile=True), strategy)


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    pipelines.use_fake_model(monkeypatch)
    pipelines.use_fake_inputs(monkeypatch)
    return pipelines.write(tmp_path)


def test_a_run_refuses_early_and_the_flag_wins(pipeline, tmp_path):
    pipeline.train_config.jit_compile = True
    with pytest.raises(ValueError, match="jit_compile needs shapes that are known"):
        estimator.train(pipeline, RunConfig(f"{tmp_path}/a"))
    assert estimator.train(pipeline, RunConfig(f"{tmp_path}/b", jit_compile=False)).step == 4
    with pytest.raises(ValueError, match="use_static_shapes_for_eval"):
        estimator.evaluate(pipeline, RunConfig(f"{tmp_path}/b"))


def test_a_compiled_run(pipeline, tmp_path):
    text_format.Merge(STATIC, pipeline)
    run = RunConfig(f"{tmp_path}/run", jit_compile=True)
    outcome = estimator.train_and_evaluate(pipeline, run)
    assert outcome.step == 4 and outcome.metrics["eval_0"]
