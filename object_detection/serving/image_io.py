"""Reads image files for inference: upright, three channels, eight bits.

An EXIF (or XMP) orientation is always applied, so boxes and drawings refer to the picture as
viewers show it. 16-bit values are scaled to 8 bits, of an animation the first frame is taken, and
transparency is ignored.
"""

import glob
import os
import warnings
from collections.abc import Sequence

import numpy as np
import PIL.Image
import PIL.ImageOps

FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF")  # MPO is opened as JPEG
SUFFIXES = (".jpg", ".jpeg", ".jpe", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff")


class ImageReadError(ValueError):
    """A file that gives no image; the message is the reason, without the file's name."""


def read_image(path: str | os.PathLike) -> np.ndarray:
    """Returns uint8 [H, W, 3], RGB, upright.

    Raises:
        ImageReadError: if the file is missing, cut off, damaged, or of no supported format.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about harmless header damage
        try:
            with PIL.Image.open(path, formats=FORMATS) as image:
                image.load()
                return to_rgb(_upright(image))
        except PIL.UnidentifiedImageError as error:
            raise ImageReadError(_what_it_is(path)) from error
        except FileNotFoundError as error:
            raise ImageReadError("no such file") from error
        except Exception as error:  # Pillow raises half a dozen unrelated types for bad data
            raise ImageReadError(f"damaged or unreadable: {error}") from error


def to_rgb(image: PIL.Image.Image) -> np.ndarray:
    """Returns uint8 [H, W, 3] of an image in any mode."""
    if image.mode.startswith("I"):  # 16-bit gray; Pillow would clip the values, not scale them
        values = np.clip(np.asarray(image, np.float64), 0, 65535)
        gray = np.round(values / 257.0).astype(np.uint8)
        return np.repeat(gray[..., None], 3, axis=2)
    return np.array(image.convert("RGB"))


def find_images(patterns: Sequence[str]) -> list[str]:
    """Expands files, folders and globs (`**` enters subfolders) to paths, each once.

    Of a folder all files with an image suffix are taken, sorted, without its subfolders. A file
    that is named itself is taken whatever its suffix.

    Raises:
        ValueError: if there is no pattern, or one of them gives no file.
    """
    if not patterns:
        raise ValueError("no images given: name image files, folders or quoted globs")
    found: dict[str, None] = {}
    for pattern in patterns:
        paths = _expand(pattern)
        if not paths:
            raise ValueError(f"{pattern}: " + (
                f"the folder holds no image ({', '.join(SUFFIXES)})" if os.path.isdir(pattern)
                else "no such file or folder, and no file matches it as a glob"))
        found.update(dict.fromkeys(paths))
    return list(found)


def _expand(pattern: str) -> list[str]:
    if os.path.isfile(pattern):
        return [pattern]
    if os.path.isdir(pattern):
        names = sorted(os.listdir(pattern))
        paths = [os.path.join(pattern, name) for name in names]
    else:
        paths = sorted(glob.glob(pattern, recursive=True))
    return [path for path in paths if path.lower().endswith(SUFFIXES) and os.path.isfile(path)]


def _upright(image: PIL.Image.Image) -> PIL.Image.Image:
    try:
        return PIL.ImageOps.exif_transpose(image)
    except Exception:  # damaged EXIF: no orientation can be read, so the pixels stay as stored
        return image


def _what_it_is(path: str | os.PathLike) -> str:
    with open(path, "rb") as file:
        start = file.read(8)
    if not start:
        return "empty file"
    return (f"not a JPEG, PNG, GIF, BMP, WebP or TIFF image, or its header is damaged (starts with "
            f"{start!r})")
