"""COCO metrics of boxes and masks, image by image.

Images get numbers of their own for scoring, so ids may be text, numbers or a mix. The metric names
are those of the Object Detection API: `DetectionBoxes_Precision/mAP` and so on.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from absl import logging

from object_detection.core.standard_fields import DetectionResultFields, InputDataFields
from object_detection.metrics import coco_report, coco_tools
from object_detection.metrics.detection_evaluator import DetectionEvaluator, ImageId, ImageLog


class _CocoEvaluator(DetectionEvaluator):
    """What box and mask metrics share."""

    prefix = ""
    title = ""
    detection_type = ""
    iou_type = ""

    def __init__(self, categories: Sequence[Mapping], include_metrics_per_category: bool = False,
                 all_metrics_per_category: bool = False,
                 skip_predictions_for_unlabeled_class: bool = False,
                 super_categories: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(categories)
        self._ids = {int(category["id"]) for category in categories}
        self._per_category = include_metrics_per_category
        self._all_per_category = all_metrics_per_category
        self._skip_unlabeled = skip_predictions_for_unlabeled_class
        self._super_categories = super_categories
        self.clear()

    def clear(self) -> None:
        self._images = ImageLog()
        self._with_detections: set[ImageId] = set()
        self._labeled: dict[ImageId, set[int]] = {}
        self._annotations: list[dict] = []
        self._detections: list[dict] = []
        self._report = ""

    def add_single_ground_truth_image_info(self, image_id: ImageId,
                                           groundtruth_dict: Mapping[str, np.ndarray]) -> None:
        """Adds the objects of one image; an image that is there already is skipped and counted.

        Args:
            groundtruth_dict: groundtruth_boxes float [N, 4] in pixels, groundtruth_classes [N];
                optional: groundtruth_is_crowd, groundtruth_area, groundtruth_labeled_classes, and
                for masks groundtruth_instance_masks uint8 [N, H, W].
        """
        if not self._images.add(image_id):
            return
        classes = np.asarray(groundtruth_dict[InputDataFields.groundtruth_classes])
        if self._skip_unlabeled:
            key = InputDataFields.groundtruth_labeled_classes
            if key not in groundtruth_dict:
                raise ValueError("skip_predictions_for_unlabeled_class needs the ground truth key "
                                 f"{key}, which image {image_id!r} lacks")
            labeled = np.asarray(groundtruth_dict[key]).ravel()
            self._labeled[image_id] = {int(value) for value in [*labeled, *classes]}
        self._annotations += coco_tools.ExportSingleImageGroundtruthToCoco(
            self._images.index[image_id], len(self._annotations) + 1, self._ids,
            np.asarray(groundtruth_dict[InputDataFields.groundtruth_boxes]), classes,
            self._masks(groundtruth_dict),
            groundtruth_dict.get(InputDataFields.groundtruth_is_crowd),
            groundtruth_dict.get(InputDataFields.groundtruth_area))

    def add_single_detected_image_info(self, image_id: ImageId,
                                       detections_dict: Mapping[str, np.ndarray]) -> None:
        """Adds the detections of one image whose ground truth was added before.

        Args:
            detections_dict: detection_boxes float [N, 4] in pixels, detection_scores [N],
                detection_classes [N] category ids; for masks detection_masks uint8 [N, H, W].
        Raises:
            ValueError: if the image is unknown, or its arrays disagree in length.
        """
        if image_id not in self._images.index:
            raise ValueError(f"detections of image {image_id!r}: add its ground truth first (an "
                             "image without objects has empty ground truth)")
        if image_id in self._with_detections:
            return
        self._with_detections.add(image_id)
        found = self._export(self._images.index[image_id], detections_dict)
        if self._skip_unlabeled:
            labeled = self._labeled[image_id]
            found = [entry for entry in found if entry["category_id"] in labeled]
        self._detections += found

    def evaluate(self) -> dict[str, float]:
        """Returns the scores by name; -1 is COCO's mark of "no ground truth".

        Raises:
            ValueError: if no image was added.
        """
        if not self._images.index:
            raise ValueError("evaluation: no image was added, so there is nothing to score; check "
                             "eval_input_reader's input_path")
        if self._images.repeated:
            logging.warning("evaluation: %d images came again and were skipped",
                            self._images.repeated)
        truth = coco_tools.COCOWrapper(
            {"images": [{"id": number} for number in self._images.index.values()],
             "annotations": self._annotations, "categories": self._categories},
            self.detection_type)
        scorer = coco_tools.COCOEvalWrapper(
            truth, truth.LoadAnnotations(self._detections), iou_type=self.iou_type)
        summary, per_category = scorer.ComputeMetrics(
            self._per_category or self._all_per_category, self._all_per_category,
            self._super_categories)
        self._report = coco_report.table(self.title, summary, scorer, len(self._images.index),
                                         len(self._detections))
        return {self.prefix + key: value for key, value in {**summary, **per_category}.items()}

    def report(self) -> str:
        return self._report

    def dump_detections_to_json_file(self, json_output_path: str) -> None:
        """Writes COCO results; image ids are whole numbers if all of them read as such."""
        names = {number: image_id for image_id, number in self._images.index.items()}
        if all(_reads_as_integer(image_id) for image_id in names.values()):
            names = {number: int(image_id) for number, image_id in names.items()}
        coco_tools.WriteJson(json_output_path, [
            {**entry, "image_id": names[entry["image_id"]]} for entry in self._detections])

    def _masks(self, groundtruth_dict: Mapping[str, np.ndarray]) -> np.ndarray | None:
        return None

    def _export(self, number: int, detections_dict: Mapping[str, np.ndarray]) -> list[dict]:
        return coco_tools.ExportSingleImageDetectionBoxesToCoco(
            number, self._ids, np.asarray(detections_dict[DetectionResultFields.detection_boxes]),
            detections_dict[DetectionResultFields.detection_scores],
            detections_dict[DetectionResultFields.detection_classes])


class CocoDetectionEvaluator(_CocoEvaluator):
    """Scores boxes: `DetectionBoxes_Precision/mAP` and its like."""

    prefix = "DetectionBoxes_"
    title = "Boxes"
    detection_type = "bbox"
    iou_type = "bbox"
    name = "boxes"


class CocoMaskEvaluator(_CocoEvaluator):
    """Scores masks: `DetectionMasks_Precision/mAP` and its like."""

    prefix = "DetectionMasks_"
    title = "Masks"
    detection_type = "segmentation"
    iou_type = "segm"
    name = "masks"

    def __init__(self, categories: Sequence[Mapping], include_metrics_per_category: bool = False,
                 all_metrics_per_category: bool = False,
                 super_categories: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(categories, include_metrics_per_category, all_metrics_per_category,
                         super_categories=super_categories)

    def _masks(self, groundtruth_dict: Mapping[str, np.ndarray]) -> np.ndarray:
        key = InputDataFields.groundtruth_instance_masks
        if key not in groundtruth_dict:
            raise ValueError("coco_mask_metrics: the ground truth has no masks; set "
                             "load_instance_masks: true in eval_input_reader, and check that the "
                             "records hold image/object/mask")
        return np.asarray(groundtruth_dict[key])

    def _export(self, number: int, detections_dict: Mapping[str, np.ndarray]) -> list[dict]:
        key = DetectionResultFields.detection_masks
        if key not in detections_dict:
            raise ValueError("coco_mask_metrics: the model gives no masks; use a model with "
                             "number_of_stages: 3, or take coco_mask_metrics out of metrics_set")
        return coco_tools.ExportSingleImageDetectionMasksToCoco(
            number, self._ids, np.asarray(detections_dict[key]),
            detections_dict[DetectionResultFields.detection_scores],
            detections_dict[DetectionResultFields.detection_classes])


def _reads_as_integer(image_id: ImageId) -> bool:
    """Whether text and number say the same (so `0042`, which would lose its zeros, does not)."""
    text = str(image_id)
    return text.isascii() and text.isdigit() and str(int(text)) == text
