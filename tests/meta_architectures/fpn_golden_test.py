"""Pyramid models of the original under TF2: names, predictions, losses, gradients, one step."""

import golden_tf2
import pytest

CASES = ("faster_rcnn_resnet50_fpn_keras", "faster_rcnn_resnet50_fpn_keras_static",
         "faster_rcnn_resnet50_fpn_keras_batch_norm")
TOLERANCES = {"faster_rcnn_resnet50_fpn_keras_batch_norm": golden_tf2.Tolerance(
    values=5e-3, losses=2e-3, gradients=0.15)}


@pytest.mark.parametrize("case", CASES)
def test_inference(case):
    golden_tf2.check_inference(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_training(case):
    golden_tf2.check_training(case, TOLERANCES.get(case, golden_tf2.Tolerance()))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_one_step(case):
    golden_tf2.check_step(case, TOLERANCES.get(case, golden_tf2.Tolerance()))
