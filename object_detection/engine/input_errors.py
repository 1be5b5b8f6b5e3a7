"""Turns TensorFlow's errors from an input pipeline into one line for the user."""

import re
from collections.abc import Sequence

import tensorflow as tf

from object_detection.input_pipeline import records

_CHECK = re.compile(r"assertion failed: \[(.*?)\]\s*(?:\[|$)", re.DOTALL)
_NOT_COMPILED = re.compile(r"(\w+) \(No registered '\w+' OpKernel")
_PYTHON_ERROR = re.compile(r"^\s*(?:\w+Error): (.+)$", re.MULTILINE)


def explain(error: tf.errors.OpError, patterns: Sequence[str] = ()) -> str:
    """Returns what went wrong, without graph node names and tracebacks.

    Args:
        patterns: the record files that were read; a damaged one of them is named.
    """
    text = error.message or str(error)
    if isinstance(error, tf.errors.DataLossError) and patterns:
        damage = records.locate_damage(records.find_files(list(patterns)))
        if damage:
            return damage
    if "unsupported operations when trying to compile" in text:
        operations = ", ".join(sorted(set(_NOT_COMPILED.findall(text)))) or "one of its operations"
        return (f"jit_compile: XLA cannot compile {operations} of this model; set the static-shape "
                "options that docs/training.md names, or train without jit_compile")
    check = _CHECK.search(text)
    if check:
        return check.group(1).replace("\\'", "'").strip()
    raised = _PYTHON_ERROR.findall(text)
    if raised:
        return raised[-1].strip()
    if isinstance(error, tf.errors.ResourceExhaustedError):
        return ("out of memory: use a smaller train_config.batch_size or smaller images "
                f"(image_resizer). {_first_line(text)}")
    return f"{type(error).__name__}: {_first_line(text)}"


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith(("Graph execution error",
                                                             "Detected at node", "File "))]
    line = (useful or lines or ["no message"])[0]
    return re.sub(r"\{\{.*?\}\}\s*|\[\[.*?\]\]\s*|\[Op:\w+\]\s*(name:\s*)?", "", line).strip()
