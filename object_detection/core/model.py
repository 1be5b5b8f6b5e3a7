"""The four verbs of a detection model, as notebooks and the engine call them."""

import abc
from collections.abc import Sequence

import tensorflow as tf


class DetectionModel(tf.Module, abc.ABC):
    """preprocess, predict, then postprocess (inference) or loss (training).

    Boxes at this edge are normalized [ymin, xmin, ymax, xmax]: ground truth to the padded network
    input, detections to the image without padding.
    """

    @property
    @abc.abstractmethod
    def num_classes(self) -> int:
        """Number of foreground classes."""

    @abc.abstractmethod
    def preprocess(self, inputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Resizes and normalises float32 [B, H, W, 3] images with values in 0..255.

        Returns:
            float32 [B, H', W', 3] network input and int32 [B, 3] shapes without padding.
        """

    @abc.abstractmethod
    def predict(self, preprocessed_inputs: tf.Tensor,
                true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """Runs the network; the result goes to `postprocess` or `loss`."""

    @abc.abstractmethod
    def postprocess(self, prediction_dict: dict[str, tf.Tensor],
                    true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """Turns predictions into final detections; the dictionary passed in stays as it is."""

    @abc.abstractmethod
    def loss(self, prediction_dict: dict[str, tf.Tensor],
             true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns scalar losses by name, against the ground truth provided before."""

    @abc.abstractmethod
    def provide_groundtruth(
            self, groundtruth_boxes_list: Sequence[tf.Tensor],
            groundtruth_classes_list: Sequence[tf.Tensor],
            groundtruth_masks_list: Sequence[tf.Tensor] | None = None,
            groundtruth_weights_list: Sequence[tf.Tensor] | None = None,
            groundtruth_is_crowd_list: Sequence[tf.Tensor] | None = None,
            is_annotated_list: Sequence[tf.Tensor] | None = None,
            groundtruth_labeled_classes: Sequence[tf.Tensor] | None = None) -> None:
        """Sets what the next `predict` (in training) and `loss` compare with."""

    @abc.abstractmethod
    def regularization_losses(self) -> list[tf.Tensor]:
        """Returns one scalar per penalised weight."""

    @abc.abstractmethod
    def restore_map(self, fine_tune_checkpoint_type: str = "detection",
                    load_all_detection_checkpoint_vars: bool = False) -> dict[str, tf.Variable]:
        """Returns the variables to start from a checkpoint, by their names in it."""

    @property
    @abc.abstractmethod
    def variables_by_name(self) -> dict[str, tf.Variable]:
        """All variables by the names they have in name-based checkpoints, without `:0`."""

    def object_paths(self) -> dict[str, str]:
        """Returns the path of each variable below the model in object-based checkpoints."""
        return {name: name for name in self.variables_by_name}

    def restore_from_objects(
            self, fine_tune_checkpoint_type: str = "detection") -> dict[str, tf.Module]:
        """Returns what to pass to `tf.train.Checkpoint` to start from an object-based checkpoint.

        Raises:
            ValueError: for a type that the model does not know.
        """
        if fine_tune_checkpoint_type != "full":
            raise ValueError(f"restore_from_objects: this model knows full only, got "
                             f"{fine_tune_checkpoint_type!r}")
        return {"model": self}
