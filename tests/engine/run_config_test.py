"""Settings of a run are checked where they are made."""

import json

import pytest

from object_detection.engine.run_config import RunConfig


@pytest.mark.parametrize("options, field", [
    (dict(model_dir=""), "model_dir"), (dict(model_dir="a", checkpoint_every=0), "checkpoint_ev"),
    (dict(model_dir="a", eval_every=0), "eval_every"),
    (dict(model_dir="a", num_train_steps=-1), "num_train_steps")])
def test_bad_values_name_the_field(options, field):
    with pytest.raises(ValueError, match=field):
        RunConfig(**options)


def test_evaluation_goes_with_checkpoints_unless_told():
    assert RunConfig("a", checkpoint_every=7).steps_between_evaluations == 7
    assert RunConfig("a", checkpoint_every=7, eval_every=3).steps_between_evaluations == 3


@pytest.mark.parametrize("cluster, task, chief", [
    (None, None, True), (["worker"], ("worker", 0), True), (["worker"], ("worker", 1), False),
    (["chief", "worker"], ("worker", 0), False), (["chief", "worker"], ("chief", 0), True)])
def test_one_worker_is_chief(monkeypatch, cluster, task, chief):
    if cluster:
        monkeypatch.setenv("TF_CONFIG", json.dumps({
            "cluster": {name: ["localhost:1"] for name in cluster},
            "task": {"type": task[0], "index": task[1]}}))
    assert RunConfig("a").is_chief == chief
