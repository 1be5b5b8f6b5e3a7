"""Names of pyramids in the original's checkpoints, by hand."""

import pytest

from object_detection.nets import fpn_names

TOP_DOWN = "private__resnet_fpn/FeatureMaps/top_down"
FIRST = "_feature_extractor_for_proposal_features"
SECOND = "_feature_extractor_for_box_classifier_features"


@pytest.mark.parametrize("scope, layer", [
    ("fpn/lateral_5", f"{TOP_DOWN}/projection_3"), ("fpn/lateral_3", f"{TOP_DOWN}/projection_1"),
    ("fpn/smooth_3", f"{TOP_DOWN}/smoothing_1_conv"),
    ("fpn/smooth_4/BatchNorm", f"{TOP_DOWN}/smoothing_2_batchnorm"),
    ("fpn/coarse_6", "private__resnet_fpn/bottom_up_block5_conv"),
    ("fpn/coarse_7/BatchNorm", "private__resnet_fpn/bottom_up_block6_batchnorm"),
    ("fc6/BatchNorm", "freezable_batch_norm"), ("fc7", "dense_1")])
def test_layers_are_counted_from_the_finest_level(scope, layer):
    assert fpn_names.keras_layers(3, 7)[scope] == layer


@pytest.mark.parametrize("layer, path", [
    (f"{TOP_DOWN}/projection_3", f"{FIRST}/fpn_features_generator/top_layers/0"),
    # Behind the top one, the coarsest comes first.
    (f"{TOP_DOWN}/projection_2", f"{FIRST}/fpn_features_generator/residual_blocks/0/0"),
    (f"{TOP_DOWN}/projection_1", f"{FIRST}/fpn_features_generator/residual_blocks/1/0"),
    (f"{TOP_DOWN}/smoothing_1_batchnorm", f"{FIRST}/fpn_features_generator/conv_layers/1/1"),
    ("private__resnet_fpn/bottom_up_block6_conv", f"{FIRST}/coarse_feature_layers/1/0"),
    ("dense_1", f"{SECOND}/layer_with_weights-2")])
def test_paths_are_counted_from_the_coarsest_level(layer, path):
    assert fpn_names.layer_paths(3, 7, dense_batch_norm=True)[layer] == path


def test_every_layer_has_a_path():
    for levels in ((2, 6), (3, 5), (2, 4), (5, 5)):
        layers = set(fpn_names.keras_layers(*levels).values())
        assert layers == set(fpn_names.layer_paths(*levels, dense_batch_norm=True))


def test_dense_layers_without_batch_norm_count_on():
    paths = fpn_names.layer_paths(2, 6, dense_batch_norm=False)
    assert paths["dense_1"] == f"{SECOND}/layer_with_weights-1"
    assert "freezable_batch_norm" not in paths
