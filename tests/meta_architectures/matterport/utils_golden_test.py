"""Single functions of the original that have a counterpart here."""

import numpy as np
import pytest
import tensorflow as tf
from meta_architectures.matterport import samples

from object_detection.anchor_generators.flexible_grid_anchor_generator import (
    AnchorGrid,
    FlexibleGridAnchorGenerator,
)
from object_detection.anchor_generators.pixel_centre_anchor_generator import (
    PixelCentreAnchorGenerator,
)
from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.core import box_ops, post_processing
from object_detection.core.box_frame import PixelCentreFrame
from object_detection.core.nms import NmsSettings
from object_detection.models.mask_rcnn_resnet_fpn_feature_extractor import PIXEL_MEAN
from object_detection.roi_croppers.pyramid import LevelRule, PyramidCropper, Rounding
from object_detection.serving import matterport_results

FAR = np.array([0, 0, 1, 1], np.float32)  # recorded pixel boxes end one pixel after their last


def generator(scales, ratios, strides):
    return FlexibleGridAnchorGenerator(
        [AnchorGrid([scale] * len(ratios), ratios, (stride, stride), (0, 0))
         for scale, stride in zip(scales, strides)], normalize_coordinates=False)


@pytest.mark.parametrize("case", ["default_256", "wide_192x320", "anchor_stride2"])
def test_pyramid_anchors(case):
    given, expected = samples.recorded("anchors", f"generate_pyramid_anchors_{case}")
    step = int(given["anchor_stride"])
    subject = generator(given["scales"].tolist(), given["ratios"].tolist(),
                        (given["feature_strides"] * step).tolist())
    shapes = [tuple(-(-side // step) for side in shape)
              for shape in given["feature_shapes"].tolist()]
    anchors = tf.concat(subject.generate(shapes), axis=0)
    assert anchors.shape == tuple(expected["shape"])
    np.testing.assert_allclose(anchors[::11], expected["anchors_every_11th_row"], atol=1e-4)
    shifted = tf.concat(PixelCentreAnchorGenerator(subject).generate(shapes), axis=0)
    np.testing.assert_allclose(shifted, anchors - FAR, atol=1e-4)


def test_anchors_of_one_level_and_of_two_scales():
    given, expected = samples.recorded("anchors", "generate_anchors")
    shape, stride = tuple(given["shape"].tolist()), int(given["feature_stride"])
    anchors, = generator([float(given["scales"])], given["ratios"].tolist(),
                         [stride]).generate([shape])
    np.testing.assert_allclose(anchors, expected["anchors"], atol=1e-4)
    given, expected = samples.recorded("anchors", "generate_anchors_two_scales")
    shape, step = tuple(given["shape"].tolist()), float(given["feature_stride"]) * float(
        given["anchor_stride"])
    shape = tuple(-(-side // int(given["anchor_stride"])) for side in shape)
    sizes = [scale for _ in given["ratios"] for scale in given["scales"].tolist()]
    ratios = [ratio for ratio in given["ratios"].tolist() for _ in given["scales"]]
    anchors, = FlexibleGridAnchorGenerator(
        [AnchorGrid(sizes, ratios, (step, step), (0, 0))], False).generate([shape])
    np.testing.assert_allclose(anchors, expected["anchors"], atol=1e-4)


@pytest.mark.parametrize("case", ["200x240", "1024x1024", "65x33"])
def test_frames(case):
    given, expected = samples.recorded("boxes", f"norm_boxes_{case}")
    size = tf.constant(given["shape"], tf.float32)
    frame = PixelCentreFrame()
    pixels = tf.constant(given["boxes"], tf.float32)
    normalized = frame.to_normalized(pixels - FAR, size)
    np.testing.assert_allclose(normalized, expected["boxes"], atol=1e-6)
    relative = pixels / tf.tile(size, [2])
    np.testing.assert_allclose(frame.from_normalized(relative, size), pixels - FAR, atol=1e-4)
    given, expected = samples.recorded("boxes", f"denorm_boxes_{case}")
    shape = given["shape"].tolist()
    # The image filled the network input, so that its own pixels are those of the input.
    edges = (given["boxes"] * (np.tile(shape, 2) - 1) + FAR) / np.tile(shape, 2)
    np.testing.assert_array_equal(
        matterport_results.original_boxes(edges.astype(np.float32), shape, shape),
        expected["boxes"])


def test_box_coding():
    coder = FasterRcnnBoxCoder()
    given, expected = samples.recorded("boxes", "box_refinement_graph")
    np.testing.assert_allclose(coder.encode(tf.constant(given["gt_box"]), given["box"]),
                               expected["deltas"], atol=1e-6)
    given, expected = samples.recorded("boxes", "apply_box_deltas_graph")
    np.testing.assert_allclose(coder.decode(tf.constant(given["deltas"]), given["boxes"]),
                               expected["boxes"], rtol=1e-6, atol=1e-4)


def test_overlaps_and_clipping():
    for case in ("overlaps_graph", "compute_overlaps"):
        given, expected = samples.recorded("boxes", case)
        got = box_ops.iou(tf.constant(given["boxes1"], tf.float32),
                          tf.constant(given["boxes2"], tf.float32))
        np.testing.assert_allclose(got, expected["overlaps"], atol=1e-6)
    given, expected = samples.recorded("boxes", "clip_boxes_graph")
    np.testing.assert_allclose(
        box_ops.clip_to_window(tf.constant(given["boxes"]), given["window"]), expected["boxes"])


@pytest.mark.parametrize("case", ["0.3", "0.5", "0.7", "int"])
def test_suppression(case):
    given, expected = samples.recorded("boxes", f"non_max_suppression_{case}")
    kept = post_processing.multiclass_non_max_suppression(
        tf.constant(given["boxes"], tf.float32)[:, None, :],
        tf.constant(given["scores"], tf.float32)[:, None], None,
        NmsSettings(score_threshold=-1.0, iou_threshold=float(given["threshold"]),
                    max_size_per_class=60, max_total_size=60))
    assert kept.indices.numpy()[:kept.num_valid.numpy()].tolist() == expected["keep"].tolist()


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("case", ["square_640", "rectangular_512x768"])
def test_crops_of_a_pyramid(case, original):
    given, expected = samples.recorded("graph_layers", f"pyramid_roi_align_{case}")
    maps = [tf.constant(given[f"P{level}"]) for level in range(2, 6)]
    rule = LevelRule(rounding=Rounding.NEAREST)
    boxes, skip = tf.constant(given["boxes"]), expected["touches_far_edge"]
    for size, key, count in ((7, "pooled", boxes.shape[1]), (14, "pooled_14_first_8_boxes", 8)):
        cropper = PyramidCropper(size, 2, 5, rule, original_far_edge=original)
        crops = cropper.crop(maps, boxes[:, :count])
        crops = tf.reshape(crops, expected[key].shape).numpy()
        kept = ~skip[:, :count]
        np.testing.assert_allclose(crops[kept], expected[key][kept], atol=1e-4)


def test_pixel_mean():
    given, expected = samples.recorded("image_meta", "mold_image")
    np.testing.assert_allclose(given["mean_pixel"], PIXEL_MEAN)
    np.testing.assert_allclose(given["image"].astype(np.float32) - np.float32(PIXEL_MEAN),
                               expected["image"], atol=1e-4)


def test_results_in_pixels_of_the_image():
    given, expected = samples.recorded("graph_layers", "unmold_detections")
    detections, window, size = given["detections"], given["window"], given["image_shape"][:2]
    count = int((detections[:, 4] > 0).sum())
    inside = np.tile(window[2:] - window[:2], 2)
    edges = detections[:, :4] * np.tile(size - 1, 2) + FAR - np.tile(window[:2], 2)
    masks = given["mrcnn_mask"][np.arange(12), :, :, detections[:, 4].astype(int)]
    result = matterport_results.unmold(
        {"detection_boxes": (edges / inside).astype(np.float32), "num_detections": np.array(count),
         "detection_classes": detections[:, 4] - 1, "detection_scores": detections[:, 5],
         "detection_masks": masks}, window[2:] - window[:2], given["original_image_shape"])
    np.testing.assert_array_equal(result.rois, expected["rois"])
    np.testing.assert_array_equal(result.class_ids, expected["class_ids"])
    np.testing.assert_allclose(result.scores, expected["scores"])
    assert (result.masks != expected["masks"]).sum() <= 5
    assert result.masks.dtype == bool


def test_no_detections():
    result = matterport_results.unmold(
        {"detection_boxes": np.zeros([3, 4], np.float32), "num_detections": np.array(0.0),
         "detection_classes": np.zeros(3), "detection_scores": np.zeros(3),
         "detection_masks": np.zeros([3, 28, 28], np.float32)}, (20, 30), (40, 60))
    assert result.rois.shape == (0, 4) and result.masks.shape == (40, 60, 0)


def test_a_mask_fades_out_at_its_border_but_a_full_one_does_not():
    mask = np.zeros([2, 2])
    mask[:, 1] = 1.0
    # The four columns are samples at -0.25, 0.25, 0.75 and 1.25 of the two: the last one is a
    # quarter outside.
    np.testing.assert_allclose(matterport_results.resize_mask(mask, (2, 4))[0],
                               [0.0, 0.25, 0.75, 0.75])
    np.testing.assert_allclose(matterport_results.resize_mask(np.ones([2, 2]), (4, 4)), 1.0)
