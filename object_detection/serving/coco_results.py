"""Detections as rows of a COCO results file, and the ids of the images they belong to."""

import json
import os
from collections.abc import Sequence
from typing import Any

from object_detection.serving import box_masks
from object_detection.serving.detector import ImageDetections

Row = dict[str, Any]


def rows(found: ImageDetections, image_id: int | str, height: int, width: int) -> list[Row]:
    """Returns one row per detection: bbox as x, y, width, height in pixels, and the mask as RLE."""
    result = []
    for number, box in enumerate(found.boxes.tolist()):
        ymin, xmin, ymax, xmax = (side * length for side, length in
                                  zip(box, (height, width, height, width)))
        row = {"image_id": image_id, "category_id": int(found.classes[number]),
               "bbox": [round(value, 3) for value in (xmin, ymin, xmax - xmin, ymax - ymin)],
               "score": round(float(found.scores[number]), 6)}
        if found.masks is not None:
            placed = found.placed_mask(number, height, width)
            row["segmentation"] = box_masks.encode(placed, height, width)
        result.append(row)
    return result


def write(path: str, results: Sequence[Row]) -> None:
    """Writes a results file; one that is there is replaced only once the new one is whole."""
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(list(results), file)
    os.replace(partial, path)


def ids_from_names(paths: Sequence[str]) -> dict[str, int | str]:
    """Returns a different image id for each path, of one kind for all.

    It is the number that the file is called by (as in COCO, 000000000139.jpg is 139), or else its
    name without ending, with ending, or its whole path: the first that tells all files apart.
    """
    names = [os.path.basename(path) for path in paths]
    stems = [os.path.splitext(name)[0] for name in names]
    kinds: list[list[int | str]] = [stems, names, list(paths)]
    if all(stem.isascii() and stem.isdigit() for stem in stems):
        kinds.insert(0, [int(stem) for stem in stems])
    ids = next(kind for kind in kinds if len(set(kind)) == len(set(paths)) or kind is kinds[-1])
    return dict(zip(paths, ids))


def ids_from_annotations(paths: Sequence[str], annotations: str) -> dict[str, int | str]:
    """Returns the id that a COCO annotation file has for each path; paths it lacks are left out.

    Its `file_name` is compared with the end of each path, or else with the bare file names.

    Raises:
        ValueError: if the file cannot be read, or knows none of the paths.
    """
    try:
        with open(annotations, encoding="utf-8") as file:
            listed = {os.path.normpath(entry["file_name"]): entry["id"]
                      for entry in json.load(file)["images"]}
    except OSError as error:
        raise ValueError(f"{annotations}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{annotations}: is not a COCO annotation file; want a list `images` with "
                         f"`id` and `file_name` ({type(error).__name__}: {error})") from error
    by_name = {os.path.basename(name): image_id for name, image_id in listed.items()}
    if len(by_name) < len(listed):
        by_name = {}  # the same name in several folders: only whole paths tell them apart
    ids = {}
    for path in paths:
        image_id = _id_of(os.path.normpath(path), listed, by_name)
        if image_id is not None:
            ids[path] = image_id
    if not ids:
        raise ValueError(f"{annotations}: knows none of the {len(paths)} images, for example "
                         f"{os.path.basename(paths[0])!r}; it lists {next(iter(listed), 'none')!r}")
    return ids


def _id_of(path: str, listed: dict[str, int | str],
           by_name: dict[str, int | str]) -> int | str | None:
    parts = path.split(os.sep)
    for start in range(len(parts)):
        tail = os.sep.join(parts[start:])
        if tail in listed:
            return listed[tail]
    return by_name.get(parts[-1])
