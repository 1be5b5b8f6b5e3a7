"""Builds layer settings from a Hyperparams message."""

from collections.abc import Callable

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.protos import hyperparams_pb2

_ACTIVATIONS = {
    hyperparams_pb2.Hyperparams.NONE: None,
    hyperparams_pb2.Hyperparams.RELU: tf.nn.relu,
    hyperparams_pb2.Hyperparams.RELU_6: tf.nn.relu6,
    hyperparams_pb2.Hyperparams.SWISH: tf.nn.silu,
}


def build(config: hyperparams_pb2.Hyperparams, is_training: bool) -> Hyperparams:
    """Returns the settings of a part's layers.

    Raises:
        ValueError: if a member that must be set is not, or asks for what is not built.
    """
    return Hyperparams(
        initializer=_choose("initializer", config.initializer, "initializer_oneof", _INITIALIZERS),
        activation=_ACTIVATIONS[config.activation],
        batch_norm=_normalizer(config, is_training),
        regularizer=_regularizer(config.regularizer),
        depthwise_regularizer=(_regularizer(config.regularizer) if config.regularize_depthwise
                               else None),
        biases_regularizer=biases_regularizer(config.regularizer))


def weight_decay(config: hyperparams_pb2.Hyperparams) -> float:
    """Returns the weight of the L2 regularizer, 0 if none is set.

    Raises:
        ValueError: for another regularizer, which these backbones do not take.
    """
    kind = config.regularizer.WhichOneof("regularizer_oneof")
    if kind not in (None, "l2_regularizer"):
        raise ValueError("feature_extractor.conv_hyperparams.regularizer: set l2_regularizer, got "
                         f"{kind}")
    return config.regularizer.l2_regularizer.weight if kind else 0.0


def _normalizer(config: hyperparams_pb2.Hyperparams,
                is_training: bool) -> layers.Normalizer | None:
    kind = config.WhichOneof("normalizer_oneof")
    if kind is None:
        return None
    if kind == "group_norm":
        return layers.GroupNorm(biased=config.force_use_bias)
    settings = getattr(config, kind)
    return layers.BatchNorm(is_training=is_training and settings.train, decay=settings.decay,
                            epsilon=settings.epsilon, center=settings.center,
                            scale=settings.scale, biased=config.force_use_bias,
                            sync=kind == "sync_batch_norm")


def biases_regularizer(config: hyperparams_pb2.Regularizer) -> layers.Regularizer | None:
    """Returns the penalty on biases; only the size-scaled one has any."""
    kind = config.WhichOneof("regularizer_oneof")
    return _regularizer(config) if kind == "size_scaled_l2_regularizer" else None


def _regularizer(config: hyperparams_pb2.Regularizer) -> layers.Regularizer | None:
    if config.WhichOneof("regularizer_oneof") is None:
        return None
    return _choose("regularizer", config, "regularizer_oneof", _REGULARIZERS)


def _choose(what: str, config: object, oneof: str, table: dict[str, Callable]) -> Callable | None:
    kind = config.WhichOneof(oneof)
    if kind not in table:
        raise ValueError(f"hyperparams.{what}: set one of {sorted(table)}, got "
                         f"{kind or 'none of them'}")
    return table[kind](getattr(config, kind))


def _variance_scaling(config: hyperparams_pb2.VarianceScalingInitializer) -> layers.Initializer:
    mode = hyperparams_pb2.VarianceScalingInitializer.Mode.Name(config.mode)
    return layers.variance_scaling_initializer(factor=config.factor, mode=mode,
                                               uniform=config.uniform)


def _keras_initializer(name: str) -> layers.Initializer:
    try:
        tf.keras.initializers.get(name)
    except ValueError as error:
        raise ValueError("hyperparams.initializer.keras_initializer_by_name: Keras has no "
                         f"initializer {name!r}") from error
    # A new instance per variable: one instance gives the same values at every call.
    return lambda shape, dtype: tf.keras.initializers.get(name)(shape, dtype=dtype)


_INITIALIZERS = {
    "truncated_normal_initializer":
        lambda c: layers.truncated_normal_initializer(mean=c.mean, stddev=c.stddev),
    "variance_scaling_initializer": _variance_scaling,
    "random_normal_initializer":
        lambda c: layers.random_normal_initializer(mean=c.mean, stddev=c.stddev),
    "keras_initializer_by_name": _keras_initializer,
}

_REGULARIZERS = {
    "l1_regularizer": lambda c: layers.l1_regularizer(c.weight) if c.weight else None,
    "l2_regularizer": lambda c: layers.l2_regularizer(c.weight) if c.weight else None,
    "size_scaled_l2_regularizer":
        lambda c: layers.size_scaled_l2_regularizer(c.weight) if c.weight else None,
}
