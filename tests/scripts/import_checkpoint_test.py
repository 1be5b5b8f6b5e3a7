"""The command as users run it, in a process of its own."""

import os
import pathlib
import subprocess
import sys

import h5_files
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1",
                                "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run([sys.executable, str(ROOT / "scripts" / "import_checkpoint.py"),
                           *map(str, arguments)],
                          capture_output=True, text=True, env=environment, timeout=300)


def test_help_shows_examples_and_a_missing_flag_is_named():
    result = run("--help")
    assert "python scripts/import_checkpoint.py --input=" in result.stdout
    assert "mrcnn_class_logits" in result.stdout and "--exclude" in result.stdout
    result = run()
    assert result.returncode != 0
    assert "--input" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.slow
def test_conversion_and_a_file_that_is_none(tmp_path):
    from object_detection.engine import checkpoints
    h5_files.write(tmp_path / "w.h5", [("conv1", "conv1/bias:0", [1.0]),
                                       ("mrcnn_mask", "mrcnn_mask/bias:0", [2.0])])
    result = run(f"--input={tmp_path}/w.h5", f"--output={tmp_path}/out/model.ckpt",
                 "--exclude=mrcnn_mask,mrcnn_bbox")
    assert result.returncode == 0, result.stderr
    assert "1 of 2 weights kept" in result.stdout
    assert checkpoints.shapes(f"{tmp_path}/out/model.ckpt") == {"conv1/bias": [1]}
    (tmp_path / "bad.h5").write_bytes(b"nothing")
    result = run(f"--input={tmp_path}/bad.h5", f"--output={tmp_path}/out/model.ckpt")
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: ") and "bad.h5" in result.stderr
