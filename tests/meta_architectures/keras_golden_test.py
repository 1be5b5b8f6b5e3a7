"""Keras models without a pyramid, end to end against the original: same weights, same numbers."""

import golden_tf2
import pytest

# Trained batch norm amplifies rounding.
TRAINED_NORM = golden_tf2.Tolerance(values=5e-4, losses=3e-4, gradients=5e-2)
TOLERANCES = {
    "faster_rcnn_resnet50_keras": golden_tf2.Tolerance(),
    "faster_rcnn_resnet101_keras_rpn_only": golden_tf2.Tolerance(),
    "faster_rcnn_resnet50_keras_batch_norm": TRAINED_NORM,
    "mask_rcnn_resnet50_keras": golden_tf2.Tolerance(),
    "mask_rcnn_inception_resnet_v2_keras": golden_tf2.Tolerance(),
    "faster_rcnn_inception_resnet_v2_keras_stride8_rpn_only": TRAINED_NORM}


def cases(*quick):
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow)
            for case in TOLERANCES]


@pytest.mark.parametrize("case", cases("mask_rcnn_resnet50_keras"))
def test_inference(case):
    golden_tf2.check_inference(case)


@pytest.mark.parametrize("case", cases())
def test_training(case):
    golden_tf2.check_training(case, TOLERANCES[case])


@pytest.mark.parametrize("case", cases("faster_rcnn_resnet50_keras"))
def test_one_step(case):
    golden_tf2.check_step(case, TOLERANCES[case])
