import numpy as np
import pytest
from pycocotools import mask as mask_api

from object_detection.dataset_tools import coco_masks


def test_polygon_along_pixel_edges():
    mask = coco_masks.decode_segmentation([[1, 0, 3, 0, 3, 2, 1, 2]], height=3, width=4)
    np.testing.assert_array_equal(mask, [[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])


def test_polygons_are_united():
    mask = coco_masks.decode_segmentation(
        [[0, 0, 1, 0, 1, 1, 0, 1], [2, 1, 3, 1, 3, 2, 2, 2]], height=2, width=3)
    np.testing.assert_array_equal(mask, [[1, 0, 0], [0, 0, 1]])


def test_uncompressed_rle_runs_down_the_columns():
    mask = coco_masks.decode_segmentation({"size": [2, 3], "counts": [1, 2, 3]}, 2, 3)
    np.testing.assert_array_equal(mask, [[0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("as_text", [True, False])
def test_compressed_rle_equals_pycocotools(as_text):
    rng = np.random.default_rng(3)
    for share in (0.0, 0.01, 0.5, 1.0):
        mask = (rng.random([97, 61]) < share).astype(np.uint8)
        rle = mask_api.encode(np.asfortranarray(mask))
        if as_text:
            rle["counts"] = rle["counts"].decode()
        np.testing.assert_array_equal(coco_masks.decode_segmentation(rle, 97, 61), mask)


@pytest.mark.parametrize("segmentation, reason", [
    (None, "no_mask"),
    ([], "no_mask"),
    ([[0, 0, 5, 5]], "no_mask"),  # pycocotools would read it as a box
    ([["a", 0, 1, 1, 2, 2]], "bad_mask"),
    ([[float("nan"), 0, 1, 1, 2, 2]], "bad_mask"),
    ({"size": [3, 2], "counts": [6]}, "mask_size"),
    ({"size": [2, 3]}, "no_mask"),
    ({"size": [2, 3], "counts": [5]}, "bad_mask"),  # one pixel short
    ({"size": [2, 3], "counts": [1, -2, 7]}, "bad_mask"),
    ({"size": [2, 3], "counts": [10**30]}, "bad_mask"),
    ({"size": [2, 3], "counts": [[6]]}, "bad_mask"),
    ({"size": [2, 3], "counts": "~~"}, "bad_mask"),
    ({"size": [2, 3], "counts": "P" * 40}, "bad_mask"),  # a number that never ends
])
def test_bad_segmentations(segmentation, reason):
    with pytest.raises(coco_masks.MaskError, match=f"^{reason}$"):
        coco_masks.decode_segmentation(segmentation, height=2, width=3)


def test_a_polygon_far_outside_does_not_run_away():
    mask = coco_masks.decode_segmentation([[0, 0, 1e12, 0, 1e12, 1e12, 0, 1e12]], 2, 3)
    assert mask.shape == (2, 3)
    assert mask.all()
