"""Train, evaluate, predict: whole runs from a pipeline config.

The parts come from builders and inputs; this file puts them in order. What must fail early (paths,
names, settings) is looked at before the first record is read.
"""

import dataclasses
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from object_detection import inputs
from object_detection.builders import model_builder, optimizer_builder
from object_detection.core.model import DetectionModel
from object_detection.engine import (
    checkpoints,
    compilation,
    empty_input,
    fine_tune,
    hooks,
    phases,
    train_loop,
    weight_files,
)
from object_detection.engine.evaluation import Evaluation, assign
from object_detection.engine.hooks import StepState
from object_detection.engine.run_config import RunConfig
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.protos import pipeline_pb2
from object_detection.utils import config_util

Pipeline = pipeline_pb2.TrainEvalPipelineConfig


class Outcome(NamedTuple):
    """How a run ended."""

    step: int  # steps made in all
    checkpoint: str | None  # prefix of the newest checkpoint
    metrics: dict[str, dict[str, float]]  # of the last evaluation, by set; empty if there was none
    exit_status: int = 0  # not 0 if training was stopped before its last step
    reason: str = ""

    def as_dict(self) -> dict:
        """Returns the outcome for printing as JSON."""
        return {"step": self.step, "checkpoint": self.checkpoint, "metrics": self.metrics,
                **({"stopped": self.reason} if self.reason else {})}


def train(pipeline: Pipeline, run: RunConfig) -> Outcome:
    """Trains without evaluating; goes on where the model directory stopped.

    Raises:
        ValueError: for anything in config, checkpoint or records that cannot work.
    """
    return _train(pipeline, run, with_evaluation=False)


def train_and_evaluate(pipeline: Pipeline, run: RunConfig) -> Outcome:
    """Trains and evaluates in turn, always on weights that a checkpoint holds.

    Without an evaluation set it only trains, and says so.

    Raises:
        ValueError: as `train`, and for what evaluation needs.
    """
    has_set = bool(pipeline.eval_input_reader) or run.eval_training_data
    if not has_set:
        logging.warning("the config has no eval_input_reader: training goes without evaluation")
    return _train(pipeline, run, with_evaluation=has_set)


def evaluate(pipeline: Pipeline, run: RunConfig, checkpoint: str | None = None) -> Outcome:
    """Evaluates one checkpoint: the given one, or the newest of the model directory.

    Args:
        checkpoint: a prefix, a Keras `.h5` file, or a directory, whose newest is taken.
    Raises:
        ValueError: if there is no checkpoint, or it does not fit the config.
    """
    config_util.validate(pipeline)
    prefix = fine_tune.resolve(checkpoint or run.model_dir, "checkpoint_dir")
    checkpoints.ensure_writable(run.model_dir)
    metrics = Evaluation(pipeline, run).run_checkpoint(prefix)
    return Outcome(weight_files.step_of(prefix), prefix, metrics)


def evaluate_continuously(pipeline: Pipeline, run: RunConfig, checkpoint_dir: str,
                          timeout: float = 3600.0, poll: float | None = None) -> Outcome:
    """Evaluates each new checkpoint of a directory, until training is over or nothing comes.

    Args:
        timeout: seconds to wait for the next checkpoint.
        poll: seconds between two looks; None: eval_config.eval_interval_secs.
    Raises:
        ValueError: if the directory does not exist, or stays without a checkpoint.
    """
    config_util.validate(pipeline)
    if not tf.io.gfile.isdir(checkpoint_dir):
        raise ValueError(f"checkpoint_dir: the directory {os.path.abspath(checkpoint_dir)} does "
                         "not exist; --run_once takes a single checkpoint, too")
    checkpoints.ensure_writable(run.model_dir)
    evaluation = Evaluation(pipeline, run)
    last_step = _last_step(pipeline, run)
    outcome = Outcome(0, None, {})
    waited = time.monotonic()
    while last_step is None or outcome.step < last_step:
        newest = (next(iter(checkpoints.available(checkpoint_dir)), None)
                  or fine_tune.run_of_another_program(checkpoint_dir))
        if newest is not None and newest != outcome.checkpoint:
            metrics = evaluation.run_checkpoint(newest)
            outcome = Outcome(weight_files.step_of(newest), newest, metrics)
            waited = time.monotonic()
            continue
        if time.monotonic() - waited >= timeout:
            if outcome.checkpoint is None:
                raise ValueError(f"checkpoint_dir {checkpoint_dir!r}: no checkpoint came in "
                                 f"{timeout:.0f} seconds")
            break
        if time.monotonic() - waited < 1:
            logging.info("waiting up to %.0f s for a new checkpoint in %s", timeout, checkpoint_dir)
        time.sleep(min(poll or pipeline.eval_config.eval_interval_secs, timeout))
    return outcome


