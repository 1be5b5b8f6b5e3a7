"""Runs a model over an evaluation set once and scores what it finds.

Detections are written to a file before they are scored, so that a failure in scoring costs no
inference.
"""

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf
from absl import logging

from object_detection import eval_util
from object_detection.core.model import DetectionModel
from object_detection.core.standard_fields import DetectionResultFields
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine import batches
from object_detection.input_pipeline import transform
from object_detection.metrics.detection_evaluator import DetectionEvaluator

TOTAL_LOSS = "Loss/total_loss"
_WINDOW = "true_image_window"  # float32 [4]: where the image lies in its padded frame, pixels

Arrays = dict[str, np.ndarray]
Observer = Callable[[dict, dict, dict], None]  # features, ground truth, detections of one image


@dataclasses.dataclass(frozen=True)
class EvaluationSettings:
    """What to do besides scoring."""

    name: str = "eval_0"  # of the input, for messages and files
    compute_losses: bool = True
    detections_path: str = ""  # prefix of the COCO results files; empty writes none
    jit_compile: bool = False  # compile the network, though not the losses, with XLA
    confident: float = 0.5  # score from which a detection on an empty image counts as false alarm


class Evaluator:
    """Evaluates one model over and over, for example while another one trains."""

    def __init__(self, model: DetectionModel, evaluators: Sequence[DetectionEvaluator],
                 settings: EvaluationSettings = EvaluationSettings()) -> None:  # noqa: B008
        """Takes a model built with `is_training=False`."""
        self._model = model
        self._evaluators = list(evaluators)
        self._settings = settings
        self._traced: dict[int, Callable] = {}  # by batch size
        self._note = ""

    def run(self, dataset: tf.data.Dataset,
            observer: Observer | None = None) -> dict[str, float]:
        """Goes over the set once and returns metrics and mean losses by name.

        Args:
            dataset: batches as `inputs.eval_input` gives them, each image once.
            observer: called with every image, for drawing.
        Raises:
            ValueError: if the set has no image, or never ends.
        """
        if int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY:
            raise ValueError(f"{self._settings.name}: the evaluation input repeats without end; "
                             "set num_epochs: 1")
        for evaluator in self._evaluators:
            evaluator.clear()
        tally = _Tally(self._settings.confident)
        started = time.perf_counter()
        for features, labels in dataset:
            detections, losses = self._forward(features, labels)
            size = int(features[Fields.image].shape[0])
            tally.add_losses(losses, size)
            windows = self._model.resizer.window(
                features[Fields.true_image_shape], *features[Fields.image].shape[1:3])
            features = {**features, _WINDOW: windows}
            for one in _per_image(features, labels, detections, size, tally.images):
                self._add(one, tally)
                if observer is not None:
                    observer(one.features, one.truth, one.found)
        if not tally.images:
            raise ValueError(f"{self._settings.name}: the evaluation input has no image; check "
                             "eval_input_reader: input_path and sample_1_of_n_examples")
        seconds = time.perf_counter() - started
        logging.info("%s: ran over %d images in %.1f s (%.1f images/s)", self._settings.name,
                     tally.images, seconds, tally.images / max(seconds, 1e-9))
        self._write_detections()
        metrics: dict[str, float] = {}
        for evaluator in self._evaluators:
            metrics.update(evaluator.evaluate())
        metrics.update(tally.mean_losses())
        self._note = tally.false_alarms()
        return metrics

    def report(self) -> str:
        """Returns the tables of the last run."""
        parts = [*(evaluator.report() for evaluator in self._evaluators), self._note]
        return "\n".join(part for part in parts if part)

    def _add(self, one: "_Image", tally: "_Tally") -> None:
        for evaluator in self._evaluators:
            evaluator.add_single_ground_truth_image_info(one.key, one.truth)
            evaluator.add_single_detected_image_info(one.key, one.found)
        tally.add_image(one)

    def _forward(self, features: Mapping[str, tf.Tensor],
                 labels: Mapping[str, tf.Tensor]) -> tuple[dict, dict]:
        batch = batches.to_tensors(features, labels)
        size = batch.images.shape[0]
        if size not in self._traced:  # the last batch may be smaller
            signature = batches.signature(batch)
            if self._settings.jit_compile:
                signature = signature._replace(images=tf.TensorSpec(batch.images.shape))
            self._traced[size] = tf.function(self._compare, autograph=False,
                                             input_signature=[signature])
        return self._traced[size](batch)

    def _compare(self, batch: batches.Batch) -> tuple[dict, dict]:
        detect = self._detect
        if self._settings.jit_compile:
            detect = tf.function(detect, autograph=False, jit_compile=True)
        detections, predictions = detect(batch.images, batch.true_shapes)
        losses = {}
        if self._settings.compute_losses:
            batches.provide_groundtruth(self._model, batch)
            losses = dict(self._model.loss(predictions, batch.true_shapes))
            losses[TOTAL_LOSS] = tf.add_n(list(losses.values()))
        return detections, losses

    def _detect(self, images: tf.Tensor, true_shapes: tf.Tensor) -> tuple[dict, dict]:
        predictions = self._model.predict(images, true_shapes)
        detections = self._model.postprocess(predictions, true_shapes)
        wanted = (DetectionResultFields.detection_boxes, DetectionResultFields.detection_scores,
                  DetectionResultFields.detection_classes, DetectionResultFields.detection_masks,
                  DetectionResultFields.num_detections)
        return ({name: detections[name] for name in wanted if name in detections}, predictions)

    def _write_detections(self) -> None:
        if not self._settings.detections_path:
            return
        tf.io.gfile.makedirs(os.path.dirname(self._settings.detections_path) or ".")
        for evaluator in self._evaluators:
            path = f"{self._settings.detections_path}{evaluator.name}.json"
            evaluator.dump_detections_to_json_file(path)
            logging.info("wrote %s", path)


