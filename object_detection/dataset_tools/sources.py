"""What every annotation reader hands to the common writer, and paths that stay inside a folder."""

import dataclasses
import ntpath
import os
import posixpath
from typing import Any


@dataclasses.dataclass(frozen=True)
class SourceObject:
    """One annotated object. Optional fields are None where the format does not have them."""

    number: int  # place in the annotation of its image, from 0
    name: str  # class name, stripped
    box: tuple[float, float, float, float]  # xmin, ymin, xmax, ymax in pixels
    note: str = ""  # where it stands, for messages: "line 4", "annotation id 12"
    difficult: bool | None = None
    truncated: bool | None = None
    view: str | None = None
    is_crowd: bool | None = None
    area: float | None = None  # pixels
    segmentation: Any = None  # COCO polygons or RLE
    fault: str = ""  # why it cannot be used, as far as the reader can tell; one word for reports


@dataclasses.dataclass(frozen=True)
class SourceImage:
    """One annotated image. Its pixels are read later, by the worker that converts it."""

    path: str  # where the image lies
    filename: str  # as stored in the record
    source_id: str
    objects: tuple[SourceObject, ...] = ()
    size: tuple[int, int] | None = None  # width and height that the annotation states
    annotation: str = ""  # file to look at when something is wrong; filename if empty
    fault: str = ""  # why the image cannot be used, as far as the reader can tell

    @property
    def where(self) -> str:
        """Returns the file that messages and reports name."""
        return self.annotation or self.filename


def relative_inside(name: str) -> str:
    """Returns `name` as a normal relative path that cannot leave the folder it is joined to.

    Raises:
        ValueError: for an empty or absolute name, a drive letter, or a part called `..`.
    """
    cleaned = name.strip().replace("\\", "/")
    outside = (not cleaned or "\0" in cleaned or posixpath.isabs(cleaned)
               or ntpath.splitdrive(cleaned)[0] or ".." in cleaned.split("/"))
    if outside:
        raise ValueError(f"unsafe file name {name!r}: want a path inside the image folder, "
                         "without '..', drive or leading slash")
    return posixpath.normpath(cleaned)


def find_image(folder: str, name: str, stem: str = "") -> str:
    """Returns the path of an image in `folder`.

    A name that does not exist is looked for under the usual extensions, and then the stem of the
    annotation file (`stem`) is: files are often renamed without their XML being edited.

    Raises:
        ValueError: if the name is unsafe.
        FileNotFoundError: if nothing is found.
    """
    base = relative_inside(name)
    candidates = [base] + [base + suffix for suffix in _IMAGE_SUFFIXES]
    if stem:
        candidates += [relative_inside(stem) + suffix for suffix in _IMAGE_SUFFIXES]
    for candidate in candidates:
        path = os.path.join(folder, candidate)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"no image {base!r} in {folder}")


_IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG", ".bmp", ".webp", ".gif")
