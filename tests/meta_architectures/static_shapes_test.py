"""Static shapes: training and inference compile to one XLA program with the same numbers.

XLA refuses what an accelerator cannot run, such as a size that depends on values. It does know
bounded dynamic sizes, so that the traced operations are also looked at one by one.
"""

import functools
import itertools

import numpy as np
import pytest
import small_detector
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import model_builder, optimizer_builder
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine import batches
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.protos import optimizer_pb2

TOLERANCE = 1e-4
IMAGES = tf.random.stateless_uniform([2, 48, 80, 3], seed=[1, 2], maxval=255.0)
# The minibatches hold all anchors and all proposals: which ones are drawn no longer matters.
STATIC = """
  use_static_shapes: true
  use_static_shapes_for_eval: true
  use_static_balanced_label_sampler: true
  use_matmul_crop_and_resize: true
  use_matmul_gather_in_matcher: true
  clip_anchors_to_image: true
  first_stage_minibatch_size: 64
  first_stage_positive_balance_fraction: 1.0
  second_stage_batch_size: 8
  second_stage_balance_fraction: 1.0
  second_stage_post_processing { batch_non_max_suppression { use_static_shapes: true } }
"""
MINER = "hard_example_miner { num_hard_examples: 4 iou_threshold: 0.9 loss_type: BOTH }"
RFCN = """
  second_stage_box_predictor { rfcn_box_predictor {
    depth: 8 num_spatial_bins_height: 2 num_spatial_bins_width: 3 crop_height: 4 crop_width: 3
    conv_hyperparams { initializer { truncated_normal_initializer { stddev: 0.01 } } } } }
"""
OPTIMIZER = """
  momentum_optimizer {
    learning_rate { constant_learning_rate { learning_rate: 0.01 } }
    momentum_optimizer_value: 0.9
  }
  moving_average_decay: 0.5
"""
VARIANTS = {"two_stages": (2, ""), "three_stages": (3, ""), "rfcn": (2, RFCN), "mined": (2, MINER)}
WITHOUT_MINER = ("two_stages", "three_stages", "rfcn")  # only the loss mines


@functools.cache
def detector(variant, is_training):
    stages, changes = VARIANTS[variant]
    model = model_builder.build(small_detector.config(stages, STATIC + changes), is_training)
    for row, (name, variable) in enumerate(sorted(model.variables_by_name.items())):
        if name.endswith("weights"):
            # So wide that activations keep their size through the layers (the default fades out).
            *sides, depth, _ = variable.shape
            inputs = np.prod(sides) * (1 if name.endswith("depthwise_weights") else depth)
            variable.assign(tf.random.stateless_normal(variable.shape, [5, row])
                            * (2.0 / inputs) ** 0.5)
    return model


def batch(model, objects):
    """Two images with room for three objects; `objects` of them are there in the first image."""
    pixels, true_shapes = model.preprocess(IMAGES)
    weights = np.zeros([2, 3], np.float32)
    weights[0, :objects] = 1.0
    boxes = np.float32([[0.1, 0.1, 0.6, 0.6], [0.4, 0.3, 0.9, 0.8], [0.0, 0.0, 0.3, 0.3]])
    labels = {
        Fields.groundtruth_boxes: tf.constant(boxes * weights[..., None]),
        Fields.groundtruth_classes: tf.constant(np.eye(2, dtype=np.float32)[[0, 1, 1]]
                                                * weights[..., None]),
        Fields.groundtruth_weights: tf.constant(weights),
        Fields.groundtruth_is_crowd: tf.zeros([2, 3], tf.bool)}
    if model.number_of_stages == 3:
        ellipse = np.hypot(*np.mgrid[-1:1:64j, -1:1:64j]) < 0.8
        labels[Fields.groundtruth_instance_masks] = tf.constant(
            (ellipse * weights[..., None, None]).astype(np.uint8))
    return batches.to_tensors({Fields.image: pixels, Fields.true_image_shape: true_shapes}, labels)


def training(model):
    plan = optimizer_builder.build(text_format.Parse(OPTIMIZER, optimizer_pb2.Optimizer()))
    return TrainStep(model, plan, TrainSettings(clipping_norm=10.0))


