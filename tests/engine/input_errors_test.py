"""Errors of an input pipeline, as the user reads them."""

import pytest
import tensorflow as tf

from object_detection.engine import input_errors


def error_of(dataset):
    with pytest.raises(tf.errors.OpError) as caught:
        list(dataset)
    return caught.value


def numbers():
    return tf.data.Dataset.range(3)


def test_a_failed_check_gives_its_message_alone():
    def check(value):
        tf.debugging.Assert(value < 1, [tf.constant("record 'a' has no [box]: add one")])
        return value

    error = error_of(numbers().map(check, num_parallel_calls=2).batch(2))
    assert input_errors.explain(error) == "record 'a' has no [box]: add one"


def test_an_error_from_python_code():
    def fail(value):
        raise ValueError("record 7: want 3 masks, got 2")

    error = error_of(numbers().map(lambda value: tf.numpy_function(fail, [value], tf.int64)))
    assert input_errors.explain(error) == "record 7: want 3 masks, got 2"


def test_a_damaged_file_is_named(tmp_path):
    path = str(tmp_path / "cut.record")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"x" * 100)
    with open(path, "r+b") as file:
        file.truncate(50)
    error = error_of(tf.data.TFRecordDataset(path))
    assert path in input_errors.explain(error, [path])
    assert "cut off" in input_errors.explain(error, [path])


def test_what_cannot_be_compiled_is_named():
    @tf.function(jit_compile=True)
    def crop(image):
        return tf.image.crop_and_resize(image, tf.zeros([1, 4]), [0], [2, 2])

    with pytest.raises(tf.errors.OpError) as caught:
        crop(tf.zeros([1, 4, 4, 3]))
    text = input_errors.explain(caught.value)
    assert text.startswith("jit_compile: XLA cannot compile CropAndResize of this model; set")


def test_anything_else_keeps_its_first_line():
    error = tf.errors.InvalidArgumentError(None, None, "{{function_node x}} shapes differ\nlong")
    assert input_errors.explain(error) == "InvalidArgumentError: shapes differ"
