"""What an anchor generator is: it places reference boxes on feature maps."""

import abc
from collections.abc import Sequence

import tensorflow as tf

Size = int | tf.Tensor


class AnchorGenerator(abc.ABC):
    """Places anchors, a fixed number per cell, on one or several feature maps."""

    @abc.abstractmethod
    def num_anchors_per_location(self) -> list[int]:
        """Returns the number of anchors in a cell of each feature map."""

    def generate(self, feature_map_shapes: Sequence[tuple[Size, Size]],
                 im_height: Size | None = None,
                 im_width: Size | None = None) -> list[tf.Tensor]:
        """Places anchors.

        Args:
            feature_map_shapes: (height, width) of each map in cells; numbers or int32 scalars.
            im_height, im_width: of the network input in pixels. Generators that do not depend on
                the image ignore them.
        Returns:
            float32 [A, 4] boxes per map: cells row by row, the anchors of a cell together. Their
            static shape is known where the shapes of the maps are numbers.
        Raises:
            ValueError: if the number of maps is not that of the generator.
        """
        expected = len(self.num_anchors_per_location())
        if len(feature_map_shapes) != expected:
            raise ValueError(f"{type(self).__name__}.generate: want {expected} feature map(s), one "
                             f"per level of the generator, got {len(feature_map_shapes)}")
        return self._generate(feature_map_shapes, im_height, im_width)

    @abc.abstractmethod
    def _generate(self, feature_map_shapes: Sequence[tuple[Size, Size]], im_height: Size | None,
                  im_width: Size | None) -> list[tf.Tensor]:
        """Does the work of `generate`; there is one shape per level."""
