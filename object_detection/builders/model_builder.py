"""Builds a detection model from its config."""

from object_detection.builders import faster_rcnn_builder
from object_detection.core.model import DetectionModel
from object_detection.protos import model_pb2

# Users may add an architecture of their own: oneof member to a function of (config, is_training).
META_ARCH_BUILDER_MAP = {"faster_rcnn": faster_rcnn_builder.build}


def build(model_config: model_pb2.DetectionModel, is_training: bool,
          add_summaries: bool = True) -> DetectionModel:
    """Builds the model and creates its variables, under the strategy scope of the caller.

    Args:
        is_training: whether `predict` samples proposals and batch norm may be trained.
        add_summaries: accepted for the notebooks that pass it; summaries are written by the
            training loop's hooks, never by the model.
    Raises:
        ValueError: if the config is not of this family or cannot work, naming the field.
    """
    del add_summaries
    kind = model_config.WhichOneof("model")
    if kind is None:
        raise ValueError("model: set faster_rcnn { ... }; the config has no model")
    if kind not in META_ARCH_BUILDER_MAP:
        raise ValueError(f"model.{kind}: this project builds faster_rcnn models")
    model = META_ARCH_BUILDER_MAP[kind](getattr(model_config, kind), is_training)
    model.build()
    return model