def predict(pipeline: Pipeline, checkpoint: str,
            dataset: tf.data.Dataset) -> Iterator[dict[str, np.ndarray]]:
    """Yields the detections of each image, as `postprocess` names them, without batch dimension.

    Args:
        checkpoint: a prefix or a directory.
        dataset: float32 [B, H, W, 3] images with values in 0..255, before resizing.
    Raises:
        ValueError: if the checkpoint is absent or does not fit.
    """
    model = load_model(pipeline, checkpoint)

    @tf.function(autograph=False, reduce_retracing=True)
    def detect(images: tf.Tensor) -> dict[str, tf.Tensor]:
        pixels, true_shapes = model.preprocess(tf.cast(images, tf.float32))
        return model.postprocess(model.predict(pixels, true_shapes), true_shapes)

    for images in dataset:
        found = {name: value.numpy() for name, value in detect(images).items()}
        for row in range(images.shape[0]):
            yield {name: value[row] for name, value in found.items()}


def load_model(pipeline: Pipeline, checkpoint: str) -> DetectionModel:
    """Returns a model for inference with the weights of a checkpoint (a prefix or directory)."""
    prefix = fine_tune.resolve(checkpoint, "checkpoint")
    model = model_builder.build(pipeline.model, is_training=False)
    variables = model.variables_by_name
    file = weight_files.open_file(prefix, model)
    checkpoints.check_fits(prefix, file.shapes, variables, list(variables))
    assign(model, file.read(list(variables)))
    return model


def _train(pipeline: Pipeline, run: RunConfig, with_evaluation: bool) -> Outcome:
    config_util.validate(pipeline)
    for field in ("model", "train_config", "train_input_reader"):
        if not pipeline.HasField(field):
            raise ValueError(f"{field}: the config has no such block, and training needs one")
    strategy = run.strategy or tf.distribute.get_strategy()
    folder = checkpoints.CheckpointFolder(
        run.model_dir, run.keep_checkpoints,
        pipeline.train_config.keep_checkpoint_every_n_hours) if run.is_chief else None
    step, resumed = _prepared(pipeline, run, strategy)
    evaluation = Evaluation(pipeline, run) if with_evaluation and run.is_chief else None
    if run.is_chief:
        config_util.save_pipeline_config(pipeline, run.model_dir)
    last_step = _last_step(pipeline, run)
    saver = hooks.CheckpointSaver(folder, run.checkpoint_every)
    metrics: dict[str, dict[str, float]] = {}

    def evaluate_now(state: StepState) -> None:
        saver.save(state)
        values = checkpoints.snapshot(state.variables)
        if evaluation is not None:
            metrics.update(evaluation.run(values, state.step))

    made = step.steps_made
    if last_step is not None and made >= last_step:
        logging.info("%s has %d steps already, and %d are asked for: nothing is left to train",
                     run.model_dir, made, last_step)
        if evaluation is not None:
            metrics.update(evaluation.run(checkpoints.snapshot(step.state()), made))
        return Outcome(made, resumed, metrics)
    chain = _hooks(run, saver)
    if with_evaluation:
        chain.append(hooks.Every(run.steps_between_evaluations, evaluate_now))
    dataset = empty_input.watched(_training_data(pipeline, run, strategy, step), strategy)
    stopped = train_loop.run(step, dataset, chain, last_step, pipeline.train_config.batch_size)
    made = step.steps_made
    if stopped is not None:
        return Outcome(made, saver.saved or resumed, metrics, stopped.exit_status, str(stopped))
    if last_step is not None and made < last_step:
        logging.warning("the training input ended after %d of %d steps; leave num_epochs out of "
                        "train_input_reader to repeat it", made, last_step)
    return Outcome(made, saver.saved or resumed, metrics)


