import pytest

from object_detection.dataset_tools import boxes

NAN = float("nan")


@pytest.mark.parametrize("box, reason", [
    ((1, 1, 1, 5), "zero_size"),
    ((1, 5, 4, 5), "zero_size"),
    ((7, 1, 3, 5), "inverted"),
    ((1, 5, 5, 1), "inverted"),
    ((NAN, 1, 3, 5), "not_a_number"),
    ((1, 1, float("inf"), 5), "not_a_number"),
    ((10, 0, 12, 5), "outside"),  # touches the right edge: no pixel in common
    ((-5, 0, 0, 5), "outside"),
    ((0, 21, 5, 30), "outside"),
])
def test_bad_boxes_are_dropped_with_their_reason(box, reason):
    assert boxes.clean_box(box, 10, 20) == (None, reason, False)


def test_a_box_over_the_edge_is_clipped():
    verdict = boxes.clean_box((-1, 2, 11, 25), 10, 20)
    assert verdict.box == (0, 2, 10, 20)
    assert verdict.clipped


def test_the_whole_image_is_kept_as_it_is():
    assert boxes.clean_box((0, 0, 10, 20), 10, 20) == ((0, 0, 10, 20), "", False)
