"""Drawing primitives under visualization_utils: frames, labels, masks and keypoints.

Boxes here are pixels, (top, left, bottom, right). Frames and labels go onto a PIL image, masks into
an array; whoever draws many things on one image converts it once.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

Box = tuple[float, float, float, float]

_SMALLEST_FONT = 9
_FONT_SHARE = 0.025  # of the geometric mean of the image's sides
# Tried in order for names outside of the Latin alphabets, which Pillow's own font cannot show.
_WIDE_FONTS = ("NotoSansCJK-Regular.ttc", "NotoSans-Regular.ttf", "DejaVuSans.ttf", "arial.ttf")


class Label(NamedTuple):
    """Lines of text that belong to a box, from top to bottom."""

    box: Box
    lines: tuple[str, ...]
    color: str


def rgb(color: str) -> tuple[int, int, int]:
    """Returns the three components of a colour name or of `#rrggbb`."""
    return ImageColor.getrgb(color)[:3]


def line_thickness(height: int, width: int) -> int:
    """Returns a frame thickness that suits an image of this size: 2 pixels at 640 x 480."""
    return max(1, round((height * width) ** 0.5 / 250))


def to_pixels(box: Sequence[float], height: int, width: int, is_normalized: bool) -> Box | None:
    """Returns a box in pixels, its sides in order; None if a coordinate is not finite."""
    if not np.isfinite(box).all():
        return None
    ymin, xmin, ymax, xmax = (float(value) for value in box)
    if is_normalized:
        ymin, xmin, ymax, xmax = ymin * height, xmin * width, ymax * height, xmax * width
    return min(ymin, ymax), min(xmin, xmax), max(ymin, ymax), max(xmin, xmax)


def draw_frame(image: Image.Image, box: Box, color: str, thickness: int) -> None:
    """Draws the outline of a box; sides beyond the image are drawn along its border."""
    if thickness < 1:
        return
    right, bottom = image.width - 1, image.height - 1
    top, left, low, far = box
    corners = (_clip(round(left), right), _clip(round(top), bottom),
               _clip(round(far), right), _clip(round(low), bottom))
    ImageDraw.Draw(image).rectangle(corners, outline=rgb(color), width=int(thickness))


def draw_labels(image: Image.Image, labels: Sequence[Label]) -> None:
    """Writes labels beside their boxes: inside the image and, if there is room, apart.

    The first label has the first choice of place, and is drawn last.
    """
    placed: list[tuple[_Block, tuple[int, int, int, int], str]] = []
    for label in labels:
        if not any(label.lines):
            continue
        block = _block(label.lines, image.width, image.height)
        taken = [area for _, area, _ in placed]
        placed.append((block, _place(block, label.box, image.size, taken), label.color))
    draw = ImageDraw.Draw(image)
    for block, (left, top, right, bottom), color in reversed(placed):
        draw.rectangle((left, top, right - 1, bottom - 1), fill=rgb(color))
        for number, line in enumerate(block.lines):
            draw.text((left + block.margin, top + number * block.line_height), line,
                      fill=_text_color(color), font=block.font)


def blend_mask(image: np.ndarray, mask: np.ndarray, color: str, alpha: float, top: int = 0,
               left: int = 0) -> None:
    """Mixes `color` into the pixels of uint8 [H, W, 3] where `mask` is set, in place.

    Args:
        mask: [h, w]; its first pixel lies at (`top`, `left`) of the image.
    """
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return
    inner = np.s_[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1]
    window = image[top + rows[0]:top + rows[-1] + 1, left + columns[0]:left + columns[-1] + 1]
    chosen = mask[inner].astype(bool)
    mixed = (1.0 - alpha) * window[chosen] + alpha * np.array(rgb(color), np.float32)
    window[chosen] = np.clip(np.round(mixed), 0, 255).astype(np.uint8)


def draw_points(image: Image.Image, points: np.ndarray, color: str, radius: float) -> None:
    """Draws a filled dot around each (y, x) of [K, 2]."""
    draw = ImageDraw.Draw(image)
    for y, x in points.tolist():
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=rgb(color),
                     outline=rgb(color))


def draw_edges(image: Image.Image, points: np.ndarray, is_shown: np.ndarray,
               edges: Sequence[tuple[int, int]], color: str, width: int) -> None:
    """Draws a line for each (start, end) of `edges` whose two points, rows of [K, 2], are shown."""
    draw = ImageDraw.Draw(image)
    for start, end in edges:
        if not (0 <= start < len(points) and 0 <= end < len(points)):
            continue
        if is_shown[start] and is_shown[end]:
            (y0, x0), (y1, x1) = points[start].tolist(), points[end].tolist()
            draw.line((x0, y0, x1, y1), fill=rgb(color), width=max(1, int(width)))


class _Block(NamedTuple):
    """Measured text, ready to be placed."""

    lines: tuple[str, ...]
    font: ImageFont.FreeTypeFont
    margin: int
    line_height: int
    width: int
    height: int


def _clip(value: float, upper: int) -> int:
    return int(min(max(value, 0), upper))


def _text_color(background: str) -> tuple[int, int, int]:
    red, green, blue = rgb(background)
    is_bright = 0.299 * red + 0.587 * green + 0.114 * blue > 110
    return (0, 0, 0) if is_bright else (255, 255, 255)


@functools.lru_cache(maxsize=64)
def _font(size: int, latin: bool) -> ImageFont.FreeTypeFont:
    if not latin:
        for name in _WIDE_FONTS:
            try:
                return ImageFont.truetype(name, size)
            except OSError:
                continue
    return ImageFont.load_default(size)


def _block(lines: Sequence[str], width: int, height: int) -> _Block:
    """Measures lines in a font that suits the image; a line wider than the image is cut short."""
    latin = all(ord(letter) < 0x250 for line in lines for letter in line)
    size = max(_SMALLEST_FONT, round(_FONT_SHARE * (width * height) ** 0.5))
    widest = max(_font(size, latin).getlength(line) for line in lines)
    if widest > 0.9 * width:
        size = max(_SMALLEST_FONT, int(size * 0.9 * width / widest))
    font = _font(size, latin)
    margin = max(2, size // 5)
    lines = tuple(_shortened(line, font, width - 2 * margin) for line in lines)
    line_height = sum(font.getmetrics()) + max(1, size // 10)
    return _Block(lines, font, margin, line_height,
                  int(np.ceil(max(font.getlength(line) for line in lines))) + 2 * margin,
                  len(lines) * line_height)


def _shortened(line: str, font: ImageFont.FreeTypeFont, room: float) -> str:
    if font.getlength(line) <= room:
        return line
    kept = line
    while kept and font.getlength(kept + "..") > room:
        kept = kept[:-1]
    return kept + ".." if kept else ""


def _place(block: _Block, box: Box, size: tuple[int, int],
           taken: Sequence[tuple[int, int, int, int]]) -> tuple[int, int, int, int]:
    """Returns (left, top, right, bottom): of the places around the box, the one least covered."""
    top, left, bottom, right = (round(value) for value in box)
    from_right = right - block.width
    outside = [(left, top - block.height), (left, bottom), (from_right, top - block.height),
               (from_right, bottom)]
    inside = [(left, top), (left, bottom - block.height), (from_right, bottom - block.height)]
    # Inside a small box the label would hide the object.
    if bottom - top >= 3 * block.height:
        choices = [outside[0], inside[0], outside[1], *outside[2:], *inside[1:]]
    else:
        choices = outside + inside
    best, least = None, None
    for rank, (x, y) in enumerate(choices):
        x_inside = _clip(x, max(0, size[0] - block.width))
        y_inside = _clip(y, max(0, size[1] - block.height))
        area = (x_inside, y_inside, x_inside + block.width, y_inside + block.height)
        # A place that had to be moved into the image counts as worse than one that fits.
        cost = (sum(_overlap(area, other) for other in taken), abs(y_inside - y), rank)
        if least is None or cost < least:
            best, least = area, cost
    return best


def _overlap(first: tuple[int, int, int, int], second: tuple[int, int, int, int]) -> int:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(0, width) * max(0, height)
