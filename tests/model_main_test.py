"""The command: both ways to start it, usage errors, and its result."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from absl import flags
from absl.testing import flagsaver
from engine import pipelines
from google.protobuf import text_format

from object_detection import model_main

ROOT = pathlib.Path(__file__).resolve().parents[1]
WAYS = [[str(ROOT / "object_detection" / "model_main.py")], ["-m", "object_detection.model_main"]]


def command(*arguments):
    """Runs main in this process, with fresh flags."""
    with flagsaver.flagsaver():
        rest = flags.FLAGS(["model_main", *arguments])
        return model_main.main(rest)


@pytest.fixture
def config(tmp_path, monkeypatch, request):
    pipelines.use_fake_model(monkeypatch)
    if getattr(request, "param", "fake input") == "fake input":
        pipelines.use_fake_inputs(monkeypatch)
    path = tmp_path / "pipeline.config"
    path.write_text(text_format.MessageToString(pipelines.write(tmp_path)))
    return f"--pipeline_config_path={path}"


@pytest.mark.parametrize("way", WAYS, ids=["file", "module"])
def test_both_ways_to_start(way):
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if way[0] == "-m" else ""}
    done = subprocess.run([sys.executable, *way], env=environment, capture_output=True, text=True,
                          cwd="/")
    assert done.returncode == 1
    assert done.stderr == ("error: --pipeline_config_path is required: a pipeline config file; "
                           "see --help\n")


def test_started_as_a_file_our_folder_does_not_stand_in_for_other_modules():
    code = (f"import runpy, sys; sys.argv = ['x']; sys.path[0] = {str(ROOT / 'object_detection')!r}"
            f"\ntry: runpy.run_path({WAYS[0][0]!r}, run_name='__main__')\n"
            "except SystemExit: pass\n"
            "import importlib.util; print(importlib.util.find_spec('data_decoders'))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert done.stdout.strip() == "None"


def test_train_and_evaluate_prints_json_last(config, tmp_path, capsys):
    status = command(config, f"--model_dir={tmp_path}/run", "--num_train_steps=2",
                     "--config_override=train_config.batch_size=3",
                     "--config_override=eval_config.num_visualizations=0")
    assert status == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["step"] == 2
    assert result["checkpoint"] == f"{tmp_path}/run/model.ckpt-2"
    assert "DetectionBoxes_Precision/mAP" in result["metrics"]["eval_0"]
    assert "batch_size: 3" in (tmp_path / "run/pipeline.config").read_text()


def test_evaluate_only(config, tmp_path, capsys):
    assert command(config, f"--model_dir={tmp_path}/run", "--num_train_steps=1") == 0
    assert command(config, f"--model_dir={tmp_path}/eval", f"--checkpoint_dir={tmp_path}/run",
                   "--run_once", "--eval_on_train_data") == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(result["metrics"]) == ["eval_on_train"]
    assert not list((tmp_path / "eval").glob("model.ckpt*"))


@pytest.mark.parametrize("arguments, part", [
    (["--model_dir=a", "--pipeline_config_path=/nowhere/p.config"], "/nowhere/p.config: no such"),
    (["--pipeline_config_path=a"], "--model_dir is required"),
    (["stray"], "unexpected argument 'stray'"),
    (["--pipeline_config_path=a", "--model_dir=a", "--run_once"], "give --checkpoint_dir too")])
def test_usage_errors_are_one_line(arguments, part, capsys):
    assert command(*arguments) == 1
    error = capsys.readouterr().err
    assert part in error
    assert error.startswith("error: ") and error.count("\n") == 1


@pytest.mark.parametrize("config", ["real input"], indirect=True)
def test_a_bad_record_is_one_line(config, tmp_path, capsys):
    status = command(config, f"--model_dir={tmp_path}/run",
                     "--config_override=model.faster_rcnn.num_classes=1")
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert status == 1
    assert len(error) == 1 and "num_classes" in error[0]


def test_a_folder_that_cannot_be_written(config, tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert command(config, f"--model_dir={tmp_path}/taken") == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("config", ["real input"], indirect=True)
def test_debug_shows_the_traceback(config, tmp_path):
    with pytest.raises(ValueError, match="no file matches"):
        command(config, f"--model_dir={tmp_path}/run", "--debug", "--config_override="
                "train_input_reader.tf_record_input_reader.input_path=[\"/nowhere/x\"]")
