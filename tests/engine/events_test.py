"""Event files, read back."""

import numpy as np
import tensorflow as tf
from engine import event_reading

from object_detection.engine import events


def test_scalars_that_are_not_finite_are_left_out(tmp_path):
    file = events.EventFile(str(tmp_path))
    file.scalars({"a": float("nan"), "b": 1.0}, 3)
    file.close()
    assert event_reading.read(tmp_path) == {("b", 3): 1.0}


def test_images_have_width_height_and_png(tmp_path):
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    file = events.EventFile(str(tmp_path))
    file.images("pictures", [image], 7)
    file.close()
    width, height, png = event_reading.read(tmp_path)["pictures/0", 7]
    assert (width, height) == (b"4", b"2")
    np.testing.assert_array_equal(tf.io.decode_png(png), image)


def test_nothing_written_leaves_no_file(tmp_path):
    events.EventFile(str(tmp_path)).close()
    assert not list(tmp_path.iterdir())
