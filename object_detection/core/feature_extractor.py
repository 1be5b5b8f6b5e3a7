"""What a backbone gives to the two-stage meta-architecture."""

import abc
from collections.abc import Iterable, Mapping

import tensorflow as tf


class FasterRCNNFeatureExtractor(abc.ABC):
    """The two halves of a backbone: image to maps, and cropped region to box features.

    Both halves ask for their variables by name and are called inside a scope of the model's
    variable store: `FirstStageFeatureExtractor` and `SecondStageFeatureExtractor`.
    """

    @abc.abstractmethod
    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        """Maps float32 pixels in 0..255, [..., channels], to the values the network wants."""

    @abc.abstractmethod
    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        """Returns the maps that regions are proposed on and cropped from, finest first.

        Args:
            pixels: float [B, H, W, channels], preprocessed.
        Returns:
            float [B, h, w, depth] each; a C4 extractor returns one, a pyramid several.
        """

    @abc.abstractmethod
    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        """Runs the half behind the crop: [regions, h, w, depth] to [regions, h', w', depth']."""

    def mask_features(self, crops: tf.Tensor) -> tf.Tensor:
        """Maps crops made for masks alone to what the mask head reads; the crops as they are."""
        return crops

    @property
    def pyramid_levels(self) -> tuple[int, int] | None:
        """Finest and coarsest level of the maps of a pyramid; level n has stride 2^n.

        None: there is one map, which all regions are cropped from.
        """
        return None

    def covered_size(self, size: tf.Tensor) -> tf.Tensor:
        """Returns float32 [2], the height and width that the maps cover, in pixels.

        Args:
            size: float32 [2] of the network input; an extractor that pads it covers more.
        """
        return size

    def variable_name(self, name: str) -> str:
        """Returns the name to keep a variable of the detector under.

        Args:
            name: in the style of TF1 (`Conv/weights`); networks from Keras have names of their own.
        """
        return name

    def object_paths(self, names: Iterable[str], dropout: bool) -> dict[str, str]:
        """Returns where object-based checkpoints keep the detector's variables, below the model.

        Args:
            names: of all variables, as `variable_name` gives them.
            dropout: the second stage has dropout, which some originals count as a layer.
        Returns:
            paths (`node/node/variable`) by name.
        """
        del dropout
        return {name: name for name in names}

    @property
    @abc.abstractmethod
    def min_image_side(self) -> int:
        """Smallest height and width in pixels that gives maps of a usable size."""

    def classification_names(self, variables: Mapping[str, tf.Variable]) -> dict[str, tf.Variable]:
        """Returns the backbone's variables by their names in a classification checkpoint.

        A slim classification checkpoint has the same names without the stage in front. No network
        of ours has a layer in both stages.
        """
        found = {}
        for name, variable in variables.items():
            stage, _, rest = name.partition("/")
            if stage in (FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE):
                found[rest] = variable
        return found


FIRST_STAGE_SCOPE = "FirstStageFeatureExtractor"
SECOND_STAGE_SCOPE = "SecondStageFeatureExtractor"


def check_image_side(name: str, pixels: tf.Tensor, smallest: int) -> None:
    """Refuses images that a network cannot see, as far as the size is known when tracing.

    Raises:
        ValueError: if the static height or width is under `smallest`.
    """
    for axis, what in ((1, "height"), (2, "width")):
        size = pixels.shape[axis]
        if size is not None and size < smallest:
            raise ValueError(f"{name}: image {what} after resizing must be at least {smallest} "
                             f"pixels, got {size}; raise the size in image_resizer")
