import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from serving import fake_model

from object_detection.engine import checkpoints
from object_detection.serving import detector as detector_lib
from object_detection.serving.detection_module import DetectionModule
from object_detection.serving.detector import Detector


def lit(height, width, top, left, bottom, right):
    image = np.zeros([height, width, 3], np.uint8)
    image[top:bottom, left:right] = 255
    return image


IMAGES = [lit(40, 50, 4, 10, 8, 20), lit(10, 10, 5, 0, 10, 5), lit(40, 50, 20, 0, 40, 25),
          np.zeros([6, 8, 3], np.uint8)]


def save(folder, stages=2, **options):
    module = DetectionModule(fake_model.FakeModel(stages), **options)
    tf.saved_model.save(module.servable(), str(folder), signatures=module.signatures())
    return str(folder)


def of_module(stages=2, **options):
    module = DetectionModule(fake_model.FakeModel(stages), **options)
    return Detector(module, module.input_spec)


def test_images_of_unlike_sizes_in_their_order():
    found = of_module(3).detect(IMAGES)
    np.testing.assert_allclose(found[0].boxes, [[0.1, 0.2, 0.2, 0.4]])
    np.testing.assert_allclose(found[1].boxes, [[0.5, 0.0, 1.0, 0.5]])
    assert [one.classes.tolist() for one in found] == [[1], [2], [2], []]
    assert found[0].masks.shape == (1, 5, 5) and found[3].masks.shape == (0, 5, 5)
    assert of_module().detect([]) == []


def test_scores_at_the_threshold_are_left_out_and_the_best_are_kept():
    def function(images):
        del images
        return {"num_detections": tf.constant([3.0]), "detection_classes": tf.ones([1, 4]),
                "detection_scores": tf.constant([[0.5, 0.9, 0.7, 0.99]]),
                "detection_boxes": tf.reshape(tf.range(16.0), [1, 4, 4])}

    many = Detector(function, tf.TensorSpec([None, None, None, 3], tf.uint8))
    (found,) = many.detect(IMAGES[:1], min_score=0.5)
    np.testing.assert_allclose(found.scores, [0.9, 0.7])  # the fourth row is padding
    np.testing.assert_array_equal(found.boxes[:, 0], [4, 8])
    assert many.detect(IMAGES[:1], max_boxes=1)[0].scores.shape == (1,)


def test_a_model_of_fixed_batch_runs_any_number_of_images():
    found = of_module(input_shape=[2, 40, 50, 3]).detect([IMAGES[0], IMAGES[2], IMAGES[0]])
    assert [one.classes.tolist() for one in found] == [[1], [2], [1]]


def test_a_model_of_fixed_size_refuses_other_images():
    with pytest.raises(ValueError, match="takes images of height 40 only, got 10"):
        of_module(input_shape=[2, 40, 50, 3]).detect(IMAGES[1:2])


@pytest.mark.parametrize("image", [np.zeros([4, 4], np.uint8), np.zeros([4, 4, 3]),
                                   np.zeros([0, 4, 3], np.uint8)])
def test_arrays_that_are_no_images(image):
    with pytest.raises(ValueError, match=r"image 0: want uint8 \[height, width, 3\]"):
        of_module().detect([image])


@pytest.mark.parametrize("input_type", ["image_tensor", "float_image_tensor"])
def test_a_saved_model_gives_what_its_module_gives(tmp_path, input_type):
    save(tmp_path / "saved_model", 3, input_type=input_type)
    expected = of_module(3).detect(IMAGES)
    for folder in (tmp_path, tmp_path / "saved_model"):
        for got, wanted in zip(Detector.from_saved_model(folder).detect(IMAGES), expected):
            for one, other in zip(got, wanted):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("options", [{}, {"input_shape": [1, 40, 50, 3]}])
def test_an_export_with_masks_of_the_whole_image(tmp_path, options):
    save(tmp_path, 3, full_image_masks=True, **options)
    (whole,) = Detector.from_saved_model(tmp_path).detect(IMAGES[:1])
    (cut,) = of_module(3).detect(IMAGES[:1])
    assert whole.masks_are_whole and whole.masks.shape == (1, 40, 50)
    assert not cut.masks_are_whole
    placed = cut.placed_mask(0, 40, 50)
    expected = np.zeros([40, 50], np.uint8)
    rows, columns = placed.pixels.shape
    expected[placed.top:placed.top + rows, placed.left:placed.left + columns] = placed.pixels
    assert expected.any()
    np.testing.assert_array_equal(whole.placed_mask(0, 40, 50).pixels, expected)


def test_a_tf1_saved_model_with_its_own_input_name(tmp_path):
    model = fake_model.FakeModel()

    @tf.function(input_signature=[tf.TensorSpec([1, None, None, 3], tf.uint8, "inputs")])
    def serve(inputs):
        return DetectionModule(model)._run_images(inputs)

    model.serve = serve
    tf.saved_model.save(model, str(tmp_path), signatures=serve)
    found = Detector.from_saved_model(str(tmp_path)).detect([IMAGES[0], IMAGES[2]])
    assert [one.classes.tolist() for one in found] == [[1], [2]]


def test_what_is_no_saved_model_of_a_detector(tmp_path):
    with pytest.raises(ValueError, match="no such folder"):
        Detector.from_saved_model(tmp_path / "absent")
    with pytest.raises(ValueError, match=r"holds no saved_model\.pb"):
        Detector.from_saved_model(tmp_path)
    with pytest.raises(ValueError, match="--input_type=image_tensor"):
        Detector.from_saved_model(save(tmp_path / "a", input_type="tf_example"))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "saved_model.pb").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="cannot be loaded"):
        Detector.from_saved_model(tmp_path / "b")


def test_the_config_beside_an_export_is_found(tmp_path):
    save(tmp_path / "saved_model")
    assert detector_lib.find_config(str(tmp_path)) is None
    (tmp_path / "pipeline.config").write_text("")
    for folder in (tmp_path, tmp_path / "saved_model"):
        assert detector_lib.find_config(str(folder)) == str(tmp_path / "pipeline.config")


def test_files_are_read_and_a_bad_one_is_named(tmp_path):
    Image.fromarray(IMAGES[0]).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"")
    assert of_module().detect_files([tmp_path / "a.png"])[0].classes.tolist() == [1]
    with pytest.raises(ValueError, match=r"b\.png: empty file"):
        of_module().detect_files([tmp_path / "b.png"])


def test_from_a_checkpoint(tmp_path, monkeypatch):
    checkpoints.write(f"{tmp_path}/model.ckpt-3", {"Head/strength": np.float32(0.5)})
    (tmp_path / "pipeline.config").write_text("")
    pipeline = detector_lib.config_util.Pipeline()
    monkeypatch.setattr(detector_lib.config_util, "load_pipeline", lambda path, text: pipeline)
    monkeypatch.setattr(detector_lib.model_builder, "build",
                        lambda config, is_training: fake_model.FakeModel())
    found = Detector.from_checkpoint(f"{tmp_path}/pipeline.config", str(tmp_path))
    np.testing.assert_allclose(found.detect(IMAGES[:1])[0].scores, [0.45])  # 0.9 * 0.5
