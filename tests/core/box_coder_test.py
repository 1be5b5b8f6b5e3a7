"""Checks shared by the box coders."""

import pytest

from object_detection.core import box_coder


def test_no_factors_are_ones():
    assert box_coder.checked_scale_factors("Coder", None, 3) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("factors", [(1.0, 2.0), (1.0, 0.0, 1.0), (1.0, -1.0, 1.0)])
def test_wrong_factors_are_refused(factors):
    with pytest.raises(ValueError, match="Coder: scale_factors: want 3 positive numbers"):
        box_coder.checked_scale_factors("Coder", factors, 3)