def after_two_steps(step, function, example):
    """Returns what the steps report and all variables after them; then puts those back."""
    state = step.state()
    before = {name: variable.numpy() for name, variable in state.items()}
    results = [function(example) for _ in range(2)]
    after = {name: variable.numpy() for name, variable in state.items()}
    for name, variable in state.items():
        variable.assign(before[name])
    return results, before, after


def inference(model):
    def detect(images):
        pixels, true_shapes = model.preprocess(images)
        return model.postprocess(model.predict(pixels, true_shapes), true_shapes)

    return detect


def traced(function, *arguments):
    return tf.function(function, autograph=False).get_concrete_function(*arguments)


def unknown_shapes(concrete):
    """Names the outputs whose shape is not known, here and in all functions called from here."""
    graph = concrete.graph.as_graph_def(add_shapes=True)
    functions = [("", graph.node)] + [(function.signature.name + "/", function.node_def)
                                      for function in graph.library.function]
    found = []
    for prefix, nodes in functions:
        for node in nodes:
            if prefix and "_output_shapes" not in node.attr:
                found.append(f"{prefix}{node.name} ({node.op}): no shapes recorded")
            for shape in map(tf.TensorShape, node.attr["_output_shapes"].list.shape):
                if not shape.is_fully_defined():
                    found.append(f"{prefix}{node.name} ({node.op}): {shape}")
    return found


def assert_same(actual, expected):
    """Compares every tensor of two structures, or dictionaries, of the same keys."""
    tf.nest.assert_same_structure(actual, expected)
    names = sorted(actual) if isinstance(actual, dict) else itertools.repeat("")
    for name, a, b in zip(names, tf.nest.flatten(actual), tf.nest.flatten(expected)):
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)


def test_an_unknown_shape_is_found_where_it_hides():
    def count_twice(values):
        return tf.while_loop(lambda turn, _: turn < 2,
                             lambda turn, _: (turn + 1, tf.size(tf.where(values))), (0, 0))

    concrete = tf.function(count_twice).get_concrete_function(tf.ones([3]))
    assert len(unknown_shapes(concrete)) == 1
    assert "Where): (None, 1)" in unknown_shapes(concrete)[0]


@pytest.mark.parametrize("variant", WITHOUT_MINER)
def test_no_shape_in_inference_is_unknown(variant):
    assert unknown_shapes(traced(inference(detector(variant, False)), IMAGES)) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_shape_in_training_is_unknown(variant):
    step = training(detector(variant, True))
    example = batch(step.model, 2)
    assert unknown_shapes(traced(step._all_replicas, example)) == []


def test_no_shape_is_unknown_where_masks_come_in_the_size_of_the_images():
    step = training(detector("three_stages", True))
    example = batch(step.model, 2)._replace(masks=tf.ones([2, 3, 48, 80], tf.uint8))
    assert unknown_shapes(traced(step._all_replicas, example)) == []


@pytest.mark.slow
@pytest.mark.parametrize("variant", WITHOUT_MINER)
def test_compiled_inference_finds_the_same(variant):
    detect = inference(detector(variant, False))
    compiled = tf.function(detect, autograph=False, jit_compile=True)
    found, expected = compiled(IMAGES), traced(detect, IMAGES)(IMAGES)
    assert found.keys() == expected.keys()
    assert np.all(expected["num_detections"] > 0)
    assert_same(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_training_makes_the_same_steps(variant):
    """Two steps, so that momentum counts; with objects, and with none in the same program."""
    step = training(detector(variant, True))
    some, none = batch(step.model, 2), batch(step.model, 0)
    def one_step(batch):
        return step._all_replicas(batch)

    plain = traced(one_step, some)
    compiled = tf.function(one_step, autograph=False, jit_compile=True)
    for example in (some, none):
        results, before, after = after_two_steps(step, compiled, example)
        expected_results, _, expected = after_two_steps(step, plain, example)
        assert_same(results, expected_results)
        assert_same(after, expected)
        moved = [name for name in step.trained if np.abs(after[name] - before[name]).max() > 1e-5]
        assert len(moved) > len(step.trained) / 2
    assert compiled.experimental_get_tracing_count() == 1
