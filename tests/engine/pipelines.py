"""A small pipeline with records of its own, for tests of whole runs."""

import numpy as np
import tensorflow as tf
from engine import fake_model
from google.protobuf import text_format

from object_detection import inputs
from object_detection.builders import model_builder
from object_detection.protos import pipeline_pb2

_TEXT = """
model { faster_rcnn {
  num_classes: 2
  image_resizer { identity_resizer {} }
  feature_extractor { type: "faster_rcnn_mobilenet_v1" first_stage_features_stride: 16 }
  first_stage_anchor_generator { grid_anchor_generator {
    scales: [0.1, 0.2] aspect_ratios: [1.0] height_stride: 16 width_stride: 16 } }
  first_stage_box_predictor_conv_hyperparams {
    regularizer { l2_regularizer { weight: 0.001 } }
    initializer { truncated_normal_initializer { stddev: 0.01 } } }
  first_stage_max_proposals: 8
  initial_crop_size: 14
  maxpool_kernel_size: 2
  maxpool_stride: 2
  second_stage_batch_size: 8
  second_stage_box_predictor { mask_rcnn_box_predictor { fc_hyperparams {
    op: FC
    regularizer { l2_regularizer { weight: 0.001 } }
    initializer { variance_scaling_initializer { factor: 1.0 uniform: true mode: FAN_AVG } } } } }
  second_stage_post_processing {
    batch_non_max_suppression {
      iou_threshold: 0.6 max_detections_per_class: 5 max_total_detections: 6 }
    score_converter: SOFTMAX }
} }
train_config {
  batch_size: 2
  num_steps: 4
  optimizer {
    momentum_optimizer { learning_rate { constant_learning_rate { learning_rate: 0.1 } } }
    use_moving_average: true
    moving_average_decay: 0.5
  }
}
train_input_reader {
  tf_record_input_reader { input_path: "%(folder)s/train.record" }
  label_map_path: "%(folder)s/labels.pbtxt"
}
eval_config { include_metrics_per_category: true }
eval_input_reader {
  tf_record_input_reader { input_path: "%(folder)s/val.record" }
  label_map_path: "%(folder)s/labels.pbtxt"
}
"""


def write(folder, images=6):
    """Writes records and a label map; returns the pipeline config."""
    with open(f"{folder}/labels.pbtxt", "w") as file:
        file.write('item { id: 1 name: "cat" }\nitem { id: 2 name: "dog" }\n')
    for name, number in (("train", images), ("val", 3)):
        with tf.io.TFRecordWriter(f"{folder}/{name}.record") as writer:
            for index in range(number):
                writer.write(example(f"{name}_{index}", index % 2).SerializeToString())
    return text_format.Parse(_TEXT % {"folder": folder}, pipeline_pb2.TrainEvalPipelineConfig())


def example(source_id, index):
    """Returns a tf.Example with one object of class `index` (from 0): bright cats, dark dogs."""
    image = np.full([8, 8, 3], 250 if index == 0 else 5, np.uint8)

    def feature(kind, values):
        lists = {"bytes": tf.train.BytesList, "int64": tf.train.Int64List,
                 "float": tf.train.FloatList}
        return tf.train.Feature(**{f"{kind}_list": lists[kind](value=values)})

    return tf.train.Example(features=tf.train.Features(feature={
        "image/encoded": feature("bytes", [tf.io.encode_png(image).numpy()]),
        "image/format": feature("bytes", [b"png"]),
        "image/source_id": feature("bytes", [source_id.encode()]),
        "image/height": feature("int64", [8]), "image/width": feature("int64", [8]),
        "image/object/bbox/ymin": feature("float", [0.25]),
        "image/object/bbox/xmin": feature("float", [0.25]),
        "image/object/bbox/ymax": feature("float", [0.75]),
        "image/object/bbox/xmax": feature("float", [0.75]),
        "image/object/class/label": feature("int64", [index + 1])}))


def use_fake_model(monkeypatch):
    """Makes the model builder give the fake model, with the config's number of classes."""
    monkeypatch.setitem(model_builder.META_ARCH_BUILDER_MAP, "faster_rcnn",
                        lambda config, is_training: fake_model.FakeModel(config.num_classes))


def use_fake_inputs(monkeypatch):
    """Makes inputs give ready batches: building a real pipeline takes seconds."""
    def train_input(train_config, reader, model_config, model, params, context):
        size = train_config.batch_size
        if context is not None:
            size = context.get_per_replica_batch_size(size)
        return tf.data.Dataset.from_tensors(fake_model.batch(images=size)).repeat()

    def eval_input(eval_config, reader, model_config, model, params):
        return tf.data.Dataset.from_tensors(fake_model.batch(images=3))

    monkeypatch.setattr(inputs, "train_input", train_input)
    monkeypatch.setattr(inputs, "eval_input", eval_input)
