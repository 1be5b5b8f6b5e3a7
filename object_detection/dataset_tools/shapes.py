"""Draws a data set of coloured shapes with boxes and masks, to try a model without any download.

Images show circles, squares, triangles and stars on textured backgrounds. Shapes overlap: what is
covered is cut from the mask and the box of the shape behind. Everything follows from the seed.
"""

import dataclasses
import io
import math
import os
from typing import NamedTuple

import numpy as np
import PIL.Image
import PIL.ImageDraw

from object_detection.dataset_tools import (
    class_names,
    example_builder,
    image_check,
    sources,
    tf_record_creation_util,
)

CLASS_NAMES = ("circle", "square", "triangle", "star")
_SPLIT_NUMBERS = {"train": 0, "val": 1}
_NUM_SAMPLES = 6  # pictures kept as PNG, per split


@dataclasses.dataclass(frozen=True)
class ShapesSettings:
    """How the pictures look. Lengths are parts of the image side."""

    image_size: int = 160
    min_objects: int = 1
    max_objects: int = 7
    empty_share: float = 0.05  # part of the images that show no shape
    min_radius: float = 0.06
    max_radius: float = 0.22
    min_visible: float = 0.4  # a shape of which less can be seen is taken out of the picture
    noise: float = 10.0  # standard deviation of the pixel noise, of 255


class Scene(NamedTuple):
    """One picture and what it shows, from back to front."""

    image: np.ndarray  # uint8 [H, W, 3]
    names: list[str]
    boxes: np.ndarray  # float32 [N, 4], ymin xmin ymax xmax in pixels, tight around the mask
    masks: np.ndarray  # uint8 [N, H, W], 0 or 1, without overlap


def draw_scene(rng: np.random.Generator, settings: ShapesSettings) -> Scene:
    """Draws one picture; the state of `rng` decides everything about it."""
    size = settings.image_size
    image = _background(rng, size)
    count = int(rng.integers(settings.min_objects, settings.max_objects + 1))
    if rng.random() < settings.empty_share:
        count = 0
    kinds = [str(rng.choice(CLASS_NAMES)) for _ in range(count)]
    whole = [_shape_mask(rng, kind, settings) for kind in kinds]
    shown = _visible_shapes(whole, settings.min_visible)
    masks = np.zeros([len(shown), size, size], np.uint8)
    for row, index in enumerate(shown):
        masks[row] = whole[index]
        masks[:row][:, whole[index]] = 0
        image[whole[index]] = _paint(rng, image)[whole[index]]
    noisy = image + rng.normal(0.0, settings.noise, image.shape)
    return Scene(np.clip(np.round(noisy), 0, 255).astype(np.uint8),
                 [kinds[index] for index in shown], _tight_boxes(masks), masks)


def scene_example(scene: Scene, source_id: str) -> bytes:
    """Returns a scene as a serialized tf.Example, with a JPEG image and PNG masks."""
    buffer = io.BytesIO()
    PIL.Image.fromarray(scene.image).save(buffer, "JPEG", quality=95)
    height, width = scene.image.shape[:2]
    objects = tuple(
        sources.SourceObject(
            number, name, (box[1], box[0], box[3], box[2]), is_crowd=False,
            area=float(mask.sum()), segmentation={"size": [height, width], "counts": _runs(mask)})
        for number, (name, box, mask) in enumerate(
            zip(scene.names, scene.boxes.tolist(), scene.masks)))
    source = sources.SourceImage("", source_id + ".jpg", source_id, objects, (width, height))
    image = image_check.PreparedImage(buffer.getvalue(), "jpeg", width, height)
    built = example_builder.build_example(source, image, example_builder.ExampleSettings(
        _labels(), include_masks=True))
    return example_builder.serialize(built.example)


def write_dataset(output_dir: str, num_train: int, num_val: int, seed: int = 0,
                  settings: ShapesSettings | None = None) -> dict[str, int]:
    """Writes train.record, val.record, label_map.pbtxt and a few sample pictures.

    Returns:
        The number of images and objects per split: train_images, train_objects, ...
    Raises:
        ValueError: for negative counts or an image too small for shapes.
    """
    settings = settings or ShapesSettings()
    if min(num_train, num_val) < 0:
        raise ValueError(f"num_train and num_val: want 0 or more, got {num_train} and {num_val}")
    if settings.image_size < 32:
        raise ValueError(f"image_size: want 32 or more, got {settings.image_size}")
    os.makedirs(output_dir, exist_ok=True)
    counts = {}
    for split, number in (("train", num_train), ("val", num_val)):
        counts[f"{split}_images"] = number
        counts[f"{split}_objects"] = _write_split(output_dir, split, number, seed, settings)
    tf_record_creation_util.write_file_atomically(
        os.path.join(output_dir, class_names.LABEL_MAP_NAME),
        class_names.label_map_text(_labels()).encode("utf-8"))
    return counts


