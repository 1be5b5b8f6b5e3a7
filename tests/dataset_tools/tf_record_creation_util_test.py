import contextlib

import pytest
import tensorflow as tf

from object_detection.dataset_tools import tf_record_creation_util as util


def test_names_of_shards():
    assert util.shard_paths("a/x.record", 1) == ["a/x.record"]
    assert util.shard_paths("x", 2) == ["x-00000-of-00002", "x-00001-of-00002"]
    with pytest.raises(ValueError, match="got 0"):
        util.shard_paths("x", 0)


def test_sharded_writers(tmp_path):
    base = str(tmp_path / "x")
    with contextlib.ExitStack() as stack:
        writers = util.open_sharded_output_tfrecords(stack, base, 10)
        for number in range(12):
            writers[number % 10].write(b"%d" % number)
        assert not list(tmp_path.glob("x*"))
    paths = sorted(path.name for path in tmp_path.iterdir())
    assert paths[0] == "x-00000-of-00010"
    assert len(paths) == 10
    first = tf.data.TFRecordDataset(base + "-00000-of-00010")
    assert [item.numpy() for item in first] == [b"0", b"10"]


def test_one_shard_is_numbered_too(tmp_path):
    with contextlib.ExitStack() as stack:
        util.open_sharded_output_tfrecords(stack, str(tmp_path / "x"), 1)
    assert [path.name for path in tmp_path.iterdir()] == ["x-00000-of-00001"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_interrupted_run_leaves_the_earlier_file(tmp_path, error):
    path = tmp_path / "x.record"
    path.write_bytes(b"earlier")
    with pytest.raises(error):
        with util.atomic_writer(str(path)) as writer:
            writer.write(b"half")
            raise error
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]
