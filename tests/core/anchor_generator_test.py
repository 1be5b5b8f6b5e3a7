"""The interface that anchor generators share."""

import pytest

from object_detection.core.anchor_generator import AnchorGenerator


class TwoLevels(AnchorGenerator):
    def num_anchors_per_location(self):
        return [3, 3]

    def _generate(self, feature_map_shapes, im_height, im_width):
        return [(shape, im_height, im_width) for shape in feature_map_shapes]


def test_shapes_and_image_size_are_handed_on():
    assert TwoLevels().generate([(1, 2), (3, 4)], 5, 6) == [((1, 2), 5, 6), ((3, 4), 5, 6)]


def test_a_wrong_number_of_maps_names_the_generator():
    with pytest.raises(ValueError, match=r"TwoLevels.generate: want 2 feature map\(s\).*got 1"):
        TwoLevels().generate([(1, 2)])
