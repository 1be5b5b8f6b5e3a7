"""A real network, exported with the weights of the fixtures, gives the original's detections."""

import golden
import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection import exporter
from object_detection.builders import model_builder
from object_detection.engine import checkpoints
from object_detection.protos import pipeline_pb2
from object_detection.serving.detector import Detector

CASE = "mask_rcnn_resnet50"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    text = (shared_files.require(f"fixtures/tf1/{CASE}") / "pipeline.config").read_text()
    pipeline = text_format.Merge(text, pipeline_pb2.TrainEvalPipelineConfig())
    faults = pipeline.model.faster_rcnn.original_faults
    for field in faults.DESCRIPTOR.fields:
        setattr(faults, field.name, True)
    model = model_builder.build(pipeline.model, is_training=False)
    golden.fill(model.variables_by_name)
    checkpoints.write(f"{folder}/run/model.ckpt-7", checkpoints.snapshot(model.variables_by_name))
    exporter.export_inference_graph("image_tensor", pipeline, f"{folder}/run", f"{folder}/out")
    return f"{folder}/out"


def test_detections_of_the_original(exported):
    inputs, expected = golden.load(CASE)
    loaded = tf.saved_model.load(f"{exported}/saved_model")
    for number in range(len(expected["postprocess/num_detections"])):
        found = loaded(inputs[f"image_{number}"][None])
        for key in ("detection_boxes", "detection_scores", "detection_masks", "num_detections"):
            np.testing.assert_allclose(found[key][0], expected[f"postprocess/{key}"][number],
                                       rtol=0, atol=1e-3, err_msg=f"{key} of image {number}")
        np.testing.assert_array_equal(found["detection_classes"][0] - 1,
                                      expected["postprocess/detection_classes"][number])


def test_a_batch_gives_what_its_images_give_and_an_empty_one_nothing(exported):
    images = np.random.default_rng(0).integers(0, 255, [3, 60, 80, 3]).astype(np.uint8)
    loaded = tf.saved_model.load(f"{exported}/saved_model")
    together = loaded(images)
    for number in range(3):
        alone = loaded(images[number:number + 1])
        for key, value in alone.items():
            np.testing.assert_allclose(value[0], together[key][number], rtol=0, atol=1e-3,
                                       err_msg=key)
    for shape in ([0, 60, 80, 3], [0, 0, 0, 3]):
        for key, value in loaded(np.zeros(shape, np.uint8)).items():
            assert value.shape == [0, *together[key].shape[1:]], key


def test_the_exported_checkpoint_and_config_give_the_same_detections(exported):
    image = golden.load(CASE)[0]["image_0"]
    (first,) = Detector.from_saved_model(exported).detect([image])
    (second,) = Detector.from_checkpoint(f"{exported}/pipeline.config",
                                         f"{exported}/model.ckpt").detect([image])
    assert len(first.scores) > 0
    for one, other in zip(first, second):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
