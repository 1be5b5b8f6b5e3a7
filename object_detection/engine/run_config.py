"""How a run goes, apart from what the pipeline config says."""

import dataclasses
import json
import os

import tensorflow as tf

from object_detection.protos import pipeline_pb2


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Where a run writes, how often it does what, and which devices it uses."""

    model_dir: str
    num_train_steps: int | None = None  # None: train_config.num_steps; 0: without end
    checkpoint_every: int = 1000  # steps
    eval_every: int | None = None  # steps; None: with every checkpoint
    log_every: int = 100  # steps
    keep_checkpoints: int = 5  # the newest ones; 0: all
    eval_training_data: bool = False  # evaluate on the training records
    sample_1_of_n_eval_examples: int = 0  # 0: as the config says
    sample_1_of_n_eval_on_train_examples: int = 5
    record_summaries: bool = True
    skip_bad_records: bool = False
    seed: int | None = None
    jit_compile: bool | None = None  # None: as train_config says
    strategy: tf.distribute.Strategy | None = None  # None: one device

    def __post_init__(self) -> None:
        if not self.model_dir:
            raise ValueError("model_dir: a directory to write to is needed, got nothing")
        for name, least in (("checkpoint_every", 1), ("log_every", 1), ("keep_checkpoints", 0),
                            ("sample_1_of_n_eval_examples", 0),
                            ("sample_1_of_n_eval_on_train_examples", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: want {least} or more, got {getattr(self, name)}")
        if self.eval_every is not None and self.eval_every < 1:
            raise ValueError(f"eval_every: want 1 or more, got {self.eval_every}")
        if self.num_train_steps is not None and self.num_train_steps < 0:
            raise ValueError(f"num_train_steps: want 0 (without end) or more, got "
                             f"{self.num_train_steps}")

    @property
    def is_chief(self) -> bool:
        """Whether this process writes files and evaluates; one of several workers does."""
        task = json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {})
        return task.get("type", "chief") in ("chief", "master") or (
            task.get("type") == "worker" and task.get("index") == 0
            and not _has_chief())

    @property
    def steps_between_evaluations(self) -> int:
        """Returns eval_every, or the checkpoint interval where that is not given."""
        return self.eval_every or self.checkpoint_every

    def compiles(self, pipeline: pipeline_pb2.TrainEvalPipelineConfig) -> bool:
        """Whether training step and inference are compiled with XLA."""
        if self.jit_compile is None:
            return pipeline.train_config.jit_compile
        return self.jit_compile

    def input_params(self) -> dict[str, object]:
        """Returns the `params` of `inputs.train_input` and `inputs.eval_input`."""
        params: dict[str, object] = {"skip_bad_records": self.skip_bad_records}
        if self.seed is not None:
            params["seed"] = self.seed
        return params


def default_strategy() -> tf.distribute.Strategy:
    """Returns the strategy for what is at hand: several workers, several GPUs, or one device."""
    if "cluster" in json.loads(os.environ.get("TF_CONFIG") or "{}"):
        return tf.distribute.MultiWorkerMirroredStrategy()
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def _has_chief() -> bool:
    cluster = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {})
    return "chief" in cluster or "master" in cluster
