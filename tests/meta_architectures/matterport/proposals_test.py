import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import ImageExtent, RpnOutput
from object_detection.meta_architectures.matterport.proposals import MatterportProposer

SIZE = 256.0
CODER = FasterRcnnBoxCoder([10.0, 10.0, 5.0, 5.0])


def proposer(count, limit=6000, iou=0.7, **faults):
    return MatterportProposer(CODER, NmsSettings(
        iou_threshold=iou, max_size_per_class=count, max_total_size=count), limit, **faults)


def extent(batch=1):
    return ImageExtent(tf.tile([[int(SIZE), int(SIZE), 3]], [batch, 1]), tf.constant([SIZE, SIZE]))


def rpn(anchors, scores, encodings=None):
    anchors = tf.constant(anchors, tf.float32)
    scores = tf.constant(scores, tf.float32)
    if encodings is None:
        encodings = tf.zeros([1, anchors.shape[0], 4])
    return RpnOutput(encodings, tf.stack([tf.zeros_like(scores), scores], axis=-1)[None], anchors,
                     ())


@pytest.mark.parametrize("case", ["default", "pre_nms_limit", "padded_with_zeros"])
def test_fixture(case):
    data = np.load(shared_files.require("fixtures/matterport/utils/graph_layers.npz"))
    given = {name: data[f"proposal_layer_{case}/in/{name}"] for name in (
        "rpn_probs", "rpn_bbox", "anchors", "proposal_count", "pre_nms_limit")}
    wanted = data[f"proposal_layer_{case}/out/proposals"]
    output = RpnOutput(
        tf.constant(given["rpn_bbox"]), tf.math.log(given["rpn_probs"]),
        tf.constant(given["anchors"] * (SIZE - 1.0)), ())
    subject = proposer(int(given["proposal_count"]), int(given["pre_nms_limit"]),
                       float(data[f"proposal_layer_{case}/in/nms_threshold"]))
    found, rows = tf.function(subject.propose)(output, extent(2))
    np.testing.assert_allclose(found.boxes / (SIZE - 1.0), wanted, atol=1e-6)
    np.testing.assert_array_equal(found.num_valid, (wanted.any(axis=-1)).sum(axis=1))
    assert rows.shape == wanted.shape[:2]


def test_the_best_candidates_only():
    output = rpn([[0, 0, 9, 9], [20, 20, 29, 29], [40, 40, 49, 49]], [0.0, 2.0, 1.0])
    found, rows = proposer(3, limit=2).propose(output, extent())
    np.testing.assert_allclose(found.boxes[0], [[20, 20, 29, 29], [40, 40, 49, 49], [0, 0, 0, 0]],
                               atol=1e-5)
    assert found.num_valid.numpy().tolist() == [2] and rows.numpy()[0, :2].tolist() == [1, 2]


def test_candidates_beyond_the_edge_are_no_proposals():
    output = rpn([[-20, -20, -10, -10], [250, 250, 270, 270]], [2.0, 1.0])
    found, _ = proposer(2).propose(output, extent())
    np.testing.assert_allclose(found.boxes[0], [[250, 250, 255, 255], [0, 0, 0, 0]], atol=1e-4)
    assert found.num_valid.numpy().tolist() == [1]
    found, _ = proposer(2, original_without_area=True).propose(output, extent())
    # TensorFlow 1: the first box without area ends the list.
    assert found.num_valid.numpy().tolist() == [1]
    np.testing.assert_allclose(found.boxes[0, 0], [0, 0, 0, 0], atol=1e-4)


@pytest.mark.parametrize("passes", [False, True])
def test_gradient(passes):
    encodings = tf.Variable(tf.zeros([1, 1, 4]))
    with tf.GradientTape() as tape:
        found, _ = proposer(1, pass_gradient=passes).propose(
            rpn([[10, 10, 29, 29]], [1.0], encodings), extent())
        total = tf.reduce_sum(found.boxes)
    assert (tape.gradient(total, encodings) is not None) == passes
