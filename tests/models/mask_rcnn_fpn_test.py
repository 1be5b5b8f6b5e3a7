import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import feature_extractor_builder, mask_rcnn_fpn_builder
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE
from object_detection.nets import slim_layers as layers
from object_detection.nets.variable_store import VariableStore
from object_detection.protos import faster_rcnn_pb2


def backbone(pixels, hyperparams):
    maps = []
    with hyperparams.arg_scope():
        for number in range(1, 6):
            pixels = layers.conv2d(pixels, 4, 3, stride=2, scope=f"tiny_c{number}")
            maps.append(pixels)
    return maps[1:]


def extractor(function=backbone, text=""):
    config = faster_rcnn_pb2.FasterRcnnFeatureExtractor()
    text_format.Parse('type: "tiny" fpn { min_level: 2 max_level: 6 additional_layer_depth: 8 }'
                      + text, config)
    table = feature_extractor_builder.FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP
    table["tiny"] = mask_rcnn_fpn_builder.from_backbone(function)
    try:
        return feature_extractor_builder.build(config, is_training=False)
    finally:
        del table["tiny"]


def run(subject, pixels):
    store = VariableStore(subject.variable_name)
    with store.scope(FIRST_STAGE_SCOPE):
        return subject.feature_maps(pixels), store


def test_a_backbone_of_the_user():
    subject = extractor()
    maps, store = run(subject, tf.ones([2, 64, 128, 3]))
    assert [m.shape.as_list() for m in maps] == [
        [2, 16, 32, 8], [2, 8, 16, 8], [2, 4, 8, 8], [2, 2, 4, 8], [2, 1, 2, 8]]
    assert {"tiny_c1/kernel", "fpn_c2p2/kernel", "fpn_p5/bias"} <= set(store.by_name)
    asked = {store.asked_name(name): v for name, v in store.by_name.items()}
    assert sorted(subject.classification_names(asked)) == sorted(
        f"tiny_c{number}/{kind}" for number in range(1, 6) for kind in ("bias", "kernel"))


def test_any_size_is_padded():
    subject = extractor(text=" pad_to_multiple: 32")
    maps, store = run(subject, tf.ones([1, 33, 50, 3]))
    assert [m.shape.as_list()[1:3] for m in maps] == [[16, 16], [8, 8], [4, 4], [2, 2], [1, 1]]
    assert subject.covered_size(tf.constant([33.0, 50.0])).numpy().tolist() == [64.0, 64.0]
    assert subject.covered_size(tf.constant([64.0, 32.0])).numpy().tolist() == [64.0, 32.0]

    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 3])], autograph=False)
    def dynamic(pixels):
        with store.scope(FIRST_STAGE_SCOPE):
            return subject.feature_maps(pixels)

    assert [m.shape.as_list() for m in dynamic(tf.ones([1, 33, 50, 3]))] == [
        m.shape.as_list() for m in maps]


def test_a_backbone_with_too_few_maps():
    with pytest.raises(ValueError, match="strides 4, 8, 16 and 32, got 3 maps"):
        run(extractor(lambda pixels, hyperparams: backbone(pixels, hyperparams)[1:]),
            tf.ones([1, 64, 64, 3]))


def test_the_size_scaled_penalty_reaches_weights_and_biases():
    subject = extractor(text=""" conv_hyperparams {
      regularizer { size_scaled_l2_regularizer { weight: 1.0 } }
      initializer { variance_scaling_initializer { factor: 1.0 uniform: true mode: FAN_AVG } } }""")
    _, store = run(subject, tf.ones([1, 64, 64, 3]))
    assert len(store.regularization_losses()) == len(store.by_name)
