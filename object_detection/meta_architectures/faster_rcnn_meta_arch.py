"""Faster R-CNN and Mask R-CNN: propose regions, classify and refine them, draw their masks.

Ren et al., Faster R-CNN (arXiv:1506.01497); He et al., Mask R-CNN (arXiv:1703.06870). This file
is the wiring: the parts come built (settings.FirstStage, settings.SecondStage), and each stage
hands a NamedTuple to the next. String keys appear only in what the four verbs take and return.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core import resizers
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE
from object_detection.core.structures import (
    GroundTruth,
    ImageExtent,
    Proposals,
    Regions,
    RpnOutput,
)
from object_detection.meta_architectures import (
    groundtruth,
    object_regions,
    predictions,
    results,
    rpn,
)
from object_detection.meta_architectures.losses import RegionTargets
from object_detection.meta_architectures.region_stage import RegionStage
from object_detection.meta_architectures.settings import (
    DetectorSettings,
    FirstStage,
    SecondStage,
)
from object_detection.meta_architectures.stored_model import StoredModel

RPN_LOCALIZATION_LOSS = "Loss/RPNLoss/localization_loss"
RPN_OBJECTNESS_LOSS = "Loss/RPNLoss/objectness_loss"
BOX_LOCALIZATION_LOSS = "Loss/BoxClassifierLoss/localization_loss"
BOX_CLASSIFICATION_LOSS = "Loss/BoxClassifierLoss/classification_loss"
MASK_LOSS = "Loss/BoxClassifierLoss/mask_loss"

# There is no Python control flow over tensors in here; autograph would only slow tracing down.
_AS_WRITTEN = tf.autograph.experimental.do_not_convert


class FasterRCNNMetaArch(StoredModel):
    """A detector with one, two or three stages.

    Variables are created by `build` and carry their TF1 names (`variables_by_name`).
    """

    _region_stage = RegionStage

    def __init__(self, settings: DetectorSettings, first: FirstStage,
                 second: SecondStage | None) -> None:
        predictor = None if second is None else second.predictor
        super().__init__(name="faster_rcnn", extractor=first.extractor, dropout=getattr(
            predictor, "dropout_keep_probability", None) is not None)
        self.settings = settings
        self._first = first
        self._second = second
        self._regions = None if second is None else self._region_stage(
            settings, self.store, first.extractor, second)
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

    def build(self) -> None:
        """Creates all variables, under the strategy scope that is entered by the caller.

        The networks are traced once on a blank image and the trace is thrown away. Does nothing if
        the variables exist.
        """
        if self.store.is_frozen:
            return
        side = max(128, self._first.extractor.min_image_side)

        def trace() -> None:
            pixels = self.normalize(tf.zeros([1, side, side, 3]))
            maps = self._feature_maps(pixels)
            self._first.rpn.predict(self.store, maps, side, side)
            if self._second is not None:
                regions = Regions(tf.zeros([1, 1, 4]), tf.fill([2], float(side)))
                features, _ = self._regions.heads(maps, regions)
                if self._second.mask_loss is not None:
                    self._regions.masks(maps, regions, features)

        tf.function(trace, autograph=False).get_concrete_function()
        self.store.freeze()
        self.attach_objects()

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
        images = predictions.extent(shape, true_image_shapes, self._first.resizer)
        maps = self._feature_maps(preprocessed_inputs)
        output = self._rpn(maps, preprocessed_inputs)
        predicted = predictions.of_rpn(shape, maps, output)
        if self._second is None:
            return predicted
        proposals, _ = self._first.proposer.propose(output, images)
        if self.settings.is_training:
            proposals = self._sampled(proposals, shape)
        regions = self._regions.to_regions(proposals.boxes, images)
        features, head = self._regions.heads(maps, regions)
        normalized = self.settings.frame.to_normalized(proposals.boxes, images.size)
        predicted.update({
            "refined_box_encodings": head.box_encodings,
            "class_predictions_with_background": head.class_logits,
            "num_proposals": proposals.num_valid, "proposal_boxes": proposals.boxes,
            "proposal_boxes_normalized": normalized, "final_anchors": normalized,
            "box_classifier_features": features})
        if self.settings.raw_detections_in_predict:
            decoded = self._second.postprocessor.decode(head.box_encodings, proposals.boxes)
            predicted["raw_detection_boxes"] = tf.clip_by_value(
                self.settings.frame.to_normalized(decoded, images.size), 0.0, 1.0)
        if self.settings.number_of_stages == 3 and not self.settings.is_training:
            predicted.update(self._regions.masks_of_detections(maps, head, proposals, images))
        elif self._second.mask_loss is not None:
            predicted["mask_predictions"] = self._regions.masks(maps, regions, features)
        return predicted

    @_AS_WRITTEN
    def postprocess(self, prediction_dict: dict[str, tf.Tensor],
                    true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns detections; with one stage, the proposals (without classes)."""
        images = predictions.extent(prediction_dict["image_shape"], true_image_shapes,
                                    self._first.resizer)
        if self._second is None:
            return self._proposals_as_detections(prediction_dict, images)
        found = predictions.results(prediction_dict)
        if "detection_boxes" in found:
            boxes = prediction_dict["mask_boxes"]
        else:
            detections = self._second.postprocessor.detect(
                predictions.head_output(prediction_dict), predictions.proposals(prediction_dict),
                images)
            found = detections.as_dict()
            boxes = self._regions.drawn_boxes(detections, images)
        if "mask_predictions" in prediction_dict and not self.settings.is_training:
            logits = prediction_dict["mask_predictions"]
            if self.settings.number_of_stages == 2:
                logits = _rows_of(logits, found["detection_anchor_indices"],
                                  tf.shape(prediction_dict["proposal_boxes"])[1])
            found["detection_masks"] = results.mask_scores(logits, found["detection_classes"])
        maps = predictions.maps_to_crop(prediction_dict)
        return {**found, **self._regions.final_features(maps, boxes, images)}

    @_AS_WRITTEN
    def predict_masks_from_boxes(
            self, prediction_dict: dict[str, tf.Tensor], true_image_shapes: tf.Tensor,
            provided_boxes: Sequence[tf.Tensor],
            provided_classes: Sequence[tf.Tensor]) -> dict[str, tf.Tensor]:
        """Draws masks in given boxes instead of detected ones.

        Args:
            prediction_dict: of `predict`.
            true_image_shapes: int32 [B, 3].
            provided_boxes: float32 [n_i, 4] per image, normalized to the image without padding.
            provided_classes: [n_i] per image, 0-based.
        Returns:
            `detection_boxes` [B, N, 4], `detection_classes` [B, N], `num_detections` [B] and
            `detection_masks` [B, N, height, width], box-framed; rows past an image's own boxes are
            padding.
        Raises:
            ValueError: if the model draws no masks.
        """
        if self._second is None or self._second.mask_loss is None:
            raise ValueError("predict_masks_from_boxes: this model draws no masks; set second_stage"
                             "_box_predictor.mask_rcnn_box_predictor.predict_instance_masks: true")
        images = predictions.extent(prediction_dict["image_shape"], true_image_shapes,
                                    self._first.resizer)
        boxes = groundtruth.stacked(provided_boxes, tf.float32)
        classes = groundtruth.stacked(provided_classes, tf.float32)
        regions = self._regions.to_regions(
            self._second.postprocessor.to_input(boxes, images), images)
        logits = self._regions.masks(predictions.maps_to_crop(prediction_dict), regions)
        return {
            "detection_boxes": boxes, "detection_classes": classes,
            "num_detections": tf.stack([tf.cast(tf.shape(one)[0], tf.float32)
                                        for one in provided_boxes]),
            "detection_masks": results.mask_scores(logits, classes)}

    @_AS_WRITTEN
    def loss(self, prediction_dict: dict[str, tf.Tensor],
             true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the weighted scalar losses of all stages.

        With settings.SecondStage.masks_of_objects, masks are drawn from the features in the
        dictionary; without `box_classifier_features` there, `mask_predictions` is what is judged.
        """
        truth = self._ground_truth(prediction_dict["image_shape"])
        rpn_pair = self._first.loss(predictions.rpn_output(prediction_dict), truth)
        losses = {RPN_LOCALIZATION_LOSS: rpn_pair.localization,
                  RPN_OBJECTNESS_LOSS: rpn_pair.classification}
        if self._second is None:
            return losses
        proposals = predictions.proposals(prediction_dict)
        targets = self._second.loss.targets(proposals.boxes, truth)
        pair = self._second.loss(predictions.head_output(prediction_dict), proposals, targets,
                                 truth)
        losses[BOX_LOCALIZATION_LOSS] = pair.localization
        losses[BOX_CLASSIFICATION_LOSS] = pair.classification
        if self._second.mask_loss is not None and "mask_predictions" in prediction_dict:
            images = predictions.extent(prediction_dict["image_shape"], true_image_shapes,
                                        self._first.resizer)
            losses[MASK_LOSS] = self._mask_loss(prediction_dict, targets, truth, images)
        return losses

    @_AS_WRITTEN
    def provide_groundtruth(
            self, groundtruth_boxes_list: Sequence[tf.Tensor],
            groundtruth_classes_list: Sequence[tf.Tensor],
            groundtruth_masks_list: Sequence[tf.Tensor] | None = None,
            groundtruth_weights_list: Sequence[tf.Tensor] | None = None,
            groundtruth_is_crowd_list: Sequence[tf.Tensor] | None = None,
            is_annotated_list: Sequence[tf.Tensor] | None = None,
            groundtruth_labeled_classes: Sequence[tf.Tensor] | None = None) -> None:
        """Sets the ground truth of the next predict and loss calls of this thread.

        Args:
            groundtruth_boxes_list: float32 [n_i, 4] per image, normalized to the padded input.
            groundtruth_classes_list: one-hot [n_i, C] per image, without background.
            groundtruth_masks_list: [n_i, h, w] per image, of the padded network input's size, or,
                with resize_masks, of the image's size before `preprocess`.
            groundtruth_weights_list: float32 [n_i] per image, factor of each object in the loss.
            groundtruth_is_crowd_list: bool [n_i] per image; a crowd region gets weight 0.
            is_annotated_list: bool per image; an image that is not annotated adds no loss.
            groundtruth_labeled_classes: [C] per image, not 0 for classes that are annotated in it;
                read by losses that leave out classes a data set does not know.
        """
        self._truth.value = groundtruth.padded_batch(
            groundtruth_boxes_list, groundtruth_classes_list, self.num_classes,
            groundtruth_weights_list, is_annotated_list, groundtruth_is_crowd_list,
            groundtruth_labeled_classes)
        self._truth.masks = groundtruth_masks_list

    def updates(self) -> list[tf.Operation]:
        """Returns nothing: batch norm statistics move as part of `predict`."""
        return []

    # The stages.

    def _feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        with self.store.scope(FIRST_STAGE_SCOPE):
            return self._first.extractor.feature_maps(pixels)

    def _rpn(self, maps: list[tf.Tensor], pixels: tf.Tensor) -> RpnOutput:
        dynamic = tf.shape(pixels)
        height = dynamic[1] if pixels.shape[1] is None else pixels.shape[1]
        width = dynamic[2] if pixels.shape[2] is None else pixels.shape[2]
        output = self._first.rpn.predict(self.store, maps, *self._covered(height, width))
        if self.settings.keep_crossing_anchors:
            return output
        window = tf.cast(tf.stack([0, 0, height, width]), tf.float32)
        if self.settings.is_training and not self.settings.clip_anchors:
            return rpn.drop_crossing_anchors(output, window)
        return rpn.clip_anchors(output, window)

    def _covered(self, height: int | tf.Tensor,
                 width: int | tf.Tensor) -> tuple[int | tf.Tensor, int | tf.Tensor]:
        """Returns the height and width that anchors are laid over."""
        extractor = self._first.extractor
        if extractor.pyramid_levels is None or self.settings.crops_ignore_map_padding:
            return height, width
        size = extractor.covered_size(tf.cast(tf.stack([height, width]), tf.float32))
        return size[0], size[1]

    def _sampled(self, proposals: Proposals, shape: tf.Tensor) -> Proposals:
        if self._second.sampler is None:
            return proposals
        return self._second.sampler.sample(proposals, self._ground_truth(shape))

    def _proposals_as_detections(self, predicted: dict[str, tf.Tensor],
                                 images: ImageExtent) -> dict[str, tf.Tensor]:
        output = predictions.rpn_output(predicted)
        proposals, anchors = self._first.proposer.propose(output, images)
        scores = tf.nn.softmax(output.objectness)
        valid = proposals.valid_mask()
        decoded = self._first.proposer.decode(output)
        return {
            "detection_boxes": tf.where(
                valid[..., None], results.normalize_boxes(proposals.boxes, images), 0.0),
            "detection_scores": proposals.scores,
            "detection_anchor_indices": tf.where(valid, anchors, 0),
            "detection_multiclass_scores": tf.where(
                valid[..., None], tf.gather(scores, anchors, batch_dims=1), 0.0),
            "num_detections": tf.cast(proposals.num_valid, tf.float32),
            "raw_detection_boxes": results.normalize_boxes(decoded, images),
            "raw_detection_scores": scores}

    def _mask_loss(self, predicted: dict[str, tf.Tensor], targets: RegionTargets,
                   truth: GroundTruth, images: ImageExtent) -> tf.Tensor:
        logits, proposals = predicted["mask_predictions"], predictions.proposals(predicted)
        boxes, valid = proposals.boxes, proposals.valid_mask()
        if "mask_boxes" in predicted:
            boxes = predicted["mask_boxes"]
            valid = tf.sequence_mask(tf.cast(predicted["num_detections"], tf.int32),
                                     maxlen=tf.shape(boxes)[1])
            targets = self._second.loss.targets(boxes, truth)
        elif self._second.masks_of_objects and "box_classifier_features" in predicted:
            rows = object_regions.in_front(targets.objects())
            features = _rows_of(predicted["box_classifier_features"], rows, tf.shape(boxes)[1])
            boxes, valid, targets = object_regions.pick((boxes, valid, targets), rows)
            logits = self._regions.masks(predictions.maps_to_crop(predicted),
                                         self._regions.to_regions(boxes, images), features)
        return self._second.mask_loss(logits, boxes, valid, targets, truth)

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
        size = tf.cast(shape[1:3], tf.float32)
        boxes = self.settings.frame.from_normalized(truth.boxes, size)
        return truth._replace(boxes=boxes, masks=masks)


def _rows_of(values: tf.Tensor, indices: tf.Tensor, proposals: tf.Tensor) -> tf.Tensor:
    """Picks from [B * P, ...] some rows of each image, [B, D]: [B * D, ...]."""
    images = tf.range(tf.shape(indices)[0], dtype=indices.dtype)[:, None]
    flat = tf.reshape(images * tf.cast(proposals, indices.dtype) + indices, [-1])
    return tf.gather(values, flat)
