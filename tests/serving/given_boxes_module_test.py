import numpy as np
import pytest
import small_detector
import tensorflow as tf
from serving import fake_model

from object_detection.builders import model_builder
from object_detection.serving.detection_module import DetectionModule
from object_detection.serving.given_boxes_module import GivenBoxesModule

IMAGE = np.zeros([1, 9, 11, 3], np.uint8)
BOXES = np.float32([[[0.0, 0.0, 0.5, 1.0], [0.2, 0.0, 1.0, 1.0]]])
CLASSES = np.float32([[1, 2]])


def test_boxes_and_classes_come_back_with_masks():
    found = GivenBoxesModule(fake_model.FakeModel(3))(IMAGE, BOXES, CLASSES)
    assert {value.dtype for value in found.values()} == {tf.float32}
    np.testing.assert_array_equal(found["detection_boxes"], BOXES)
    np.testing.assert_array_equal(found["detection_classes"], CLASSES)
    np.testing.assert_array_equal(found["num_detections"], [2])
    np.testing.assert_array_equal(found["detection_masks"][0, :, 0, 0], [1.0, 0.25])


def test_masks_of_the_whole_image():
    masks = GivenBoxesModule(fake_model.FakeModel(3), full_image_masks=True)(
        IMAGE, BOXES, CLASSES)["detection_masks"]
    assert masks.shape == [1, 2, 9, 11]
    np.testing.assert_allclose(masks[0, :, :, 0], [[1] * 5 + [0] * 4, [0] * 2 + [0.25] * 7],
                               atol=1e-6)


def test_what_cannot_be():
    with pytest.raises(ValueError, match="input_type image_and_boxes_tensor: the model draws no"):
        GivenBoxesModule(fake_model.FakeModel(2))
    with pytest.raises(ValueError, match=r"needs the number of images, got \[None, 5, 5, 3\]"):
        GivenBoxesModule(fake_model.FakeModel(3), [None, 5, 5, 3])


def test_saved_and_loaded(tmp_path):
    module = GivenBoxesModule(fake_model.FakeModel(3), [1, 9, None, 3])
    tf.saved_model.save(module.servable(), str(tmp_path), signatures=module.signatures())
    loaded = tf.saved_model.load(str(tmp_path))
    expected = module(IMAGE, BOXES, CLASSES)
    for found in (loaded(IMAGE, BOXES, CLASSES), loaded.signatures["serving_default"](
            input_tensor=tf.constant(IMAGE), boxes=tf.constant(BOXES),
            classes=tf.constant(CLASSES))):
        assert set(found) == set(expected)
        for key, value in expected.items():
            np.testing.assert_array_equal(found[key], value, err_msg=key)


@pytest.mark.slow
def test_a_network_draws_its_own_detections_again_and_nothing_in_no_boxes():
    tf.random.set_seed(1)
    model = model_builder.build(small_detector.config(3), is_training=False)
    image = np.random.default_rng(0).integers(0, 255, [1, 40, 50, 3]).astype(np.uint8)
    found = DetectionModule(model)(image)
    assert found["num_detections"].numpy() > 1
    module = GivenBoxesModule(model)
    drawn = module(image, found["detection_boxes"], found["detection_classes"])
    np.testing.assert_allclose(drawn["detection_masks"], found["detection_masks"], rtol=0,
                               atol=1e-5)
    none = module(image, tf.zeros([1, 0, 4]), tf.zeros([1, 0]))
    assert none["detection_masks"].shape == [1, 0, 5, 5] and none["num_detections"].numpy() == [0]
