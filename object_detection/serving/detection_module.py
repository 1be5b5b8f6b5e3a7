"""A detection model with the inputs and outputs of an exported one.

The SavedModel that `exporter` writes holds one of these. After `tf.saved_model.load`:

- `loaded(input_tensor)` detects, as with exports of the TF2 Object Detection API;
- `loaded.signatures["serving_default"]` does too, its input is called `input_tensor`;
- `loaded.signatures["serving_default_tf1"]` is the same with the name of TF1 exports, `inputs`.

All outputs are float32. For B images and up to D detections: `num_detections` [B],
`detection_boxes` [B, D, 4] (ymin, xmin, ymax, xmax relative to the image as it came in),
`detection_scores` [B, D], `detection_classes` [B, D] (from 1), `detection_multiclass_scores`
[B, D, C + 1], `detection_anchor_indices` [B, D], `raw_detection_boxes` [B, P, 4],
`raw_detection_scores` [B, P, C + 1], and with masks `detection_masks` [B, D, h, w], cut to boxes.
With `output_final_box_features` in the config, `detection_features` [B, D, h, w, depth] of the
second stage, and with `output_final_box_rpn_features` those of the first,
`cropped_rpn_box_features`. A model of one stage gives its proposals, all of class 1.

With `full_image_masks`, `detection_masks` are [B, D, H, W] of the whole images, 0 outside of the
boxes. (Of encoded images of unlike sizes, H and W are the largest of the batch; smaller ones have
zeros below and to the right.)
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

from object_detection.core.model import DetectionModel
from object_detection.core.standard_fields import DetectionResultFields as Fields
from object_detection.core.standard_fields import TfExampleFields
from object_detection.serving import image_masks

TF2_SIGNATURE = "serving_default"
TF1_SIGNATURE = "serving_default_tf1"
TF2_INPUT = "input_tensor"
TF1_INPUT = "inputs"

INPUT_TYPES = {
    "image_tensor": tf.uint8,
    "float_image_tensor": tf.float32,
    "encoded_image_string_tensor": tf.string,
    "tf_example": tf.string,
}

_OUTPUTS = (
    Fields.num_detections, Fields.detection_boxes, Fields.detection_scores,
    Fields.detection_classes, Fields.detection_multiclass_scores, Fields.detection_anchor_indices,
    Fields.raw_detection_boxes, Fields.raw_detection_scores, Fields.detection_masks,
    Fields.detection_features, Fields.cropped_rpn_box_features)

Detections = dict[str, tf.Tensor]


class DetectionModule(tf.Module):
    """Detects on batches of images, given as `input_type` says.

    - `image_tensor`: uint8 [B, H, W, 3]; B, H and W may differ from call to call.
    - `float_image_tensor`: float32 [B, H, W, 3] in 0..255.
    - `encoded_image_string_tensor`: string [B], each a JPEG, PNG, GIF (first frame) or BMP file.
      Sizes may differ within the batch; images are run one after the other. An EXIF orientation is
      not applied, as in training.
    - `tf_example`: string [B], serialized tf.train.Example, of which `image/encoded` is read.

    A batch of none gives outputs with no rows. A batch gives what its images give one by one.
    """

    def __init__(self, model: DetectionModel, input_type: str = "image_tensor",
                 input_shape: Sequence[int | None] | None = None,
                 full_image_masks: bool = False) -> None:
        """Wraps a built model.

        Args:
            input_shape: for image tensors, 4 sizes [B, H, W, 3], None where any size goes.
            full_image_masks: give masks of the whole images instead of masks cut to boxes.
        Raises:
            ValueError: for an unknown type, a shape that does not suit it, or masks of a model that
                draws none.
        """
        super().__init__(name="detection_module")
        self.model = model
        self.input_type = input_type
        spec = input_spec(input_type, input_shape)
        self._full_image_masks = full_image_masks
        if full_image_masks:
            check_draws_masks(model, "full_image_masks")
        self._detect = tf.function(self._run, input_signature=[spec])

    def __call__(self, input_tensor: tf.Tensor) -> Detections:
        """Returns the detections of a batch; see the module for keys and shapes."""
        return self._detect(input_tensor)

    @property
    def input_spec(self) -> tf.TensorSpec:
        """What a call takes; sizes that may vary are None."""
        return self._detect.input_signature[0]

    def servable(self) -> tf.Module:
        """Returns the object to save: loaded again, it is callable like this one."""
        holder = tf.Module(name="servable")
        holder.detector = self  # keeps the variables
        holder.__call__ = self._detect  # only a tf.function that is an attribute is saved
        return holder

    def signatures(self) -> dict[str, Callable[..., Detections]]:
        """Returns the signatures to save, by name; both run the same traced function."""
        def serving_default(input_tensor: tf.Tensor) -> Detections:
            return self._detect(input_tensor)

        def serving_default_tf1(inputs: tf.Tensor) -> Detections:
            return self._detect(inputs)

        spec = self.input_spec
        return {name: tf.function(function).get_concrete_function(
                    tf.TensorSpec(spec.shape, spec.dtype, key))
                for name, function, key in ((TF2_SIGNATURE, serving_default, TF2_INPUT),
                                            (TF1_SIGNATURE, serving_default_tf1, TF1_INPUT))}

    def _run(self, input_tensor: tf.Tensor) -> Detections:
        filled = _at_least_one(input_tensor, self.input_type)
        if input_tensor.dtype == tf.string:
            found, sizes = self._run_encoded(filled)
        else:
            found, sizes = self._run_images(filled), image_sizes(filled)
        if self._full_image_masks:
            found[Fields.detection_masks] = image_masks.draw(
                found[Fields.detection_masks], found[Fields.detection_boxes],
                found[Fields.num_detections], sizes)
        if input_tensor.shape[0] is None:
            count = tf.shape(input_tensor)[0]
            found = {key: value[:count] for key, value in found.items()}
        return found

    def _run_encoded(self, texts: tf.Tensor) -> tuple[Detections, tf.Tensor]:
        """Detects image by image: a batch of unlike sizes would need padding, which shows.

        Returns:
            detections, and height and width of each image.
        """
        read = _image_of_example if self.input_type == "tf_example" else _decode

        def run_one(text: tf.Tensor) -> tuple[Detections, tf.Tensor]:
            image = read(text)
            found = self._run_images(image[tf.newaxis])
            return {key: found[key][0] for key in specs}, tf.shape(image)[:2]

        traced = tf.function(self._run_images).get_concrete_function(
            tf.TensorSpec([1, None, None, 3], tf.uint8))
        # The raw outputs of one stage have a row per anchor, so their size depends on the image.
        specs = {key: tf.TensorSpec(value.shape[1:], value.dtype)
                 for key, value in traced.structured_outputs.items()
                 if value.shape[1:].is_fully_defined()}
        return tf.map_fn(run_one, texts, parallel_iterations=1,
                         fn_output_signature=(specs, tf.TensorSpec([2], tf.int32)))

    def _run_images(self, images: tf.Tensor) -> Detections:
        pixels, true_shapes = self.model.preprocess(tf.cast(images, tf.float32))
        predictions = self.model.predict(pixels, true_shapes)
        found = dict(self.model.postprocess(predictions, true_shapes))
        if Fields.detection_classes in found:
            # Label maps count from 1, models from 0.
            found[Fields.detection_classes] = found[Fields.detection_classes] + 1.0
        else:
            found[Fields.detection_classes] = tf.ones_like(found[Fields.detection_scores])
        return {key: tf.cast(found[key], tf.float32) for key in _OUTPUTS if key in found}


def input_spec(input_type: str, input_shape: Sequence[int | None] | None) -> tf.TensorSpec:
    """Returns what a module of this type takes. Raises ValueError; see DetectionModule."""
    if input_type not in INPUT_TYPES:
        raise ValueError(f"input_type: want one of {sorted(INPUT_TYPES)}, got {input_type!r}")
    dtype = INPUT_TYPES[input_type]
    if dtype == tf.string:
        if input_shape is not None:
            raise ValueError(f"input_shape: only for image tensors, not for {input_type}; encoded "
                             "images may have any size")
        return tf.TensorSpec([None], dtype, TF2_INPUT)
    shape = list(input_shape or [None, None, None, 3])
    known = [size for size in shape if size is not None]
    if len(shape) != 4 or shape[3] != 3 or any(size < 1 for size in known):
        raise ValueError("input_shape: want batch, height, width, 3, with None (-1 on the command "
                         f"line) for any size, got {list(input_shape)}")
    return tf.TensorSpec(shape, dtype, TF2_INPUT)


def image_sizes(images: tf.Tensor) -> tf.Tensor:
    """Returns height and width of each image of a batch, int32 [B, 2]."""
    shape = tf.shape(images)
    return tf.tile(shape[tf.newaxis, 1:3], [shape[0], 1])


def check_draws_masks(model: DetectionModel, option: str) -> None:
    """Raises ValueError, naming the option that asks for them, if a model draws no masks."""
    if model.number_of_stages < 3:
        raise ValueError(f"{option}: the model draws no masks; set number_of_stages: 3 and "
                         "mask_rcnn_box_predictor.predict_instance_masks: true")


def _at_least_one(batch: tf.Tensor, input_type: str) -> tf.Tensor:
    """Adds a blank element to an empty batch: not every operation of a network takes none."""
    if batch.shape[0] is not None:
        return batch
    shape = tf.shape(batch)
    missing = tf.maximum(1 - shape[0], 0)
    if batch.dtype == tf.string:
        return tf.concat([batch, tf.repeat(_blank_text(input_type), missing)], axis=0)
    sides = missing * tf.maximum(_BLANK_SIDE - shape[1:3], 0)
    static = batch.shape
    batch = tf.pad(batch, [[0, missing], [0, sides[0]], [0, sides[1]], [0, 0]])
    return tf.ensure_shape(batch, static)


_BLANK_SIDE = 64


def _blank_text(input_type: str) -> tf.Tensor:
    with tf.init_scope():
        encoded = tf.io.encode_png(tf.zeros([_BLANK_SIDE, _BLANK_SIDE, 3], tf.uint8)).numpy()
    if input_type == "tf_example":
        feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded]))
        encoded = tf.train.Example(features=tf.train.Features(
            feature={TfExampleFields.image_encoded: feature})).SerializeToString()
    return tf.constant([encoded])


def _decode(encoded: tf.Tensor) -> tf.Tensor:
    image = tf.io.decode_image(encoded, channels=3, expand_animations=False)
    return tf.ensure_shape(image, [None, None, 3])


def _image_of_example(serialized: tf.Tensor) -> tf.Tensor:
    key = TfExampleFields.image_encoded
    parsed = tf.io.parse_single_example(serialized, {key: tf.io.FixedLenFeature([], tf.string)})
    return _decode(parsed[key])
