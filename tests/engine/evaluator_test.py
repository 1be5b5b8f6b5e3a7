"""An evaluation worked out by hand: every image once, boxes in the original image's pixels."""

import json

import numpy as np
import pytest
import tensorflow as tf
from engine import fake_model

from object_detection.core import centered_resizers
from object_detection.engine.evaluator import EvaluationSettings, Evaluator
from object_detection.metrics import coco_evaluation

CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]


def dataset(*batches):
    spec = tf.nest.map_structure(
        lambda value: tf.TensorSpec([None] * value.shape.rank, value.dtype), batches[0])
    return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec).apply(
        tf.data.experimental.assert_cardinality(len(batches)))


def make(settings=EvaluationSettings()):  # noqa: B008
    return Evaluator(fake_model.FakeModel(),
                     [coco_evaluation.CocoDetectionEvaluator(CATEGORIES)], settings)


def of_class(index, boxes=None, **changes):
    """Returns a batch of one image, whose object has class `index` (from 0)."""
    features, labels = fake_model.batch(images=1)
    labels["groundtruth_classes"] = tf.one_hot([[index, index]], 2)
    if boxes is not None:
        labels["groundtruth_boxes"] = tf.constant([boxes])
    features.update(changes)
    return features, labels


# All weights are 0, so the model always finds class 0 with score 0.5, in the whole image.
WHOLE = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]


def test_detections_of_the_right_class_and_box():
    metrics = make().run(dataset(of_class(0, WHOLE)))
    assert metrics["DetectionBoxes_Precision/mAP"] == pytest.approx(1.0)
    assert metrics[fake_model.CLASSIFICATION] == pytest.approx(np.log(2))
    assert metrics["Loss/total_loss"] == pytest.approx(np.log(2))


def test_padding_is_taken_out_of_ground_truth():
    # The input is 8 x 8, of which 8 x 4 hold the image; its box covers all of the image.
    padded = of_class(0, [[0.0, 0.0, 1.0, 0.5], [0.0] * 4],
                      true_image_shape=tf.constant([[8, 4, 3]]))
    seen = []
    metrics = make().run(dataset(padded), lambda *one: seen.append(one))
    assert metrics["DetectionBoxes_Precision/mAP"] == pytest.approx(1.0)
    _, truth, found = seen[0]
    np.testing.assert_allclose(truth["groundtruth_boxes"], [[0, 0, 16, 32]])
    np.testing.assert_allclose(found["detection_boxes"], [[0, 0, 16, 32]])
    assert truth["groundtruth_classes"].tolist() == found["detection_classes"].tolist() == [1]


def test_ground_truth_is_taken_out_of_the_middle_of_its_frame(monkeypatch):
    # 4 x 8 of the input's 8 x 8, from row 2 on; the object is the upper half of the image.
    resizer = centered_resizers.CenteredSquareResizer(min_dimension=4, max_dimension=8)
    monkeypatch.setattr(fake_model.FakeModel, "resizer", resizer)
    framed = of_class(0, [[0.25, 0.0, 0.5, 1.0], [0.0] * 4],
                      true_image_shape=tf.constant([[4, 8, 3]]))
    seen = []
    make().run(dataset(framed), lambda *one: seen.append(one))
    np.testing.assert_allclose(seen[0][1]["groundtruth_boxes"], [[0, 0, 8, 32]])


def test_exactly_all_images_with_a_smaller_last_batch():
    evaluator = make()
    features, labels = fake_model.batch(images=3)
    last = of_class(0, WHOLE, source_id=tf.constant([b"other"]))
    evaluator.run(dataset((features, labels), last))
    assert "4 images, 4 objects, 4 detections" in evaluator.report()


def test_losses_are_means_over_images():
    far, near = of_class(0), of_class(0, WHOLE)
    features, labels = tf.nest.map_structure(lambda *parts: tf.concat(parts, 0), near, near)
    features["source_id"] = tf.constant([b"a", b"b"])
    metrics = make().run(dataset((features, labels), far))
    assert metrics[fake_model.LOCALIZATION] == pytest.approx(0.25 / 3)


def test_images_without_objects_and_false_alarms_are_told():
    features, labels = of_class(0)
    labels["num_groundtruth_boxes"] = tf.constant([0])
    evaluator = make(EvaluationSettings(confident=0.4))
    metrics = evaluator.run(dataset((features, labels)))
    assert metrics["DetectionBoxes_Precision/mAP"] == -1
    assert "no ground truth" in evaluator.report()
    assert "1 images have no object; on them 1.00 detections per image" in evaluator.report()


def test_no_images_is_an_error():
    empty = dataset(of_class(0)).take(0)
    with pytest.raises(ValueError, match="eval_0: the evaluation input has no image"):
        make().run(empty)


def test_an_input_without_end_is_an_error():
    with pytest.raises(ValueError, match="num_epochs: 1"):
        make().run(dataset(of_class(0)).repeat())


def test_detections_are_written_before_scoring(tmp_path):
    evaluator = make(EvaluationSettings(detections_path=f"{tmp_path}/eval_0/detections_"))

    def fail():
        raise RuntimeError("scoring failed")

    evaluator._evaluators[0].evaluate = fail
    with pytest.raises(RuntimeError):
        evaluator.run(dataset(of_class(0)))
    rows = json.loads((tmp_path / "eval_0/detections_boxes.json").read_text())
    assert rows == [{"image_id": "image0", "category_id": 1, "bbox": [0, 0, 32, 16],
                     "score": 0.5}]


def test_a_second_run_starts_anew():
    evaluator = make(EvaluationSettings(compute_losses=False))
    first = evaluator.run(dataset(of_class(0, WHOLE)))
    assert evaluator.run(dataset(of_class(0, WHOLE))) == first
    assert not [name for name in first if name.startswith("Loss/")]


def test_images_without_id_get_one():
    evaluator = make()
    evaluator.run(dataset(of_class(0, source_id=tf.constant([b""])),
                          of_class(0, source_id=tf.constant([b""]))))
    assert "2 images" in evaluator.report()


def test_detections_of_classes_that_were_not_looked_for_can_be_left_out():
    features, labels = of_class(1, WHOLE)  # the model finds class 0 there
    labels["groundtruth_labeled_classes"] = tf.constant([[0.0, 1.0]])
    evaluator = Evaluator(fake_model.FakeModel(), [coco_evaluation.CocoDetectionEvaluator(
        CATEGORIES, skip_predictions_for_unlabeled_class=True)])
    seen = []
    evaluator.run(dataset((features, labels)), lambda *one: seen.append(one))
    assert seen[0][1]["groundtruth_labeled_classes"].tolist() == [2]
