"""Reading encoded records: order, shares, and files that are something else."""

import gzip

import pytest
import tensorflow as tf

from object_detection.input_pipeline import records


def write(path, values):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for value in values:
            writer.write(value)
    return str(path)


def read(patterns, shard=records.Shard(), **settings):  # noqa: B008
    settings = records.ReaderSettings(tuple(patterns), **settings)
    return [value for value in records.read(settings, shard).as_numpy_iterator()]


def test_plain_order_globs_and_lists(tmp_path):
    first = write(tmp_path / "a-0", [b"1", b"2"])
    second = write(tmp_path / "a-1", [b"3"])
    kept = dict(shuffle=False, num_epochs=1, read_block_length=32)
    assert read([str(tmp_path / "a-*")], **kept) == [b"1", b"2", b"3"]
    assert read([f"{second}, {first}"], **kept) == [b"3", b"1", b"2"]
    assert read([f"{first},{tmp_path}/a-*"], **kept) == [b"1", b"2", b"3"]  # no file twice
    assert read([first, first], read_block_length=2, shuffle=False, num_epochs=1
                ) == [b"1", b"2"] * 2  # unless input_path is given twice
    assert read([first], shuffle=False, num_epochs=2) == [b"1", b"2", b"1", b"2"]
    assert read([first, second], shuffle=False, num_epochs=1, sample_1_of_n_examples=2
                ) == [b"1", b"3"]


def test_shuffling_keeps_epochs_apart_and_a_seed_repeats_it(tmp_path):
    path = write(tmp_path / "a", [bytes([65 + i]) for i in range(20)])
    once = read([path], num_epochs=2, seed=3)
    assert once == read([path], num_epochs=2, seed=3)
    assert sorted(once[:20]) == sorted(once[20:]) != once[:20]
    assert once[:20] != once[20:]


def test_workers_split_files_or_records(tmp_path):
    paths = [write(tmp_path / f"f{i}", [f"{i}{k}".encode() for k in range(3)]) for i in range(2)]
    kept = dict(shuffle=False, num_epochs=1)
    for patterns, whole in ((paths, 6), (paths[:1], 3)):
        parts = [read(patterns, records.Shard(i, 2), **kept) for i in range(2)]
        assert len(set(parts[0]) | set(parts[1])) == len(parts[0]) + len(parts[1]) == whole


def test_weights_choose_among_the_paths(tmp_path):
    paths = [write(tmp_path / "a", [b"a"] * 50), write(tmp_path / "b", [b"b"] * 50)]
    assert set(read(paths, weights=(1.0, 0.0), num_epochs=1)[:50]) == {b"a"}
    mixed = read(paths, weights=(0.5, 0.5), num_epochs=1, seed=1)
    assert mixed.count(b"a") == mixed.count(b"b") == 50


@pytest.mark.parametrize("content, message", [
    (b"filename,width,height\n", "looks like text"),
    (b"\xff\xd8\xff\xe0" + b"x" * 40, "looks like an image"),
    (b"\x00" * 20, "starts with 00 00"),
    (b"abc", "only 3 bytes")])
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "input"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"input: not a TFRecord file, .*{message}"):
        read([str(path)])


def test_compressed_missing_empty_and_folder(tmp_path):
    plain = write(tmp_path / "plain", [b"1"])
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    with pytest.raises(ValueError, match="gzip"):
        read([str(packed)])
    with pytest.raises(ValueError, match="no file matches .*none"):
        read([plain, str(tmp_path / "none")])
    with pytest.raises(ValueError, match="no path is given"):
        read([])
    with pytest.raises(ValueError, match="is a directory"):
        read([str(tmp_path)])
    empty = write(tmp_path / "empty", [])
    with pytest.raises(ValueError, match="all 1 record files are empty"):
        read([empty])
    assert read([empty, plain], num_epochs=1) == [b"1"]


@pytest.mark.parametrize("settings, message", [
    (dict(weights=(1.0,)), "one weight per input_path, got 1 weights for 2"),
    (dict(weights=(0.0, 0.0)), "not all 0"),
    (dict(sample_1_of_n_examples=0), "sample_1_of_n_examples"),
    (dict(shuffle_buffer_size=0), "shuffle: false")])
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=message):
        read(["a", "b"], **settings)


def test_damage_is_located(tmp_path):
    path = write(tmp_path / "a", [b"x" * 10, b"y" * 10, b"z" * 10])
    assert records.locate_damage([path]) is None
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-4])
    assert "cut off, after 2 whole" in records.locate_damage([path, str(tmp_path / "cut")])
    (tmp_path / "bad").write_bytes(content[:26] + b"\xff" + content[27:])
    assert "damaged at byte 26, after 1 whole" in records.locate_damage([str(tmp_path / "bad")])
