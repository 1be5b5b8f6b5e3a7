"""Inference against the original, from weights in a `.h5` file to `detect`."""

import functools

import golden_matterport
import numpy as np
import pytest
import tensorflow as tf

from object_detection.builders import matterport_builder
from object_detection.core import box_ops
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE
from object_detection.engine.importers import table
from object_detection.serving import matterport_results

RESNETS = [pytest.param(case, marks=pytest.mark.slow) for case in (
    "infer_resnet50_square", "infer_resnet101_batch2_conf0", "infer_resnet101_batch2_conf07")]
CASES = ["infer_callable_backbone", *RESNETS]
SIZE = 256


class Run:
    """The model of a case and what it says about the case's images."""

    def __init__(self, case, faults, path):
        golden_matterport.register_toy_backbone()
        config = golden_matterport.faster_rcnn(case, faults)
        self.recorded = golden_matterport.load(case)
        self.images = golden_matterport.load(case, "inputs")
        self.model = matterport_builder.build(config, is_training=False)
        self.model.build()
        golden_matterport.write_weights(case, path)
        self.report = table.load(self.model, str(path))
        path.unlink()
        windows = self.recorded["windows"]
        self.shapes = tf.constant(np.concatenate(
            [windows[:, 2:] - windows[:, :2], np.full([len(windows), 1], 3)], axis=1), tf.int32)
        self.pixels = tf.constant(self.recorded["molded_images"])
        predict = tf.function(self.model.predict)
        self.predicted = predict(self.pixels, self.shapes)
        self.found = self.model.postprocess(self.predicted, self.shapes)

    def count(self):
        return self.found["num_detections"].numpy().astype(int)


