"""Loads a detector, from a SavedModel or a checkpoint, and runs it on arrays and files.

    detector = Detector.from_saved_model("exported")
    for found in detector.detect([image_io.read_image("cat.jpg")], min_score=0.5):
        print(found.boxes, found.classes, found.scores)
"""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from object_detection.builders import model_builder
from object_detection.serving import box_masks, image_io, weights
from object_detection.serving.detection_module import TF2_SIGNATURE, DetectionModule
from object_detection.utils import config_util

SAVED_MODEL_FILE = "saved_model.pb"
SAVED_MODEL_FOLDER = "saved_model"
CONFIG_FILE = "pipeline.config"


class ImageDetections(NamedTuple):
    """What was found in one image, best first."""

    boxes: np.ndarray  # float32 [n, 4], ymin, xmin, ymax, xmax relative to the image
    scores: np.ndarray  # float32 [n]
    classes: np.ndarray  # int64 [n], ids as in the label map, from 1
    masks: np.ndarray | None = None  # float32 [n, h, w] in [0, 1], cut to the boxes
    masks_are_whole: bool = False  # of an export with full_image_masks: not cut, h and w are its

    def placed_mask(self, number: int, height: int, width: int) -> box_masks.PlacedMask:
        """Returns one mask in the image of that size."""
        if self.masks_are_whole:
            whole = self.masks[number] > box_masks.THRESHOLD
            return box_masks.PlacedMask(whole.astype(np.uint8), 0, 0)
        return box_masks.place(self.masks[number], self.boxes[number], height, width)


class Detector:
    """Runs a detection function on images of any size."""

    def __init__(self, function: Callable[[tf.Tensor], dict[str, tf.Tensor]],
                 spec: tf.TensorSpec, masks_may_be_whole: bool = False) -> None:
        """Takes a function from a batch of images, of `spec`, to outputs as exports have them.

        Args:
            masks_may_be_whole: masks of the size of their image are not cut to boxes.
        Raises:
            ValueError: if the function takes something else than images.
        """
        if spec.dtype not in (tf.uint8, tf.float32) or spec.shape.rank != 4:
            raise ValueError(f"the model takes {spec.dtype.name} {spec.shape} instead of images "
                             "[batch, height, width, 3]; export it with --input_type=image_tensor")
        self._function = function
        self._spec = spec
        self._masks_may_be_whole = masks_may_be_whole

    @classmethod
    def from_saved_model(cls, folder: str) -> "Detector":
        """Loads an export: its folder, or the `saved_model` in it.

        Raises:
            ValueError: if there is no SavedModel, it cannot be loaded, or is no detector.
        """
        path = find_saved_model(folder)
        try:
            loaded = tf.saved_model.load(path)
        except (tf.errors.OpError, OSError) as error:
            raise ValueError(f"{path}: cannot be loaded ({str(error).splitlines()[0]})") from error
        if TF2_SIGNATURE not in loaded.signatures:
            raise ValueError(f"{path}: has no signature {TF2_SIGNATURE!r}, only "
                             f"{sorted(loaded.signatures)}")
        function = loaded.signatures[TF2_SIGNATURE]
        inputs = function.structured_input_signature[1]
        if len(inputs) != 1 or "detection_boxes" not in function.structured_outputs:
            raise ValueError(f"{path}: is not a detector; it takes {sorted(inputs)} and gives "
                             f"{sorted(function.structured_outputs)}")
        ((key, spec),) = inputs.items()

        def run(images: tf.Tensor) -> dict[str, tf.Tensor]:
            return function(**{key: images})

        run.loaded = loaded  # its variables live as long as it does
        masks = function.structured_outputs.get("detection_masks")
        return cls(run, spec, masks is not None and _may_be_whole(masks.shape, spec.shape))

    @classmethod
    def from_checkpoint(cls, pipeline_config_path: str, checkpoint: str,
                        overrides: Sequence[str] = ()) -> "Detector":
        """Builds the model of a pipeline config and loads a checkpoint, or a folder's latest.

        Args:
            checkpoint: of any kind that `weights.restore` reads, Keras `.h5` files among them.
        Raises:
            ValueError: for a config or checkpoint that cannot be used.
        """
        pipeline = config_util.load_pipeline(pipeline_config_path, overrides)
        prefix = weights.resolve(checkpoint)
        model = model_builder.build(pipeline.model, is_training=False)
        weights.restore(model, prefix, pipeline.eval_config.use_moving_averages)
        module = DetectionModule(model)
        return cls(module, module.input_spec)

    def detect(self, images: Sequence[np.ndarray], min_score: float = 0.0,
               max_boxes: int | None = None) -> list[ImageDetections]:
        """Returns the detections of each image.

        Images of one size run as one batch.

        Args:
            images: uint8 [H, W, 3] each.
            min_score: detections at or below it are left out.
            max_boxes: at most this many per image; all if None.
        Raises:
            ValueError: if an array is not an image, or not of the size that the model is made for.
        """
        by_size: dict[tuple[int, ...], list[int]] = {}
        for number, image in enumerate(images):
            _check(image, number)
            by_size.setdefault(image.shape, []).append(number)
        results: list[ImageDetections | None] = [None] * len(images)
        for numbers in by_size.values():
            batch = np.stack([images[number] for number in numbers])
            for number, found in zip(numbers, self._run(batch)):
                best = _best(found, min_score, max_boxes)
                whole = (self._masks_may_be_whole and best.masks is not None
                         and best.masks.shape[1:] == images[number].shape[:2])
                results[number] = best._replace(masks_are_whole=whole)
        return results

    def detect_files(self, paths: Sequence[str], min_score: float = 0.0,
                     max_boxes: int | None = None) -> list[ImageDetections]:
        """Reads image files, upright, and detects. Raises ValueError for one that is unreadable."""
        images = []
        for path in paths:
            try:
                images.append(image_io.read_image(path))
            except image_io.ImageReadError as error:
                raise ValueError(f"{path}: {error}") from error
        return self.detect(images, min_score, max_boxes)

    def _run(self, batch: np.ndarray) -> list[dict[str, np.ndarray]]:
        """Runs images of one size, in portions if the model takes a fixed number at a time."""
        fixed = self._spec.shape.as_list()
        for axis, name in ((1, "height"), (2, "width")):
            if fixed[axis] not in (None, batch.shape[axis]):
                raise ValueError(f"the model takes images of {name} {fixed[axis]} only, got "
                                 f"{batch.shape[axis]}; export it without --input_shape")
        portion = fixed[0] or len(batch)
        rows = []
        for start in range(0, len(batch), portion):
            part = batch[start:start + portion]
            blanks = np.zeros([portion - len(part), *part.shape[1:]], part.dtype)
            outputs = self._function(
                tf.constant(np.concatenate([part, blanks]), dtype=self._spec.dtype))
            wanted = {key: outputs[key].numpy() for key in _NEEDED if key in outputs}
            rows += [{key: value[row] for key, value in wanted.items()}
                     for row in range(len(part))]
        return rows


