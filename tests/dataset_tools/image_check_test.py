import io

import numpy as np
import PIL.Image
import pytest
import shared_files
import tensorflow as tf

from object_detection.dataset_tools import image_check


def _bytes(image, file_format, **options):
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def _decode(prepared):
    pixels = tf.io.decode_image(prepared.encoded, channels=3, expand_animations=False).numpy()
    assert pixels.shape == (prepared.height, prepared.width, 3)
    return pixels


@pytest.mark.parametrize("mode, file_format", [
    ("RGB", "JPEG"), ("L", "JPEG"), ("RGB", "PNG"), ("L", "PNG"), ("LA", "PNG"), ("RGBA", "PNG"),
    ("1", "PNG")])
def test_plain_images_are_stored_byte_for_byte(mode, file_format):
    data = _bytes(PIL.Image.new(mode, (6, 4)), file_format)
    prepared = image_check.prepare_image(data)
    assert prepared == (data, file_format.lower(), 6, 4, ())
    _decode(prepared)


@pytest.mark.parametrize("mode, file_format, note, stored_as", [
    ("CMYK", "JPEG", "reencoded_cmyk_jpeg", "jpeg"), ("P", "PNG", "reencoded_palette_png", "png"),
    ("P", "GIF", "reencoded_gif", "png"), ("RGB", "BMP", "reencoded_bmp", "png"),
    ("RGB", "WEBP", "reencoded_webp", "jpeg")])
def test_odd_images_are_reencoded(mode, file_format, note, stored_as):
    prepared = image_check.prepare_image(_bytes(PIL.Image.new(mode, (6, 4)), file_format))
    assert prepared[1:] == (stored_as, 6, 4, (note,))
    _decode(prepared)


def test_16_bits_are_scaled_not_cut():
    values = np.array([[0, 257, 65535, 32896]], np.uint16)  # 257 is 1 of 255, 32896 is 128
    prepared = image_check.prepare_image(_bytes(PIL.Image.fromarray(values), "PNG"))
    assert prepared.notes == ("reencoded_16_bit_png",)
    np.testing.assert_array_equal(_decode(prepared)[0, :, 0], [0, 1, 255, 128])


