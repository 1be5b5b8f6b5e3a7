"""Names of Keras layers and their numbers, small ones by hand and whole networks by fixtures."""

import golden_tf2
import pytest

from object_detection.nets import keras_graph, keras_names
from object_detection.nets.keras_graph import LayerGraph

BOX = "_mask_rcnn_box_predictor/_box_prediction_head/_box_encoder_layers"
MASKS = "_mask_rcnn_box_predictor/_third_stage_heads/mask_predictions/_mask_predictor_layers"
MASK_HEAD = "mask_rcnn_keras_box_predictor/mask_rcnn_mask_head"


def test_layers_far_from_the_output_come_first():
    graph = LayerGraph()
    net = graph.add("image")
    long = graph.add("b", graph.add("a", net, weighted=True), weighted=True)
    short = graph.add("c", net, weighted=True)
    graph.add("sum", short, long)
    # a is two steps away; b and c are one, and the sum reads c first
    assert graph.weighted_layers() == ["a", "c", "b"]


def test_a_layer_read_twice_counts_by_its_longest_way():
    graph = LayerGraph()
    a = graph.add("a", graph.add("image"), weighted=True)
    b = graph.add("b", graph.add("relu", a), weighted=True)
    graph.add("sum", a, b)
    assert graph.weighted_layers() == ["a", "b"]


def test_layers_that_the_output_does_not_need_are_not_counted():
    graph = LayerGraph()
    image = graph.add("image")
    graph.add("unused", image, weighted=True)
    graph.add("used", image, weighted=True)
    assert graph.weighted_layers() == ["used"]


@pytest.mark.parametrize("case,network", [
    ("faster_rcnn_resnet50_keras", keras_graph.resnet(50, True)),
    ("mask_rcnn_resnet50_keras", keras_graph.resnet(50, True)),
    ("mask_rcnn_inception_resnet_v2_keras", keras_graph.inception_resnet())])
def test_order_of_the_layers_equals_the_original(case, network):
    for extractor, layers in ((keras_names.FIRST_EXTRACTOR, network.first),
                              (keras_names.SECOND_EXTRACTOR, network.second)):
        prefix = f"model/{extractor}/layer_with_weights-"
        expected = {}
        for key, (name, _, _) in golden_tf2.variables(case).items():
            if key.startswith(prefix):
                expected[int(key[len(prefix):].partition("/")[0])] = name.rpartition("/")[0]
        assert layers == [expected[number] for number in range(len(expected))]


def test_every_layer_has_one_name():
    network = keras_graph.inception_resnet()
    assert sorted(network.layers.values()) == sorted(network.first + network.second)


@pytest.mark.parametrize("canonical,expected", [
    ("FirstStageFeatureExtractor/conv2/block1/shortcut/weights", "conv2_block1_0_conv/kernel"),
    ("SecondStageFeatureExtractor/conv5/block3/conv2/BatchNorm/gamma", "conv5_block3_2_bn/gamma"),
    ("Conv/biases", "RPNConv/bias"),
    ("Conv/BatchNorm/beta", "RPNBatchNorm/beta"),
    ("FirstStageBoxPredictor/ClassPredictor/weights",
     "FirstStageBoxPredictor/ConvolutionalClassHead_0/ClassPredictor/kernel"),
    ("FirstStageBoxPredictor/BoxPredictor_3/BoxEncodingPredictor/biases",
     "FirstStageBoxPredictor/ConvolutionalBoxHead_3/BoxEncodingPredictor/bias"),
    ("SecondStageBoxPredictor/MaskPredictor_conv2d_1/BatchNorm/beta",
     f"{MASK_HEAD}/MaskPredictor_batchnorm_1/beta")])
def test_names(canonical, expected):
    layers = keras_graph.resnet(50, last_stage_sees_regions=True).layers
    assert keras_names.variable_name(canonical, layers) == expected


def test_a_layer_without_a_rule_is_refused():
    with pytest.raises(ValueError, match="FirstStageFeatureExtractor/extra/weights: Keras models "
                                         "have no such layer"):
        keras_names.variable_name("FirstStageFeatureExtractor/extra/weights", {})


@pytest.mark.parametrize("upsampled,places", [
    (False, [0, 3, 6]),  # each convolution is followed by its batch norm and its activation
    (True, [0, 3, 7, 10])])  # and the enlargement counts, too
def test_places_of_mask_convolutions(upsampled, places):
    names = [f"{MASK_HEAD}/{layer}/kernel" for layer in keras_names.mask_layers(3, upsampled)]
    keys = keras_names.checkpoint_keys(names, {})
    assert [keys[name] for name in names] == [f"{MASKS}/{place}/kernel" for place in places]


def test_dropout_moves_the_dense_layer():
    name = "mask_rcnn_keras_box_predictor/mask_rcnn_box_head/BoxEncodingPredictor_dense/bias"
    assert keras_names.checkpoint_keys([name], {}) == {name: f"{BOX}/1/bias"}
    assert keras_names.checkpoint_keys([name], {}, dropout=True) == {name: f"{BOX}/2/bias"}


def test_no_variables_have_no_keys():
    assert keras_names.checkpoint_keys([], {}) == {}
