"""Anchors that name their first and last pixels."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core.anchor_generator import AnchorGenerator, Size


class PixelCentreAnchorGenerator(AnchorGenerator):
    """Turns another generator's anchors, edge to edge, into those of box_frame.PixelCentreFrame."""

    def __init__(self, generator: AnchorGenerator) -> None:
        """Args:
            generator: gives anchors in pixels.
        """
        self._generator = generator

    def num_anchors_per_location(self) -> list[int]:
        return self._generator.num_anchors_per_location()

    def _generate(self, feature_map_shapes: Sequence[tuple[Size, Size]], im_height: Size | None,
                  im_width: Size | None) -> list[tf.Tensor]:
        shift = tf.constant([0.0, 0.0, 1.0, 1.0])
        return [anchors - shift for anchors in
                self._generator.generate(feature_map_shapes, im_height, im_width)]
