import numpy as np
import PIL.Image
import pytest

from object_detection.dataset_tools import example_builder, image_check, sources

IMAGE = image_check.PreparedImage(b"data", "png", 8, 4)


def _build(*objects, size=None, **options):
    source = sources.SourceImage("", "a.png", "1", objects, size)
    return example_builder.build_example(
        source, IMAGE, example_builder.ExampleSettings({"cat": 3}, **options))


def test_fields_without_values_are_left_out():
    features = _build(sources.SourceObject(0, "cat", (0, 0, 4, 2))).example.features.feature
    assert features["image/object/bbox/xmax"].float_list.value[:] == [0.5]
    for key in ("image/object/difficult", "image/object/is_crowd", "image/object/area",
                "image/object/view", "image/object/mask"):
        assert key not in features


def test_no_objects():
    built = _build(include_masks=True)
    assert built.num_objects == 0
    assert built.example.features.feature["image/object/mask"].bytes_list.value[:] == []


def test_masks_need_the_stated_size_to_be_the_real_one():
    with pytest.raises(image_check.ImageError, match="masks are for 16x8"):
        _build(size=(16, 8), include_masks=True)


def test_mask_png_holds_zero_and_one(tmp_path):
    mask = np.array([[0, 1], [1, 0]])
    (tmp_path / "m.png").write_bytes(example_builder.encode_mask(mask))
    np.testing.assert_array_equal(np.asarray(PIL.Image.open(tmp_path / "m.png")), mask)
