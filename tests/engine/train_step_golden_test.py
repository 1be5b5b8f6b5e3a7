"""One training step against the original: optimizer, clipping, frozen variables, batch norm."""

import golden
import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import model_builder, optimizer_builder
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.protos import pipeline_pb2

CASES = ["faster_rcnn_mobilenet_v1", *(pytest.param(case, marks=pytest.mark.slow) for case in (
    "faster_rcnn_resnet50", "faster_rcnn_resnet50_rpn_only", "faster_rcnn_resnet50_batch_norm",
    "mask_rcnn_resnet50", "rfcn_resnet101"))]
AVERAGE = "/ExponentialMovingAverage"


def batch_of(model, inputs):
    """Returns features and labels of a case as the input pipeline would give them."""
    count = sum(key.startswith("image_") for key in inputs)
    pairs = [model.preprocess(tf.constant(inputs[f"image_{row}"][None], tf.float32))
             for row in range(count)]
    rows = max(len(inputs[f"groundtruth_boxes_{row}"]) for row in range(count))

    def padded(name):
        values = [inputs[f"{name}_{row}"] for row in range(count)]
        return tf.stack([np.pad(value, [[0, rows - len(value)]] + [[0, 0]] * (value.ndim - 1))
                         for value in values])

    labels = {name: padded(name) for name in ("groundtruth_boxes", "groundtruth_classes")}
    numbers = [len(inputs[f"groundtruth_boxes_{row}"]) for row in range(count)]
    labels["groundtruth_weights"] = tf.sequence_mask(numbers, rows, tf.float32)
    labels["groundtruth_is_crowd"] = tf.zeros([count, rows], tf.bool)
    if "groundtruth_masks_0" in inputs:
        labels["groundtruth_instance_masks"] = padded("groundtruth_masks")
    return {"image": tf.concat([pixels for pixels, _ in pairs], 0),
            "true_image_shape": tf.concat([shape for _, shape in pairs], 0)}, labels


@pytest.mark.parametrize("case", CASES)
def test_one_step(case):
    inputs, expected = golden.load(case)
    path = shared_files.require(f"fixtures/tf1/{case}") / "pipeline.config"
    config = text_format.Merge(path.read_text(), pipeline_pb2.TrainEvalPipelineConfig())
    faults = config.model.faster_rcnn.original_faults
    for field in faults.DESCRIPTOR.fields:
        setattr(faults, field.name, True)
    model = model_builder.build(config.model, is_training=True)
    golden.fill(model.variables_by_name)
    before = {name: variable.numpy() for name, variable in model.variables_by_name.items()}
    step = TrainStep(model, optimizer_builder.build(config.train_config.optimizer),
                     TrainSettings.from_config(config.train_config))

    result = step(*batch_of(model, inputs))

    np.testing.assert_allclose(result.learning_rate, expected["train/learning_rate"], rtol=1e-6)
    for name, value in result.losses.items():
        np.testing.assert_allclose(value, expected[f"train/loss/{name}"], rtol=1e-4, err_msg=name)
    if not config.train_config.freeze_variables:  # the recorded norm is that of all variables
        np.testing.assert_allclose(result.gradient_norm, expected["train/grad_global_norm"],
                                   rtol=2e-2)
    state = step.state()
    checked = 0
    for key in expected:
        if not key.startswith("train/after_step/"):
            continue
        name = key[len("train/after_step/"):]
        got, wanted = state[name].numpy(), expected[key]
        if name.endswith(AVERAGE) or "/moving_" in name:
            golden.assert_close(got, wanted, 1e-4, name)
        else:
            change = np.abs(wanted - before[name]).max()
            np.testing.assert_allclose(got, wanted, rtol=0, err_msg=name,
                                       atol=2e-2 * change + 2e-7 * np.abs(wanted).max())
        checked += 1
    assert checked >= 3
