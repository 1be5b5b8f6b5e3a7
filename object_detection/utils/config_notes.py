"""What there is to say about single config fields: ignored, removed, or of another model family."""

_PACKAGE = "object_detection.protos."
_QUEUES = "is ignored: it belonged to the input queues of TensorFlow 1"

# Fields that are read without error and change nothing, or that have a successor.
_NO_EFFECT = {
    "TrainConfig.from_detection_checkpoint":
        "is the old form of fine_tune_checkpoint_type (true: \"detection\", false: "
        "\"classification\"); it is still read where that is not set",
    "TrainConfig.sync_replicas": "is ignored: replicas always work in step",
    "TrainConfig.replicas_to_aggregate": "is ignored: all replicas are aggregated",
    "TrainConfig.startup_delay_steps": "is ignored: replicas start together",
    "TrainConfig.run_fine_tune_checkpoint_dummy_computation":
        "is ignored: the network is always built before a checkpoint is read",
    "TrainConfig.batch_queue_capacity": _QUEUES,
    "TrainConfig.num_batch_queue_threads": _QUEUES,
    "TrainConfig.prefetch_queue_capacity": _QUEUES,
    "TrainConfig.max_number_of_boxes":
        "is ignored: max_number_of_boxes of train_input_reader decides",
    "EvalConfig.num_examples": "is ignored: an evaluation goes over its whole input",
    "EvalConfig.max_evals": "is ignored: the command decides how often to evaluate",
    "EvalConfig.save_graph": "is ignored: TensorFlow 2 has no graph file",
    "EvalConfig.eval_master": "is ignored: TensorFlow 2 has no session address",
    "EvalConfig.eval_instance_masks":
        "is ignored, as in the original: name a mask metric in metrics_set instead",
    "InputReader.queue_capacity": _QUEUES,
    "InputReader.min_after_dequeue": _QUEUES,
    "InputReader.prefetch_size": "is ignored: num_prefetch_batches decides",
    "InputReader.num_parallel_map_calls": "is ignored: num_parallel_batches decides",
    "FasterRcnn.inplace_batchnorm_update":
        "is ignored: batch statistics are always updated in the training step",
}

# Fields that the OD API had once, by the history of its messages.
_REMOVED = {
    "FasterRcnn.first_stage_only":
        "removed in 2018; write number_of_stages: 1 for proposals only",
    "InputReader.prefetch_buffer_size": "removed in 2018; write num_prefetch_batches",
    "SSDRandomCropPadFixedAspectRatioOperation.min_padded_size_ratio":
        "removed in 2018; set it in ssd_random_crop_pad_fixed_aspect_ratio, beside operations",
    "SSDRandomCropPadFixedAspectRatioOperation.max_padded_size_ratio":
        "removed in 2018; set it in ssd_random_crop_pad_fixed_aspect_ratio, beside operations",
    "ConvolutionalBoxPredictor.mask_head": "removed in 2018; delete it",
    "WeightSharedConvolutionalBoxPredictor.mask_head": "removed in 2018; delete it",
    "CalibrationConfig.label_function_approximations":
        "removed in 2019; class_id_function_approximations takes class ids in place of names",
    "CalibrationConfig.label_sigmoid_calibrations":
        "removed in 2019; class_id_sigmoid_calibrations takes class ids in place of names",
}

_OTHER_FAMILIES = ("ssd", "center_net", "experimental_model")
FAMILY_ERROR = "this project builds faster_rcnn models (Faster R-CNN, Mask R-CNN, R-FCN)"


def no_effect(message: str, field: str) -> str | None:
    """What to warn of if `field` of the message of this full name is set; None if nothing."""
    return _NO_EFFECT.get(f"{message.removeprefix(_PACKAGE)}.{field}")


def removed_field(message: str, field: str) -> str | None:
    """What became of a field that the message once had; None if it never had it."""
    return _REMOVED.get(f"{message.removeprefix(_PACKAGE)}.{field}")


def other_family(message: str, field: str) -> str | None:
    """The refusal if a field of `DetectionModel` chooses a family that is not built here."""
    if message == _PACKAGE + "DetectionModel" and field in _OTHER_FAMILIES:
        return FAMILY_ERROR
    return None


def oneof_advice(message: str) -> str:
    """What to write instead of two members of a oneof, where there is something to say."""
    if message == _PACKAGE + "PreprocessingStep":
        return "; write one data_augmentation_options block per step to have both"
    return ""
