import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import HeadOutput, ImageExtent, Proposals
from object_detection.meta_architectures.matterport.detections import MatterportPostprocessor

CODER = FasterRcnnBoxCoder([10.0, 10.0, 5.0, 5.0])


def postprocessor(threshold=0.5, count=4, iou=0.3, **faults):
    return MatterportPostprocessor(CODER, NmsSettings(
        score_threshold=threshold, iou_threshold=iou, max_size_per_class=count,
        max_total_size=count), **faults)


def detect(subject, boxes, scores, size=(100, 100), images=None, num_valid=None):
    """Boxes [P, 4] with scores [P, C + 1] in one image of `size`, or where `images` says."""
    boxes = tf.constant([boxes], tf.float32)
    scores = tf.constant(scores, tf.float32)
    head = HeadOutput(tf.zeros([boxes.shape[1], scores.shape[1] - 1, 4]), tf.math.log(scores))
    count = tf.constant([boxes.shape[1] if num_valid is None else num_valid])
    images = images or ImageExtent(tf.constant([[*size, 3]]), tf.constant(size, tf.float32))
    return subject.detect(head, Proposals(boxes, tf.zeros(boxes.shape[:2]), count), images)


@pytest.mark.parametrize("case", ["conf_0.7", "conf_0", "max_5", "nothing_confident", "nms_0.6"])
def test_fixture(case):
    data = np.load(shared_files.require("fixtures/matterport/utils/graph_layers.npz"))
    prefix = f"detection_layer_{case}"
    rois, scores, deltas, meta = (data[f"{prefix}/in/{name}"] for name in (
        "rois", "mrcnn_class", "mrcnn_bbox", "image_meta"))
    size, windows = meta[0, 4:6], meta[:, 7:11]
    wanted = data[f"{prefix}/out/detections"]
    subject = postprocessor(
        float(data[f"{prefix}/in/detection_min_confidence"]),
        int(data[f"{prefix}/in/detection_max_instances"]),
        float(data[f"{prefix}/in/detection_nms_threshold"]),
        original_without_area=True)
    shapes = np.concatenate([windows[:, 2:] - windows[:, :2], np.full([2, 1], 3)], axis=1)
    scale = np.tile(size - 1, 2).astype(np.float32)
    head = HeadOutput(tf.reshape(deltas, [-1, 5, 4])[:, 1:],
                      tf.math.log(tf.reshape(scores, [-1, 5])))
    found = tf.function(subject.detect)(
        head, Proposals(tf.constant(rois * scale), tf.zeros([2, 40]), tf.constant([40, 40])),
        ImageExtent(tf.cast(shapes, tf.int32), tf.cast(size, tf.float32),
                    tf.cast(windows, tf.float32)))
    np.testing.assert_allclose(found.input_boxes / scale, wanted[..., :4], atol=1e-5)
    classes = tf.where(found.scores > 0, found.classes + 1.0, 0.0)
    np.testing.assert_array_equal(classes, wanted[..., 4])
    np.testing.assert_allclose(found.scores, wanted[..., 5], atol=1e-6)


def test_only_the_best_class_of_a_region_counts_from_its_least_score_on():
    found = detect(postprocessor(threshold=0.5), [[0, 0, 9, 9], [20, 20, 29, 29], [40, 40, 49, 49]],
                   [[0.1, 0.4, 0.5], [0.6, 0.4, 0.0], [0.51, 0.49, 0.0]])
    assert found.num_detections.numpy().tolist() == [1.0]
    assert found.classes.numpy()[0, 0] == 1.0 and found.anchor_indices.numpy()[0, 0] == 0
    np.testing.assert_allclose(found.multiclass_scores[0, 0], [0.1, 0.4, 0.5], atol=1e-6)
    np.testing.assert_allclose(found.boxes[0, 0], [0, 0, 0.1, 0.1], atol=1e-6)  # edge to edge


def test_boxes_are_relative_to_the_image_in_the_middle_of_its_frame():
    subject = postprocessor()
    images = ImageExtent(tf.constant([[60, 100, 3]]), tf.constant([100.0, 100.0]),
                         tf.constant([[20.0, 0.0, 80.0, 100.0]]))
    found = detect(subject, [[0, 10, 49, 49]], [[0.1, 0.9]], images=images)
    np.testing.assert_allclose(found.input_boxes[0, 0], [20, 10, 49, 49], atol=1e-5)
    np.testing.assert_allclose(found.boxes[0, 0], [0, 0.1, 0.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(subject.to_input(found.boxes, images)[0, 0], [20, 10, 49, 49],
                               atol=1e-4)


def test_boxes_without_area_and_padding_are_no_detections():
    boxes = [[-30, 0, -20, 9], [20, 20, 29, 29], [0, 0, 0, 0]]
    scores = [[0.1, 0.9], [0.2, 0.8], [0.05, 0.95]]
    found = detect(postprocessor(), boxes, scores, num_valid=2)
    assert found.num_detections.numpy().tolist() == [1.0]
    assert found.anchor_indices.numpy()[0, 0] == 1
    found = detect(postprocessor(original_without_area=True), boxes, scores, num_valid=2)
    assert found.anchor_indices.numpy()[0, :2].tolist() == [2, 0]
    assert found.num_detections.numpy().tolist() == [1.0]


def test_no_proposals():
    found = detect(postprocessor(), [[0, 0, 0, 0]], [[0.1, 0.9]], num_valid=0)
    assert found.boxes.shape == [1, 4, 4] and found.num_detections.numpy().tolist() == [0.0]
