"""Builds the function that calibrates scores."""

from object_detection.core.score_converters import (
    Calibration,
    PerClass,
    PiecewiseLinear,
    PlattScaling,
)
from object_detection.protos import calibration_pb2, faster_rcnn_pb2


def build(config: calibration_pb2.CalibrationConfig,
          faults: faster_rcnn_pb2.OriginalFaults | None = None) -> tuple[float, Calibration | None]:
    """Returns a number that divides the logits, and a function of the scores (None: none).

    Args:
        faults: of the original, to be kept: `temperature_divides_scores` and
            `high_scores_calibrated_as_low`.
    Raises:
        ValueError: if no calibrator is set, or if its parameters cannot work.
    """
    faults = faults or faster_rcnn_pb2.OriginalFaults()
    kind = config.WhichOneof("calibrator")
    if kind == "temperature_scaling_calibration":
        temperature = _temperature(config.temperature_scaling_calibration)
        if faults.temperature_divides_scores:
            return 1.0, lambda scores: scores / temperature
        return temperature, None
    if kind not in _FUNCTIONS:
        choices = sorted([*_FUNCTIONS, "temperature_scaling_calibration"])
        raise ValueError(f"calibration_config: set one of {choices}, got none of them")
    return 1.0, _FUNCTIONS[kind](getattr(config, kind), faults.high_scores_calibrated_as_low)


def _temperature(config: calibration_pb2.TemperatureScalingCalibration) -> float:
    if config.scaler <= 0.0:
        raise ValueError("temperature_scaling_calibration.scaler: want a value above 0, got "
                         f"{config.scaler}")
    return config.scaler


def _line(config: calibration_pb2.XYPairs, high_as_low: bool) -> PiecewiseLinear:
    return PiecewiseLinear(tuple(pair.x for pair in config.x_y_pair),
                           tuple(pair.y for pair in config.x_y_pair), high_as_low)


def _sigmoid(config: calibration_pb2.SigmoidParameters) -> PlattScaling:
    return PlattScaling(config.a, config.b)


_FUNCTIONS = {
    "function_approximation": lambda config, high_as_low: _line(config.x_y_pairs, high_as_low),
    "class_id_function_approximations": lambda config, high_as_low: PerClass(tuple(
        (i, _line(pairs, high_as_low))
        for i, pairs in sorted(config.class_id_xy_pairs_map.items()))),
    "sigmoid_calibration": lambda config, _: _sigmoid(config.sigmoid_parameters),
    "class_id_sigmoid_calibrations": lambda config, _: PerClass(tuple(
        (i, _sigmoid(pair)) for i, pair in sorted(config.class_id_sigmoid_parameters_map.items()))),
}
