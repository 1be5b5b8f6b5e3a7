"""The check that message modules are not older than their sources."""

import hashlib
import json
import pathlib

import pytest

from object_detection import protos


def _checkout(root: pathlib.Path, source: bytes, known: bytes | None) -> pathlib.Path:
    package = root / "object_detection" / "protos"
    package.mkdir(parents=True)
    (root / "protos").mkdir()
    (root / "setup.py").write_text("")
    (root / "protos" / "pipeline.proto").write_bytes(source)
    if known is not None:
        digest = hashlib.sha256(known).hexdigest()
        (package / "sources.json").write_text(json.dumps({"pipeline.proto": digest}))
    return package


def test_modules_of_the_present_sources_pass(tmp_path):
    protos._check_fresh(_checkout(tmp_path, b"same", b"same"))


def test_changed_source_is_named_with_the_command_to_run(tmp_path):
    package = _checkout(tmp_path, b"new", b"old")
    with pytest.raises(ImportError, match=r"protos/pipeline.proto.*pip install -e \."):
        protos._check_fresh(package)


def test_added_source_counts_as_a_change(tmp_path):
    package = _checkout(tmp_path, b"same", b"same")
    (tmp_path / "protos" / "zoo.proto").write_bytes(b"")
    with pytest.raises(ImportError, match="protos/zoo.proto"):
        protos._check_fresh(package)


def test_absent_modules_are_named_with_the_command_to_run(tmp_path):
    with pytest.raises(ImportError, match=r"not generated.*pip install -e \."):
        protos._check_fresh(_checkout(tmp_path, b"same", None))


def test_an_installed_package_without_sources_passes(tmp_path):
    package = tmp_path / "object_detection" / "protos"
    package.mkdir(parents=True)
    (package / "sources.json").write_text("{}")
    protos._check_fresh(package)
