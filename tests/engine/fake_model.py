"""A detector with three small variables, whose losses and detections can be worked out by hand."""

import numpy as np
import tensorflow as tf

from object_detection.builders.optimizer_builder import OptimizerPlan
from object_detection.core import optimizers, resizers
from object_detection.core.model import DetectionModel

LOCALIZATION = "Loss/BoxClassifierLoss/localization_loss"
CLASSIFICATION = "Loss/BoxClassifierLoss/classification_loss"
WEIGHTS = "FirstStageFeatureExtractor/net/conv/weights"
BIASES = "SecondStageBoxPredictor/ClassPredictor/biases"
BOX = "SecondStageBoxPredictor/BoxEncodingPredictor/weights"
MEAN = "FirstStageFeatureExtractor/net/conv/moving_mean"


class FakeModel(DetectionModel):
    """Class logits are mean colour times weights plus biases; the box is always the same."""

    def __init__(self, num_classes=2, penalty=0.0):
        super().__init__(name="fake")
        self._num_classes = num_classes
        self._penalty = penalty
        self._truth = None

        def variable(name, value, trainable=True, **options):
            return tf.Variable(value, name=name, trainable=trainable, dtype=tf.float32, **options)

        self._own = {
            WEIGHTS: variable(WEIGHTS, tf.zeros([3, num_classes])),
            BIASES: variable(BIASES, tf.zeros([num_classes])),
            BOX: variable(BOX, [0.0, 0.0, 1.0, 1.0]),
            MEAN: variable(MEAN, tf.zeros([3]), trainable=False,
                           synchronization=tf.VariableSynchronization.ON_READ,
                           aggregation=tf.VariableAggregation.MEAN)}

    num_classes = property(lambda self: self._num_classes)
    variables_by_name = property(lambda self: dict(self._own))
    resizer = property(lambda self: resizers.IdentityResizer())

    def build(self):
        """All variables are there already."""

    def normalize(self, pixels):
        return pixels / 255.0

    def preprocess(self, inputs):
        shape = tf.shape(inputs)
        return self.normalize(inputs), tf.tile(shape[None, 1:], [shape[0], 1])

    def predict(self, preprocessed_inputs, true_image_shapes):
        colour = tf.reduce_mean(preprocessed_inputs, axis=[1, 2])
        logits = tf.linalg.matmul(colour, self._own[WEIGHTS]) + self._own[BIASES]
        self._own[MEAN].assign(0.5 * self._own[MEAN] + 0.5 * tf.reduce_mean(colour, axis=0))
        return {"logits": logits}

    def postprocess(self, prediction_dict, true_image_shapes):
        scores = tf.nn.softmax(prediction_dict["logits"])
        rows = tf.shape(scores)[0]
        return {"detection_boxes": tf.tile(self._own[BOX][None, None], [rows, 2, 1]),
                "detection_scores": tf.stack([tf.reduce_max(scores, axis=1), tf.zeros([rows])], 1),
                "detection_classes": tf.stack(
                    [tf.cast(tf.argmax(scores, axis=1), tf.float32), tf.zeros([rows])], 1),
                "num_detections": tf.ones([rows])}

    def provide_groundtruth(self, groundtruth_boxes_list, groundtruth_classes_list,
                            groundtruth_masks_list=None, groundtruth_weights_list=None,
                            groundtruth_is_crowd_list=None, is_annotated_list=None,
                            groundtruth_labeled_classes=None):
        self._truth = (tf.stack(groundtruth_boxes_list), tf.stack(groundtruth_classes_list),
                       tf.stack(groundtruth_weights_list))

    def loss(self, prediction_dict, true_image_shapes):
        boxes, classes, weights = self._truth
        logits = tf.broadcast_to(prediction_dict["logits"][:, None], tf.shape(classes))
        entropy = tf.nn.softmax_cross_entropy_with_logits(classes, logits)
        squared = tf.reduce_sum(tf.square(boxes - self._own[BOX]), axis=-1)
        images = tf.cast(tf.shape(boxes)[0], tf.float32)
        return {LOCALIZATION: tf.reduce_sum(weights * squared) / images,
                CLASSIFICATION: tf.reduce_sum(weights * entropy) / images}

    def regularization_losses(self):
        if not self._penalty:
            return []
        return [self._penalty * tf.reduce_sum(tf.square(self._own[BOX]))]

    def object_paths(self):
        return {WEIGHTS: "backbone/conv/kernel", BIASES: "heads/class/bias", BOX: "heads/box",
                MEAN: "backbone/conv/mean"}

    def restore_map(self, fine_tune_checkpoint_type="detection",
                    load_all_detection_checkpoint_vars=False):
        if fine_tune_checkpoint_type == "classification":
            return {name.split("/", 1)[1]: variable for name, variable in self._own.items()
                    if name.startswith("First")}
        if fine_tune_checkpoint_type == "full" or load_all_detection_checkpoint_vars:
            return dict(self._own)
        return {name: variable for name, variable in self._own.items() if name.startswith("First")}


def plan(rate=0.1, momentum=0.9, average=None):
    """Returns a momentum optimizer at a constant rate."""
    return OptimizerPlan(optimizers.MomentumOptimizer(momentum), lambda step: tf.constant(rate),
                         optimizers.MovingAverage(average) if average is not None else None)


def batch(images=2, classes=2, seed=0, side=8):
    """Returns features and labels with one object per image and one row of padding."""
    random = np.random.default_rng(seed)
    boxes = np.zeros([images, 2, 4], np.float32)
    boxes[:, 0] = [0.25, 0.25, 0.75, 0.75]
    one_hot = np.zeros([images, 2, classes], np.float32)
    one_hot[np.arange(images), 0, random.integers(classes, size=images)] = 1
    weights = np.zeros([images, 2], np.float32)
    weights[:, 0] = 1
    features = {
        "image": random.random([images, side, side, 3], np.float32),
        "true_image_shape": np.tile(np.int32([side, side, 3]), [images, 1]),
        "original_image_spatial_shape": np.tile(np.int32([side * 2, side * 4]), [images, 1]),
        "source_id": np.array([f"image{row}" for row in range(images)], np.bytes_)}
    labels = {
        "groundtruth_boxes": boxes, "groundtruth_classes": one_hot,
        "groundtruth_weights": weights,
        "groundtruth_is_crowd": np.zeros([images, 2], bool),
        "groundtruth_area": np.zeros([images, 2], np.float32),
        "num_groundtruth_boxes": np.ones([images], np.int32)}
    return tf.nest.map_structure(tf.constant, (features, labels))