def test_first_frame_of_an_animation():
    frames = [PIL.Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    data = _bytes(frames[0], "GIF", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(_decode(image_check.prepare_image(data))[0, 0], [255, 0, 0])


def _with_orientation(orientation):
    pixels = np.zeros([20, 30, 3], np.uint8)
    pixels[:10, :15] = 255  # bright corner: top left as stored
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    return _bytes(PIL.Image.fromarray(pixels), "PNG", exif=exif)


def test_orientation_is_applied_if_the_annotation_is_upright():
    prepared = image_check.prepare_image(_with_orientation(6), (20, 30))  # a quarter turn right
    assert (prepared.width, prepared.height) == (20, 30)
    assert prepared.notes == ("orientation_rotated_upright",)
    pixels = _decode(prepared)
    assert pixels[0, -1, 0] == 255
    assert pixels[0, 0, 0] == 0


@pytest.mark.parametrize("size", [(30, 20), None])
def test_orientation_is_left_if_the_annotation_is_not_upright(size):
    data = _with_orientation(6)
    prepared = image_check.prepare_image(data, size)
    assert prepared == (data, "png", 30, 20, ("orientation_kept_as_stored",))


def test_half_turn_fits_both_ways_and_says_so():
    prepared = image_check.prepare_image(_with_orientation(3), (30, 20))
    assert prepared.notes == ("orientation_rotated_upright_size_fits_both",)
    assert _decode(prepared)[-1, -1, 0] == 255


@pytest.mark.parametrize("data, message", [
    (b"", "empty file"),
    (b"/9j/4AAQSkZJRgAB", "base64"),
    (b"GIF89a", "not a JPEG, PNG"),
    (b"hello world", "not a JPEG, PNG"),
])
def test_other_bytes_are_refused(data, message):
    with pytest.raises(image_check.ImageError, match=message):
        image_check.prepare_image(data)


def test_a_cut_file_is_refused():
    rng = np.random.default_rng(0)
    image = PIL.Image.fromarray(rng.integers(0, 255, [50, 50, 3], np.uint8))
    for file_format in ("JPEG", "PNG"):
        data = _bytes(image, file_format)
        with pytest.raises(image_check.ImageError, match=f"damaged {file_format}"):
            image_check.prepare_image(data[:len(data) // 2])


def test_frame_of_the_boxes():
    image = image_check.PreparedImage(b"", "jpeg", 400, 300)
    assert image_check.box_frame(image, None) == (400, 300)
    assert image_check.box_frame(image, (0, 0)) == (400, 300)
    assert image_check.box_frame(image, (800, 601)) == (800, 601)  # resized after annotation
    with pytest.raises(image_check.ImageError, match="says 300x400, image is 400x300"):
        image_check.box_frame(image, (300, 400))


# name: outcome, from shared/data/odd_images/SOURCE.md; "" is stored as it is.
ODD_IMAGES = {
    "Landscape_1.jpg": "", "Landscape_3.jpg": "orientation_kept_as_stored",
    "Landscape_6.jpg": "orientation_kept_as_stored",
    "Landscape_8.jpg": "orientation_kept_as_stored",
    "Portrait_5.jpg": "orientation_kept_as_stored", "Portrait_8.jpg": "orientation_kept_as_stored",
    "hopper_orientation_5.jpg": "orientation_kept_as_stored",
    "orientation_rectangle.jpg": "orientation_kept_as_stored",
    "exif_imagemagick_orientation.png": "orientation_kept_as_stored",
    "xmp_tags_orientation.png": "orientation_kept_as_stored",
    "pil_sample_cmyk.jpg": "reencoded_cmyk_jpeg", "hopper_gray.jpg": "", "hopper_bad_exif.jpg": "",
    "app13-multiple.jpg": "", "i_trns.png": "reencoded_16_bit_png",
    "mode_16bit.png": "reencoded_16_bit_png", "mode_grayscale_alpha.png": "",
    "pil123p.png": "reencoded_palette_png", "pil123rgba.png": "", "hopper_bw_500.png": "",
    "sugarshack_bad_mpo_header.jpg": "", "junk_jpeg_header.jpg": "", "icc-after-SOF.jpg": "",
    "invalid-exif-without-x-resolution.jpg": "", "multiple_exif.jpg": "", "jfif_unit_cm.jpg": "",
    "hopper_idat_after_image_end.png": "", "truncated_jpeg.jpg": "damaged JPEG",
    "truncated_image.png": "damaged PNG", "truncated_end_chunk.png": "damaged PNG",
    "broken_data_stream.png": "damaged PNG", "ultrahdr.jpg": "damaged",
    "broken.png": "not a JPEG, PNG",
}


def test_every_odd_image_is_listed():
    folder = shared_files.require("data/odd_images")
    names = {path.name for path in folder.iterdir() if path.suffix in (".jpg", ".png")}
    assert names == set(ODD_IMAGES)


@pytest.mark.parametrize("name", ODD_IMAGES)
def test_odd_images(name):
    data = (shared_files.require("data/odd_images") / name).read_bytes()
    outcome = ODD_IMAGES[name]
    if outcome.startswith(("damaged", "not a")):
        with pytest.raises(image_check.ImageError, match=outcome):
            image_check.prepare_image(data)
        return
    prepared = image_check.prepare_image(data)
    assert prepared.notes == ((outcome,) if outcome else ())
    assert (prepared.encoded == data) == (not outcome.startswith("reencoded"))
    _decode(prepared)


@pytest.mark.parametrize("name, upright", [
    ("Landscape_6.jpg", (1800, 1200)), ("Portrait_5.jpg", (1200, 1800)),
    ("orientation_rectangle.jpg", (1, 2))])
def test_odd_images_turned_upright(name, upright):
    data = (shared_files.require("data/odd_images") / name).read_bytes()
    prepared = image_check.prepare_image(data, upright)
    assert (prepared.width, prepared.height) == upright
    assert prepared.notes == ("orientation_rotated_upright",)
    _decode(prepared)
