"""Evaluates weights by name: builds a second model once, then scores as often as asked."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from absl import logging

from object_detection import eval_util, inputs
from object_detection.builders import model_builder
from object_detection.core.model import DetectionModel
from object_detection.core.standard_fields import DetectionResultFields
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine import (
    checkpoints,
    compilation,
    events,
    metrics_file,
    weight_files,
)
from object_detection.engine.evaluator import EvaluationSettings, Evaluator
from object_detection.engine.run_config import RunConfig
from object_detection.metrics import coco_tools
from object_detection.protos import eval_pb2, input_reader_pb2, pipeline_pb2
from object_detection.utils import label_map_util, visualization_utils

_AVERAGE = "/ExponentialMovingAverage"


@dataclasses.dataclass(frozen=True)
class _Input:
    """One evaluation set."""

    name: str  # also the folder of its events
    dataset: tf.data.Dataset
    evaluator: Evaluator
    categories: list[dict]


class Evaluation:
    """All evaluation sets of a pipeline, scored with one model that is not trained."""

    def __init__(self, pipeline: pipeline_pb2.TrainEvalPipelineConfig, run: RunConfig) -> None:
        """Builds model and inputs; what is wrong with label maps, metrics and files shows here.

        Raises:
            ValueError: if there is no evaluation input, or a setting cannot be followed.
        """
        self._pipeline = pipeline
        self._run = run
        if pipeline.eval_config.ignore_groundtruth:
            raise ValueError("eval_config.ignore_groundtruth: evaluation here always compares with "
                             "ground truth; to look at detections alone use scripts/detect.py")
        if run.compiles(pipeline):
            compilation.check_inference(pipeline)
        readers = readers_of(pipeline, run)
        metrics = [_evaluators(pipeline.eval_config, reader) for _, reader in readers]
        self.model = model_builder.build(pipeline.model, is_training=False)
        self._inputs = [self._input(name, reader, *parts)
                        for (name, reader), parts in zip(readers, metrics)]

    def needed(self, held: Mapping) -> dict[str, str]:
        """Returns, by variable name, the name to read it under from a checkpoint or snapshot.

        Raises:
            CheckpointError: if moving averages are asked for and `held` has none.
        """
        names = {name: name for name in self.model.variables_by_name}
        if not self._pipeline.eval_config.use_moving_averages:
            return names
        averaged = {name: name + _AVERAGE for name in names if name + _AVERAGE in held}
        if not averaged:
            raise checkpoints.CheckpointError(
                "eval_config.use_moving_averages is true but there are no moving averages; set it "
                "to false, or train with optimizer.use_moving_average: true")
        return {**names, **averaged}

    def run(self, values: checkpoints.Values, step: int) -> dict[str, dict[str, float]]:
        """Scores weights given by name; prints tables, writes events and metrics.json.

        Args:
            values: weights, and moving averages if those are evaluated; more does not matter.
        Returns:
            Metrics by name, by name of the evaluation set.
        """
        assign(self.model, {name: values[source]
                            for name, source in self.needed(values).items() if source in values})
        results = {}
        for one in self._inputs:
            results[one.name] = self._score(one, step)
        return results

    def run_checkpoint(self, prefix: str) -> dict[str, dict[str, float]]:
        """Scores the weights in a file, of any kind that `weight_files` opens.

        Raises:
            CheckpointError: if it does not fit.
        """
        file = weight_files.open_file(prefix, self.model)
        sources = self.needed(file.shapes)
        variables = {sources[name]: variable
                     for name, variable in self.model.variables_by_name.items()}
        checkpoints.check_fits(prefix, file.shapes, variables, list(variables))
        return self.run(file.read(list(variables)), weight_files.step_of(prefix))

    def _score(self, one: _Input, step: int) -> dict[str, float]:
        pictures = self._pictures(one)
        metrics = one.evaluator.run(one.dataset, pictures.add)
        print(f"Evaluation of {one.name} at step {step}\n{one.evaluator.report()}", flush=True)
        if self._run.record_summaries:
            file = events.EventFile(f"{self._run.model_dir}/{one.name}")
            file.scalars({name: value for name, value in metrics.items()
                          if value != coco_tools.NO_GROUND_TRUTH}, step)
            file.images("Detections_Left_Groundtruth_Right", pictures.images, step)
            file.close()
        metrics_file.append(self._run.model_dir, one.name, step, metrics)
        return metrics

    def _input(self, name: str, reader: input_reader_pb2.InputReader, evaluators: list,
               categories: list[dict]) -> _Input:
        config = self._pipeline.eval_config
        path = config.export_path or f"{self._run.model_dir}/{name}/detections_"
        settings = EvaluationSettings(name=name, detections_path=path,
                                      compute_losses=not config.use_dummy_loss_in_eval,
                                      jit_compile=self._run.compiles(self._pipeline))
        dataset = inputs.eval_input(config, reader, self._pipeline.model, model=self.model,
                                    params=self._run.input_params())
        return _Input(name, dataset, Evaluator(self.model, evaluators, settings), categories)

    def _pictures(self, one: _Input) -> "_Pictures":
        config = self._pipeline.eval_config
        limit = config.num_visualizations if self._run.record_summaries else 0
        return _Pictures(one.categories, limit, config.max_num_boxes_to_visualize or None,
                         config.min_score_threshold)


class _Pictures:
    """Draws the first images of a set: detections left, ground truth right."""

    def __init__(self, categories: list[dict], limit: int, max_boxes: int | None,
                 min_score: float) -> None:
        self._index = label_map_util.create_category_index(categories)
        self._limit = limit
        self._max_boxes = max_boxes
        self._min_score = min_score
        self.images: list[np.ndarray] = []

    def add(self, features: dict, truth: dict, found: dict) -> None:
        """Keeps a picture of one image while there is room and the image was retained."""
        if len(self.images) >= self._limit or Fields.original_image not in features:
            return
        size = features[Fields.original_image_spatial_shape]
        image = features[Fields.original_image][:size[0], :size[1]]
        names = DetectionResultFields
        left = visualization_utils.visualize_boxes_and_labels_on_image_array(
            np.array(image), found[names.detection_boxes], found[names.detection_classes],
            found[names.detection_scores], self._index,
            instance_masks=found.get(names.detection_masks), max_boxes_to_draw=self._max_boxes,
            min_score_thresh=self._min_score)
        right = visualization_utils.visualize_boxes_and_labels_on_image_array(
            np.array(image), truth[Fields.groundtruth_boxes],
            truth[Fields.groundtruth_classes], None, self._index,
            instance_masks=truth.get(Fields.groundtruth_instance_masks), max_boxes_to_draw=None)
        self.images.append(np.concatenate([left, right], axis=1))


def readers_of(pipeline: pipeline_pb2.TrainEvalPipelineConfig,
               run: RunConfig) -> list[tuple[str, input_reader_pb2.InputReader]]:
    """Returns name and reader of each evaluation set; the training set if that is asked for.

    Raises:
        ValueError: if the pipeline has no evaluation input.
    """
    if run.eval_training_data:
        reader = input_reader_pb2.InputReader()
        reader.CopyFrom(pipeline.train_input_reader)
        reader.sample_1_of_n_examples = run.sample_1_of_n_eval_on_train_examples
        return [("eval_on_train", reader)]
    if not pipeline.eval_input_reader:
        raise ValueError("eval_input_reader: the config has none, so there is nothing to evaluate "
                         "on; add one, or evaluate on the training records with "
                         "--eval_training_data")
    readers = []
    for number, given in enumerate(pipeline.eval_input_reader):
        reader = input_reader_pb2.InputReader()
        reader.CopyFrom(given)
        if run.sample_1_of_n_eval_examples:
            reader.sample_1_of_n_examples = run.sample_1_of_n_eval_examples
        readers.append((f"eval_{reader.name or number}", reader))
    names = [name for name, _ in readers]
    if len(set(names)) != len(names):
        raise ValueError(f"eval_input_reader: names must differ, got {names}")
    return readers


def assign(model: DetectionModel, values: checkpoints.Values) -> None:
    """Sets the variables of a model by name.

    Raises:
        CheckpointError: naming those that have no value.
    """
    variables = model.variables_by_name
    absent = [name for name in variables if name not in values]
    if absent:
        raise checkpoints.CheckpointError(f"{len(absent)} variables have no value, the first is "
                                          f"{absent[0]!r}")
    for name, variable in variables.items():
        variable.assign(values[name])


def _evaluators(config: eval_pb2.EvalConfig,
                reader: input_reader_pb2.InputReader) -> tuple[list, list[dict]]:
    if not reader.label_map_path:
        raise ValueError("eval_input_reader.label_map_path: evaluation needs a label map for the "
                         "names of classes, and none is given")
    categories = label_map_util.create_categories_from_labelmap(reader.label_map_path)
    if reader.load_instance_masks and "coco_mask_metrics" not in config.metrics_set:
        logging.info("eval_config.metrics_set: add coco_mask_metrics to score masks too")
    return eval_util.get_evaluators(config, categories), categories
