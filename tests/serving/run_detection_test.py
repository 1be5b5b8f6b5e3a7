import json
import os

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from pycocotools import mask as mask_api
from serving import fake_model

from object_detection.serving import run_detection
from object_detection.serving.detection_module import DetectionModule
from object_detection.serving.detector import Detector
from object_detection.serving.run_detection import RunSettings


@pytest.fixture(scope="module")
def detector():
    module = DetectionModule(fake_model.FakeModel(3))
    return Detector(module, module.input_spec)


def write_image(path, height=40, width=60, box=(4, 12, 20, 30), **options):
    image = np.zeros([height, width, 3], np.uint8)
    image[box[0]:box[2], box[1]:box[3]] = 255
    Image.fromarray(image).save(path, **options)
    return str(path)


def results(folder):
    return json.loads((folder / "detections.json").read_text())


@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_drawings_results_and_report(tmp_path, detector, batch_size):
    paths = [write_image(tmp_path / f"{number}.png") for number in (3, 1, 2)]
    lines = []
    summary = run_detection.run(detector, paths, RunSettings(f"{tmp_path}/out",
                                                             batch_size=batch_size),
                                {1: {"id": 1, "name": "cat"}}, report=lines.append)
    assert [line.rsplit(",", 1)[0] for line in lines] == [
        f"{path}: 1 detections" for path in paths]
    assert sorted(os.listdir(tmp_path / "out" / "drawn")) == ["1.png", "2.png", "3.png"]
    rows = results(tmp_path / "out")
    assert [row["image_id"] for row in rows] == [3, 1, 2]
    assert rows[0]["bbox"] == [12.0, 4.0, 18.0, 16.0] and rows[0]["category_id"] == 1
    assert mask_api.area(rows[0]["segmentation"]) > 200
    drawn = np.asarray(Image.open(tmp_path / "out" / "drawn" / "3.png"))
    assert drawn.shape == (40, 60, 3) and drawn[4, 29].tolist() == [127, 255, 0]  # Chartreuse
    assert "3 of 3 images done, 3 detections" in summary.text()
    assert f"{tmp_path}/out/detections.json" in summary.text()


def test_an_image_without_detections_is_drawn_as_it_is(tmp_path, detector):
    path = write_image(tmp_path / "a.png", box=(0, 0, 0, 0))
    run_detection.run(detector, [path], RunSettings(f"{tmp_path}/out"))
    assert results(tmp_path / "out") == []
    assert not np.asarray(Image.open(tmp_path / "out" / "drawn" / "a.png")).any()


def test_coordinates_refer_to_the_upright_picture(tmp_path, detector):
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned by 90 degrees clockwise
    path = write_image(tmp_path / "a.png", exif=exif)
    run_detection.run(detector, [path], RunSettings(f"{tmp_path}/out"))
    # (y, x) goes to (x, 40 - y): rows 12 to 30, columns 20 to 36.
    assert results(tmp_path / "out")[0]["bbox"] == [20.0, 12.0, 16.0, 18.0]
    assert Image.open(tmp_path / "out" / "drawn" / "a.png").size == (40, 60)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_bad_file_is_reported_and_the_others_go_on(tmp_path, detector, batch_size):
    good = [write_image(tmp_path / f"good{number}.png") for number in range(2)]
    bad = tmp_path / "bad.png"
    bad.write_bytes(open(good[0], "rb").read()[:60])  # in the middle of the pixels
    lines = []
    summary = run_detection.run(detector, [good[0], str(bad), good[1]],
                                RunSettings(f"{tmp_path}/out", batch_size=batch_size),
                                report=lines.append)
    assert list(summary.failures) == [str(bad)] and summary.images == 2
    assert any(line.startswith(f"{bad}: failed: ") for line in lines)
    assert len(results(tmp_path / "out")) == 2
    assert f"failed:   1\n  {bad}: " in summary.text()


def test_a_failing_batch_is_tried_image_by_image(tmp_path):
    def function(images):
        if images.shape[0] > 1 or images.shape[1] == 50:
            raise tf.errors.ResourceExhaustedError(None, None, "out of memory\nand more")
        return DetectionModule(fake_model.FakeModel())(images)

    picky = Detector(function, tf.TensorSpec([None, None, None, 3], tf.uint8))
    paths = [write_image(tmp_path / f"{number}.png", height=40 + number % 20)
             for number in (0, 10, 20)]
    summary = run_detection.run(picky, paths, RunSettings(f"{tmp_path}/out", batch_size=3),
                                report=lambda line: None)
    assert summary.failures == {paths[1]: "out of memory"} and summary.images == 2


def test_results_so_far_are_kept_if_the_run_breaks(tmp_path, detector):
    paths = [write_image(tmp_path / f"{number}.png") for number in range(2)]

    def report(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_detection.run(detector, paths, RunSettings(f"{tmp_path}/out"), report=report)
    assert len(results(tmp_path / "out")) == 1


def test_ids_of_annotations_and_images_without_one(tmp_path, detector):
    paths = [write_image(tmp_path / f"{name}.png") for name in "ab"]
    summary = run_detection.run(detector, paths, RunSettings(f"{tmp_path}/out"),
                                image_ids={paths[0]: 77})
    assert [row["image_id"] for row in results(tmp_path / "out")] == [77]
    assert summary.without_id == [paths[1]] and "not in the annotation file" in summary.text()


def test_equal_names_get_drawings_of_their_own(tmp_path, detector):
    (tmp_path / "x").mkdir()
    paths = [write_image(tmp_path / "a.png"), write_image(tmp_path / "x" / "a.png"),
             write_image(tmp_path / "A.jpg")]
    run_detection.run(detector, paths, RunSettings(f"{tmp_path}/out"))
    assert sorted(os.listdir(tmp_path / "out" / "drawn")) == ["A_3.png", "a.png", "a_2.png"]


def test_a_drawing_never_replaces_an_input(tmp_path, detector):
    (tmp_path / "drawn").mkdir()
    path = write_image(tmp_path / "drawn" / "a.png")
    before = open(path, "rb").read()
    with pytest.raises(ValueError, match="would replace the input"):
        run_detection.run(detector, [path], RunSettings(str(tmp_path)))
    assert open(path, "rb").read() == before


def test_categories_come_from_a_label_map_or_from_the_one_in_the_config(tmp_path):
    label_map = tmp_path / "map.pbtxt"
    label_map.write_text('item { id: 1 name: "cat" }')
    config = tmp_path / "pipeline.config"
    config.write_text(f'eval_input_reader {{ label_map_path: "{label_map}" }}')
    for categories in (run_detection.load_categories(str(label_map), None),
                       run_detection.load_categories(None, str(config))):
        assert categories[1]["name"] == "cat"
    config.write_text('eval_input_reader { label_map_path: "/absent/map.pbtxt" }')
    assert run_detection.load_categories(None, str(config)) is None
    assert run_detection.load_categories(None, None) is None
    with pytest.raises(ValueError, match="absent"):
        run_detection.load_categories("absent.pbtxt", None)
