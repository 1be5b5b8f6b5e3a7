"""The command as users run it, in a process of its own."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(script, *arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1",
                                "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run([sys.executable, str(ROOT / "scripts" / script), *map(str, arguments)],
                          capture_output=True, text=True, env=environment, timeout=300)


@pytest.mark.parametrize("script", ["detect.py", "export_saved_model.py"])
def test_help_shows_examples_and_does_not_wait_for_tensorflow(script):
    result = run(script, "--help")
    assert f"python scripts/{script} " in result.stdout
    assert "--config_override" in result.stdout


@pytest.mark.parametrize("script, flag", [("detect.py", "--output_dir"),
                                          ("export_saved_model.py", "--output_directory")])
def test_a_missing_flag_is_named(script, flag):
    result = run(script)
    assert result.returncode != 0
    assert flag in result.stderr and "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_saved_model_over_a_folder_with_a_bad_file(tmp_path):
    import tensorflow as tf
    from serving import fake_model

    from object_detection.serving.detection_module import DetectionModule
    module = DetectionModule(fake_model.FakeModel(3))
    tf.saved_model.save(module.servable(), str(tmp_path / "model" / "saved_model"),
                        signatures=module.signatures())
    (tmp_path / "map.pbtxt").write_text('item { id: 1 name: "cat" }')
    photos = tmp_path / "photos"
    photos.mkdir()
    image = np.zeros([40, 60, 3], np.uint8)
    image[4:20, 12:30] = 255
    Image.fromarray(image).save(photos / "000007.png")
    (photos / "bad.jpg").write_bytes(b"\xff\xd8\xff")

    result = run("detect.py", f"--saved_model_dir={tmp_path}/model",
                 f"--output_dir={tmp_path}/out", f"--label_map_path={tmp_path}/map.pbtxt", photos)
    assert result.returncode == 1
    assert "detect.py: error: 1 of 2 images failed" in result.stderr
    assert "Traceback" not in result.stderr
    assert f"{photos}/000007.png: 1 detections" in result.stdout
    assert f"{photos}/bad.jpg: failed" in result.stdout
    assert "1 of 2 images done, 1 detections" in result.stdout
    (row,) = json.loads((tmp_path / "out" / "detections.json").read_text())
    assert row["bbox"] == [12.0, 4.0, 18.0, 16.0] and row["image_id"] == "000007"
    assert (tmp_path / "out" / "drawn" / "000007.png").exists()

    (photos / "bad.jpg").unlink()
    assert run("detect.py", f"--saved_model_dir={tmp_path}/model", f"--output_dir={tmp_path}/out",
               photos).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("arguments, message", [
    (["x.jpg"], "give either --saved_model_dir, or"),
    (["--saved_model_dir=absent"], "no images given"),
    (["--saved_model_dir=absent", __file__], "absent: no such folder"),
    (["--pipeline_config_path=a.config", __file__], "go together"),
    (["--pipeline_config_path=absent.config", "--checkpoint=x", __file__], "absent.config")])
def test_errors_are_one_line(tmp_path, arguments, message):
    result = run("detect.py", f"--output_dir={tmp_path}/out", *arguments)
    assert result.returncode == 1 and "Traceback" not in result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("detect.py: error:")]
    assert message in line
    assert not (tmp_path / "out").exists()
