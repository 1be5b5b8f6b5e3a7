"""TensorFlow starts silently, and standard error works afterwards."""

import subprocess
import sys

import pytest

from object_detection.utils import startup

_PROGRAM = """
import sys
from object_detection.utils import startup
startup.load_tensorflow(show_notes={show})
import tensorflow as tf
tf.zeros([1]) + 1
print("after", file=sys.stderr)
"""


def test_nothing_is_printed_but_what_the_program_prints():
    done = subprocess.run([sys.executable, "-c", _PROGRAM.format(show=False)],
                          capture_output=True, text=True, check=True)
    assert done.stderr == "after\n"


def test_an_absent_file_is_named_with_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        open("nope.json")
    assert startup.explained(caught.value) == (
        f"nope.json: no such file or directory (looked from {tmp_path})")


def test_other_messages_stay():
    assert startup.explained(ValueError("a.json: no objects")) == "a.json: no objects"
    assert startup.explained(OSError("disk full")) == "disk full"
