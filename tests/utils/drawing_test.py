import numpy as np
from PIL import Image

from object_detection.utils import drawing


def test_line_thickness_grows_with_the_image():
    assert drawing.line_thickness(480, 640) == 2  # sqrt(307200) / 250 = 2.2
    assert drawing.line_thickness(3000, 4000) == 14
    assert drawing.line_thickness(1, 1) == 1


def test_to_pixels():
    assert drawing.to_pixels([0.1, 0.2, 0.5, 1.0], 100, 200, True) == (10, 40, 50, 200)
    assert drawing.to_pixels([50, 40, 10, 30], 100, 200, False) == (10, 30, 50, 40)
    assert drawing.to_pixels([0, 0, np.nan, 1], 100, 200, True) is None


def test_labels_of_one_box_do_not_cover_each_other():
    block = drawing._block(["dog: 50%"], 640, 480)
    first = drawing._place(block, (100, 100, 400, 400), (640, 480), [])
    second = drawing._place(block, (100, 100, 400, 400), (640, 480), [first])
    assert first[3] == 100  # ends where the box begins
    assert drawing._overlap(first, second) == 0


def test_a_label_of_a_box_at_the_top_goes_inside_a_large_box_and_below_a_small_one():
    block = drawing._block(["dog: 50%"], 640, 480)
    assert drawing._place(block, (0, 10, 300, 300), (640, 480), [])[1] == 0
    assert drawing._place(block, (0, 10, 12, 30), (640, 480), [])[1] == 12


def test_a_label_at_the_right_edge_is_moved_inside():
    block = drawing._block(["dog: 50%"], 640, 480)
    left, _, right, _ = drawing._place(block, (100, 630, 400, 640), (640, 480), [])
    assert right == 640 and left == 640 - block.width


def test_a_long_name_is_cut_short_with_dots():
    block = drawing._block(["a very long class name indeed: 50%"], 60, 60)
    assert block.width <= 60
    assert block.lines[0].endswith("..")


def test_a_label_without_text_draws_nothing():
    image = Image.new("RGB", (50, 50))
    drawing.draw_labels(image, [drawing.Label((10, 10, 30, 30), ("",), "red"),
                                drawing.Label((10, 10, 30, 30), (), "red")])
    assert not np.asarray(image).any()


def test_a_mask_part_is_blended_at_its_place():
    image = np.zeros([5, 5, 3], np.uint8)
    drawing.blend_mask(image, np.array([[1, 0], [1, 1]], np.uint8), "white", 1.0, top=3, left=2)
    expected = np.zeros([5, 5], np.uint8)
    expected[3, 2] = expected[4, 2] = expected[4, 3] = 255
    np.testing.assert_array_equal(image[..., 0], expected)
