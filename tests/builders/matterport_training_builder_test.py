"""Training parts from messages: which field goes where."""

import pytest

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.builders import matterport_training_builder as builder
from object_detection.protos import faster_rcnn_pb2

CODER = FasterRcnnBoxCoder((10.0, 10.0, 5.0, 5.0))


def test_fields():
    config = faster_rcnn_pb2.FasterRcnn(
        first_stage_minibatch_size=64, first_stage_positive_balance_fraction=0.25,
        first_stage_localization_loss_weight=2.0, first_stage_objectness_loss_weight=3.0,
        second_stage_batch_size=200, second_stage_balance_fraction=0.33,
        second_stage_localization_loss_weight=4.0, second_stage_classification_loss_weight=5.0,
        second_stage_mask_prediction_loss_weight=6.0, use_static_shapes=True)
    config.matterport.mini_mask_height = 28
    first, sampler = builder.build_rpn_loss(config, CODER), builder.build_sampler(config)
    second, masks = builder.build_box_loss(config, CODER), builder.build_mask_loss(config)
    assert (first.targets.anchors_per_image, first.targets.positive_fraction) == (64, 0.25)
    assert (first.localization_weight, first.objectness_weight) == (2.0, 3.0)
    # As written, not as rounded to a float: 0.33000001 gives other counts of background.
    assert (sampler.regions_per_image, sampler.positive_ratio) == (200, 0.33)
    assert (second.localization_weight, second.classification_weight) == (4.0, 5.0)
    assert (masks.weight, masks.targets.mini_mask_size) == (6.0, (28, 56))
    assert masks.targets.use_static_shapes
    config.matterport.use_mini_masks = False
    assert builder.build_mask_loss(config).targets.mini_mask_size is None


def test_faults_are_off_unless_asked_for():
    config = faster_rcnn_pb2.FasterRcnn(second_stage_balance_fraction=0.33)
    config.matterport.SetInParent()

    def faults():
        loss = builder.build_box_loss(config, CODER)
        return (loss.padding_counts, loss.classes_of_first_image, loss.gradient_through_targets,
                builder.build_sampler(config).no_objects_no_background,
                builder.build_mask_loss(config).targets.original_far_edge)

    assert not any(faults())
    for field in config.original_faults.DESCRIPTOR.fields:
        setattr(config.original_faults, field.name, True)
    assert all(faults())


def test_no_share_for_objects_is_an_error():
    with pytest.raises(ValueError, match="second_stage_balance_fraction: want a number above 0"):
        builder.build_sampler(faster_rcnn_pb2.FasterRcnn(second_stage_balance_fraction=0.0))
