import numpy as np
import tensorflow as tf

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.score_converters import ScoreConverter
from object_detection.core.structures import HeadOutput, ImageExtent, Proposals
from object_detection.meta_architectures.torchvision.detections import ClipFirstPostprocessor


def detect(boxes, logits):
    """Detects on regions that are boxes already, in an image of 100 x 50."""
    boxes = tf.constant([boxes], tf.float32)
    nms = NmsSettings(score_threshold=0.05, iou_threshold=0.5, max_size_per_class=4,
                      max_total_size=4, change_coordinate_frame=True)
    count = boxes.shape[1]
    subject = ClipFirstPostprocessor(FasterRcnnBoxCoder(), ScoreConverter("softmax", 1.0), nms)
    found = subject.detect(
        HeadOutput(tf.zeros([count, 2, 4]), tf.constant(logits, tf.float32)),
        Proposals(boxes, tf.zeros([1, count]), tf.constant([count])),
        ImageExtent(tf.constant([[100, 50, 3]]), tf.constant([128.0, 64.0])))
    kept = int(found.num_detections[0])
    return found.input_boxes.numpy()[0, :kept], found.classes.numpy()[0, :kept]


def test_overlaps_are_those_of_what_lies_in_the_image():
    # 20 x 20 each, 10 apart: an overlap of a third; inside, both are the same 20 x 10.
    boxes = [[10, 40, 30, 60], [10, 40, 30, 90]]
    found, classes = detect(boxes, [[0.0, 9.0, 0.0], [0.0, 8.0, 0.0]])
    np.testing.assert_allclose(found, [[10, 40, 30, 50]], rtol=1e-6)
    assert classes.tolist() == [0]


def test_classes_do_not_suppress_each_other_and_slivers_are_dropped():
    boxes = [[10, 10, 30, 30], [60, 10, 60.005, 30], [70, 60, 80, 70]]
    found, classes = detect(boxes, [[0.0, 2.0, 2.5], [0.0, 9.0, 0.0], [0.0, 9.0, 0.0]])
    np.testing.assert_allclose(found, [[10, 10, 30, 30]] * 2, rtol=1e-6)
    assert classes.tolist() == [1, 0]
