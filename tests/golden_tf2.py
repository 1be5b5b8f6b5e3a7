"""Fills models with the rule of the TF2 fixtures, by checkpoint key, and checks their cases.

A test file lists cases and calls `check_inference`, `check_training` and `check_step`.
"""

import dataclasses
import importlib.util
import json
from collections.abc import Callable, Mapping

import golden
import numpy as np
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import model_builder, optimizer_builder
from object_detection.core.model import DetectionModel
from object_detection.engine import checkpoints
from object_detection.engine.importers import object_based
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.protos import pipeline_pb2


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Of the training part of a case: shares of scale, and of each loss."""

    values: float = 1e-4
    losses: float = 1e-4
    gradients: float = 2e-2


def deterministic_value() -> Callable[[str, list[int]], np.ndarray]:
    """Returns the rule that gives each variable its value by checkpoint key and shape."""
    path = shared_files.require("fixtures/tf2/deterministic_weights.py")
    spec = importlib.util.spec_from_file_location("deterministic_weights_tf2", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.deterministic_value


def load(case: str) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """Returns inputs and expected outputs of an end-to-end case."""
    folder = shared_files.require(f"fixtures/tf2/{case}")
    return np.load(folder / "inputs.npz"), np.load(folder / "outputs.npz")


def variables(case: str) -> dict[str, tuple[str, list[int], bool]]:
    """Returns Keras's name, the shape and whether it is trained of each variable, by key."""
    path = shared_files.require(f"fixtures/tf2/{case}") / "variables.json"
    return {key: (name, shape, trainable)
            for key, name, shape, trainable in json.loads(path.read_text())}


def pipeline(case: str) -> pipeline_pb2.TrainEvalPipelineConfig:
    """Returns the case's config with all faults of the original."""
    path = shared_files.require(f"fixtures/tf2/{case}") / "pipeline.config"
    config = text_format.Merge(path.read_text(), pipeline_pb2.TrainEvalPipelineConfig())
    faults = config.model.faster_rcnn.original_faults
    for field in faults.DESCRIPTOR.fields:
        setattr(faults, field.name, True)
    return config


def build(config: pipeline_pb2.TrainEvalPipelineConfig, is_training: bool) -> DetectionModel:
    """Returns the model with the rule's weights."""
    model = model_builder.build(config.model, is_training)
    value = deterministic_value()
    for name, key in model_keys(model).items():
        variable = model.variables_by_name[name]
        variable.assign(value(key, variable.shape.as_list()))
    return model


def model_keys(model: DetectionModel) -> dict[str, str]:
    """Returns the checkpoint key of each variable of a model, by its name."""
    return {name: f"model/{path}" for name, path in model.object_paths().items()}


def assert_same_variables(case: str, model: DetectionModel) -> None:
    """Compares keys, names, shapes and trainable flags of all variables."""
    named = model.variables_by_name
    got = {key: (name, named[name].shape.as_list(), named[name].trainable)
           for name, key in model_keys(model).items()}
    assert got == variables(case)


def write_checkpoint(case: str, prefix: str) -> None:
    """Writes the rule's weights as the original's exporter would: `ckpt-0`, by object."""
    value = deterministic_value()
    suffix = object_based.VALUE_SUFFIX
    checkpoints.write(prefix, {
        "_CHECKPOINTABLE_OBJECT_GRAPH": np.array(b""), f"save_counter{suffix}": np.int64(1),
        **{f"{key}{suffix}": value(key, shape)
           for key, (_, shape, _) in variables(case).items()}})


def check_inference(case: str, model: DetectionModel | None = None) -> None:
    """Compares variables, preprocessing, predictions, detections and evaluation losses.

    Args:
        model: with the rule's weights; None: it is built.
    """
    inputs, expected = load(case)
    if model is None:
        model = build(pipeline(case), is_training=False)
    assert_same_variables(case, model)
    data = golden.images_and_truth(inputs)
    pixels, shapes = golden.preprocess(model, data["image"])
    scaled = np.abs(expected["preprocessed_images"]).max() <= 1.0
    np.testing.assert_allclose(pixels, expected["preprocessed_images"], rtol=0,
                               atol=2e-5 if scaled else 2e-3)
    np.testing.assert_array_equal(shapes, expected["true_image_shapes"])
    golden.provide(model, data)

    @tf.function(autograph=False)
    def run():
        predictions = model.predict(pixels, shapes)
        return predictions, model.postprocess(predictions, shapes), model.loss(predictions, shapes)

    predictions, detections, losses = run()
    assert golden.compare(predictions, expected, "predict/") > 5
    assert golden.compare(detections, expected, "postprocess/") >= 6
    prefix = "eval_loss/"
    assert {prefix + name for name in losses} == {
        key for key in expected if key.startswith(prefix)}
    for name, value in losses.items():
        np.testing.assert_allclose(value, expected[prefix + name], rtol=1e-4, err_msg=name)


