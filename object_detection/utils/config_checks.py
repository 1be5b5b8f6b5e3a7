"""Checks a parsed pipeline config for values that contradict each other. Needs no TensorFlow."""

from typing import Any

from object_detection.utils import config_notes
from object_detection.utils.config_text import ConfigError

_CHECKPOINT_TYPES = ("", "classification", "detection", "full", "fine_tune")


class _Report:
    def __init__(self) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []


def validate(pipeline: Any) -> list[str]:
    """Checks a `TrainEvalPipelineConfig`; parts that are not set are left out.

    Returns:
        Warnings: settings that work, but hardly as meant.
    Raises:
        ConfigError: lists every contradiction, with the names and values of the fields.
    """
    report = _Report()
    if pipeline.HasField("model"):
        _check_model(pipeline.model, report)
    if pipeline.HasField("train_config"):
        _check_training(pipeline.train_config, report)
    readers = [("train_input_reader", pipeline.train_input_reader)] if pipeline.HasField(
        "train_input_reader") else []
    readers += [(f"eval_input_reader[{index}]", reader)
                for index, reader in enumerate(pipeline.eval_input_reader)]
    for path, reader in readers:
        _check_reader(path, reader, report)
    _check_together(pipeline, readers, report)
    if report.errors:
        raise ConfigError("\n".join(report.errors))
    return report.warnings


def _check_model(model: Any, report: _Report) -> None:
    family = model.WhichOneof("model")
    if family != "faster_rcnn":
        report.errors.append(f"model.{family or '<none>'}: {config_notes.FAMILY_ERROR}")
        return
    rcnn, path = model.faster_rcnn, "model.faster_rcnn"
    if rcnn.number_of_stages not in (1, 2, 3):
        report.errors.append(f"{path}.number_of_stages: want 1, 2 or 3, got "
                             f"{rcnn.number_of_stages}")
    if rcnn.num_classes < 1:
        report.errors.append(f"{path}.num_classes: want 1 or more, got {rcnn.num_classes}")
    if not rcnn.feature_extractor.type:
        report.errors.append(f"{path}.feature_extractor.type is not set")
    _check_extractor(rcnn.feature_extractor, f"{path}.feature_extractor", report)
    _check_resizer(rcnn.image_resizer, f"{path}.image_resizer", report)
    if rcnn.first_stage_max_proposals < 1:
        report.errors.append(f"{path}.first_stage_max_proposals: want 1 or more, got "
                             f"{rcnn.first_stage_max_proposals}")
    if rcnn.number_of_stages > 1:
        _check_second_stage(rcnn, path, report)


def _check_extractor(extractor: Any, path: str, report: _Report) -> None:
    """Names what a network that is not built from conv_hyperparams does not take from it."""
    if "_fpn" in extractor.type:
        return
    given = extractor.conv_hyperparams
    used = {"op", "regularizer", "batch_norm"}
    unused = [field.name for field, _ in given.ListFields() if field.name not in used]
    if unused:
        report.warnings.append(
            f"{path}.conv_hyperparams: {', '.join(unused)} will have no effect; {extractor.type} "
            "has its own, and takes only the regularizer and, with override_base_feature_extractor_"
            "hyperparams, decay and epsilon of batch_norm")
    elif given.HasField("batch_norm") and not (
            extractor.override_base_feature_extractor_hyperparams):
        report.warnings.append(f"{path}.conv_hyperparams.batch_norm will have no effect; set "
                               "override_base_feature_extractor_hyperparams: true to use it")


def _check_resizer(resizer: Any, path: str, report: _Report) -> None:
    kind = resizer.WhichOneof("image_resizer_oneof")
    if kind is None:
        choices = [field.name for field in resizer.DESCRIPTOR.fields]
        report.errors.append(f"{path}: set one of {', '.join(choices)}")
    elif kind == "keep_aspect_ratio_resizer":
        low = resizer.keep_aspect_ratio_resizer.min_dimension
        high = resizer.keep_aspect_ratio_resizer.max_dimension
        if not 0 < low <= high:
            report.errors.append(f"{path}.{kind}: want 0 < min_dimension <= max_dimension, got "
                                 f"min_dimension {low} and max_dimension {high}")
    elif kind == "fixed_shape_resizer":
        height, width = resizer.fixed_shape_resizer.height, resizer.fixed_shape_resizer.width
        if height < 1 or width < 1:
            report.errors.append(f"{path}.{kind}: want height and width above 0, got {height} and "
                                 f"{width}")


def _check_second_stage(rcnn: Any, path: str, report: _Report) -> None:
    if rcnn.second_stage_batch_size > rcnn.first_stage_max_proposals:
        report.errors.append(
            f"{path}.second_stage_batch_size is {rcnn.second_stage_batch_size}, above "
            f"first_stage_max_proposals, which is {rcnn.first_stage_max_proposals}: set it to "
            f"{rcnn.first_stage_max_proposals} or less, or raise first_stage_max_proposals")
    nms = rcnn.second_stage_post_processing.batch_non_max_suppression
    where = f"{path}.second_stage_post_processing.batch_non_max_suppression"
    if nms.max_detections_per_class > nms.max_total_detections:
        report.errors.append(
            f"{where}: max_detections_per_class is {nms.max_detections_per_class}, above "
            f"max_total_detections, which is {nms.max_total_detections}")
    if nms.use_combined_nms and nms.use_class_agnostic_nms:
        report.errors.append(f"{where}: use_combined_nms and use_class_agnostic_nms exclude each "
                             "other")
    predictor, where = rcnn.second_stage_box_predictor, f"{path}.second_stage_box_predictor"
    kind = predictor.WhichOneof("box_predictor_oneof")
    if kind not in ("mask_rcnn_box_predictor", "rfcn_box_predictor"):
        report.errors.append(f"{where}: set mask_rcnn_box_predictor or rfcn_box_predictor, got "
                             f"{kind or 'none of them'}")
    elif kind == "rfcn_box_predictor":
        _check_rfcn(predictor.rfcn_box_predictor, f"{where}.{kind}", report)
    else:
        _check_mask_rcnn(rcnn, predictor.mask_rcnn_box_predictor, f"{where}.{kind}", report)
    if rcnn.number_of_stages == 3 and kind == "rfcn_box_predictor":
        report.errors.append(f"{path}.number_of_stages is 3, but rfcn_box_predictor has no masks")


