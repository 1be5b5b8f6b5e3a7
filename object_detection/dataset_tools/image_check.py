"""Looks at an image file before it goes into a record, and re-encodes what trainers trip over.

The rules:

- JPEG and PNG with 8 bits per channel are stored byte for byte, whatever the file is called.
- CMYK JPEG, 16-bit PNG, palette PNG, GIF, WebP and BMP are re-encoded as RGB: as JPEG
  if the source is lossy (JPEG, WebP), else as PNG. 16-bit values are scaled to 8 bits. Of an
  animation the first frame is taken. Transparency is ignored, as the decoder does with RGBA PNG.
- An EXIF (or XMP) orientation other than 1 is applied to the pixels only if the annotation states
  the size of the upright picture. Otherwise the pixels stay as stored, which is what
  TensorFlow's decoders show. Both cases are noted.
- A file whose pixels cannot be decoded completely is refused.
"""

import io
import warnings
from typing import NamedTuple

import numpy as np
import PIL.Image
import PIL.ImageOps

_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP")  # JPEG includes multi-picture files (MPO)
_ORIENTATION = 0x0112  # EXIF tag
_SIZE_TOLERANCE = 0.02


class ImageError(ValueError):
    """An image that cannot go into a record; the message is the reason."""


class PreparedImage(NamedTuple):
    """Encoded bytes that TensorFlow decodes to `width` x `height` pixels."""

    encoded: bytes
    format: str  # "jpeg" or "png"
    width: int
    height: int
    notes: tuple[str, ...] = ()  # what was done or is odd, one short word each


def prepare_image(data: bytes, annotated_size: tuple[int, int] | None = None) -> PreparedImage:
    """Checks an encoded image by decoding it, and re-encodes it if need be (see the module).

    Args:
        data: content of the image file.
        annotated_size: width and height that the annotation states, if it does.
    Raises:
        ImageError: if the bytes are no complete image of a known kind.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about harmless header damage
        image = _open(data)
        try:
            image.load()
        except Exception as error:  # Pillow's readers raise many unrelated types on damage
            raise ImageError(f"damaged {image.format} image: {error}") from error
        return _prepare(data, image, annotated_size)


def box_frame(image: PreparedImage, annotated_size: tuple[int, int] | None) -> tuple[int, int]:
    """Returns the width and height by which boxes are to be divided.

    A missing or zero size gives the real one. A size with the same aspect ratio is believed: the
    picture was resized after annotation. Any other size is an error.
    """
    if annotated_size is None or min(annotated_size) <= 0:
        return image.width, image.height
    x_ratio, y_ratio = annotated_size[0] / image.width, annotated_size[1] / image.height
    if abs(x_ratio - y_ratio) > _SIZE_TOLERANCE * max(x_ratio, y_ratio):
        raise ImageError(
            f"size mismatch: annotation says {annotated_size[0]}x{annotated_size[1]}, image is "
            f"{image.width}x{image.height} (width x height)")
    return annotated_size


def _open(data: bytes) -> PIL.Image.Image:
    if not data:
        raise ImageError("empty file")
    if data.startswith((b"/9j/", b"iVBORw0KGgo")):
        raise ImageError("base64 text instead of image bytes: decode it first")
    try:
        return PIL.Image.open(io.BytesIO(data), formats=_FORMATS)
    except PIL.UnidentifiedImageError as error:
        raise ImageError(f"not a JPEG, PNG, GIF, BMP or WebP image (starts with {data[:8]!r})"
                         ) from error
    except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
        raise ImageError(f"damaged image: {error}") from error


def _prepare(data: bytes, image: PIL.Image.Image,
             annotated_size: tuple[int, int] | None) -> PreparedImage:
    notes = []
    is_jpeg = image.format in ("JPEG", "MPO")
    rotated, orientation_note = _upright(image, annotated_size)
    if orientation_note:
        notes.append(orientation_note)
    odd = _oddity(data, image, is_jpeg)
    if odd:
        notes.append(f"reencoded_{odd}")
    if rotated is image and not odd:
        return PreparedImage(data, "jpeg" if is_jpeg else "png", image.width, image.height,
                             tuple(notes))
    encoded, encoded_format = _encode(rotated, lossy=is_jpeg or image.format == "WEBP")
    return PreparedImage(encoded, encoded_format, rotated.width, rotated.height, tuple(notes))


def _upright(image: PIL.Image.Image,
             annotated_size: tuple[int, int] | None) -> tuple[PIL.Image.Image, str]:
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged EXIF: the tag cannot be read, so nothing is done about it
        return image, ""
    if orientation not in range(2, 9):
        return image, ""
    size = image.size[::-1] if orientation >= 5 else image.size
    if annotated_size != size:
        return image, "orientation_kept_as_stored"
    note = "orientation_rotated_upright"
    if annotated_size == image.size:  # square, or upside down: the size would fit both ways
        note += "_size_fits_both"
    return PIL.ImageOps.exif_transpose(image), note


def _oddity(data: bytes, image: PIL.Image.Image, is_jpeg: bool) -> str:
    """Returns what makes the image unfit to be stored as it is, or an empty string."""
    if is_jpeg:
        return "" if image.mode in ("L", "RGB") else f"{image.mode.lower()}_jpeg"
    if image.format != "PNG":
        return image.format.lower()
    if data[24:25] == b"\x10":  # bit depth in the IHDR chunk
        return "16_bit_png"
    return "palette_png" if image.mode == "P" else ""


def _encode(image: PIL.Image.Image, lossy: bool) -> tuple[bytes, str]:
    if image.mode.startswith("I"):  # Pillow would clip 16-bit values instead of scaling them
        values = np.clip(np.asarray(image, np.float64), 0, 65535)
        image = PIL.Image.fromarray(np.round(values / 257.0).astype(np.uint8))
    if image.mode != "L":
        image = image.convert("RGB")
    image.info.clear()  # colour profile and transparency of the mode it had before
    buffer = io.BytesIO()
    if lossy:
        image.save(buffer, "JPEG", quality=95)
        return buffer.getvalue(), "jpeg"
    image.save(buffer, "PNG")
    return buffer.getvalue(), "png"