def check_training(case: str, tolerance: Tolerance = Tolerance()) -> None:
    """Compares predictions, losses and gradients of the model built for training."""
    inputs, expected = load(case)
    model = build(pipeline(case), is_training=True)
    data = golden.images_and_truth(inputs)
    pixels, shapes = golden.preprocess(model, data["image"])
    by_key = {key: model.variables_by_name[name] for name, key
              in model_keys(model).items()}
    trained = {key: variable for key, variable in by_key.items() if variable.trainable}

    @tf.function(autograph=False)
    def run():
        golden.provide(model, data)
        with tf.GradientTape() as tape:
            predictions = model.predict(pixels, shapes)
            losses = dict(model.loss(predictions, shapes))
            regularization = tf.add_n(model.regularization_losses() or [tf.zeros([])])
            total = tf.add_n(list(losses.values())) + regularization
        losses.update({"Loss/regularization_loss": regularization, "Loss/total_loss": total})
        return predictions, losses, tape.gradient(total, trained)

    predictions, losses, gradients = run()
    assert golden.compare(predictions, expected, "train/predict/", tolerance.values) > 5
    prefix = "train/loss/"
    assert {prefix + name for name in losses} == {
        key for key in expected if key.startswith(prefix)}
    for name, value in losses.items():
        np.testing.assert_allclose(value, expected[prefix + name], rtol=tolerance.losses,
                                   atol=1e-12, err_msg=name)
    _compare_gradients(gradients, expected, tolerance.gradients)


def _compare_gradients(gradients: Mapping[str, tf.Tensor], expected: Mapping[str, np.ndarray],
                       relative: float) -> None:
    for key in expected:
        if key.startswith("train/grad_norm/"):
            norm = tf.norm(gradients[key[len("train/grad_norm/"):]])
            np.testing.assert_allclose(norm, expected[key], rtol=relative, err_msg=key)
        elif key.startswith("train/grad/"):
            golden.assert_close(gradients[key[len("train/grad/"):]], expected[key], relative, key)
    norm = tf.linalg.global_norm([g for g in gradients.values() if g is not None])
    np.testing.assert_allclose(norm, expected["train/grad_global_norm"], rtol=relative)


def check_step(case: str, tolerance: Tolerance = Tolerance()) -> None:
    """Compares weights, statistics and momentum after one training step."""
    inputs, expected = load(case)
    config = pipeline(case)
    model = build(config, is_training=True)
    names = {key: name for name, key
             in model_keys(model).items()}
    before = {name: variable.numpy() for name, variable in model.variables_by_name.items()}
    step = TrainStep(model, optimizer_builder.build(config.train_config.optimizer),
                     TrainSettings.from_config(config.train_config))

    result = step(*golden.batch_of(model, inputs))

    rate = expected["train/learning_rate"]
    np.testing.assert_allclose(result.learning_rate, rate, rtol=1e-6)
    state = step.state()
    for key in expected:
        if key.startswith("train/after_step/"):
            name = names[key[len("train/after_step/"):]]
            got, start = state[name].numpy(), before[name]
            if "/moving_" in name:
                # Moments are as far off as the features they are of.
                golden.assert_close(got, expected[key], tolerance.values, key)
                continue
        elif key.startswith("train/after_step_slot/"):
            name = names[key[len("train/after_step_slot/"):]]
            # The original's slot holds -rate * gradient, ours the gradient.
            got, start = -rate * state[f"{name}/Momentum"].numpy(), 0.0
        else:
            continue
        change = np.abs(expected[key] - start).max()
        np.testing.assert_allclose(
            got, expected[key], rtol=0, err_msg=key,
            atol=tolerance.gradients * change + 2e-7 * np.abs(expected[key]).max())
