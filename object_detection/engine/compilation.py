"""Whether a pipeline can be compiled with XLA: every shape must be known beforehand.

XLA makes one program for one set of shapes. A step that draws as many anchors, boxes or pixels as
the image happens to have cannot be compiled, or is compiled anew for each image. What has to be
set instead is said before anything is built.
"""

from collections.abc import Sequence

from object_detection.builders import image_resizer_builder
from object_detection.engine import batches
from object_detection.protos import faster_rcnn_pb2, pipeline_pb2

_REMEDY = "or train without jit_compile"
_RESIZER = ("model.faster_rcnn.image_resizer: fixed_shape_resizer, or keep_aspect_ratio_resizer "
            "with pad_to_max_dimension: true")


def check_training(pipeline: pipeline_pb2.TrainEvalPipelineConfig) -> None:
    """Raises ValueError, naming all fields to set, if the training step cannot be compiled."""
    model = pipeline.model.faster_rcnn
    keeps_anchors = model.HasField("matterport") or model.HasField("torchvision")
    anchors = [] if keeps_anchors else ["clip_anchors_to_image"]
    wrong = _unset(model, ["use_static_shapes", *_cropping(model), *anchors])
    if not pipeline.train_input_reader.drop_remainder:
        wrong.append("train_input_reader.drop_remainder: true")
    _refuse(wrong)


def check_inference(pipeline: pipeline_pb2.TrainEvalPipelineConfig) -> None:
    """Raises ValueError, naming all fields to set, if inference cannot be compiled."""
    model = pipeline.model.faster_rcnn
    wrong = _unset(model, ["use_static_shapes", "use_static_shapes_for_eval", *_cropping(model)])
    if model.HasField("image_resizer") and (
            image_resizer_builder.build(model.image_resizer).fixed_size is None):
        wrong.append(_RESIZER)
    nms = model.second_stage_post_processing.batch_non_max_suppression
    if model.number_of_stages > 1 and not nms.use_static_shapes:
        wrong.append("model.faster_rcnn.second_stage_post_processing.batch_non_max_suppression."
                     "use_static_shapes: true")
    if pipeline.eval_config.force_no_resize:
        wrong.append("eval_config.force_no_resize: false")
    _refuse(wrong)


def check_batches(element_spec: tuple) -> None:
    """Raises ValueError if batches of an input differ in shape, naming what to set.

    Args:
        element_spec: features and labels, as `tf.data` describes them.
    """
    batch = batches.to_tensors(*element_spec)
    wrong = []
    if not batch.images.shape[1:].is_fully_defined():
        wrong.append(_RESIZER)
    if batch.images.shape[0] is None:
        wrong.append("train_input_reader.drop_remainder: true")
    if not wrong and not batch.boxes.shape.is_fully_defined():
        wrong.append("train_input_reader.max_number_of_boxes: the most objects of an image")
    _refuse(wrong)


def _cropping(model: faster_rcnn_pb2.FasterRcnn) -> list[str]:
    """Only crop-and-resize from a single map has no form of its own for static shapes."""
    other_ways = (model.number_of_stages == 1 or model.HasField("matterport")
                  or "_fpn" in model.feature_extractor.type
                  or model.region_pooling.kind == faster_rcnn_pb2.RegionPooling.ROI_ALIGN
                  or model.second_stage_box_predictor.HasField("rfcn_box_predictor"))
    return [] if other_ways else ["use_matmul_crop_and_resize"]


def _unset(model: faster_rcnn_pb2.FasterRcnn, fields: Sequence[str]) -> list[str]:
    return [f"model.faster_rcnn.{field}: true" for field in fields if not getattr(model, field)]


def _refuse(wrong: Sequence[str]) -> None:
    if wrong:
        raise ValueError("jit_compile needs shapes that are known beforehand; set "
                         f"{'; '.join(wrong)}; {_REMEDY}")
