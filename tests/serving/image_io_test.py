import warnings

import numpy as np
import pytest
import shared_files
from PIL import Image

from object_detection.serving import image_io

GOOD = {  # file to height and width after turning it upright
    "Landscape_1.jpg": (1200, 1800), "Landscape_3.jpg": (1200, 1800),
    "Landscape_6.jpg": (1200, 1800), "Landscape_8.jpg": (1200, 1800),
    "Portrait_5.jpg": (1800, 1200), "Portrait_8.jpg": (1800, 1200),
    "orientation_rectangle.jpg": (2, 1), "exif_imagemagick_orientation.png": (512, 512),
    "xmp_tags_orientation.png": (268, 326), "pil_sample_cmyk.jpg": (100, 100),
    "hopper_gray.jpg": (128, 128), "hopper_bad_exif.jpg": (500, 500), "i_trns.png": (64, 64),
    "mode_16bit.png": (64, 128), "mode_grayscale_alpha.png": (64, 128), "pil123p.png": (150, 162),
    "pil123rgba.png": (150, 162), "hopper_bw_500.png": (500, 500),
    "sugarshack_bad_mpo_header.jpg": (480, 640), "icc-after-SOF.jpg": (10, 10),
    "multiple_exif.jpg": (1, 1), "jfif_unit_cm.jpg": (1, 1)}
BAD = ("truncated_jpeg.jpg", "truncated_image.png", "truncated_end_chunk.png",
       "broken_data_stream.png", "ultrahdr.jpg", "broken.png")


@pytest.mark.parametrize("name", GOOD)
def test_odd_images_are_read_upright_with_three_channels(name):
    path = shared_files.require("data/odd_images") / name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = image_io.read_image(path)
    assert image.dtype == np.uint8 and image.shape == (*GOOD[name], 3)
    assert image.flags.writeable


def test_turned_pictures_show_what_the_reference_shows():
    folder = shared_files.require("data/odd_images")
    reference = image_io.read_image(folder / "Landscape_1.jpg").astype(int)
    for name in ("Landscape_3.jpg", "Landscape_6.jpg", "Landscape_8.jpg"):
        turned = image_io.read_image(folder / name).astype(int)
        assert np.abs(turned[::7, ::7] - reference[::7, ::7]).mean() < 8, name  # JPEG noise


@pytest.mark.parametrize("name", BAD)
def test_damaged_images_are_refused_in_one_line(name):
    path = shared_files.require("data/odd_images") / name
    with pytest.raises(image_io.ImageReadError) as caught:
        image_io.read_image(path)
    assert "\n" not in str(caught.value)


def test_sixteen_bits_are_scaled(tmp_path):
    path = tmp_path / "deep.png"
    Image.fromarray(np.array([[0, 257, 32896, 65535]], np.uint16)).save(path)
    np.testing.assert_array_equal(image_io.read_image(path)[0, :, 0], [0, 1, 128, 255])


def test_the_first_frame_of_an_animation(tmp_path):
    frames = [Image.new("RGB", (4, 3), color) for color in ("red", "blue", "lime")]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(image_io.read_image(tmp_path / "moving.gif")[0, 0], [255, 0, 0])


def test_files_that_are_no_images(tmp_path):
    (tmp_path / "empty.jpg").write_bytes(b"")
    (tmp_path / "text.jpg").write_text("hello there")
    for name, reason in (("empty.jpg", "empty file"), ("text.jpg", "starts with b'hello th'"),
                         ("absent.jpg", "no such file")):
        with pytest.raises(image_io.ImageReadError, match=reason):
            image_io.read_image(tmp_path / name)


def test_files_folders_and_globs_give_each_image_once(tmp_path):
    for name in ("b.png", "a.JPG", "notes.txt", "deep/c.jpg"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    root = str(tmp_path)
    assert image_io.find_images([f"{root}/b.png", root]) == [f"{root}/b.png", f"{root}/a.JPG"]
    assert image_io.find_images([f"{root}/**"])[-1] == f"{root}/deep/c.jpg"
    assert image_io.find_images([f"{root}/notes.txt"]) == [f"{root}/notes.txt"]


def test_a_pattern_without_images_is_an_error(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ValueError, match="holds no image"):
        image_io.find_images([str(tmp_path)])
    with pytest.raises(ValueError, match="no such file or folder"):
        image_io.find_images([str(tmp_path / "x*.jpg")])
    with pytest.raises(ValueError, match="no images given"):
        image_io.find_images([])


def test_a_file_with_brackets_in_its_name_is_no_glob(tmp_path):
    path = tmp_path / "photo[1].jpg"
    path.write_bytes(b"")
    assert image_io.find_images([str(path)]) == [str(path)]
