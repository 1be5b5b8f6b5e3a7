"""What every metric on detections offers: add images one by one, then evaluate."""

import abc
from collections.abc import Mapping, Sequence

import numpy as np
from absl import logging

ImageId = str | int


class ImageLog:
    """Keeps which images an evaluator has seen, and reports repeated ones without flooding.

    Attributes:
        index: number of each image id, from 1, in the order of arrival.
        repeated: how many times an image came again.
    """

    def __init__(self) -> None:
        self.index: dict[ImageId, int] = {}
        self.repeated = 0

    def add(self, image_id: ImageId) -> bool:
        """Returns whether the image is new; a repeated one is counted and must be skipped."""
        if image_id not in self.index:
            self.index[image_id] = len(self.index) + 1
            return True
        self.repeated += 1
        if self.repeated == 1:
            logging.warning(
                "evaluation: image %r comes more than once; it is scored once and later copies "
                "are skipped. Give each record its own image/source_id, and check input_path for "
                "files listed twice", image_id)
        return False


class DetectionEvaluator(abc.ABC):
    """Base of the metrics that `eval_config.metrics_set` names.

    Boxes are absolute pixels of the original image, classes are category ids (from 1).
    """

    def __init__(self, categories: Sequence[Mapping]) -> None:
        """Takes the label map as dictionaries with `id` and `name`.

        Raises:
            ValueError: if there is no category, or two have the same id.
        """
        ids = [int(category["id"]) for category in categories]
        if not ids:
            raise ValueError("evaluation: the label map has no category")
        if len(set(ids)) != len(ids):
            raise ValueError(f"evaluation: the label map has an id twice, ids are {sorted(ids)}")
        self._categories = [dict(category) for category in categories]

    @abc.abstractmethod
    def add_single_ground_truth_image_info(self, image_id: ImageId,
                                           groundtruth_dict: Mapping[str, np.ndarray]) -> None:
        """Adds the objects of one image; comes before its detections."""

    @abc.abstractmethod
    def add_single_detected_image_info(self, image_id: ImageId,
                                       detections_dict: Mapping[str, np.ndarray]) -> None:
        """Adds the detections of one image."""

    @abc.abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Returns metrics by name; -1 stands for a metric that nothing in the set is there for."""

    @abc.abstractmethod
    def clear(self) -> None:
        """Forgets all images."""

    @abc.abstractmethod
    def report(self) -> str:
        """Returns the last evaluation as a table to read."""

    @abc.abstractmethod
    def dump_detections_to_json_file(self, json_output_path: str) -> None:
        """Writes the detections added so far."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Short name, for file names."""
