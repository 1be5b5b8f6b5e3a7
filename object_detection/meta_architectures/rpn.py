"""Region proposal network: is there an object at this anchor, and where exactly?

Ren et al., Faster R-CNN (arXiv:1506.01497), section 3.1.
"""

import dataclasses

import tensorflow as tf

from object_detection.core import box_ops
from object_detection.core.anchor_generator import AnchorGenerator
from object_detection.core.structures import RpnOutput
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import VariableStore
from object_detection.predictors.convolutional_box_predictor import ConvolutionalBoxPredictor

PREDICTOR_SCOPE = "FirstStageBoxPredictor"


@dataclasses.dataclass(frozen=True)
class RegionProposalNetwork:
    """One convolution over each map, then objectness and box encodings for the cell's anchors.

    Attributes:
        depth, kernel_size, atrous_rate: of the convolution.
        hyperparams: of the convolution.
        predictor: the two convolutions after it.
        anchor_generator: places the anchors on the maps.
        predictor_per_level: each map has a predictor of its own, `BoxPredictor_<index>`; the
            convolution before it is always shared.
        stride: of the convolution: cells between anchors.
    """

    depth: int
    kernel_size: int
    atrous_rate: int
    hyperparams: Hyperparams
    predictor: ConvolutionalBoxPredictor
    anchor_generator: AnchorGenerator
    predictor_per_level: bool = False
    stride: int = 1

    def predict(self, store: VariableStore, maps: list[tf.Tensor], height: int | tf.Tensor,
                width: int | tf.Tensor) -> RpnOutput:
        """Predicts for all anchors, in the order of the maps.

        Args:
            maps: float [B, h, w, depth] each.
            height, width: of the padded network input in pixels.
        Raises:
            ValueError: if the anchors are for another number of maps.
        """
        per_cell = self.anchor_generator.num_anchors_per_location()
        encodings, objectness, features = [], [], []
        if len(per_cell) != len(maps):
            raise ValueError(f"first_stage_anchor_generator: has anchors for {len(per_cell)} maps, "
                             f"but the feature extractor gives {len(maps)}; give both the same "
                             "levels")
        for level, (feature_map, num_anchors) in enumerate(zip(maps, per_cell)):
            with store.scope(), self.hyperparams.arg_scope():
                features.append(layers.conv2d(feature_map, self.depth, self.kernel_size,
                                              stride=self.stride, rate=self.atrous_rate,
                                              scope="Conv"))
            with store.scope(self._predictor_scope(level)):
                boxes, logits = self.predictor.predict(features[-1], num_anchors)
            encodings.append(boxes)
            objectness.append(logits)
        anchors = self.anchor_generator.generate(
            [_map_shape(feature_map) for feature_map in features], height, width)
        return RpnOutput(tf.concat(encodings, axis=1), tf.concat(objectness, axis=1),
                         tf.concat(anchors, axis=0), tuple(features))

    def _predictor_scope(self, level: int) -> str:
        return f"{PREDICTOR_SCOPE}/BoxPredictor_{level}" if self.predictor_per_level else (
            PREDICTOR_SCOPE)


def clip_anchors(output: RpnOutput, window: tf.Tensor) -> RpnOutput:
    """Cuts anchors at the window [4]; their number stays."""
    return output._replace(anchors=box_ops.clip_to_window(output.anchors, window))


def drop_crossing_anchors(output: RpnOutput, window: tf.Tensor) -> RpnOutput:
    """Drops the anchors that leave the window [4], with their predictions."""
    kept = tf.where(box_ops.inside_window_mask(output.anchors, window))[:, 0]
    return output._replace(
        anchors=tf.gather(output.anchors, kept),
        box_encodings=tf.gather(output.box_encodings, kept, axis=1),
        objectness=tf.gather(output.objectness, kept, axis=1))


def _map_shape(feature_map: tf.Tensor) -> tuple[int | tf.Tensor, int | tf.Tensor]:
    dynamic = tf.shape(feature_map)
    height, width = feature_map.shape[1:3]
    return (dynamic[1] if height is None else height, dynamic[2] if width is None else width)
