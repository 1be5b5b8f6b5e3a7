import json

import PIL.Image
import pytest
import reading_records as reading
import shared_files

from object_detection.dataset_tools import example_builder, record_writer, sources


def _images(folder, count, **fields):
    images = []
    for number in range(count):
        path = folder / f"{number}.png"
        PIL.Image.new("RGB", (8, 4)).save(path)
        images.append(sources.SourceImage(
            str(path), path.name, str(number),
            (sources.SourceObject(0, "cat", (1, 1, 4, 3)),), **fields))
    return images


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_shards_share_the_images_in_turn(tmp_path):
    out = tmp_path / "out"
    report = record_writer.write_records(
        _images(tmp_path, 5), record_writer.WriterSettings(str(out / "x.record"), num_shards=2))
    assert _names(out) == ["label_map.pbtxt", "x.record-00000-of-00002",
                           "x.record-00001-of-00002", "x_report.json"]
    ids = [[reading.values(example, "image/source_id")[0] for example in reading.examples(path)]
           for path in report.output_files]
    assert ids == [[b"0", b"2", b"4"], [b"1", b"3"]]


@pytest.mark.slow
def test_several_processes_write_the_same_files(tmp_path):
    images = _images(tmp_path, 20)
    for workers in (1, 2):
        record_writer.write_records(images, record_writer.WriterSettings(
            str(tmp_path / f"out{workers}" / "x.record"), num_workers=workers))
    assert ((tmp_path / "out1/x.record").read_bytes() == (tmp_path / "out2/x.record").read_bytes())


def test_unreadable_images_are_skipped_and_reported(tmp_path):
    images = _images(tmp_path, 3)
    (tmp_path / "1.png").write_bytes(b"no image")
    (tmp_path / "2.png").unlink()
    report = record_writer.write_records(
        images, record_writer.WriterSettings(str(tmp_path / "x.record")))
    assert (report.images_read, report.images_written) == (3, 1)
    assert [item["file"] for item in report.skipped_images] == ["1.png", "2.png"]
    assert "not a JPEG" in report.skipped_images[0]["reason"]
    assert "not found" in report.skipped_images[1]["reason"]
    assert json.loads((tmp_path / "x_report.json").read_text()) == json.loads(report.to_json())
    assert "images: 3 read, 1 written (0 without objects), 2 skipped" in report.to_text()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_run_leaves_nothing_new(tmp_path, monkeypatch, error):
    images = _images(tmp_path, 3)
    out = tmp_path / "out"
    settings = record_writer.WriterSettings(str(out / "x.record"))
    record_writer.write_records(images[:1], settings)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    calls = []

    def fail_at_the_third(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise error
        return real(*arguments)

    real = example_builder.build_example
    monkeypatch.setattr(example_builder, "build_example", fail_at_the_third)
    with pytest.raises(error):
        record_writer.write_records(images, settings)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_nothing_to_write_is_an_error(tmp_path):
    images = [sources.SourceImage("", "a.jpg", "a", (sources.SourceObject(0, "cat", (0, 0, 1, 1)),),
                                  fault="no such thing")]
    settings = record_writer.WriterSettings(str(tmp_path / "x.record"))
    with pytest.raises(ValueError, match="no image to write out of 1 read; first: a.jpg: no such"):
        record_writer.write_records(images, settings)
    assert _names(tmp_path) == []
    with pytest.raises(ValueError, match="num_workers"):
        record_writer.write_records(images, record_writer.WriterSettings("x", num_workers=0))


def test_old_shards_and_repeated_ids_are_pointed_out(tmp_path):
    (tmp_path / "x.record-00000-of-00003").touch()
    images = _images(tmp_path, 1)
    report = record_writer.write_records(
        images * 2, record_writer.WriterSettings(str(tmp_path / "x.record"), num_shards=2))
    assert "1 image id(s) belong to more than one image, for example '0'" in report.warnings[0]
    assert "x.record-00000-of-00003" in report.warnings[1]


def test_boxes_drawn_at_another_size_are_scaled(tmp_path):
    images = _images(tmp_path, 1, size=(16, 8))
    report = record_writer.write_records(
        images, record_writer.WriterSettings(str(tmp_path / "x.record")))
    (example,) = reading.examples(tmp_path / "x.record")
    assert reading.values(example, "image/object/bbox/xmax") == [0.25]  # 4 of 16
    assert reading.values(example, "image/width") == [8]
    assert report.notes == {"boxes_scaled_from_annotated_size": 1}


def test_all_odd_images(tmp_path):
    folder = shared_files.require("data/odd_images")
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".jpg", ".png"))
    images = [sources.SourceImage(str(path), path.name, path.name,
                                  (sources.SourceObject(0, "thing", (0, 0, 1, 1)),))
              for path in paths]
    report = record_writer.write_records(
        images, record_writer.WriterSettings(str(tmp_path / "x.record")))
    assert {item["file"] for item in report.skipped_images} == {
        "truncated_jpeg.jpg", "truncated_image.png", "truncated_end_chunk.png",
        "broken_data_stream.png", "ultrahdr.jpg", "broken.png"}
    assert (report.images_read, report.images_written) == (33, 27)
    assert report.notes == {
        "orientation_kept_as_stored": 9, "reencoded_cmyk_jpeg": 1, "reencoded_16_bit_png": 2,
        "reencoded_palette_png": 1}
    assert len(reading.decoded(tmp_path / "x.record")) == 27  # TensorFlow decodes every one
