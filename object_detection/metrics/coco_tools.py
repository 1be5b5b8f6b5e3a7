"""COCO data sets, results and scores on NumPy arrays, over pycocotools.

Boxes come in as [ymin, xmin, ymax, xmax] pixels and go out as COCO's [x, y, width, height].
Method names are those of the Object Detection API, since users call them.
"""

import contextlib
import io
import json
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import tensorflow as tf
from pycocotools import coco, cocoeval
from pycocotools import mask as coco_mask

NO_GROUND_TRUTH = -1.0  # COCO's mark of a score that has no object to be computed from

# Name, index of the score kind, IoU threshold, object size, detections per image.
_SUMMARY = (
    ("Precision/mAP", None, "all", 100),
    ("Precision/mAP@.50IOU", 0.5, "all", 100),
    ("Precision/mAP@.75IOU", 0.75, "all", 100),
    ("Precision/mAP (small)", None, "small", 100),
    ("Precision/mAP (medium)", None, "medium", 100),
    ("Precision/mAP (large)", None, "large", 100),
    ("Recall/AR@1", None, "all", 1),
    ("Recall/AR@10", None, "all", 10),
    ("Recall/AR@100", None, "all", 100),
    ("Recall/AR@100 (small)", None, "small", 100),
    ("Recall/AR@100 (medium)", None, "medium", 100),
    ("Recall/AR@100 (large)", None, "large", 100),
)


class COCOWrapper(coco.COCO):
    """A pycocotools data set made from a dictionary instead of a file."""

    def __init__(self, dataset: Mapping, detection_type: str = "bbox") -> None:
        """Indexes `dataset`, a dictionary with images, annotations and categories.

        Raises:
            ValueError: if detection_type is neither "bbox" nor "segmentation".
        """
        if detection_type not in ("bbox", "segmentation"):
            raise ValueError("COCOWrapper: detection_type must be bbox or segmentation, got "
                             f"{detection_type!r}")
        super().__init__()
        self._detection_type = detection_type
        self.dataset = dataset
        with contextlib.redirect_stdout(io.StringIO()):
            self.createIndex()

    def LoadAnnotations(self, annotations: Sequence[Mapping]) -> "COCOWrapper":
        """Returns detections as a data set over the same images and categories.

        Args:
            annotations: dictionaries with image_id, category_id, score, and bbox or segmentation.
        Raises:
            ValueError: if a detection belongs to no image of this data set.
        """
        known = set(self.getImgIds())
        rows = []
        for number, annotation in enumerate(annotations, start=1):
            if annotation["image_id"] not in known:
                raise ValueError(f"detection of image {annotation['image_id']!r}, which is not in "
                                 "the ground truth")
            if self._detection_type == "bbox":
                area = annotation["bbox"][2] * annotation["bbox"][3]
                bbox = annotation["bbox"]
            else:
                area = float(coco_mask.area(annotation["segmentation"]))
                bbox = coco_mask.toBbox(annotation["segmentation"]).tolist()
            rows.append({**annotation, "id": number, "iscrowd": 0, "area": area, "bbox": bbox})
        return COCOWrapper({"images": self.dataset["images"], "annotations": rows,
                            "categories": self.dataset["categories"]}, self._detection_type)

    def annToRLE(self, ann: Mapping) -> dict:
        """Returns the run lengths of an annotation; those that come as such need no image size."""
        segmentation = ann["segmentation"]
        if isinstance(segmentation, Mapping) and isinstance(segmentation["counts"], (str, bytes)):
            return segmentation
        return super().annToRLE(ann)


