"""metrics.json: newest and history, and null for what has no ground truth."""

import json

from object_detection.engine import metrics_file


def test_append_and_latest(tmp_path):
    for step in (10, 20):
        metrics_file.append(str(tmp_path), "eval_0", step, {"mAP": step / 100, "small": -1.0})
    metrics_file.append(str(tmp_path), "eval_1", 20, {"mAP": float("nan")})
    content = json.loads((tmp_path / "metrics.json").read_text())
    assert [(row["step"], row["input"]) for row in content["history"]] == [
        (10, "eval_0"), (20, "eval_0"), (20, "eval_1")]
    assert content["latest"]["eval_0"]["metrics"] == {"mAP": 0.2, "small": None}
    assert content["latest"]["eval_1"]["metrics"] == {"mAP": None}


def test_the_same_step_again_replaces(tmp_path):
    for value in (0.1, 0.3):
        metrics_file.append(str(tmp_path), "eval_0", 5, {"mAP": value})
    history = metrics_file.read(str(tmp_path))["history"]
    assert [row["metrics"]["mAP"] for row in history] == [0.3]


def test_a_damaged_file_is_begun_anew(tmp_path, caplog):
    (tmp_path / "metrics.json").write_text("{")
    assert metrics_file.read(str(tmp_path)) == {"latest": {}, "history": []}
    assert "cannot be read" in caplog.text
