"""A detection model with the contract's verbs and no network, for tests of serving.

It finds one box per image, around the pixels brighter than 127 in the red channel, of class 1 (0
inside the model) if they are mostly in the upper half and else of class 2. Its score is `strength`
(a variable, 1 at first) times 0.9.
"""

import tensorflow as tf

MAX_DETECTIONS = 3


class FakeModel(tf.Module):
    num_classes = 2
    max_detections = MAX_DETECTIONS

    def __init__(self, number_of_stages=2):
        super().__init__(name="fake")
        self.number_of_stages = number_of_stages
        self.strength = tf.Variable(1.0, name="Head/strength")
        self.variables_by_name = {"Head/strength": self.strength}

    def object_paths(self):
        return {"Head/strength": "strength"}

    def preprocess(self, images):
        # As a network would, it refuses an empty batch.
        checked = tf.debugging.assert_positive(tf.shape(images)[0])
        with tf.control_dependencies([checked] if checked is not None else []):
            images = tf.identity(images)
        shape = tf.shape(images)
        true = tf.tile([[shape[1], shape[2], 3]], [shape[0], 1])
        return tf.pad(images, [[0, 0], [0, 8], [0, 4], [0, 0]]), true

    def predict(self, pixels, true_shapes):
        bright = tf.cast(pixels[..., 0] > 127.0, tf.float32)
        rows, columns = tf.reduce_max(bright, axis=2), tf.reduce_max(bright, axis=1)
        return {"rows": rows, "columns": columns}

    def postprocess(self, predictions, true_shapes):
        size = tf.cast(true_shapes, tf.float32)
        top, bottom = _extent(predictions["rows"])
        left, right = _extent(predictions["columns"])
        box = tf.stack([top / size[:, 0], left / size[:, 1], bottom / size[:, 0],
                        right / size[:, 1]], axis=1)
        found = tf.cast(bottom > top, tf.float32)
        upper = (box[:, 0] + box[:, 2]) / 2.0 < 0.5
        pad = [[0, 0], [0, MAX_DETECTIONS - 1]]
        scores = tf.pad((found * 0.9 * self.strength)[:, None], pad)
        boxes = tf.pad((found[:, None] * box)[:, None], [*pad, [0, 0]])
        result = {
            "detection_boxes": boxes, "detection_scores": scores, "num_detections": found,
            "detection_multiclass_scores": tf.stack([1 - scores, scores, scores], axis=2),
            "detection_anchor_indices": tf.zeros_like(scores, tf.int32),
            "raw_detection_boxes": boxes, "raw_detection_scores": scores[..., None]}
        if self.number_of_stages > 1:
            classes = tf.where(upper, 0.0, 1.0)
            result["detection_classes"] = tf.pad(classes[:, None], pad)
        if self.number_of_stages == 3:
            shape = [tf.shape(scores)[0], MAX_DETECTIONS, 5, 5]
            result["detection_masks"] = tf.ensure_shape(tf.ones(shape), [None, 3, 5, 5])
        return result

    def predict_masks_from_boxes(self, predictions, true_shapes, boxes, classes):
        """Fills the mask of class 0 with ones, of class 1 with 0.25."""
        boxes, classes = tf.stack(boxes), tf.stack(classes)
        masks = tf.where(classes > 0.5, 0.25, 1.0)[..., None, None] * tf.ones([5, 5])
        return {"detection_boxes": boxes, "detection_classes": classes, "detection_masks": masks,
                "num_detections": tf.ones([len(boxes)])}


def _extent(lit):
    positions = tf.range(tf.shape(lit)[1], dtype=tf.float32)[None]
    last = tf.reduce_max(lit * (positions + 1.0), axis=1)
    count = tf.cast(tf.shape(lit)[1], tf.float32)
    first = count - tf.reduce_max(lit * (count - positions), axis=1)
    return first, last
