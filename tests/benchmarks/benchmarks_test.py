"""The benchmarks run, and what they compare agrees."""

import importlib
import pathlib

import pytest

_FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Returns a function that imports a benchmark by name, as its folder's scripts do."""
    monkeypatch.syspath_prepend(str(_FOLDER))
    return importlib.import_module


@pytest.mark.slow
@pytest.mark.parametrize("case", [(2, 30, 3), (1, 1100, 1)])
def test_nms(benchmark, case):
    result = benchmark("nms").run(case, repeats=1)
    assert result["loop_over_ours"] > 0 and result["boxes"] == case[1]


@pytest.mark.slow
def test_crop_gradient(benchmark):
    result = benchmark("crop_gradient").run(3, (1, 6, 7, 4), repeats=1)
    assert set(result["median_ms"]) == {
        "kernel", "sparse", "coordinates", "matmul", "segments"}
