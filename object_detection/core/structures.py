"""NamedTuples that the stages of the detector hand to each other.

Shape letters: B images, N ground truth boxes, A anchors, P proposals, D detections, C foreground
classes. Boxes are [ymin, xmin, ymax, xmax] in pixels of the network input, unless a name says
otherwise. Everything is padded to one size per batch, so that the same code serves images of
unlike sizes, empty images and static shapes.
"""

from typing import NamedTuple

import tensorflow as tf


class ImageBatch(NamedTuple):
    """Images after resizing, normalisation and padding (bottom and right)."""

    pixels: tf.Tensor  # float32 [B, H, W, channels]
    true_shapes: tf.Tensor  # int32 [B, 3]: height, width, channels without padding


class ImageExtent(NamedTuple):
    """Where the images of a batch lie in the network input."""

    true_shapes: tf.Tensor  # int32 [B, 3]: height, width, channels without padding
    size: tf.Tensor  # float32 [2]: height and width of the padded network input
    windows: tf.Tensor | None = None  # float32 [B, 4], pixels; None: at the top left


class Regions(NamedTuple):
    """Where to crop features."""

    boxes: tf.Tensor  # float32 [B, P, 4], normalized to what the maps cover
    size: tf.Tensor  # float32 [2]: height and width that 1 stands for, in pixels


class GroundTruth(NamedTuple):
    """Annotated objects, padded to N rows per image; padding rows have weight 0 and no extent."""

    boxes: tf.Tensor  # float32 [B, N, 4], pixels of the network input
    classes: tf.Tensor  # float32 [B, N, C], one-hot or soft, no background column
    weights: tf.Tensor  # float32 [B, N], factor of each object in the loss; 0 for crowds
    is_annotated: tf.Tensor  # bool [B]; an image that is not annotated adds no loss
    is_crowd: tf.Tensor  # bool [B, N], regions that hold many objects
    known_classes: tf.Tensor  # bool [B, C]; objects of other classes are not annotated in an image
    masks: tf.Tensor | None = None  # float32 [B, N, H, W] of the padded network input, 0 or 1


class RpnOutput(NamedTuple):
    """What the first stage says about every anchor."""

    box_encodings: tf.Tensor  # float32 [B, A, 4]
    objectness: tf.Tensor  # float32 [B, A, 2], logits of background and object
    anchors: tf.Tensor  # float32 [A, 4]
    features: tuple[tf.Tensor, ...]  # float32 [B, h, w, depth] per level, what its heads read


class Proposals(NamedTuple):
    """Regions for the second stage, padded to P per image; rows past num_valid are zeros."""

    boxes: tf.Tensor  # float32 [B, P, 4]
    scores: tf.Tensor  # float32 [B, P], objectness in [0, 1], descending
    num_valid: tf.Tensor  # int32 [B], each in [0, P]

    def valid_mask(self) -> tf.Tensor:
        """Returns bool [B, P], true where a row holds a proposal."""
        return tf.sequence_mask(self.num_valid, maxlen=tf.shape(self.boxes)[1])


class HeadOutput(NamedTuple):
    """Predictions of the second stage for B * P regions, image by image."""

    box_encodings: tf.Tensor  # float32 [B * P, C or 1, 4]
    class_logits: tf.Tensor  # float32 [B * P, C + 1], background first


class NmsResult(NamedTuple):
    """Boxes kept by non-max suppression, padded to D per image, best first.

    Anything else known about a candidate is fetched with `indices`
    (`tf.gather(values, result.indices, batch_dims=1)`).
    """

    boxes: tf.Tensor  # float32 [B, D, 4]
    scores: tf.Tensor  # float32 [B, D]
    classes: tf.Tensor  # int32 [B, D], 0-based foreground class
    indices: tf.Tensor  # int32 [B, D], row of each detection among the candidates; 0 in padding
    num_valid: tf.Tensor  # int32 [B]

    def valid_mask(self) -> tf.Tensor:
        """Returns bool [B, D], true where a row holds a detection."""
        return tf.sequence_mask(self.num_valid, maxlen=tf.shape(self.boxes)[1])
