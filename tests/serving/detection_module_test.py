import numpy as np
import pytest
import tensorflow as tf
from serving import fake_model

from object_detection.serving.detection_module import DetectionModule


def lit(height, width, top, left, bottom, right):
    """A black image with a white rectangle."""
    image = np.zeros([height, width, 3], np.uint8)
    image[top:bottom, left:right] = 255
    return image


def png(image):
    return tf.io.encode_png(image).numpy()


def example(encoded):
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded]))
    return tf.train.Example(features=tf.train.Features(
        feature={"image/encoded": feature})).SerializeToString()


TWO = np.stack([lit(40, 50, 4, 10, 8, 20), lit(40, 50, 20, 0, 40, 25)])


def test_boxes_are_relative_to_the_image_and_classes_count_from_one():
    found = DetectionModule(fake_model.FakeModel())(TWO)
    np.testing.assert_allclose(found["detection_boxes"][:, 0],
                               [[0.1, 0.2, 0.2, 0.4], [0.5, 0.0, 1.0, 0.5]])
    np.testing.assert_array_equal(found["detection_classes"][:, 0], [1, 2])
    np.testing.assert_array_equal(found["num_detections"], [1, 1])


def test_every_output_is_float32():
    found = DetectionModule(fake_model.FakeModel(3))(TWO)
    assert {value.dtype for value in found.values()} == {tf.float32}
    assert set(found) == {
        "num_detections", "detection_boxes", "detection_scores", "detection_classes",
        "detection_multiclass_scores", "detection_anchor_indices", "raw_detection_boxes",
        "raw_detection_scores", "detection_masks"}


def test_proposals_of_one_stage_are_all_of_class_one():
    found = DetectionModule(fake_model.FakeModel(1))(TWO)
    np.testing.assert_array_equal(found["detection_classes"], np.ones([2, 3]))


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_an_empty_batch_gives_empty_outputs(stages):
    module = DetectionModule(fake_model.FakeModel(stages))
    for shape in ([0, 40, 50, 3], [0, 0, 0, 3]):
        found = module(tf.zeros(shape, tf.uint8))
        whole = module(TWO)
        for key, value in found.items():
            assert value.shape == [0, *whole[key].shape[1:]], key


def test_a_batch_gives_what_its_images_give_and_sizes_may_change_from_call_to_call():
    module = DetectionModule(fake_model.FakeModel(3))
    together = module(TWO)
    module(lit(7, 9, 1, 1, 3, 3)[None])
    for number in range(2):
        alone = module(TWO[number:number + 1])
        for key, value in alone.items():
            np.testing.assert_array_equal(value[0], together[key][number], err_msg=key)


@pytest.mark.parametrize("input_type, wrap", [
    ("encoded_image_string_tensor", png), ("tf_example", lambda image: example(png(image)))])
def test_encoded_images_of_unlike_sizes(input_type, wrap):
    images = [TWO[0], lit(7, 9, 1, 1, 3, 3), TWO[1]]
    found = DetectionModule(fake_model.FakeModel(3), input_type)(
        tf.constant([wrap(image) for image in images]))
    plain = DetectionModule(fake_model.FakeModel(3))
    assert set(found) == set(plain(TWO))
    for number, image in enumerate(images):
        for key, value in plain(image[None]).items():
            np.testing.assert_array_equal(found[key][number], value[0], err_msg=key)


@pytest.mark.parametrize("input_type", ["encoded_image_string_tensor", "tf_example"])
def test_an_empty_batch_of_encoded_images(input_type):
    found = DetectionModule(fake_model.FakeModel(3), input_type)(tf.constant([], tf.string))
    assert found["detection_boxes"].shape == [0, 3, 4]
    assert found["detection_masks"].shape == [0, 3, 5, 5]


def test_gray_and_animated_files_are_decoded():
    gray = tf.io.encode_jpeg(TWO[0][..., :1]).numpy()
    found = DetectionModule(fake_model.FakeModel(), "encoded_image_string_tensor")([gray])
    np.testing.assert_array_equal(found["num_detections"], [1])


