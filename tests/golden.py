"""Fills models with the fixtures' rule for weights and compares arrays with their tolerance."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import shared_files
import tensorflow as tf

from object_detection.core.feature_extractor import (
    FIRST_STAGE_SCOPE,
    FasterRCNNFeatureExtractor,
)
from object_detection.core.model import DetectionModel
from object_detection.nets.variable_store import VariableStore

LARGE_MAPS = {"rpn_box_predictor_features": np.s_[:, ::2, ::2, ::16],
              "rpn_features_to_crop": np.s_[:, ::2, ::2, ::16],
              "box_classifier_features": np.s_[::4, ::3, ::3, ::32]}
EXACT = ("num_", "detection_classes", "detection_anchor_indices", "image_shape")


def deterministic_value() -> Callable[[str, list[int]], np.ndarray]:
    """Returns the rule that gives each variable its value by name and shape."""
    path = shared_files.require("fixtures/deterministic_weights.py")
    spec = importlib.util.spec_from_file_location("deterministic_weights", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.deterministic_value


def fill(variables: Mapping[str, tf.Variable]) -> None:
    """Assigns the rule's value to every variable."""
    value = deterministic_value()
    for name, variable in variables.items():
        variable.assign(value(name, variable.shape.as_list()))


def load(case: str) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """Returns inputs and expected outputs of an end-to-end case."""
    folder = shared_files.require(f"fixtures/tf1/{case}")
    return np.load(folder / "inputs.npz"), np.load(folder / "outputs.npz")


def assert_close(got: tf.Tensor, expected: np.ndarray, relative: float, name: str = "") -> None:
    """Compares within `relative` of the largest expected absolute value."""
    got = np.asarray(got)
    np.testing.assert_equal(got.shape, expected.shape, err_msg=name)
    scale = np.abs(expected).max() if expected.size else 0.0
    np.testing.assert_allclose(got, expected, rtol=0, atol=relative * max(scale, 1e-12),
                               err_msg=name)


def check_map(extractor: FasterRCNNFeatureExtractor, expected: Mapping[str, np.ndarray],
              fill_variables: Callable[[Mapping[str, tf.Variable]], None]) -> None:
    """Compares the map that an extractor gives for a case's images.

    Args:
        fill_variables: gives values to variables, by the names that the network asks for.
    """
    store = VariableStore()

    @tf.function(autograph=False)
    def run(pixels: tf.Tensor) -> tf.Tensor:
        with store.scope(FIRST_STAGE_SCOPE):
            return extractor.feature_maps(pixels)[0]

    pixels = tf.constant(expected["preprocessed_images"])
    run.get_concrete_function(pixels)
    fill_variables(store.by_name)
    got, key = run(pixels), "predict/rpn_features_to_crop"
    assert got.shape.as_list() == expected[f"{key}/shape"].tolist()
    assert_close(got[LARGE_MAPS["rpn_features_to_crop"]], expected[f"{key}/sample"], 1e-5)
    stats = np.array([np.mean(got), np.std(got), np.max(np.abs(got))])
    assert_close(stats, expected[f"{key}/stats"], 1e-5)


def images_and_truth(inputs: Mapping[str, np.ndarray]) -> dict[str, list[np.ndarray] | None]:
    """Returns per image: pixels, boxes, classes, and weights, masks, is_annotated where given."""
    count = sum(key.startswith("image_") for key in inputs)
    names = ("image", "groundtruth_boxes", "groundtruth_classes", "groundtruth_weights",
             "groundtruth_masks", "is_annotated")
    return {name: [inputs[f"{name}_{i}"] for i in range(count)] if f"{name}_0" in inputs else None
            for name in names}


def preprocess(model: DetectionModel,
               images: Sequence[np.ndarray]) -> tuple[tf.Tensor, tf.Tensor]:
    """Preprocesses each image alone and puts them together."""
    pairs = [model.preprocess(tf.constant(image[None], tf.float32)) for image in images]
    return tf.concat([p for p, _ in pairs], 0), tf.concat([s for _, s in pairs], 0)


def provide(model: DetectionModel, data: Mapping[str, list[np.ndarray] | None]) -> None:
    """Gives the ground truth to the model."""
    masks = data["groundtruth_masks"]
    model.provide_groundtruth(
        [tf.constant(b) for b in data["groundtruth_boxes"]],
        [tf.constant(c) for c in data["groundtruth_classes"]],
        None if masks is None else [tf.constant(m, tf.float32) for m in masks],
        groundtruth_weights_list=data["groundtruth_weights"],
        is_annotated_list=data["is_annotated"])


def batch_of(model: DetectionModel, inputs: Mapping[str, np.ndarray]) -> tuple[dict, dict]:
    """Returns features and labels of a case as the input pipeline would give them."""
    data = images_and_truth(inputs)
    boxes = data["groundtruth_boxes"]
    rows = max(len(of_image) for of_image in boxes)

    def padded(name: str) -> tf.Tensor:
        return tf.stack([np.pad(value, [[0, rows - len(value)]] + [[0, 0]] * (value.ndim - 1))
                         for value in data[name]])

    labels = {name: padded(name) for name in ("groundtruth_boxes", "groundtruth_classes")}
    if data["groundtruth_weights"] is not None:
        labels["groundtruth_weights"] = padded("groundtruth_weights")
    else:
        labels["groundtruth_weights"] = tf.sequence_mask(
            [len(of_image) for of_image in boxes], rows, tf.float32)
    if data["is_annotated"] is not None:
        labels["is_annotated"] = tf.stack(data["is_annotated"])
    labels["groundtruth_is_crowd"] = tf.zeros([len(boxes), rows], tf.bool)
    if data["groundtruth_masks"] is not None:
        labels["groundtruth_instance_masks"] = padded("groundtruth_masks")
    pixels, shapes = preprocess(model, data["image"])
    return {"image": pixels, "true_image_shape": shapes}, labels


def compare(got: Mapping[str, tf.Tensor], expected: Mapping[str, np.ndarray], prefix: str,
            relative: float = 1e-4) -> int:
    """Checks every recorded array under `prefix`; returns how many.

    Large maps are recorded as samples, statistics and shape; lists of maps by index.
    """
    recorded = [key for key in expected if key.startswith(prefix)]
    for key in recorded:
        name = key[len(prefix):]
        base, _, kind = name.rpartition("/")
        base, _, level = base.partition("/")
        if base in LARGE_MAPS:
            value = np.asarray(got[base][int(level)] if level else got[base])
            if kind == "shape":
                np.testing.assert_equal(value.shape, expected[key], err_msg=key)
                continue
            value = value[LARGE_MAPS[base]] if kind == "sample" else np.array(
                [value.mean(), value.std(), np.abs(value).max()])
            assert_close(value, expected[key], relative, key)
        elif name.startswith(EXACT):
            np.testing.assert_array_equal(got[name], expected[key], err_msg=key)
        else:
            assert_close(got[name], expected[key], relative, key)
    return len(recorded)