class COCOEvalWrapper(cocoeval.COCOeval):
    """Scores detections against ground truth; `ComputeMetrics` does everything."""

    def __init__(self, groundtruth: COCOWrapper | None = None,
                 detections: COCOWrapper | None = None, agnostic_mode: bool = False,
                 iou_type: str = "bbox") -> None:
        """Takes both data sets; with `agnostic_mode` classes are not looked at.

        Raises:
            ValueError: if iou_type is neither "bbox" nor "segm".
        """
        if iou_type not in ("bbox", "segm"):
            raise ValueError(f"COCOEvalWrapper: iou_type must be bbox or segm, got {iou_type!r}")
        super().__init__(groundtruth, detections, iouType=iou_type)
        if agnostic_mode:
            self.params.useCats = 0

    def GetAgnosticMode(self) -> bool:
        """Returns whether classes are ignored."""
        return self.params.useCats == 0

    def GetCategory(self, category_id: int) -> dict:
        """Returns the category with this id."""
        return self.cocoGt.cats[category_id]

    def GetCategoryIdList(self) -> list[int]:
        """Returns the ids that scores are computed for, in the order of the score arrays."""
        return list(self.params.catIds)

    def ComputeMetrics(
            self, include_metrics_per_category: bool = False,
            all_metrics_per_category: bool = False,
            super_categories: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Evaluates and returns scores of the whole set and scores per category.

        A score without ground truth is -1, and means leave such classes out.

        Args:
            all_metrics_per_category: adds all 12 scores for each category.
            super_categories: category names by a name for the group; adds the mean of each group.
        Raises:
            ValueError: if scores per category are asked for in agnostic mode.
        """
        with contextlib.redirect_stdout(io.StringIO()):
            self.evaluate()
            self.accumulate()
        summary = {row[0]: self._score(row) for row in _SUMMARY}
        if not include_metrics_per_category:
            return summary, {}
        if self.GetAgnosticMode():
            raise ValueError("scores per category do not exist in agnostic mode")
        per_category = {}
        by_name = self.CategoryScores("Precision/mAP")
        for name, value in by_name.items():
            per_category[f"PerformanceByCategory/mAP/{name}"] = value
        if all_metrics_per_category:
            for row in _SUMMARY:
                kind = row[0].replace("/", " ")
                for name, value in self.CategoryScores(row[0]).items():
                    per_category[f"{kind} ByCategory/{name}"] = value
        for group, members in (super_categories or {}).items():
            values = [by_name[name] for name in members if name in by_name]
            per_category[f"PerformanceBySuperCategory/{group}"] = _mean(np.array(values))
        return summary, per_category

    def CategoryScores(self, score: str) -> dict[str, float]:
        """Returns one of the 12 scores per category name; call after ComputeMetrics."""
        row = next(row for row in _SUMMARY if row[0] == score)
        return {self.GetCategory(category_id)["name"]: self._score(row, number)
                for number, category_id in enumerate(self.GetCategoryIdList())}

    def CategoryObjects(self) -> dict[str, int]:
        """Returns the number of objects (crowds excluded) per category name."""
        counts = dict.fromkeys((category["name"] for category in self.cocoGt.cats.values()), 0)
        for annotation in self.cocoGt.anns.values():
            if not annotation["iscrowd"]:
                counts[self.GetCategory(annotation["category_id"])["name"]] += 1
        return counts

    def _score(self, row: tuple, category: int | None = None) -> float:
        name, threshold, size, detections = row
        area = self.params.areaRngLbl.index(size)
        limit = self.params.maxDets.index(detections)
        picked = slice(None) if category is None else category
        if name.startswith("Precision"):
            values = self.eval["precision"][:, :, picked, area, limit]  # IoU, recall, class
        else:
            values = self.eval["recall"][:, picked, area, limit]  # IoU, class
        if threshold is not None:
            values = values[np.isclose(self.params.iouThrs, threshold)]
        return _mean(values)


def ExportSingleImageGroundtruthToCoco(
        image_id: int | str, next_annotation_id: int, category_id_set: Collection[int],
        groundtruth_boxes: np.ndarray, groundtruth_classes: np.ndarray,
        groundtruth_masks: np.ndarray | None = None,
        groundtruth_is_crowd: np.ndarray | None = None,
        groundtruth_area: np.ndarray | None = None) -> list[dict]:
    """Returns COCO annotations of one image; objects of unknown categories are left out.

    Args:
        groundtruth_boxes: float [N, 4], pixels.
        groundtruth_masks: uint8 [N, H, W], 0 or 1.
        groundtruth_area: float [N], pixels; where absent or 0, the area of mask or box is used.
    Raises:
        ValueError: if arrays disagree in the number of objects.
    """
    _check_rows("ground truth", image_id, groundtruth_boxes, {
        "classes": groundtruth_classes, "masks": groundtruth_masks,
        "is_crowd": groundtruth_is_crowd, "area": groundtruth_area})
    annotations = []
    for row, class_id in enumerate(groundtruth_classes):
        if int(class_id) not in category_id_set:
            continue
        box = _coco_box(groundtruth_boxes[row])
        annotation = {
            "id": next_annotation_id + len(annotations), "image_id": image_id,
            "category_id": int(class_id), "bbox": box, "area": box[2] * box[3],
            "iscrowd": int(groundtruth_is_crowd[row]) if groundtruth_is_crowd is not None else 0}
        if groundtruth_masks is not None:
            annotation["segmentation"] = EncodeMask(groundtruth_masks[row])
            annotation["area"] = float(coco_mask.area(annotation["segmentation"]))
        if groundtruth_area is not None and groundtruth_area[row] > 0:
            annotation["area"] = float(groundtruth_area[row])
        annotations.append(annotation)
    return annotations


def ExportSingleImageDetectionBoxesToCoco(
        image_id: int | str, category_id_set: Collection[int], detection_boxes: np.ndarray,
        detection_scores: np.ndarray, detection_classes: np.ndarray) -> list[dict]:
    """Returns COCO results of one image's boxes; unknown categories are left out.

    Raises:
        ValueError: if arrays disagree in the number of detections.
    """
    _check_rows("detections", image_id, detection_boxes,
                {"scores": detection_scores, "classes": detection_classes})
    return [{"image_id": image_id, "category_id": int(class_id), "bbox": _coco_box(box),
             "score": float(score)}
            for box, score, class_id in zip(detection_boxes, detection_scores, detection_classes)
            if int(class_id) in category_id_set]


def ExportSingleImageDetectionMasksToCoco(
        image_id: int | str, category_id_set: Collection[int], detection_masks: np.ndarray,
        detection_scores: np.ndarray, detection_classes: np.ndarray) -> list[dict]:
    """Returns COCO results of one image's masks, uint8 [N, H, W] of the whole image.

    Raises:
        ValueError: if arrays disagree in the number of detections.
    """
    _check_rows("detections", image_id, detection_masks,
                {"scores": detection_scores, "classes": detection_classes})
    return [{"image_id": image_id, "category_id": int(class_id), "segmentation": EncodeMask(mask),
             "score": float(score)}
            for mask, score, class_id in zip(detection_masks, detection_scores, detection_classes)
            if int(class_id) in category_id_set]


def ExportDetectionsToCOCO(
        image_ids: Sequence[int | str], detection_boxes: Sequence[np.ndarray],
        detection_scores: Sequence[np.ndarray], detection_classes: Sequence[np.ndarray],
        categories: Sequence[Mapping], output_path: str | None = None) -> list[dict]:
    """Returns COCO results of several images, and writes them as JSON if a path is given.

    Raises:
        ValueError: if the lists disagree in the number of images.
    """
    ids = {int(category["id"]) for category in categories}
    results = []
    for image in zip(image_ids, detection_boxes, detection_scores, detection_classes, strict=True):
        results += ExportSingleImageDetectionBoxesToCoco(image[0], ids, *image[1:])
    if output_path:
        WriteJson(output_path, results)
    return results


def EncodeMask(mask: np.ndarray) -> dict:
    """Returns the run lengths of one [H, W] mask, with `counts` as text, fit for JSON.

    Raises:
        ValueError: if the mask holds values besides 0 and 1.
    """
    if mask.size and (mask.min() < 0 or mask.max() > 1):
        raise ValueError(f"mask values must be 0 or 1, got {mask.min()} to {mask.max()}")
    encoded = coco_mask.encode(np.asfortranarray(mask, dtype=np.uint8))
    return {"size": [int(side) for side in encoded["size"]],
            "counts": encoded["counts"].decode("ascii")}


def WriteJson(path: str, content: list | dict) -> None:
    """Writes through a temporary file, so that a reader never meets half a file."""
    temporary = f"{path}.tmp"
    with tf.io.gfile.GFile(temporary, "w") as file:
        file.write(json.dumps(content))
    tf.io.gfile.rename(temporary, path, overwrite=True)


def _mean(values: np.ndarray) -> float:
    present = values[values > NO_GROUND_TRUTH]
    return float(present.mean()) if present.size else NO_GROUND_TRUTH


def _coco_box(box: np.ndarray) -> list[float]:
    ymin, xmin, ymax, xmax = (float(value) for value in box)
    return [xmin, ymin, xmax - xmin, ymax - ymin]


def _check_rows(what: str, image_id: int | str, boxes: np.ndarray,
                others: Mapping[str, np.ndarray | None]) -> None:
    for name, values in others.items():
        if values is not None and len(values) != len(boxes):
            raise ValueError(f"{what} of image {image_id!r}: {len(boxes)} objects, but {name} has "
                             f"{len(values)} rows")