def test_float_images():
    module = DetectionModule(fake_model.FakeModel(), "float_image_tensor")
    np.testing.assert_array_equal(module(TWO.astype(np.float32))["detection_classes"][:, 0], [1, 2])


def test_a_fixed_shape_is_kept():
    module = DetectionModule(fake_model.FakeModel(), input_shape=[1, 40, None, 3])
    assert module.input_spec.shape.as_list() == [1, 40, None, 3]
    assert module(TWO[:1])["num_detections"].shape == [1]
    with pytest.raises(TypeError):
        module(TWO)


@pytest.mark.parametrize("input_type, shape, message", [
    ("image", None, "want one of .*image_tensor.*got 'image'"),
    ("image_tensor", [1, 2, 3], "want batch, height, width, 3"),
    ("image_tensor", [1, 2, 3, 1], "want batch, height, width, 3"),
    ("image_tensor", [0, 2, 3, 3], "want batch, height, width, 3"),
    ("tf_example", [None], "only for image tensors")])
def test_types_and_shapes_that_cannot_be(input_type, shape, message):
    with pytest.raises(ValueError, match=message):
        DetectionModule(fake_model.FakeModel(), input_type, shape)


def test_full_image_masks():
    """The fake masks are ones, so each fills its box: the centres of rows 4 to 7 of 39, and so on.
    """
    masks = DetectionModule(fake_model.FakeModel(3), full_image_masks=True)(TWO)["detection_masks"]
    assert masks.shape == [2, 3, 40, 50]
    rows, columns = np.arange(40) / 39, np.arange(50) / 49
    for number, (top, left, bottom, right) in enumerate(((.1, .2, .2, .4), (.5, 0, 1, .5))):
        expected = np.outer((top <= rows) & (rows <= bottom),
                            (left <= columns) & (columns <= right))
        np.testing.assert_allclose(masks[number, 0], expected, atol=1e-6)
        assert not masks[number, 1:].numpy().any()


def test_full_image_masks_of_encoded_images_have_the_largest_size():
    images = [TWO[0], lit(60, 9, 1, 1, 3, 3)]
    found = DetectionModule(fake_model.FakeModel(3), "encoded_image_string_tensor",
                            full_image_masks=True)(tf.constant([png(image) for image in images]))
    masks = found["detection_masks"].numpy()
    assert masks.shape == (2, 3, 60, 50)
    plain = DetectionModule(fake_model.FakeModel(3), full_image_masks=True)
    for number, image in enumerate(images):
        alone = plain(image[None])["detection_masks"][0]
        np.testing.assert_allclose(masks[number, :, :image.shape[0], :image.shape[1]], alone,
                                   atol=1e-6)
        assert masks[number].sum() == alone.numpy().sum()


def test_full_image_masks_of_no_images():
    module = DetectionModule(fake_model.FakeModel(3), full_image_masks=True)
    assert module(tf.zeros([0, 80, 90, 3], tf.uint8))["detection_masks"].shape == [0, 3, 80, 90]


def test_a_model_without_masks_gives_none():
    with pytest.raises(ValueError, match="^full_image_masks: the model draws no masks"):
        DetectionModule(fake_model.FakeModel(2), full_image_masks=True)


def test_a_saved_module_is_callable_and_takes_both_names(tmp_path):
    module = DetectionModule(fake_model.FakeModel(3))
    tf.saved_model.save(module.servable(), str(tmp_path), signatures=module.signatures())
    loaded = tf.saved_model.load(str(tmp_path))
    expected = module(TWO)
    results = [loaded(TWO), loaded(tf.constant(TWO)),
               loaded.signatures["serving_default"](input_tensor=tf.constant(TWO)),
               loaded.signatures["serving_default"](tf.constant(TWO)),
               loaded.signatures["serving_default_tf1"](inputs=tf.constant(TWO))]
    for found in results:
        assert set(found) == set(expected)
        for key, value in expected.items():
            np.testing.assert_array_equal(found[key], value, err_msg=key)
    assert loaded(np.zeros([0, 5, 5, 3], np.uint8))["detection_scores"].shape == [0, 3]
