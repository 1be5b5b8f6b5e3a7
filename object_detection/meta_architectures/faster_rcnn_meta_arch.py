"""Faster R-CNN and Mask R-CNN: propose regions, classify and refine them, draw their masks.

Ren et al., Faster R-CNN (arXiv:1506.01497); He et al., Mask R-CNN (arXiv:1703.06870). This file
is the wiring: the parts come built (settings.FirstStage, settings.SecondStage), and each stage
hands a NamedTuple to the next. String keys appear only in what the four verbs take and return.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core import model, resizers
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE
from object_detection.core.structures import GroundTruth, HeadOutput, Proposals, RpnOutput
from object_detection.meta_architectures import groundtruth, results, rpn
from object_detection.meta_architectures.results import Detections
from object_detection.meta_architectures.settings import (
    DetectorSettings,
    FirstStage,
    SecondStage,
)
from object_detection.nets.variable_store import VariableStore

BOX_PREDICTOR_SCOPE = "SecondStageBoxPredictor"

RPN_LOCALIZATION_LOSS = "Loss/RPNLoss/localization_loss"
RPN_OBJECTNESS_LOSS = "Loss/RPNLoss/objectness_loss"
BOX_LOCALIZATION_LOSS = "Loss/BoxClassifierLoss/localization_loss"
BOX_CLASSIFICATION_LOSS = "Loss/BoxClassifierLoss/classification_loss"
MASK_LOSS = "Loss/BoxClassifierLoss/mask_loss"

# There is no Python control flow over tensors in here; autograph would only slow tracing down.
_AS_WRITTEN = tf.autograph.experimental.do_not_convert


class FasterRCNNMetaArch(model.DetectionModel):
    """A detector with one, two or three stages.

    Variables are created by `build` and carry their TF1 names (`variables_by_name`).
    """

    def __init__(self, settings: DetectorSettings, first: FirstStage,
                 second: SecondStage | None) -> None:
        super().__init__(name="faster_rcnn")
        self.settings = settings
        self.store = VariableStore()
        self._first = first
        self._second = second
        self._truth = groundtruth.GroundTruthHolder()

    @property
    def num_classes(self) -> int:
        return self.settings.num_classes

    @property
    def number_of_stages(self) -> int:
        return self.settings.number_of_stages

    @property
    def max_detections(self) -> int:
        """Rows of every `detection_*` tensor."""
        if self._second is None:
            return self._first.proposer.nms.max_total_size
        return self._second.postprocessor.nms.max_total_size

    @property
    def resizer(self) -> resizers.Resizer:
        """Resizes (and pads) one image with its masks, as the config's image_resizer says."""
        return self._first.resizer

    @property
    def variables_by_name(self) -> dict[str, tf.Variable]:
        """All variables by TF1 name, without `:0`."""
        return dict(self.store.by_name)

    def build(self) -> None:
        """Creates all variables, under the strategy scope that is entered by the caller.

        The networks are traced once on a blank image and the trace is thrown away.
        """
        side = max(128, self._first.extractor.min_image_side)

        def trace() -> None:
            pixels = self.normalize(tf.zeros([1, side, side, 3]))
            maps = self._feature_maps(pixels)
            self._first.rpn.predict(self.store, maps, side, side)
            if self._second is not None:
                features, _ = self._box_stage(maps, tf.zeros([1, 1, 4]))
                if self._second.mask_loss is not None:
                    self._mask_logits(features)

        tf.function(trace).get_concrete_function()
        self.store.freeze()

    # The four verbs.

    @_AS_WRITTEN
    def preprocess(self, inputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Resizes and normalises float32 [B, H, W, 3] in 0..255; see DetectionModel.

        Raises:
            ValueError: if the images are not float32.
        """
        if inputs.dtype != tf.float32:
            raise ValueError(f"preprocess: images must be float32 in 0..255, got "
                             f"{inputs.dtype.name}; use tf.cast(images, tf.float32)")
        resized, true_shapes = self._first.resizer.resize_batch(inputs)
        return self.normalize(resized), true_shapes

    def normalize(self, pixels: tf.Tensor) -> tf.Tensor:
        """Maps resized float32 pixels in 0..255 to what the network wants."""
        return self._first.extractor.preprocess(pixels)

    @_AS_WRITTEN
    def predict(self, preprocessed_inputs: tf.Tensor,
                true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """Runs all stages on [B, H, W, 3].

        In training with two or more stages, proposals are sampled against the ground truth, so
        `provide_groundtruth` comes first.
        """
        shape = tf.shape(preprocessed_inputs)
        maps = self._feature_maps(preprocessed_inputs)
        output = self._rpn(maps, preprocessed_inputs)
        predictions = {
            "image_shape": shape, "rpn_box_predictor_features": output.features,
            "rpn_features_to_crop": maps[0], "rpn_box_encodings": output.box_encodings,
            "rpn_objectness_predictions_with_background": output.objectness,
            "anchors": output.anchors}
        if self._second is None:
            return predictions
        proposals, _ = self._first.proposer.propose(output, true_image_shapes)
        if self.settings.is_training:
            proposals = self._sampled(proposals, shape)
        normalized = _relative_to(shape, proposals.boxes)
        features, head = self._box_stage(maps, normalized)
        predictions.update({
            "refined_box_encodings": head.box_encodings,
            "class_predictions_with_background": head.class_logits,
            "num_proposals": proposals.num_valid, "proposal_boxes": proposals.boxes,
            "proposal_boxes_normalized": normalized, "final_anchors": normalized,
            "box_classifier_features": features})
        if self.settings.raw_detections_in_predict:
            decoded = self._second.postprocessor.decode(head.box_encodings, proposals.boxes)
            predictions["raw_detection_boxes"] = tf.clip_by_value(
                _relative_to(shape, decoded), 0.0, 1.0)
        if self.settings.number_of_stages == 3:
            predictions.update(self._third_stage(maps, features, head, proposals,
                                                 true_image_shapes, shape))
        elif self._second.mask_loss is not None:
            predictions["mask_predictions"] = self._mask_logits(features)
        return predictions

    @_AS_WRITTEN
    def postprocess(self, prediction_dict: dict[str, tf.Tensor],
                    true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns detections; with one stage, the proposals (without classes)."""
        if self._second is None:
            return self._proposals_as_detections(prediction_dict, true_image_shapes)
        if "detection_boxes" in prediction_dict:
            found = {key: value for key, value in prediction_dict.items()
                     if key.startswith(("detection_", "raw_detection_", "num_detections"))}
        else:
            found = self._second.postprocessor.detect(
                _head(prediction_dict), _proposals(prediction_dict), true_image_shapes).as_dict()
        if "mask_predictions" in prediction_dict and not self.settings.is_training:
            logits = prediction_dict["mask_predictions"]
            if self.settings.number_of_stages == 2:
                logits = _rows_of(logits, found["detection_anchor_indices"],
                                  tf.shape(prediction_dict["proposal_boxes"])[1])
            found["detection_masks"] = results.mask_scores(logits, found["detection_classes"])
        return found

    @_AS_WRITTEN
    def loss(self, prediction_dict: dict[str, tf.Tensor],
             true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the weighted scalar losses of all stages."""
        shape = prediction_dict["image_shape"]
        truth = self._ground_truth(shape)
        rpn_pair = self._first.loss(_rpn_output(prediction_dict), truth)
        losses = {RPN_LOCALIZATION_LOSS: rpn_pair.localization,
                  RPN_OBJECTNESS_LOSS: rpn_pair.classification}
        if self._second is None:
            return losses
        proposals = _proposals(prediction_dict)
        targets = self._second.loss.targets(proposals.boxes, truth)
        pair = self._second.loss(_head(prediction_dict), proposals, targets, truth)
        losses[BOX_LOCALIZATION_LOSS] = pair.localization
        losses[BOX_CLASSIFICATION_LOSS] = pair.classification
        if self._second.mask_loss is not None and "mask_predictions" in prediction_dict:
            boxes, valid = proposals.boxes, proposals.valid_mask()
            if self.settings.number_of_stages == 3 and not self.settings.is_training:
                boxes, valid = self._drawn_boxes(prediction_dict, true_image_shapes, shape)
                targets = self._second.loss.targets(boxes, truth)
            losses[MASK_LOSS] = self._second.mask_loss(
                prediction_dict["mask_predictions"], boxes, valid, targets, truth)
        return losses

    @_AS_WRITTEN
    def provide_groundtruth(
            self, groundtruth_boxes_list: Sequence[tf.Tensor],
            groundtruth_classes_list: Sequence[tf.Tensor],
            groundtruth_masks_list: Sequence[tf.Tensor] | None = None,
            groundtruth_weights_list: Sequence[tf.Tensor] | None = None,
            groundtruth_is_crowd_list: Sequence[tf.Tensor] | None = None,
            is_annotated_list: Sequence[tf.Tensor] | None = None) -> None:
        """Sets the ground truth of the next predict and loss calls of this thread.

        Args:
            groundtruth_boxes_list: float32 [n_i, 4] per image, normalized to the padded input.
            groundtruth_classes_list: one-hot [n_i, C] per image, without background.
            groundtruth_masks_list: [n_i, h, w] per image, of the padded network input's size, or,
                with resize_masks, of the image's size before `preprocess`.
            groundtruth_weights_list: float32 [n_i] per image, factor of each object in the loss.
            groundtruth_is_crowd_list: bool [n_i] per image; a crowd region gets weight 0.
            is_annotated_list: bool per image; an image that is not annotated adds no loss.
        """
        weights = groundtruth_weights_list
        if groundtruth_is_crowd_list is not None:
            if weights is None:
                weights = [tf.ones(tf.shape(boxes)[:1]) for boxes in groundtruth_boxes_list]
            weights = [tf.where(tf.cast(crowd, tf.bool), 0.0, weight)
                       for crowd, weight in zip(groundtruth_is_crowd_list, weights, strict=True)]
        self._truth.value = groundtruth.padded_batch(
            groundtruth_boxes_list, groundtruth_classes_list, self.num_classes, weights,
            is_annotated_list)
        self._truth.masks = groundtruth_masks_list

    def regularization_losses(self) -> list[tf.Tensor]:
        return self.store.regularization_losses()

    def updates(self) -> list[tf.Operation]:
        """Returns nothing: batch norm statistics move as part of `predict`."""
        return []

    def restore_map(self, fine_tune_checkpoint_type: str = "detection",
                    load_all_detection_checkpoint_vars: bool = False) -> dict[str, tf.Variable]:
        """Returns the variables to start from a checkpoint, by their names in it.

        `classification`: a slim backbone; both stages' names without the stage. `detection`: the
        backbone of a detector, and its heads too with `load_all_detection_checkpoint_vars`.
        `full`: everything.

        Raises:
            ValueError: for another type.
        """
        variables = self.variables_by_name
        if fine_tune_checkpoint_type == "classification":
            return self._first.extractor.classification_names(variables)
        if fine_tune_checkpoint_type == "full" or (
                fine_tune_checkpoint_type == "detection" and load_all_detection_checkpoint_vars):
            return variables
        if fine_tune_checkpoint_type == "detection":
            return {name: variable for name, variable in variables.items()
                    if name.startswith((FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE))}
        raise ValueError("train_config.fine_tune_checkpoint_type: set classification, detection or "
                         f"full, got {fine_tune_checkpoint_type!r}")

    # The stages.

    def _feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        with self.store.scope(FIRST_STAGE_SCOPE):
            return self._first.extractor.feature_maps(pixels)

    def _rpn(self, maps: list[tf.Tensor], pixels: tf.Tensor) -> RpnOutput:
        dynamic = tf.shape(pixels)
        height = dynamic[1] if pixels.shape[1] is None else pixels.shape[1]
        width = dynamic[2] if pixels.shape[2] is None else pixels.shape[2]
        output = self._first.rpn.predict(self.store, maps, height, width)
        window = tf.cast(tf.stack([0, 0, height, width]), tf.float32)
        if self.settings.is_training and not self.settings.clip_anchors:
            return rpn.drop_crossing_anchors(output, window)
        return rpn.clip_anchors(output, window)

    def _sampled(self, proposals: Proposals, shape: tf.Tensor) -> Proposals:
        if self._second.sampler is None:
            return proposals
        return self._second.sampler.sample(proposals, self._ground_truth(shape))

    def _box_stage(self, maps: list[tf.Tensor],
                   boxes_normalized: tf.Tensor) -> tuple[tf.Tensor, HeadOutput]:
        """Returns the features of the boxes [B, P, 4] and what the heads read from them."""
        features = self._box_features(maps, boxes_normalized)
        with self.store.scope(BOX_PREDICTOR_SCOPE):
            return features, self._second.predictor.predict_boxes(
                features, self.settings.is_training)

    def _box_features(self, maps: list[tf.Tensor], boxes_normalized: tf.Tensor) -> tf.Tensor:
        crops = self._second.cropper.crop(maps, boxes_normalized)
        with self.store.scope(SECOND_STAGE_SCOPE):
            return self._first.extractor.box_features(crops)

    def _mask_logits(self, features: tf.Tensor) -> tf.Tensor:
        with self.store.scope(BOX_PREDICTOR_SCOPE):
            return self._second.predictor.predict_masks(features)

    def _third_stage(self, maps: list[tf.Tensor], features: tf.Tensor, head: HeadOutput,
                     proposals: Proposals, true_shapes: tf.Tensor,
                     shape: tf.Tensor) -> dict[str, tf.Tensor]:
        """Draws masks: on the proposals in training, on the final detections otherwise."""
        if self.settings.is_training:
            return {"mask_predictions": self._mask_logits(features)}
        detections = self._second.postprocessor.detect(head, proposals, true_shapes)
        boxes = self._in_map_frame(detections, true_shapes, shape)
        logits = self._mask_logits(self._box_features(maps, boxes))
        return {**detections.as_dict(), "mask_predictions": logits}

    def _in_map_frame(self, detections: Detections, true_shapes: tf.Tensor,
                      shape: tf.Tensor) -> tf.Tensor:
        if self.settings.masks_cropped_in_true_frame:
            return detections.boxes
        return results.to_padded_frame(detections.boxes, true_shapes, shape[1], shape[2])

    def _drawn_boxes(self, predictions: dict[str, tf.Tensor], true_shapes: tf.Tensor,
                     shape: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the final boxes in pixels, and which rows hold one."""
        boxes = predictions["detection_boxes"]
        if not self.settings.masks_cropped_in_true_frame:
            boxes = results.to_padded_frame(boxes, true_shapes, shape[1], shape[2])
        valid = tf.sequence_mask(tf.cast(predictions["num_detections"], tf.int32),
                                 maxlen=tf.shape(boxes)[1])
        return boxes * _size(shape), valid

    def _proposals_as_detections(self, predictions: dict[str, tf.Tensor],
                                 true_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        output = _rpn_output(predictions)
        proposals, anchors = self._first.proposer.propose(output, true_shapes)
        scores = tf.nn.softmax(output.objectness)
        valid = proposals.valid_mask()
        decoded = self._first.proposer.decode(output)
        return {
            "detection_boxes": results.normalize_boxes(proposals.boxes, true_shapes),
            "detection_scores": proposals.scores,
            "detection_anchor_indices": tf.where(valid, anchors, 0),
            "detection_multiclass_scores": tf.where(
                valid[..., None], tf.gather(scores, anchors, batch_dims=1), 0.0),
            "num_detections": tf.cast(proposals.num_valid, tf.float32),
            "raw_detection_boxes": results.normalize_boxes(decoded, true_shapes),
            "raw_detection_scores": scores}

    def _ground_truth(self, shape: tf.Tensor) -> GroundTruth:
        """Returns the ground truth in pixels of the padded input.

        Raises:
            ValueError: if none was provided in this thread.
        """
        truth = self._truth.value
        if truth is None:
            raise ValueError("call provide_groundtruth before predict (in training) and loss")
        masks = self._truth.masks
        if masks is not None:
            resizer = self._first.resizer if self.settings.resize_masks else None
            # As numbers where they are known, so that the masks have a static shape.
            static = tf.get_static_value(shape)
            _, height, width, _ = tf.unstack(shape) if static is None else static.tolist()
            masks = groundtruth.network_masks(masks, height, width, resizer)
        return truth._replace(boxes=truth.boxes * _size(shape), masks=masks)


def _size(shape: tf.Tensor) -> tf.Tensor:
    """Returns float32 [height, width, height, width] of [B, H, W, channels]."""
    size = tf.cast(shape[1:3], tf.float32)
    return tf.concat([size, size], axis=0)


def _relative_to(shape: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
    return boxes / _size(shape)


def _head(predictions: dict[str, tf.Tensor]) -> HeadOutput:
    return HeadOutput(predictions["refined_box_encodings"],
                      predictions["class_predictions_with_background"])


def _proposals(predictions: dict[str, tf.Tensor]) -> Proposals:
    boxes = predictions["proposal_boxes"]
    return Proposals(boxes, tf.zeros(tf.shape(boxes)[:2]), predictions["num_proposals"])


def _rpn_output(predictions: dict[str, tf.Tensor]) -> RpnOutput:
    return RpnOutput(predictions["rpn_box_encodings"],
                     predictions["rpn_objectness_predictions_with_background"],
                     predictions["anchors"], predictions["rpn_box_predictor_features"])


def _rows_of(logits: tf.Tensor, indices: tf.Tensor, proposals: tf.Tensor) -> tf.Tensor:
    """Picks from [B * P, masks, h, w] the rows of each image's detections: [B * D, masks, h, w]."""
    images = tf.range(tf.shape(indices)[0], dtype=indices.dtype)[:, None]
    flat = tf.reshape(images * tf.cast(proposals, indices.dtype) + indices, [-1])
    return tf.gather(logits, flat)