def _write_split(output_dir: str, split: str, number: int, seed: int,
                 settings: ShapesSettings) -> int:
    objects = 0
    with tf_record_creation_util.atomic_writer(
            os.path.join(output_dir, f"{split}.record")) as writer:
        for index in range(number):
            # One generator per image: picture i is the same however many there are.
            rng = np.random.default_rng([seed, _SPLIT_NUMBERS[split], index])
            scene = draw_scene(rng, settings)
            writer.write(scene_example(scene, f"{split}_{index:06d}"))
            objects += len(scene.names)
            if index < _NUM_SAMPLES:
                _save_sample(scene, output_dir, f"{split}_{index}.png")
    return objects


def _labels() -> dict[str, int]:
    return {name: number for number, name in enumerate(CLASS_NAMES, start=1)}


def _background(rng: np.random.Generator, size: int) -> np.ndarray:
    """Returns float32 [size, size, 3]: soft coloured patches, often with stripes over them."""
    cells = int(rng.integers(2, 9))
    base = rng.uniform(60, 200, 3)
    patches = np.clip(base + rng.uniform(-70, 70, [cells, cells, 3]), 0, 255).astype(np.uint8)
    image = np.asarray(PIL.Image.fromarray(patches).resize([size, size], PIL.Image.BICUBIC),
                       np.float32)
    if rng.random() < 0.5:
        angle, period = rng.uniform(0, math.pi), rng.uniform(4, 24)
        rows, columns = np.mgrid[:size, :size]
        wave = np.sin((rows * math.sin(angle) + columns * math.cos(angle)) * 2 * math.pi / period)
        image = image + (rng.uniform(5, 25) * wave)[:, :, None]
    return image.astype(np.float32)


def _shape_mask(rng: np.random.Generator, kind: str, settings: ShapesSettings) -> np.ndarray:
    """Returns bool [size, size]: one whole shape, its centre inside the picture."""
    size = settings.image_size
    radius = size * rng.uniform(settings.min_radius, settings.max_radius)
    centre_x, centre_y = rng.uniform(0.05 * size, 0.95 * size, 2)
    turn = rng.uniform(0, 2 * math.pi)
    canvas = PIL.Image.new("L", (size, size))
    draw = PIL.ImageDraw.Draw(canvas)
    if kind == "circle":
        draw.ellipse([centre_x - radius, centre_y - radius, centre_x + radius, centre_y + radius],
                     fill=1)
    else:
        corners = {"square": 4, "triangle": 3, "star": 10}[kind]
        radii = [radius * (0.45 if kind == "star" and corner % 2 else 1.0)
                 for corner in range(corners)]
        angles = [turn + 2 * math.pi * corner / corners for corner in range(corners)]
        draw.polygon([(centre_x + r * math.cos(a), centre_y + r * math.sin(a))
                      for r, a in zip(radii, angles)], fill=1)
    return np.asarray(canvas, bool)


def _visible_shapes(whole: list[np.ndarray], min_visible: float) -> list[int]:
    """Returns the shapes, back to front, of which enough can be seen, inside the frame."""
    shown: list[int] = []
    covered = np.zeros(whole[0].shape, bool) if whole else None
    for index in reversed(range(len(whole))):  # from the front: only kept shapes cover others
        visible = np.count_nonzero(whole[index] & ~covered)
        if visible >= max(min_visible * np.count_nonzero(whole[index]), 12):
            shown.append(index)
            covered |= whole[index]
    return shown[::-1]


def _paint(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """Returns a picture of one colour, shaded from one side to the other."""
    size = image.shape[0]
    colour = rng.uniform(0, 255, 3)
    colour[int(rng.integers(3))] = rng.choice([0.0, 255.0])  # strong against the soft background
    direction = rng.uniform(-40, 40, 2) / size
    rows, columns = np.mgrid[:size, :size]
    shade = direction[0] * (rows - size / 2) + direction[1] * (columns - size / 2)
    return np.clip(colour + shade[:, :, None], 0, 255)


def _tight_boxes(masks: np.ndarray) -> np.ndarray:
    boxes = np.zeros([len(masks), 4], np.float32)
    for row, mask in enumerate(masks):
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        boxes[row] = [rows[0], columns[0], rows[-1] + 1, columns[-1] + 1]
    return boxes


def _runs(mask: np.ndarray) -> list[int]:
    """Returns COCO's uncompressed run lengths: column by column, zeros first."""
    flat = np.concatenate([[0], mask.T.ravel(), [1 - mask[-1, -1]]])
    edges = np.flatnonzero(np.diff(flat))
    return np.diff(np.concatenate([[0], edges])).tolist()


def _save_sample(scene: Scene, output_dir: str, name: str) -> None:
    """Writes the picture to `samples/`, and with its labels drawn to `samples_labelled/`."""
    picture = PIL.Image.fromarray(scene.image)
    for folder in ("samples", "samples_labelled"):
        os.makedirs(os.path.join(output_dir, folder), exist_ok=True)
    picture.save(os.path.join(output_dir, "samples", name))
    draw = PIL.ImageDraw.Draw(picture)
    for label, (ymin, xmin, ymax, xmax) in zip(scene.names, scene.boxes.tolist()):
        draw.rectangle([xmin, ymin, xmax - 1, ymax - 1], outline=(255, 255, 255))
        draw.text((xmin + 2, ymin), label, fill=(255, 255, 255))
    picture.save(os.path.join(output_dir, "samples_labelled", name))
