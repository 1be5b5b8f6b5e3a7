"""TensorFlow starts silently, and standard error works afterwards."""

import subprocess
import sys

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
