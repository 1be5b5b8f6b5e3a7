r"""Trains and evaluates a detection model from a pipeline config.

    python object_detection/model_main.py --pipeline_config_path=faster_rcnn.config --model_dir=run1

Run again with the same model_dir, it goes on where it stopped. With --checkpoint_dir it evaluates
only: each new checkpoint, or with --run_once the newest one. The last line printed is the result as
JSON. Exit status: 0 done, 1 an error, 128 + signal number if stopped by a signal (after saving).
"""

import json
import os
import sys
from typing import TYPE_CHECKING

if not __package__:
    # Run as a file, Python searches this folder first, where our `inputs`, `metrics` or `utils`
    # would stand in for other people's modules of these names. Search the folder above instead.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from absl import app, flags, logging  # noqa: E402

if TYPE_CHECKING:
    from object_detection.engine import estimator
    from object_detection.protos import pipeline_pb2

_PIPELINE = flags.DEFINE_string("pipeline_config_path", None, "Pipeline config file. Required.")
_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Directory for checkpoints, events and metrics. Required.")
_STEPS = flags.DEFINE_integer(
    "num_train_steps", None, "Steps to train; replaces train_config.num_steps.", lower_bound=0)
_OVERRIDES = flags.DEFINE_multi_string(
    "config_override", [], "Changes a config value, e.g. train_config.batch_size=2. Repeatable.")
_CHECKPOINT_DIR = flags.DEFINE_string(
    "checkpoint_dir", None, "Evaluate the checkpoints of this directory instead of training.")
_RUN_ONCE = flags.DEFINE_boolean(
    "run_once", False, "With checkpoint_dir: evaluate the newest checkpoint and end.")
_EVAL_TIMEOUT = flags.DEFINE_float(
    "eval_timeout", 3600.0, "With checkpoint_dir: seconds to wait for the next checkpoint.",
    lower_bound=0)
_EVAL_TRAINING_DATA = flags.DEFINE_boolean(
    "eval_training_data", False, "Evaluate on the training records.")
flags.DEFINE_alias("eval_on_train_data", "eval_training_data")
_SAMPLE_EVAL = flags.DEFINE_integer(
    "sample_1_of_n_eval_examples", None, "Evaluate on every n-th image.", lower_bound=1)
_SAMPLE_TRAIN = flags.DEFINE_integer(
    "sample_1_of_n_eval_on_train_examples", 5, "The same for eval_training_data.", lower_bound=1)
_CHECKPOINT_EVERY = flags.DEFINE_integer(
    "checkpoint_every_n", 1000, "Save a checkpoint every so many steps.", lower_bound=1)
_EVAL_EVERY = flags.DEFINE_integer(
    "eval_every_n_steps", None, "Evaluate every so many steps; as checkpoint_every_n if not set.",
    lower_bound=1)
_KEEP = flags.DEFINE_integer("keep_checkpoint_max", 5, "Newest checkpoints to keep; 0: all.",
                             lower_bound=0)
_LOG_EVERY = flags.DEFINE_integer("log_every_n", 100, "Report progress every so many steps.",
                                  lower_bound=1)
_SUMMARIES = flags.DEFINE_boolean("record_summaries", True, "Write TensorBoard events.")
_SKIP_BAD = flags.DEFINE_boolean(
    "skip_bad_records", False, "Leave out and count records that cannot be used.")
_SEED = flags.DEFINE_integer("seed", None, "Makes weights, shuffling and augmentation repeatable.")
_JIT = flags.DEFINE_boolean(
    "jit_compile", None, "Compile training step and inference with XLA; needs static shapes. As "
    "train_config.jit_compile if not set.")
flags.DEFINE_integer("max_eval_retries", 0, "Accepted for old scripts, without effect.")
_DEBUG = flags.DEFINE_boolean("debug", False, "Show Python tracebacks of errors.")


def main(argv: list[str]) -> int:
    """Runs the command; returns the exit status."""
    try:
        _check_usage(argv)
    except ValueError as error:
        return _fail(str(error))
    logging.set_verbosity(max(logging.get_verbosity(), logging.INFO))
    from object_detection.utils import startup
    startup.load_tensorflow(show_notes=_DEBUG.value)  # late: --help answers at once
    import tensorflow as tf

    from object_detection.engine import input_errors
    from object_detection.utils import config_util
    pipeline = None
    try:
        pipeline = config_util.load_pipeline(_PIPELINE.value, _OVERRIDES.value)
        outcome = _run(pipeline)
    except tf.errors.OpError as error:
        if _DEBUG.value:
            raise
        patterns = pipeline.train_input_reader.tf_record_input_reader.input_path if pipeline else ()
        return _fail(input_errors.explain(error, patterns))
    except (ValueError, OSError) as error:
        if _DEBUG.value:
            raise
        return _fail(str(error))
    print(json.dumps(outcome.as_dict(), sort_keys=True))
    return outcome.exit_status


def _run(pipeline: "pipeline_pb2.TrainEvalPipelineConfig") -> "estimator.Outcome":
    import tensorflow as tf

    from object_detection.engine import estimator, run_config
    if _SEED.value is not None:
        tf.keras.utils.set_random_seed(_SEED.value)
    run = run_config.RunConfig(
        model_dir=_MODEL_DIR.value, num_train_steps=_STEPS.value,
        checkpoint_every=_CHECKPOINT_EVERY.value, eval_every=_EVAL_EVERY.value,
        log_every=_LOG_EVERY.value, keep_checkpoints=_KEEP.value,
        eval_training_data=_EVAL_TRAINING_DATA.value,
        sample_1_of_n_eval_examples=_SAMPLE_EVAL.value or 0,
        sample_1_of_n_eval_on_train_examples=_SAMPLE_TRAIN.value,
        record_summaries=_SUMMARIES.value, skip_bad_records=_SKIP_BAD.value, seed=_SEED.value,
        jit_compile=_JIT.value,
        strategy=run_config.default_strategy())
    if not _CHECKPOINT_DIR.value:
        return estimator.train_and_evaluate(pipeline, run)
    if _RUN_ONCE.value:
        return estimator.evaluate(pipeline, run, _CHECKPOINT_DIR.value)
    return estimator.evaluate_continuously(pipeline, run, _CHECKPOINT_DIR.value,
                                           _EVAL_TIMEOUT.value)


def _check_usage(argv: list[str]) -> None:
    if len(argv) > 1:
        raise ValueError(f"unexpected argument {argv[1]!r}: every option is a --flag; see --help")
    for flag, what in ((_PIPELINE, "a pipeline config file"), (_MODEL_DIR, "a directory")):
        if not flag.value:
            raise ValueError(f"--{flag.name} is required: {what}; see --help")
    if _RUN_ONCE.value and not _CHECKPOINT_DIR.value:
        raise ValueError("--run_once evaluates one checkpoint: give --checkpoint_dir too")


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    app.run(main)
