"""The dictionary that `predict` hands to `postprocess` and `loss`, under the names users know."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core.resizers import Resizer
from object_detection.core.structures import HeadOutput, ImageExtent, Proposals, RpnOutput

Predictions = dict[str, tf.Tensor]

# Keys of a prediction dictionary that are results already, as three stages give them.
_RESULTS = ("detection_", "raw_detection_", "num_detections")


def of_rpn(shape: tf.Tensor, maps: Sequence[tf.Tensor], output: RpnOutput) -> Predictions:
    """Returns what the first stage predicts.

    Args:
        shape: int32 [4] of the network input.
        maps: the maps regions are cropped from; one is given as it is, several as a list.
    """
    return {
        "image_shape": shape, "rpn_box_predictor_features": _alone_or_list(output.features),
        "rpn_features_to_crop": _alone_or_list(maps), "rpn_box_encodings": output.box_encodings,
        "rpn_objectness_predictions_with_background": output.objectness,
        "anchors": output.anchors}


def rpn_output(predictions: Predictions) -> RpnOutput:
    """Returns what the first stage said, as `of_rpn` put it in."""
    return RpnOutput(predictions["rpn_box_encodings"],
                     predictions["rpn_objectness_predictions_with_background"],
                     predictions["anchors"],
                     tuple(_as_list(predictions["rpn_box_predictor_features"])))


def maps_to_crop(predictions: Predictions) -> list[tf.Tensor]:
    """Returns the maps regions are cropped from, as a list even if it is one."""
    return _as_list(predictions["rpn_features_to_crop"])


def head_output(predictions: Predictions) -> HeadOutput:
    """Returns what the heads of the second stage said."""
    return HeadOutput(predictions["refined_box_encodings"],
                      predictions["class_predictions_with_background"])


def proposals(predictions: Predictions) -> Proposals:
    """Returns the regions of the second stage; their scores are not in the dictionary (zeros)."""
    boxes = predictions["proposal_boxes"]
    return Proposals(boxes, tf.zeros(tf.shape(boxes)[:2]), predictions["num_proposals"])


def results(predictions: Predictions) -> Predictions:
    """Returns the entries that are detections already; none with two stages."""
    return {key: value for key, value in predictions.items() if key.startswith(_RESULTS)}


def extent(shape: tf.Tensor, true_shapes: tf.Tensor, resizer: Resizer) -> ImageExtent:
    """Returns where images that `resizer` made lie in a network input of int32 [4] shape."""
    return ImageExtent(true_shapes, tf.cast(shape[1:3], tf.float32),
                       resizer.window(true_shapes, shape[1], shape[2]))


def _alone_or_list(tensors: Sequence[tf.Tensor]) -> tf.Tensor | list[tf.Tensor]:
    return tensors[0] if len(tensors) == 1 else list(tensors)


def _as_list(tensors: tf.Tensor | Sequence[tf.Tensor]) -> list[tf.Tensor]:
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]
