"""Target assigners from config text and from papers, with the original's targets."""

import golden
import numpy as np
import op_cases
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import target_assigner_builder
from object_detection.protos import target_assigner_pb2

CASES = ["detection", "detection_anchor_list", "detection_masks", "detection_matmul",
         "detection_negative_weight", "proposal", "proposal_matmul", "proposal_no_weights",
         "proposal_padded"]


def stacked(inputs, name):
    """Stacks name_0 and name_1 to a batch of two, padded with zeros; None where absent."""
    images = [inputs.get(f"{name}_{image}") for image in range(2)]
    if images[0] is None:
        return None
    size = max(len(image) for image in images)
    return tf.stack([np.pad(image, [(0, size - len(image))] + [(0, 0)] * (image.ndim - 1))
                     for image in images])


@pytest.mark.parametrize("case", CASES)
def test_a_padded_batch_as_in_the_original(case):
    inputs, outputs = op_cases.load("target_assigner", case)
    settings = dict(op_cases.params("target_assigner", case))
    settings.pop("note", None)
    weights = stacked(inputs, "gt_weights")
    if weights is None:
        inputs |= {f"ones_{i}": np.ones(len(inputs[f"gt_boxes_{i}"]), np.float32)
                   for i in range(2)}
        weights = stacked(inputs, "ones")
    anchors = inputs.get("anchors")
    targets = target_assigner_builder.create_target_assigner(**settings).assign(
        stacked(inputs, "anchors") if anchors is None else anchors, stacked(inputs, "gt_boxes"),
        stacked(inputs, "gt_classes"), inputs.get("unmatched"), weights)
    np.testing.assert_array_equal(targets.match.rows, outputs["match"])
    for name in ("cls_targets", "cls_weights", "reg_targets", "reg_weights"):
        golden.assert_close(getattr(targets, name), outputs[name], 1e-5, name)


def test_no_ground_truth_as_in_the_original():
    inputs, outputs = op_cases.load("target_assigner", "no_groundtruth")
    targets = target_assigner_builder.create_target_assigner("FasterRCNN", "proposal").assign(
        inputs["anchors"], tf.constant(inputs["gt_boxes"]))
    for name, expected in outputs.items():
        golden.assert_close(getattr(targets, name), expected, 1e-5, name)
    assert op_cases.cases("target_assigner") == {"no_groundtruth", *CASES}


@pytest.mark.parametrize("use_matmul", [False, True])
def test_compiled_for_static_shapes_gives_the_same(use_matmul):
    inputs, outputs = op_cases.load("target_assigner", "proposal_padded")
    assigner = target_assigner_builder.create_target_assigner(
        "FasterRCNN", "proposal", use_matmul_gather=use_matmul)
    compiled = tf.function(lambda *args: assigner.assign(args[0], args[1], weights=args[2]),
                           jit_compile=True)
    targets = compiled(inputs["anchors"], stacked(inputs, "gt_boxes"),
                       stacked(inputs, "gt_weights"))
    golden.assert_close(targets.reg_targets, outputs["reg_targets"], 1e-5)
    np.testing.assert_array_equal(targets.match.rows, outputs["match"])


def test_unknown_reference_lists_the_choices():
    with pytest.raises(ValueError, match="proposal.*got .'FasterRCNN', 'third'"):
        target_assigner_builder.create_target_assigner("FasterRCNN", "third")


def test_from_a_config_block():
    config = text_format.Parse("""
        matcher { argmax_matcher { matched_threshold: 0.75 use_matmul_gather: true } }
        similarity_calculator { iou_similarity {} }
        box_coder { mean_stddev_box_coder { stddev: 1.0 } }""",
        target_assigner_pb2.TargetAssigner())
    assigner = target_assigner_builder.build(config)
    assert assigner.use_matmul_gather and assigner.matcher.matched_threshold == 0.75
    config.ClearField("box_coder")
    with pytest.raises(ValueError, match="target_assigner: box_coder is not set"):
        target_assigner_builder.build(config)
