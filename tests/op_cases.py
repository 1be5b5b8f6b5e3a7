"""Reads the fixtures of single operations; see fixtures/README.md, "Single operations"."""

import functools
import json
import pathlib

import numpy as np
import shared_files


def load(group: str, case: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Returns inputs and outputs of a case, by name."""
    arrays = _arrays(group)
    inputs, outputs = ({key.removeprefix(prefix): value for key, value in arrays.items()
                        if key.startswith(prefix)}
                       for prefix in (f"{case}/in/", f"{case}/out/"))
    if not outputs:
        raise ValueError(f"fixtures/tf1/ops/{group}.npz: no case {case!r}")
    return inputs, outputs


def params(group: str, case: str):
    """Returns the parameters of a case: a dict, a text proto or a remark."""
    return _params()[group][case]


def cases(group: str) -> set[str]:
    """Returns the names of all cases of a group, to check that a test leaves none out."""
    return set(_params()[group])


@functools.cache
def _arrays(group: str) -> dict[str, np.ndarray]:
    with np.load(_folder() / f"{group}.npz") as arrays:
        return dict(arrays)


@functools.cache
def _params():
    return json.loads((_folder() / "params.json").read_text())


def _folder() -> pathlib.Path:
    return shared_files.require("fixtures/tf1/ops")
