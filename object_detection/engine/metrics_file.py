"""`metrics.json`: the newest metrics of a model directory, and all before them."""

import json
import time
from collections.abc import Mapping

import tensorflow as tf
from absl import logging

from object_detection.metrics import coco_tools

FILE_NAME = "metrics.json"


def read(folder: str) -> dict:
    """Returns the content of a folder's metrics file; an empty one if it is absent or damaged."""
    path = f"{folder}/{FILE_NAME}"
    if tf.io.gfile.exists(path):
        try:
            with tf.io.gfile.GFile(path) as file:
                content = json.load(file)
            if isinstance(content, dict) and isinstance(content.get("history"), list):
                return content
        except json.JSONDecodeError:
            pass
        logging.warning("%s cannot be read and is begun anew", path)
    return {"latest": {}, "history": []}


def append(folder: str, name: str, step: int, metrics: Mapping[str, float]) -> None:
    """Adds one evaluation of the input called `name`; replaces an earlier one of the same step.

    A metric without ground truth (-1, or not finite) becomes null.
    """
    content = read(folder)
    entry = {"step": step, "input": name, "wall_time": round(time.time(), 3),
             "metrics": {key: _number(value) for key, value in sorted(metrics.items())}}
    content["history"] = [old for old in content["history"]
                          if (old.get("step"), old.get("input")) != (step, name)] + [entry]
    content["latest"] = {**content["latest"], name: entry}
    coco_tools.WriteJson(f"{folder}/{FILE_NAME}", content)


def _number(value: float) -> float | None:
    value = float(value)
    finite = value == value and value not in (float("inf"), float("-inf"))
    return value if finite and value != coco_tools.NO_GROUND_TRUTH else None