def find_saved_model(folder: str) -> str:
    """Returns the folder that holds saved_model.pb: `folder`, or `saved_model` in it.

    Raises:
        ValueError: if neither does.
    """
    folder = os.fspath(folder)
    for candidate in (folder, os.path.join(folder, SAVED_MODEL_FOLDER)):
        if tf.io.gfile.exists(os.path.join(candidate, SAVED_MODEL_FILE)):
            return candidate
    if not tf.io.gfile.isdir(folder):
        raise ValueError(f"{folder}: no such folder")
    raise ValueError(f"{folder}: holds no {SAVED_MODEL_FILE}, and no {SAVED_MODEL_FOLDER} folder "
                     "that does; scripts/export_saved_model.py makes one")


def find_config(folder: str) -> str | None:
    """Returns the pipeline.config that lies with an export, or None."""
    path = find_saved_model(folder)
    for candidate in (path, os.path.dirname(os.path.normpath(path)) or "."):
        config = os.path.join(candidate, CONFIG_FILE)
        if tf.io.gfile.exists(config):
            return config
    return None


_NEEDED = ("num_detections", "detection_boxes", "detection_scores", "detection_classes",
           "detection_masks")


def _check(image: np.ndarray, number: int) -> None:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise ValueError(f"image {number}: want uint8 [height, width, 3], got {image.dtype} "
                         f"{list(image.shape)}; image_io.read_image reads any file so")


def _may_be_whole(masks: tf.TensorShape, images: tf.TensorShape) -> bool:
    """Whether masks [B, D, h, w] can have the size of images [B, H, W, 3]; None: any size."""
    if masks.rank is None or images.rank is None:
        return True
    return all(size is None or size == side for size, side in zip(masks[2:], images[1:3]))


def _best(found: dict[str, np.ndarray], min_score: float,
          max_boxes: int | None) -> ImageDetections:
    count = int(found["num_detections"])
    scores = found["detection_scores"][:count]
    rows = np.argsort(-scores, kind="stable")
    rows = rows[scores[rows] > min_score][:max_boxes]
    masks = found.get("detection_masks")
    classes = found.get("detection_classes", np.ones_like(found["detection_scores"]))
    return ImageDetections(found["detection_boxes"][rows], scores[rows],
                           np.round(classes[rows]).astype(np.int64),
                           None if masks is None else masks[rows])
