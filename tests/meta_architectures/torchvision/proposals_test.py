import numpy as np
import tensorflow as tf

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import ImageExtent, RpnOutput
from object_detection.meta_architectures.torchvision.proposals import LevelwiseProposer

CODER = FasterRcnnBoxCoder(max_log_ratio=np.log(2.0))
# Two maps: three cells, and one.
MAPS = (tf.zeros([1, 1, 3, 8]), tf.zeros([1, 1, 1, 8]))


def propose(anchors, logits, limit=9, count=3, shape=(100, 100), encodings=None):
    logits = tf.constant(logits, tf.float32)[None]
    anchors = tf.constant(anchors, tf.float32)
    encodings = tf.zeros([1, len(anchors), 4]) if encodings is None else tf.constant([encodings])
    output = RpnOutput(encodings, tf.stack([tf.zeros_like(logits), logits], axis=-1), anchors,
                       MAPS)
    nms = NmsSettings(iou_threshold=0.5, max_size_per_class=count, max_total_size=count)
    images = ImageExtent(tf.constant([[*shape, 3]]), tf.constant([128.0, 128.0]))
    found, rows = tf.function(LevelwiseProposer(CODER, nms, limit, (1, 1)).propose)(output, images)
    valid = int(found.num_valid[0])
    assert found.boxes.shape == [1, count, 4] and rows.shape == [1, count]
    assert not found.boxes.numpy()[0, valid:].any()
    return found.boxes.numpy()[0, :valid], found.scores.numpy()[0, :valid], rows.numpy()[0, :valid]


def test_levels_do_not_suppress_each_other():
    same = [10, 10, 30, 30]
    boxes, scores, rows = propose([same, [11, 10, 31, 30], [60, 60, 90, 90], same],
                                  [1.0, 2.0, 0.0, 3.0])
    # Row 0 overlaps the better row 1 of its level; row 3 is of the other level.
    assert rows.tolist() == [3, 1, 2]
    np.testing.assert_allclose(boxes, [same, [11, 10, 31, 30], [60, 60, 90, 90]])
    np.testing.assert_allclose(scores, 1.0 / (1.0 + np.exp([-3.0, -2.0, 0.0])), rtol=1e-6)


def test_the_best_of_each_level_only():
    apart = [[10, 10, 20, 20], [30, 30, 40, 40], [50, 50, 60, 60], [70, 70, 80, 80]]
    _, _, rows = propose(apart, [5.0, 6.0, 7.0, -9.0], limit=1)
    assert rows.tolist() == [2, 3]
    _, _, rows = propose(apart, [5.0, 6.0, 7.0, -9.0], count=2)
    assert rows.tolist() == [2, 1]


def test_boxes_end_at_the_image_without_padding():
    anchors = [[80, 10, 120, 30], [10, 10, 20, 20], [100, 10, 120, 30], [-20, 40, -5, 60]]
    boxes, _, rows = propose(anchors, [1.0, 0.0, 3.0, 2.0])  # the last two are outside
    assert rows.tolist() == [0, 1]
    np.testing.assert_allclose(boxes[0], [80, 10, 100, 30])


def test_growth_is_bounded():
    codes = np.zeros([4, 4], np.float32)
    codes[0, 2] = 50.0
    anchors = [[40, 40, 50, 50], [0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]
    boxes, _, _ = propose(anchors, [1.0, 0.0, 0.0, 0.0], encodings=codes)
    np.testing.assert_allclose(boxes[0], [35, 40, 55, 50], rtol=1e-6)


def test_no_candidate_is_left():
    boxes, _, _ = propose([[200, 200, 210, 210]] * 4, [1.0, 2.0, 3.0, 4.0])
    assert boxes.shape == (0, 4)
