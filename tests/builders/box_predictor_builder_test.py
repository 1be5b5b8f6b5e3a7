"""Heads in the style of the family that a network belongs to."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import box_predictor_builder
from object_detection.nets.variable_store import VariableStore
from object_detection.protos import box_predictor_pb2

DENSE = """
mask_rcnn_box_predictor {
  fc_hyperparams {
    op: FC
    regularizer { l2_regularizer { weight: 2.0 } }
    initializer { truncated_normal_initializer { mean: 5.0 stddev: 0.0001 } }
    %s
  }
}
"""
MASKS = """
mask_rcnn_box_predictor {
  fc_hyperparams { op: FC initializer { truncated_normal_initializer {} } }
  conv_hyperparams { op: CONV initializer { truncated_normal_initializer {} } %s }
  predict_instance_masks: true
  mask_height: 6
  mask_width: 6
  mask_prediction_num_conv_layers: 2
  mask_prediction_conv_depth: 3
  convolve_then_upsample_masks: %s
}
"""
KERAS = box_predictor_builder.keras_style(ignore_fc_hyperparams=False)
FAULTY = box_predictor_builder.keras_style(ignore_fc_hyperparams=True)


def heads(text, style, training=False):
    """Runs the heads on two regions of ones; returns the store with their variables."""
    config = text_format.Parse(text, box_predictor_pb2.BoxPredictor())
    predictor = box_predictor_builder.build(config, training, 1, style)
    store = VariableStore()
    with store.scope():
        predictor.predict_boxes(tf.ones([2, 2, 2, 1]), training)
        if predictor.mask_head is not None:
            predictor.predict_masks(tf.ones([2, 2, 2, 1]))
    return store


@pytest.mark.parametrize("style", [box_predictor_builder.HeadStyle(), KERAS])
def test_dense_heads_follow_the_config(style):
    store = heads(DENSE % "", style)
    np.testing.assert_allclose(store.by_name["ClassPredictor/weights"], [[5.0, 5.0]], atol=1e-2)
    # half of 2 times the sum of squares: 4 numbers of a box and 2 classes, each 5
    np.testing.assert_allclose(sorted(store.regularization_losses()), [50.0, 100.0], rtol=1e-2)


def test_fault_of_the_original_ignores_initializer_and_regularizer():
    store = heads(DENSE % "", FAULTY)
    # Glorot's bound is sqrt(6 / (1 + 2))
    assert np.abs(store.by_name["ClassPredictor/weights"]).max() <= 2.0 ** 0.5
    assert store.regularization_losses() == []


def test_keras_heads_normalise_what_the_dense_layer_gives():
    norm = "batch_norm {}"
    slim = heads(DENSE % norm, box_predictor_builder.HeadStyle())
    keras = heads(DENSE % norm, KERAS)
    assert "ClassPredictor/BatchNorm/beta" not in slim.by_name
    assert {"ClassPredictor/biases", "ClassPredictor/BatchNorm/beta"} <= set(keras.by_name)


@pytest.mark.parametrize("later,shapes", [
    ("false", {"MaskPredictor_conv2d_0": [3, 3, 1, 3], "MaskPredictor_last_conv2d": [3, 3, 3, 1]}),
    ("true", {"MaskPredictor_conv2d_0": [3, 3, 1, 3],
              "MaskPredictor_upsample_conv2d": [3, 3, 3, 3],  # slim's covers the 3 repeated pixels
              "MaskPredictor_last_conv2d": [3, 3, 3, 1]})])
def test_layers_of_a_keras_mask_head(later, shapes):
    store = heads(MASKS % ("", later), KERAS)
    assert {name.partition("/")[0]: variable.shape.as_list()
            for name, variable in store.by_name.items()
            if name.startswith("Mask") and name.endswith("weights")} == shapes


def test_upsampling_convolution_of_keras_is_3_wide_whatever_the_factor():
    text = (MASKS % ("", "true")).replace("mask_height: 6", "mask_height: 2")
    slim, keras = heads(text, box_predictor_builder.HeadStyle()), heads(text, KERAS)
    assert slim.by_name["Conv_1/weights"].shape == [1, 3, 3, 3]
    assert keras.by_name["MaskPredictor_upsample_conv2d/weights"].shape == [3, 3, 3, 3]


def build(text, training=False):
    config = text_format.Parse(text, box_predictor_pb2.BoxPredictor())
    return box_predictor_builder.build(config, training, 3)


def test_every_option_of_the_mask_rcnn_predictor():
    predictor = build("""mask_rcnn_box_predictor {
      fc_hyperparams { op: FC initializer { truncated_normal_initializer {} } }
      conv_hyperparams { op: CONV initializer { truncated_normal_initializer {} } }
      use_dropout: true dropout_keep_probability: 0.75 share_box_across_classes: true
      predict_instance_masks: true mask_height: 8 mask_width: 6 mask_prediction_conv_depth: 0
      mask_prediction_num_conv_layers: 4 masks_are_class_agnostic: true
      convolve_then_upsample_masks: true }""")
    assert predictor.dropout_keep_probability == 0.75
    assert predictor.box_head.share_across_classes
    head = predictor.mask_head
    assert (head.mask_height, head.mask_width) == (8, 6)
    assert (head.conv_depth, head.num_conv_layers) == (0, 4)
    assert head.class_agnostic and head.convolve_then_upsample
    plain = build("mask_rcnn_box_predictor { fc_hyperparams { op: FC initializer "
                  "{ truncated_normal_initializer {} } } }")
    assert plain.mask_head is None and plain.dropout_keep_probability is None
    assert not plain.box_head.share_across_classes


def test_every_option_of_the_rfcn_predictor():
    predictor = build("""rfcn_box_predictor {
      conv_hyperparams { op: CONV initializer { truncated_normal_initializer {} } }
      num_spatial_bins_height: 2 num_spatial_bins_width: 4 depth: 7
      crop_height: 6 crop_width: 8 }""")
    assert (predictor.num_bins, predictor.depth, predictor.num_classes) == (8, 7, 3)


CONV = "conv_hyperparams { op: CONV initializer { truncated_normal_initializer {} } } "
FC = "fc_hyperparams { op: FC initializer { truncated_normal_initializer {} } } "


@pytest.mark.parametrize("text, message", [
    ("", r"set one of .'mask_rcnn_box_predictor', 'rfcn_box_predictor'., got none of them"),
    ("convolutional_box_predictor {}", "got convolutional_box_predictor"),
    ("weight_shared_convolutional_box_predictor {}", "got weight_shared"),
    ("mask_rcnn_box_predictor {}", "mask_rcnn_box_predictor.fc_hyperparams: must be set"),
    (f"mask_rcnn_box_predictor {{ {FC} predict_keypoints: true }}", "predict_keypoints"),
    (f"mask_rcnn_box_predictor {{ {FC} box_code_size: 5 }}", "box_code_size: .* got 5"),
    (f"mask_rcnn_box_predictor {{ {FC} use_dropout: true dropout_keep_probability: 0 }}",
     "dropout_keep_probability: want above 0"),
    (f"mask_rcnn_box_predictor {{ {FC} predict_instance_masks: true }}",
     "conv_hyperparams: must be set"),
    (f"mask_rcnn_box_predictor {{ {FC} {CONV} predict_instance_masks: true mask_width: 0 }}",
     "mask_width: want at least 1, got 0"),
    ("rfcn_box_predictor {}", "rfcn_box_predictor.conv_hyperparams: must be set"),
    (f"rfcn_box_predictor {{ {CONV} box_code_size: 5 }}", "box_code_size: .* got 5"),
    (f"rfcn_box_predictor {{ {CONV} depth: 0 }}", "depth: want at least 1, got 0"),
    (f"rfcn_box_predictor {{ {CONV} num_spatial_bins_width: 0 }}", "num_spatial_bins_width: want"),
    (f"rfcn_box_predictor {{ {CONV} crop_height: 10 }}", "crop_height: want a multiple")])
def test_settings_that_cannot_work_name_their_field(text, message):
    with pytest.raises(ValueError, match=message):
        build(text)


def test_masks_smaller_than_the_features_cannot_be_enlarged():
    with pytest.raises(ValueError, match="masks of 1 x 6 are smaller than the features of 2 x 2"):
        heads((MASKS % ("", "true")).replace("mask_height: 6", "mask_height: 1"), KERAS)
