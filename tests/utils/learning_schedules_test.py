"""Learning rates at chosen steps."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.utils import learning_schedules


def test_manual_steps_and_warmup():
    rates = learning_schedules.manual_stepping([0, 1, 2, 4, 5], [2, 5], [1.0, 3.0, 0.5])
    np.testing.assert_allclose(rates, [1, 1, 3, 3, 0.5])
    rates = learning_schedules.manual_stepping([0, 1, 2, 5], [2, 5], [1.0, 3.0, 0.5], warmup=True)
    np.testing.assert_allclose(rates, [1, 2, 3, 0.5])


def test_a_first_step_of_0_replaces_the_initial_rate():
    for warmup in (False, True):
        rates = learning_schedules.manual_stepping([0, 3], [0, 3], [9.0, 1.0, 0.1], warmup)
        np.testing.assert_allclose(rates, [1.0, 0.1])


@pytest.mark.parametrize("boundaries, rates, message", [
    ([900, 300], [1, 2, 3], r"schedule\[1\].step: steps must increase, but 300 follows 900"),
    ([5, 5], [1, 2, 3], "must increase"),
    ([5], [1.0], "one rate more"),
    ([-1], [1.0, 2.0], "0 or more")])
def test_bad_boundaries_are_named(boundaries, rates, message):
    with pytest.raises(ValueError, match=message):
        learning_schedules.manual_stepping(0, boundaries, rates)


def test_cosine_has_no_jump_where_its_parts_meet():
    rates = learning_schedules.cosine_decay_with_warmup(
        tf.range(102), 0.02, 100, 0.001, 10, 20).numpy()
    np.testing.assert_allclose([rates[0], rates[10], rates[30], rates[65], rates[100], rates[101]],
                               [0.001, 0.02, 0.02, 0.01, 0.0, 0.0], atol=1e-8)
    assert np.abs(np.diff(rates)).max() <= 0.0019 + 1e-7  # the slope of the warm-up


@pytest.mark.parametrize("settings, message", [
    (dict(total_steps=100, warmup_steps=200), "warmup_steps .200.*exceed total_steps .100"),
    (dict(total_steps=100, warmup_steps=60, hold_base_rate_steps=50), "exceed"),
    (dict(total_steps=100, warmup_steps=10, warmup_learning_rate=0.3), "above")])
def test_cosine_that_contradicts_itself_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        learning_schedules.cosine_decay_with_warmup(0, 0.02, **settings)


def test_warmup_may_fill_all_steps():
    rates = learning_schedules.cosine_decay_with_warmup([0, 5, 10], 1.0, 10, 0.0, 10)
    np.testing.assert_allclose(rates, [0.0, 0.5, 1.0])


def test_exponential_decay_burns_in_and_has_a_floor():
    rates = learning_schedules.exponential_decay_with_burnin(
        [0, 1, 2, 3, 4, 6, 100], 1.0, 2, 0.5, 0.1, 2, 0.2)
    np.testing.assert_allclose(rates, [0.2, 0.2, 1, 1, 0.5, 0.25, 0.2])  # burn-in below the floor


def test_exponential_decay_needs_steps():
    with pytest.raises(ValueError, match="decay_steps"):
        learning_schedules.exponential_decay_with_burnin(0, 1.0, 0, 0.5)
