"""What the backbones of the TF2 models of the Object Detection API have in common: their names."""

import abc
from collections.abc import Iterable, Mapping

import tensorflow as tf

from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.nets import keras_graph, keras_names

CLASSIFICATION_PREFIX = "feature_extractor/"


class KerasFeatureExtractor(FasterRCNNFeatureExtractor):
    """A backbone whose variables, and those of the heads on it, have Keras's names.

    Batch norm that is not trained keeps its statistics only; gamma and beta are still trained.
    """

    @property
    @abc.abstractmethod
    def network(self) -> keras_graph.Network:
        """Names and order of the layers of both halves."""

    def variable_name(self, name: str) -> str:
        return keras_names.variable_name(name, self.network.layers)

    def layer_paths(self) -> dict[str, str]:
        """Returns where a checkpoint of the original keeps each layer, below the model."""
        return {
            **keras_names.numbered(f"{keras_names.FIRST_EXTRACTOR}/", self.network.first),
            **keras_names.numbered(f"{keras_names.SECOND_EXTRACTOR}/", self.network.second)}

    def object_paths(self, names: Iterable[str], dropout: bool) -> dict[str, str]:
        return keras_names.checkpoint_keys(names, self.layer_paths(), dropout)

    def classification_names(self, variables: Mapping[str, tf.Variable]) -> dict[str, tf.Variable]:
        """Returns the backbone's variables by their keys in a classification checkpoint.

        That is one of the original's, of the whole network as one model; a key continues with
        `/.ATTRIBUTES/VARIABLE_VALUE`.

        Args:
            variables: by the names that network code asks for.
        """
        paths = keras_names.numbered(CLASSIFICATION_PREFIX,
                                     [*self.network.first, *self.network.second])
        found = {}
        for name, variable in variables.items():
            layer, _, kind = self.variable_name(name).rpartition("/")
            if layer in paths:
                found[f"{paths[layer]}/{kind}"] = variable
        return found
