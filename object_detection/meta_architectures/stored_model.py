"""The part of a detector that knows its variables: by name, by object, and from checkpoints."""

import tensorflow as tf

from object_detection.core import model
from object_detection.core.feature_extractor import (
    FIRST_STAGE_SCOPE,
    SECOND_STAGE_SCOPE,
    FasterRCNNFeatureExtractor,
)
from object_detection.meta_architectures import object_tree
from object_detection.nets.variable_store import VariableStore

# Attributes that notebooks use on models of other families or of other names.
_BY_NAME = ("this model's variables are found by name, in variables_by_name; "
            "feature_extractor.type of a *_keras network gives one with such attributes")
_HINTS = {
    "_box_predictor": "it has two predictors, _first_stage_box_predictor for proposals and "
                      "_mask_rcnn_box_predictor for the classes, boxes and masks of regions",
    "_feature_extractor": "it has two halves, _feature_extractor_for_proposal_features and "
                          "_feature_extractor_for_box_classifier_features",
    "_mask_rcnn_box_predictor": _BY_NAME,
    "_first_stage_box_predictor": _BY_NAME,
    "_first_stage_box_predictor_first_conv": _BY_NAME,
    "_feature_extractor_for_proposal_features": _BY_NAME,
    "_feature_extractor_for_box_classifier_features": _BY_NAME,
}


class StoredModel(model.DetectionModel):
    """A detection model whose variables live in a store.

    Attributes that notebooks know from TF2 models of the Object Detection API
    (`_mask_rcnn_box_predictor`, ...) are nodes of variables, to pass to `tf.train.Checkpoint`.
    """

    def __init__(self, name: str, extractor: FasterRCNNFeatureExtractor, dropout: bool) -> None:
        super().__init__(name=name)
        self._hidden = _Hidden(extractor, dropout)

    @property
    def store(self) -> VariableStore:
        """Keeps the variables by name."""
        return self._hidden.store

    @property
    def feature_extractor(self) -> FasterRCNNFeatureExtractor:
        """The backbone, with what it knows of names."""
        return self._hidden.extractor

    @property
    def variables(self) -> tuple[tf.Variable, ...]:
        """All variables, in the order they were created."""
        return tuple(self.store.by_name.values())

    @property
    def trainable_variables(self) -> tuple[tf.Variable, ...]:
        """The variables that gradients change, in the order they were created."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def variables_by_name(self) -> dict[str, tf.Variable]:
        """All variables by TF1 name, without `:0`."""
        return dict(self.store.by_name)

    def __getattr__(self, name: str) -> object:
        """Says what to use instead of attributes that other detectors have."""
        hint = _HINTS.get(name)
        if hint is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        raise AttributeError(f"{type(self).__name__} has no {name}: {hint}")

    def attach_objects(self) -> None:
        """Makes the variables attributes along their paths; call once, after they are created."""
        object_tree.attach(self, {path: self.store.by_name[name]
                                  for name, path in self.object_paths().items()})

    def regularization_losses(self) -> list[tf.Tensor]:
        return self.store.regularization_losses()

    def restore_map(self, fine_tune_checkpoint_type: str = "detection",
                    load_all_detection_checkpoint_vars: bool = False) -> dict[str, tf.Variable]:
        """Returns the variables to start from a checkpoint, by their names in it.

        `classification`: a slim backbone; both stages' names without the stage. `detection`: the
        backbone of a detector, and its heads too with `load_all_detection_checkpoint_vars`.
        `full` and `fine_tune`: everything.

        Raises:
            ValueError: for another type.
        """
        variables = self.variables_by_name
        asked = {self.store.asked_name(name): variable for name, variable in variables.items()}
        if fine_tune_checkpoint_type == "classification":
            return self._hidden.extractor.classification_names(asked)
        if fine_tune_checkpoint_type in ("full", "fine_tune") or (
                fine_tune_checkpoint_type == "detection" and load_all_detection_checkpoint_vars):
            return variables
        if fine_tune_checkpoint_type == "detection":
            stages = (FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE)
            return {name: variable for name, variable in variables.items()
                    if self.store.asked_name(name).startswith(stages)}
        raise ValueError("train_config.fine_tune_checkpoint_type: set classification, detection, "
                         f"full or fine_tune, got {fine_tune_checkpoint_type!r}")

    def object_paths(self) -> dict[str, str]:
        """Returns the path of each variable below the model in object-based checkpoints."""
        return self._hidden.extractor.object_paths(self.store.by_name, self._hidden.dropout)

    def restore_from_objects(
            self, fine_tune_checkpoint_type: str = "detection") -> dict[str, tf.Module]:
        """Returns what to pass to `tf.train.Checkpoint` to start from an object-based checkpoint.

        Raises:
            ValueError: for a type other than classification, detection, full and fine_tune.
        """
        if fine_tune_checkpoint_type in ("full", "fine_tune"):
            return {"model": self}
        variables = self.restore_map(fine_tune_checkpoint_type)
        root = object_tree.Node()
        if fine_tune_checkpoint_type == "detection":
            paths = self.object_paths()
            variables = {f"model/{paths[name]}": variable for name, variable in variables.items()}
        object_tree.attach(root, variables)
        return {name: getattr(root, name) for name in {path.split("/")[0] for path in variables}}


class _Hidden:
    """What TensorFlow's object tracking shall not see: variables have paths of their own."""

    def __init__(self, extractor: FasterRCNNFeatureExtractor, dropout: bool) -> None:
        self.store = VariableStore(extractor.variable_name)
        self.extractor = extractor
        self.dropout = dropout
