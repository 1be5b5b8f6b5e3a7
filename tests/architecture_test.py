"""Imports go one way, sizes stay readable, and edges stay edges."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "object_detection"

# Lowest first; a module may import its own layer and those before it.
LAYERS = (
    ("utils",), ("core",),
    ("anchor_generators", "box_coders", "matchers", "nets", "roi_croppers", "data_decoders",
     "metrics", "protos"),
    ("predictors", "models", "input_pipeline"), ("meta_architectures",), ("builders",),
    ("inputs", "engine", "serving", "eval_util", "exporter", "exporter_lib_v2", "dataset_tools"),
    ("model_main",))
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Edges in the lower layers that read protos by design (DESIGN.md section 3).
PROTO_READERS = ("utils/config_", "utils/external_params", "utils/label_map_util", "builders/",
                 "inputs", "exporter", "eval_util", "engine/", "serving/", "model_main",
                 "dataset_tools/", "data_decoders/", "protos/")


def _modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.name.endswith("_pb2.py"):
            yield path


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _layer(dotted):
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 else None


def test_imports_go_one_way():
    wrong = []
    for path in _modules():
        own = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for name in _imports(path):
            if not name.startswith("object_detection."):
                continue
            layer = _layer(name)
            if layer in RANK and own in RANK and RANK[layer] > RANK[own] and layer != "protos":
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_only_edges_read_protos():
    wrong = [f"{path.relative_to(ROOT)} imports {name}"
             for path in _modules() for name in _imports(path)
             if "_pb2" in name
             and not str(path.relative_to(PACKAGE)).startswith(PROTO_READERS)]
    assert not wrong, "\n".join(wrong)


def test_only_slim_layers_imports_tf_slim():
    importers = [path.relative_to(PACKAGE).as_posix() for path in _modules()
                 if any(name.split(".")[0] == "tf_slim" for name in _imports(path))]
    assert importers == ["nets/slim_layers.py"]


def test_files_and_functions_stay_readable():
    wrong = []
    for path in _modules():
        text = path.read_text()
        if text.count("\n") > 400:
            wrong.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = node.end_lineno - body[0].lineno + 1 if body else 0
                if length > 60:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length}")
    assert not wrong, "\n".join(wrong)


def test_no_assert_and_no_unfinished_mark_in_the_package():
    marks = ("TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error")
    wrong = []
    for path in _modules():
        text = path.read_text()
        wrong += [f"{path.relative_to(ROOT)}: {mark}" for mark in marks if mark in text]
        wrong += [f"{path.relative_to(ROOT)}:{node.lineno} assert"
                  for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", ["object_detection", "scripts", "tests"])
def test_no_machine_path_in_any_file(folder):
    wrong = [str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py")
             if "/" + "work/" in path.read_text()]
    assert not wrong, wrong