def _check_rfcn(head: Any, path: str, report: _Report) -> None:
    for crop, bins in (("crop_height", "num_spatial_bins_height"),
                       ("crop_width", "num_spatial_bins_width")):
        if getattr(head, bins) < 1 or getattr(head, crop) % getattr(head, bins):
            report.errors.append(f"{path}.{crop} is {getattr(head, crop)}, want a multiple of "
                                 f"{bins}, which is {getattr(head, bins)}")


def _check_mask_rcnn(rcnn: Any, head: Any, path: str, report: _Report) -> None:
    if head.predict_keypoints:
        report.errors.append(f"{path}.predict_keypoints: this family predicts no keypoints")
    if rcnn.number_of_stages == 3 and not head.predict_instance_masks:
        report.errors.append(
            f"model.faster_rcnn.number_of_stages is 3, but {path}.predict_instance_masks is false: "
            "set it to true, or number_of_stages to 2")
    if head.predict_instance_masks and not head.HasField("conv_hyperparams"):
        report.errors.append(f"{path}.conv_hyperparams is not set; the mask branch needs it")


def _check_training(config: Any, report: _Report) -> None:
    if config.batch_size < 1:
        report.errors.append("train_config.batch_size: want 1 or more, got 0")
    if config.fine_tune_checkpoint_type not in _CHECKPOINT_TYPES:
        report.errors.append(
            f"train_config.fine_tune_checkpoint_type: want one of "
            f"{', '.join(_CHECKPOINT_TYPES[1:])}, got {config.fine_tune_checkpoint_type!r}")
    kind = config.optimizer.WhichOneof("optimizer")
    if kind is None:
        return
    rate = getattr(config.optimizer, kind).learning_rate
    shape = rate.WhichOneof("learning_rate")
    path = f"train_config.optimizer.{kind}.learning_rate.{shape}"
    if shape == "cosine_decay_learning_rate":
        _check_cosine(rate.cosine_decay_learning_rate, config.num_steps, path, report)
    elif shape == "manual_step_learning_rate":
        _check_manual(rate.manual_step_learning_rate, path, report)


def _check_cosine(rate: Any, num_steps: int, path: str, report: _Report) -> None:
    if rate.warmup_steps > rate.total_steps:
        report.errors.append(f"{path}: warmup_steps is {rate.warmup_steps}, above total_steps, "
                             f"which is {rate.total_steps}")
    if rate.warmup_steps and rate.warmup_learning_rate > rate.learning_rate_base:
        report.errors.append(
            f"{path}: warmup_learning_rate is {rate.warmup_learning_rate:.6g}, above "
            f"learning_rate_base, which is {rate.learning_rate_base:.6g}; a warm-up rises")
    if num_steps and rate.total_steps > num_steps:
        report.warnings.append(
            f"{path}.total_steps is {rate.total_steps}, but train_config.num_steps is {num_steps}: "
            "training ends before the rate has come down")
    elif num_steps > rate.total_steps:
        report.warnings.append(
            f"{path}.total_steps is {rate.total_steps}, but train_config.num_steps is {num_steps}: "
            f"the rate is zero from step {rate.total_steps} on")


def _check_manual(rate: Any, path: str, report: _Report) -> None:
    steps = [entry.step for entry in rate.schedule]
    for before, after in zip(steps, steps[1:]):
        if after <= before:
            report.errors.append(f"{path}.schedule: steps must rise, got {before} and then {after}")


def _check_reader(path: str, reader: Any, report: _Report) -> None:
    paths = reader.tf_record_input_reader.input_path
    weights = reader.sample_from_datasets_weights
    if len(weights) and len(weights) != len(paths):
        report.errors.append(
            f"{path}: sample_from_datasets_weights has {len(weights)} values for {len(paths)} "
            "input_path; want one for each")
    if reader.sample_1_of_n_examples < 1:
        report.errors.append(f"{path}.sample_1_of_n_examples: want 1 or more, got 0")


def _check_together(pipeline: Any, readers: list[tuple[str, Any]], report: _Report) -> None:
    """Checks settings that lie in different parts of the config."""
    head = pipeline.model.faster_rcnn.second_stage_box_predictor.mask_rcnn_box_predictor
    for path, reader in readers:
        if head.predict_instance_masks and not reader.load_instance_masks:
            report.warnings.append(
                f"{path}.load_instance_masks is false, but the model predicts masks: it cannot be "
                "trained or measured on this input")
    training = pipeline.train_config
    if (pipeline.eval_config.use_moving_averages and training.HasField("optimizer")
            and not training.optimizer.use_moving_average):
        report.warnings.append(
            "eval_config.use_moving_averages is true, but "
            "train_config.optimizer.use_moving_average is false: there are no averages to evaluate")
