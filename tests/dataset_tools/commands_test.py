"""The commands, as users call them."""

import json
import os
import pathlib
import subprocess
import sys

import PIL.Image
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _run(name, *flags):
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / name), *flags], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"}, timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["create_pascal_tf_record.py", "create_coco_tf_record.py",
                                  "create_csv_tf_record.py", "create_shapes_tf_record.py",
                                  "create_via_tf_record.py"])
def test_help_shows_an_example(name):
    result = _run(name, "--help")
    assert f"python scripts/{name}" in result.stdout
    assert "--output" in result.stdout


@pytest.mark.slow
def test_csv_command(tmp_path):
    PIL.Image.new("RGB", (8, 4)).save(tmp_path / "a.png")
    table = tmp_path / "boxes.csv"
    table.write_text("filename,class,xmin,ymin,xmax,ymax\na.png,cat,2,1,4,3\n")
    flags = [f"--csv_path={table}", f"--image_dir={tmp_path}",
             f"--output_path={tmp_path}/x.record"]
    result = _run("create_csv_tf_record.py", *flags, "--num_workers=2")
    assert result.returncode == 0, result.stderr
    assert "images: 1 read, 1 written" in result.stdout
    failed = _run("create_csv_tf_record.py", *flags, "--class_column=label")
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in failed.stderr


@pytest.mark.slow
def test_via_command_gives_both_sets_one_label_map(tmp_path):
    shape = {"name": "rect", "x": 1, "y": 1, "width": 3, "height": 2}
    for name, kind in (("train", "dog"), ("val", "cat")):
        folder = tmp_path / name
        folder.mkdir()
        PIL.Image.new("RGB", (8, 4)).save(folder / "a.png")
        region = {"shape_attributes": shape, "region_attributes": {"kind": kind}}
        (folder / "via_region_data.json").write_text(json.dumps(
            {"a": {"filename": "a.png", "size": 1, "regions": [region]}}))
    flags = [f"--data_dir={tmp_path}", f"--output_dir={tmp_path}/records"]
    result = _run("create_via_tf_record.py", *flags, "--class_attribute=kind")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("objects: 1 read, 1 written") == 2
    text = (tmp_path / "records/label_map.pbtxt").read_text()
    assert text.index('"cat"') < text.index('"dog"')
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == [
        "label_map.pbtxt", "train.record", "train_report.json", "val.record", "val_report.json"]
    for wrong, message in ((["--class_attribute=name"], "there are ['kind']"),
                           ([], "--class_name"),
                           (["--class_name=a", "--sets=test"], "Name the sets that there are")):
        failed = _run("create_via_tf_record.py", *flags, *wrong)
        assert failed.returncode == 1 and message in failed.stderr.splitlines()[-1]
