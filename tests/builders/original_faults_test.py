"""Faults of the original: every flag has a reader and a line in the manual, and undoes a repair."""

import pathlib
import re

import numpy as np
import pytest
import small_detector
import tensorflow as tf

from object_detection.builders import model_builder
from object_detection.protos import faster_rcnn_pb2

_ROOT = pathlib.Path(__file__).parents[2]
_FLAGS = [field.name for field in faster_rcnn_pb2.OriginalFaults.DESCRIPTOR.fields]


@pytest.fixture(scope="module")
def builders():
    """Returns the text of all builders."""
    return "\n".join(path.read_text()
                     for path in sorted((_ROOT / "object_detection/builders").glob("*.py")))


@pytest.mark.parametrize("flag", _FLAGS)
def test_a_builder_reads_every_flag(builders, flag):
    assert re.search(rf"\.{flag}\b", builders)


@pytest.mark.parametrize("flag", _FLAGS)
def test_the_manual_has_a_line_on_every_flag(flag):
    assert f"| `{flag}` |" in (_ROOT / "docs/differences.md").read_text()


@pytest.mark.parametrize("flag", _FLAGS)
def test_every_flag_is_off_unless_set(flag):
    assert not getattr(faster_rcnn_pb2.OriginalFaults(), flag)


def _model(changes, is_training=True, stages=2):
    return model_builder.build(small_detector.config(stages, changes), is_training)


@pytest.mark.parametrize("flag, changes, read", [
    ("ohem_first_image_only", "hard_example_miner {}",
     lambda model: model._second.loss.miner.first_image_only),
    ("ohem_ignores_matches", "hard_example_miner {}",
     lambda model: model._second.loss.miner.ignore_matches),
    ("unannotated_images_count_in_mean", "",
     lambda model: model._first.loss.mean.count_unannotated),
    ("static_sampler_takes_ignored", "",
     lambda model: model._first.loss.sampler.original_static_fault),
    ("far_edge_crops_blank", "", lambda model: model._second.cropper.original_far_edge),
    ("conv_hyperparams_ignored_by_slim",
     "feature_extractor { conv_hyperparams { regularizer { l2_regularizer { weight: 2 } } } }",
     lambda model: model._first.extractor.weight_decay == 0.0),
    ("stride_8_ignored", "feature_extractor { first_stage_features_stride: 8 }",
     lambda model: model._first.extractor.stride == 16),
    ("other_class_losses_are_softmax",
     "second_stage_classification_loss { bootstrapped_sigmoid { alpha: 0.5 } }",
     lambda model: hasattr(model._second.loss.classification, "logit_scale")),
    ("temperature_divides_scores", "second_stage_post_processing { calibration_config "
     "{ temperature_scaling_calibration { scaler: 2 } } }",
     lambda model: model._second.postprocessor.convert_scores.logit_scale == 1.0),
    ("high_scores_calibrated_as_low", "second_stage_post_processing { calibration_config "
     "{ function_approximation { x_y_pairs { x_y_pair { x: 0.0 y: 0.0 } } } } }",
     lambda model: model._second.postprocessor.convert_scores.calibration.high_as_low)])
def test_a_flag_reaches_its_part(flag, changes, read):
    assert not read(_model(changes))
    assert read(_model(f"{changes} original_faults {{ {flag}: true }}"))


def test_batch_norm_forgets_in_no_network_but_matterports():
    changes = "feature_extractor { batch_norm_trainable: true } original_faults { "
    changes += " ".join(f"{flag}: true" for flag in _FLAGS) + " }"
    model = _model(changes)
    assert not [name for name in model.variables_by_name if name.endswith("/local_step")]


def test_mobilenet_stays_at_stride_16_with_the_fault():
    def side(changes):
        model = _model(f"feature_extractor {{ first_stage_features_stride: 8 }} {changes}",
                       is_training=False, stages=1)
        pixels, shapes = model.preprocess(tf.zeros([1, 64, 64, 3]))
        return model.predict(pixels, shapes)["rpn_features_to_crop"].shape[1]

    assert side("") == 8  # 64 / 8
    assert side("original_faults { stride_8_ignored: true }") == 4  # 64 / 16


def test_masks_are_padded_with_the_image_in_training():
    """An image of 48 x 80 becomes 38 x 64 and is padded to 64 x 64; so does its mask."""
    config = small_detector.config(3)
    config.faster_rcnn.ClearField("image_resizer")
    config.faster_rcnn.image_resizer.keep_aspect_ratio_resizer.min_dimension = 64
    config.faster_rcnn.image_resizer.keep_aspect_ratio_resizer.max_dimension = 64
    config.faster_rcnn.image_resizer.keep_aspect_ratio_resizer.pad_to_max_dimension = True
    model = model_builder.build(config, is_training=True)
    pixels, shapes = model.preprocess(tf.zeros([1, 48, 80, 3]))
    np.testing.assert_array_equal(shapes, [[38, 64, 3]])
    by_hand = np.zeros([1, 64, 64], np.float32)
    by_hand[:, :38] = 1.0
    losses, box, one_hot = [], tf.constant([[0.0, 0.0, 0.59, 1.0]]), tf.constant([[1.0, 0.0]])
    for mask in (tf.ones([1, 48, 80]), tf.constant(by_hand)):
        tf.random.set_seed(0)
        model.provide_groundtruth([box], [one_hot], [mask])
        losses.append(model.loss(model.predict(pixels, shapes), shapes))
    tf.nest.map_structure(np.testing.assert_array_equal, *losses)