@functools.cache
def _run(case, faults, path):
    return Run(case, faults, path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "w.h5"
    yield lambda case, faults=golden_matterport.FAULTS: _run(case, faults, path)
    _run.cache_clear()


@pytest.mark.parametrize("case", CASES)
def test_variables(run, case):
    wanted = {name.split(":")[0]: shape for _, name, shape in golden_matterport.variables(case)}
    model = run(case).model
    assert {name: variable.shape.as_list()
            for name, variable in model.variables_by_name.items()} == wanted
    report = run(case).report
    assert len(report.restored) == len(wanted)
    assert not (report.absent or report.unused or report.other_shape or report.excluded)


@pytest.mark.parametrize("case", CASES)
def test_features_and_first_stage(run, case):
    subject = run(case)
    stored, predicted = subject.recorded, subject.predicted
    if "rpn_class" not in stored:  # equal to those of another case, which is compared
        return
    if "C2@shape" in stored or "C2" in stored:
        with subject.model.store.scope(FIRST_STAGE_SCOPE):
            maps = tf.function(subject.model.feature_extractor.backbone_maps)(subject.pixels)
        for level, feature_map in enumerate(maps, 2):
            golden_matterport.assert_stored(f"C{level}", feature_map, stored, 1e-4)
    for level, feature_map in enumerate(predicted["rpn_features_to_crop"], 2):
        golden_matterport.assert_stored(f"P{level}", feature_map, stored, 1e-4)
    np.testing.assert_allclose(predicted["anchors"] / (SIZE - 1), stored["anchors"].reshape(-1, 4),
                               atol=1e-6)
    objectness = tf.nn.softmax(predicted["rpn_objectness_predictions_with_background"])
    golden_matterport.assert_stored("rpn_class", objectness, stored, 5e-5)
    golden_matterport.assert_stored("rpn_bbox", predicted["rpn_box_encodings"], stored, 5e-5)


@pytest.mark.parametrize("case", CASES)
def test_second_stage(run, case):
    subject = run(case)
    stored, predicted = subject.recorded, subject.predicted
    golden_matterport.assert_stored("rpn_rois", predicted["proposal_boxes"] / (SIZE - 1), stored,
                                    5e-6)
    skip = stored["rpn_rois_touch_far_edge"]
    shape = [*skip.shape, -1]
    logits = tf.reshape(predicted["class_predictions_with_background"], shape)
    golden_matterport.assert_stored("mrcnn_class_logits", logits, stored, 5e-4, skip)
    golden_matterport.assert_stored("mrcnn_class", tf.nn.softmax(logits), stored, 1e-4, skip)
    encodings = tf.reshape(predicted["refined_box_encodings"], [*skip.shape, -1, 4])
    np.testing.assert_allclose(encodings[~skip], stored["mrcnn_bbox"][..., 1:, :][~skip], rtol=0,
                               atol=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_detections(run, case):
    subject = run(case)
    stored, found = subject.recorded, subject.found
    wanted = stored["detections"]
    boxes = subject.predicted["mask_boxes"] / (SIZE - 1)
    np.testing.assert_allclose(boxes, wanted[..., :4], rtol=0, atol=1e-4)
    valid = wanted[..., 4] > 0
    np.testing.assert_array_equal(subject.count(), valid.sum(axis=1))
    np.testing.assert_array_equal(found["detection_classes"].numpy()[valid] + 1,
                                  wanted[..., 4][valid])
    np.testing.assert_allclose(found["detection_scores"], wanted[..., 5], rtol=0, atol=1e-4)
    masks = tf.sigmoid(subject.predicted["mask_predictions"])
    masks = tf.reshape(tf.transpose(masks, [0, 2, 3, 1]), [*valid.shape, *masks.shape[2:], -1])
    skip = stored["detections_touch_far_edge"]
    np.testing.assert_allclose(masks[:, :, ::3, ::3][~skip],
                               stored["mrcnn_mask[:,:,::3,::3,:]"][..., 1:][~skip], rtol=0,
                               atol=5e-4)


@pytest.mark.parametrize("case", CASES)
def test_results_in_pixels_of_the_image(run, case):
    subject = run(case)
    for number, image in enumerate(subject.images.values()):
        first = {name: value[number].numpy() for name, value in subject.found.items()}
        touches = subject.recorded["detections_touch_far_edge"][number][:subject.count()[number]]
        np.testing.assert_allclose(
            first["detection_masks"][:subject.count()[number]][~touches],
            subject.recorded[f"selected_masks_{number}"][~touches], rtol=0, atol=5e-4)
        result = matterport_results.unmold(first, subject.shapes[number].numpy(), image.shape)
        for name in ("rois", "class_ids"):
            np.testing.assert_array_equal(getattr(result, name),
                                          subject.recorded[f"detect_{number}_{name}"])
        np.testing.assert_allclose(result.scores, subject.recorded[f"detect_{number}_scores"],
                                   atol=1e-4)
        wrong = result.masks != subject.recorded[f"detect_{number}_masks"]
        assert wrong.sum() <= 5


@pytest.mark.slow
@pytest.mark.parametrize("case", ["infer_callable_backbone", "infer_resnet101_batch2_conf0"])
def test_without_the_original_faults(run, case):
    """No box of these cases lacks area, so only regions at the far edge may differ."""
    subject = run(case, ())
    stored = subject.recorded
    skip = stored["rpn_rois_touch_far_edge"]
    golden_matterport.assert_stored("rpn_rois", subject.predicted["proposal_boxes"] / (SIZE - 1),
                                    stored, 5e-6)
    logits = tf.reshape(subject.predicted["class_predictions_with_background"], [*skip.shape, -1])
    golden_matterport.assert_stored("mrcnn_class_logits", logits, stored, 5e-4, skip)
    if not skip.any():
        np.testing.assert_allclose(subject.predicted["mask_boxes"] / (SIZE - 1),
                                   stored["detections"][..., :4], rtol=0, atol=1e-4)


@pytest.mark.parametrize("case", CASES[:2])
def test_from_images_on(run, case):
    """A few values differ by one after resizing, so that boxes are matched by overlap."""
    subject = run(case)
    images = list(subject.images.values())
    pixels, shapes = subject.model.preprocess(tf.cast(images[0], tf.float32)[tf.newaxis])
    np.testing.assert_array_equal(shapes, subject.shapes)
    np.testing.assert_array_equal(subject.model.resizer.window(shapes, SIZE, SIZE),
                                  subject.recorded["windows"])
    off = np.abs(pixels - subject.recorded["molded_images"])
    assert off.max() <= 1.001 and (off > 1e-3).mean() < 0.03
    result, = matterport_results.detect(subject.model, images)
    wanted = subject.recorded["detect_0_rois"]
    overlap = box_ops.iou(tf.cast(wanted, tf.float32), tf.cast(result.rois, tf.float32)).numpy()
    same = subject.recorded["detect_0_class_ids"][:, None] == result.class_ids
    assert len(result.rois) == len(wanted)
    assert (overlap * same).max(axis=1).min() > 0.8