def _prepared(pipeline: Pipeline, run: RunConfig,
              strategy: tf.distribute.Strategy) -> tuple[TrainStep, str | None]:
    """Builds model and optimizer and gives them their weights; returns the checkpoint resumed."""
    config = pipeline.train_config
    settings = dataclasses.replace(TrainSettings.from_config(config),
                                   jit_compile=run.compiles(pipeline))
    if settings.jit_compile:
        compilation.check_training(pipeline)
    other = fine_tune.run_of_another_program(run.model_dir)
    resuming = bool(checkpoints.available(run.model_dir)) or other is not None
    prefix, kind = "", ""
    if config.fine_tune_checkpoint and not resuming:
        kind = fine_tune.kind_of(config)
        prefix = fine_tune.resolve(config.fine_tune_checkpoint)
    plan = optimizer_builder.build(config.optimizer, _last_step(pipeline, run) or 0)
    with strategy.scope():
        model = model_builder.build(pipeline.model, is_training=True)
        if prefix:
            print(fine_tune.restore(model, prefix, kind, config.load_all_detection_checkpoint_vars),
                  flush=True)
        step = TrainStep(model, plan, settings, strategy)
    if other is not None:
        restored = fine_tune.resume_other(other, model, step.state(), plan.learning_rate)
    else:
        restored = checkpoints.restore_newest(run.model_dir, step.state(),
                                              list(model.variables_by_name))
    if restored is None:
        print(f"Training starts at step 0 in {run.model_dir}", flush=True)
        return step, None
    _report_resumed(step, restored, config.fine_tune_checkpoint)
    return step, restored.prefix


def _report_resumed(step: TrainStep, restored: checkpoints.Restored, fine_tune_path: str) -> None:
    step.global_step.assign(restored.step)
    note = "; fine_tune_checkpoint is not read again" if fine_tune_path else ""
    print(f"Training goes on at step {restored.step} from {restored.prefix}{note}", flush=True)
    absent = set(restored.absent)
    averages = set(step.averaged().values())
    if averages & absent:
        step.reset_moving_averages()
    slots = sorted(absent - averages)
    if slots:
        logging.warning("%s has no value for %d variables of the optimizer, which start anew; the "
                        "first is %s", restored.prefix, len(slots), slots[0])


def _last_step(pipeline: Pipeline, run: RunConfig) -> int | None:
    """Returns the step that training ends with, or None if it has no end.

    Raises:
        ValueError: if the phases are shorter than what is asked for.
    """
    asked = run.num_train_steps
    in_phases = phases.total_steps(phases.read(pipeline.train_config))
    if not in_phases:
        return (pipeline.train_config.num_steps if asked is None else asked) or None
    if asked is None:
        return in_phases
    if not 0 < asked <= in_phases:
        raise ValueError(f"num_train_steps: {asked or 'no end'} is asked for, but the phases of "
                         f"train_config end with step {in_phases}; lengthen the last phase")
    return asked


def _training_data(pipeline: Pipeline, run: RunConfig, strategy: tf.distribute.Strategy,
                   step: TrainStep) -> tf.data.Dataset | tf.distribute.DistributedDataset:
    config, model = pipeline.train_config, step.model
    params = run.input_params()
    replicas = strategy.num_replicas_in_sync
    if config.batch_size % replicas:
        raise ValueError(f"train_config.batch_size: {config.batch_size} images cannot be shared "
                         f"evenly among {replicas} devices; use a multiple of {replicas}")

    def dataset(context: tf.distribute.InputContext | None) -> tf.data.Dataset:
        return inputs.train_input(config, pipeline.train_input_reader, pipeline.model, model,
                                  params, context)

    if replicas == 1:
        data = dataset(None)
    else:
        data = strategy.distribute_datasets_from_function(dataset)
    if run.compiles(pipeline):
        compilation.check_batches(data.element_spec)
    step.trace_for(data.element_spec)
    return data


def _hooks(run: RunConfig, saver: hooks.CheckpointSaver) -> list[hooks.Hook]:
    chain: list[hooks.Hook] = [hooks.StopOnSignal()]
    if run.is_chief:
        chain.append(hooks.ProgressLine(run.log_every))
        if run.record_summaries:
            chain.append(hooks.EventWriter(run.model_dir, run.log_every))
    chain.append(saver)
    return chain
