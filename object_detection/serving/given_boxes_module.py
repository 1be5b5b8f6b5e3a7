"""A detection model that draws masks in boxes that its caller gives, with the inputs of exports.

It is what an export of type `image_and_boxes_tensor` holds. After `tf.saved_model.load`:

- `loaded(input_tensor, boxes, classes)` draws;
- `loaded.signatures["serving_default"]` does too, with these names.

Inputs are images, uint8 [B, H, W, 3], `boxes`, float32 [B, N, 4] (ymin, xmin, ymax, xmax relative
to the image), and `classes`, float32 [B, N], ids as in the label map, from 1. B is known when the
module is made, as the model wants boxes image by image; N may differ from call to call.

All outputs are float32: `detection_boxes` and `detection_classes` as given, `num_detections` [B],
which is N, and `detection_masks` [B, N, h, w], cut to boxes, or [B, N, H, W] of the whole images.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

from object_detection.core.model import DetectionModel
from object_detection.core.standard_fields import DetectionResultFields as Fields
from object_detection.serving import image_masks
from object_detection.serving.detection_module import (
    TF2_INPUT,
    TF2_SIGNATURE,
    Detections,
    check_draws_masks,
    image_sizes,
    input_spec,
)

INPUT_TYPE = "image_and_boxes_tensor"
_OUTPUTS = (Fields.detection_boxes, Fields.detection_classes, Fields.detection_masks)


class GivenBoxesModule(tf.Module):
    """Draws masks in given boxes."""

    def __init__(self, model: DetectionModel, input_shape: Sequence[int | None] | None = None,
                 full_image_masks: bool = False) -> None:
        """Wraps a built model.

        Args:
            input_shape: sizes [B, H, W, 3] of images, None where any height or width goes; one
                image of any size if absent.
            full_image_masks: give masks of the whole images instead of masks cut to boxes.
        Raises:
            ValueError: if the model draws no masks or the shape is none of images.
        """
        super().__init__(name="given_boxes_module")
        check_draws_masks(model, f"input_type {INPUT_TYPE}")
        self.model = model
        self._full_image_masks = full_image_masks
        self._draw = tf.function(self._run, input_signature=input_specs(input_shape))

    def __call__(self, input_tensor: tf.Tensor, boxes: tf.Tensor,
                 classes: tf.Tensor) -> Detections:
        """Returns the masks of a batch; see the module for keys and shapes."""
        return self._draw(input_tensor, boxes, classes)

    def servable(self) -> tf.Module:
        """Returns the object to save: loaded again, it is callable like this one."""
        holder = tf.Module(name="servable")
        holder.drawer = self  # keeps the variables
        holder.__call__ = self._draw  # only a tf.function that is an attribute is saved
        return holder

    def signatures(self) -> dict[str, Callable[..., Detections]]:
        """Returns the signature to save, by name."""
        return {TF2_SIGNATURE: self._draw.get_concrete_function()}

    def _run(self, input_tensor: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor) -> Detections:
        pixels, true_shapes = self.model.preprocess(tf.cast(input_tensor, tf.float32))
        found = self.model.predict_masks_from_boxes(
            self.model.predict(pixels, true_shapes), true_shapes, tf.unstack(boxes),
            tf.unstack(classes - 1.0))  # label maps count from 1, models from 0
        count = tf.shape(boxes)[1]
        found = {key: tf.cast(found[key][:, :count], tf.float32) for key in _OUTPUTS}
        found[Fields.detection_classes] += 1.0
        found[Fields.num_detections] = tf.fill([boxes.shape[0]], tf.cast(count, tf.float32))
        if self._full_image_masks:
            found[Fields.detection_masks] = image_masks.draw(
                found[Fields.detection_masks], boxes, found[Fields.num_detections],
                image_sizes(input_tensor))
        return found


def input_specs(input_shape: Sequence[int | None] | None) -> tuple[tf.TensorSpec, ...]:
    """Returns what a module takes. Raises ValueError; see GivenBoxesModule."""
    images = input_spec("image_tensor", input_shape or [1, None, None, 3])
    batch = images.shape[0]
    if batch is None:
        raise ValueError(f"input_shape: {INPUT_TYPE} needs the number of images, got "
                         f"{list(input_shape)}; give 1, or leave input_shape out")
    return (tf.TensorSpec(images.shape, tf.uint8, TF2_INPUT),
            tf.TensorSpec([batch, None, 4], tf.float32, "boxes"),
            tf.TensorSpec([batch, None], tf.float32, "classes"))
