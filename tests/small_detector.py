"""A detector small enough to build and run in a second or two."""

from google.protobuf import text_format

from object_detection.protos import model_pb2

_TEXT = """
faster_rcnn {
  number_of_stages: 2
  num_classes: 2
  image_resizer { fixed_shape_resizer { height: 64 width: 64 } }
  feature_extractor { type: "faster_rcnn_mobilenet_v1" depth_multiplier: 0.25 min_depth: 8 }
  first_stage_anchor_generator {
    grid_anchor_generator { scales: [0.1, 0.2] aspect_ratios: [1.0] }
  }
  first_stage_box_predictor_conv_hyperparams {
    initializer { truncated_normal_initializer { stddev: 0.01 } }
  }
  first_stage_box_predictor_depth: 16
  first_stage_max_proposals: 8
  clip_anchors_to_image: true
  initial_crop_size: 4
  maxpool_kernel_size: 2
  maxpool_stride: 2
  second_stage_batch_size: 4
  second_stage_box_predictor {
    mask_rcnn_box_predictor {
      fc_hyperparams { op: FC initializer { truncated_normal_initializer { stddev: 0.01 } } }
      conv_hyperparams { initializer { truncated_normal_initializer { stddev: 0.01 } } }
      mask_height: 5 mask_width: 5 mask_prediction_conv_depth: 4
    }
  }
  second_stage_post_processing {
    batch_non_max_suppression {
      iou_threshold: 0.6 max_detections_per_class: 3 max_total_detections: 5
    }
    score_converter: SOFTMAX
  }
}
"""


def config(stages: int = 2, changes: str = "") -> model_pb2.DetectionModel:
    """Returns a model config for 64x64 images and two classes, changed by merging a text proto.

    Args:
        stages: 1, 2 or 3; with 3 there is a mask head.
        changes: text of a FasterRcnn message.
    """
    message = text_format.Parse(_TEXT, model_pb2.DetectionModel())
    detector = message.faster_rcnn
    detector.number_of_stages = stages
    predictor = detector.second_stage_box_predictor.mask_rcnn_box_predictor
    predictor.predict_instance_masks = stages == 3
    text_format.Merge(changes, detector)
    return message
