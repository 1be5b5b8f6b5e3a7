"""One training step against the original: optimizer, clipping, frozen variables, batch norm."""

import golden
import numpy as np
import pytest
import shared_files
from google.protobuf import text_format

from object_detection.builders import model_builder, optimizer_builder
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.protos import pipeline_pb2

CASES = ["faster_rcnn_mobilenet_v1", *(pytest.param(case, marks=pytest.mark.slow) for case in (
    "faster_rcnn_inception_resnet_v2_atrous", "faster_rcnn_inception_v2",
    "faster_rcnn_resnet101_atrous", "faster_rcnn_resnet50",
    "faster_rcnn_resnet50_agnostic_sigmoid_ohem", "faster_rcnn_resnet50_agnostic_softmax_ohem",
    "faster_rcnn_resnet50_batch_norm", "faster_rcnn_resnet50_rpn_only",
    "faster_rcnn_resnet50_static", "mask_rcnn_resnet50", "mask_rcnn_resnet50_agnostic_masks",
    "rfcn_resnet101"))]
AVERAGE = "/ExponentialMovingAverage"


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

    result = step(*golden.batch_of(model, inputs))

    np.testing.assert_allclose(result.learning_rate, expected["train/learning_rate"], rtol=1e-6)
    for name, value in result.losses.items():
        np.testing.assert_allclose(value, expected[f"train/loss/{name}"], rtol=1e-4, err_msg=name)
    if not config.train_config.freeze_variables:  # the recorded norm is that of all variables
        np.testing.assert_allclose(result.gradient_norm, expected["train/grad_global_norm"],
                                   rtol=2e-2)
    state = step.state()
    keys = [key for key in expected if key.startswith("train/after_step/")]
    assert len(keys) >= 3
    if config.train_config.optimizer.use_moving_average:
        assert any(key.endswith(AVERAGE) for key in keys)
    for key in keys:
        name = key[len("train/after_step/"):]
        got, wanted = state[name].numpy(), expected[key]
        if name.endswith(AVERAGE) or "/moving_" in name:
            golden.assert_close(got, wanted, 1e-4, name)
        else:
            change = np.abs(wanted - before[name]).max()
            np.testing.assert_allclose(got, wanted, rtol=0, err_msg=name,
                                       atol=2e-2 * change + 2e-7 * np.abs(wanted).max())