@dataclasses.dataclass(frozen=True)
class _Image:
    key: str
    features: Arrays
    truth: Arrays  # absolute boxes in the original image, classes from 1
    found: Arrays


class _Tally:
    """Counts images, sums losses, and watches what is found where nothing is."""

    def __init__(self, confident: float) -> None:
        self.images = 0
        self._confident = confident
        self._empty = self._alarms = 0
        self._losses: dict[str, float] = {}
        self._weight = 0

    def add_losses(self, losses: Mapping[str, tf.Tensor], images: int) -> None:
        self._weight += images
        for name, value in losses.items():
            self._losses[name] = self._losses.get(name, 0.0) + float(value) * images

    def add_image(self, image: _Image) -> None:
        self.images += 1
        if not len(image.truth[Fields.groundtruth_classes]):
            self._empty += 1
            scores = image.found[DetectionResultFields.detection_scores]
            self._alarms += int((scores >= self._confident).sum())

    def mean_losses(self) -> dict[str, float]:
        return {name: total / self._weight for name, total in self._losses.items()}

    def false_alarms(self) -> str:
        """Returns a line about images without objects, which average precision hardly shows."""
        if not self._empty:
            return ""
        return (f"{self._empty} images have no object; on them {self._alarms / self._empty:.2f} "
                f"detections per image score {self._confident} or more")


def _per_image(features: Mapping[str, tf.Tensor], labels: Mapping[str, tf.Tensor],
               detections: Mapping[str, tf.Tensor], size: int, seen: int) -> list[_Image]:
    features, labels = ({name: value.numpy() for name, value in group.items()}
                        for group in (features, labels))
    images = []
    for row in range(size):
        own = {name: value[row] for name, value in features.items()}
        truth = _truth_of({name: value[row] for name, value in labels.items()}, own)
        found = eval_util.detections_of_image(
            {name: value[row] for name, value in detections.items()},
            own[Fields.original_image_spatial_shape])
        images.append(_Image(_key(own, seen + row), own, truth,
                             {name: value.numpy() for name, value in found.items()}))
    return images


def _key(features: Arrays, number: int) -> str:
    name = features[Fields.source_id].decode("utf-8", "replace")
    return name or f"image_{number}"


def _truth_of(labels: Arrays, features: Arrays) -> Arrays:
    """Returns one image's objects in pixels of the original image, without rows of padding."""
    count = int(labels[Fields.num_groundtruth_boxes])
    padded = np.array(features[Fields.image].shape[:2], np.float32)
    window = features[_WINDOW]
    size = features[Fields.original_image_spatial_shape]
    sides = np.tile(window[2:] - window[:2], 2)
    in_window = labels[Fields.groundtruth_boxes][:count] * np.tile(padded, 2) - np.tile(
        window[:2], 2)
    one_hot = labels[Fields.groundtruth_classes][:count]
    truth = {
        Fields.groundtruth_boxes: in_window / sides * np.tile(size, 2),
        Fields.groundtruth_classes: one_hot.argmax(axis=1) + eval_util.LABEL_ID_OFFSET,
        Fields.groundtruth_is_crowd: labels[Fields.groundtruth_is_crowd][:count]}
    if Fields.groundtruth_labeled_classes in labels:
        truth[Fields.groundtruth_labeled_classes] = eval_util.LABEL_ID_OFFSET + np.flatnonzero(
            labels[Fields.groundtruth_labeled_classes])
    if Fields.groundtruth_area in labels:
        truth[Fields.groundtruth_area] = labels[Fields.groundtruth_area][:count]
    if transform.ORIGINAL_MASKS in labels:
        masks = labels[transform.ORIGINAL_MASKS][:count]
        truth[Fields.groundtruth_instance_masks] = masks[:, :size[0], :size[1]]
    return truth
