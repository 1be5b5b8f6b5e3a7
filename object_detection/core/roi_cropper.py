"""How regions are cut out of feature maps."""

import abc

import tensorflow as tf


class RoiCropper(abc.ABC):
    """Turns boxes and feature maps into one crop of fixed size per box."""

    @abc.abstractmethod
    def crop(self, features: list[tf.Tensor], boxes_normalized: tf.Tensor,
             size: tf.Tensor | None = None) -> tf.Tensor:
        """Crops every region.

        Args:
            features: float [B, h, w, depth] each, finest first.
            boxes_normalized: float32 [B, P, 4], relative to the padded network input, which is
                what the maps cover.
            size: float32 [2], height and width that the boxes are relative to, in pixels, for
                croppers that go by them; None: what the finest map covers.
        Returns:
            float [B * P, crop height, crop width, depth], image by image.
        """
