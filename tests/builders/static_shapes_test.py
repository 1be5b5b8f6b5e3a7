"""Static shapes in training and elsewhere, and masks that may be drawn again."""

import pytest
import small_detector

from object_detection.builders import box_predictor_builder, static_shapes


@pytest.mark.parametrize("text, training, elsewhere", [
    ("", False, False),
    ("use_static_shapes: true", True, False),
    ("use_static_shapes_for_eval: true", False, False),
    ("use_static_shapes: true use_static_shapes_for_eval: true", True, True)])
def test_where_shapes_are_static(text, training, elsewhere):
    config = small_detector.config(changes=text).faster_rcnn
    assert static_shapes.are_wanted(config, is_training=True) == training
    assert static_shapes.are_wanted(config, is_training=False) == elsewhere


def _again(changes="", is_training=True, stages=3):
    config = small_detector.config(stages, changes).faster_rcnn
    head = box_predictor_builder.build(
        config.second_stage_box_predictor, is_training, 2).mask_head
    return static_shapes.masks_of_objects(config, is_training, head)


def test_masks_are_drawn_again_in_training_alone():
    assert _again()
    assert not _again(is_training=False)
    assert not _again(stages=2)  # without a mask head


@pytest.mark.parametrize("changes", [
    "use_static_shapes: true",
    "second_stage_box_predictor { mask_rcnn_box_predictor { conv_hyperparams { "
    "batch_norm { train: true } } } }"])
def test_heads_that_cannot_run_twice_draw_all_regions(changes):
    assert not _again(changes)
