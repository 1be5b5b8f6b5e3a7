"""Finds fixtures and data sets beside the checkout, and skips tests where they are absent."""

import os
import pathlib

import pytest

_ROOT = pathlib.Path(
    os.environ.get("DETECTION_SHARED_DIR", pathlib.Path(__file__).resolve().parents[2] / "shared"))


def find(relative: str) -> pathlib.Path | None:
    """Returns the path of a shared file or folder, or None in a checkout without it."""
    path = _ROOT / relative
    return path if path.exists() else None


def require(relative: str) -> pathlib.Path:
    """Returns the path of a shared file or folder; skips the calling test if it is absent."""
    path = find(relative)
    if path is None:
        pytest.skip(f"shared/{relative} is not beside this checkout (set DETECTION_SHARED_DIR)",
                    allow_module_level=True)
    return path
