"""Builds the function that calibrates scores."""

from object_detection.core.score_converters import (
    Calibration,
    PerClass,
    PiecewiseLinear,
    PlattScaling,
)
from object_detection.protos import calibration_pb2


def build(config: calibration_pb2.CalibrationConfig) -> tuple[float, Calibration | None]:
    """Returns a factor that divides the logits, and a function of the scores (None: none).

    Raises:
        ValueError: if no calibrator is set, or if its parameters cannot work.
    """
    kind = config.WhichOneof("calibrator")
    if kind == "temperature_scaling_calibration":
        return _temperature(config.temperature_scaling_calibration), None
    if kind not in _FUNCTIONS:
        choices = sorted([*_FUNCTIONS, "temperature_scaling_calibration"])
        raise ValueError(f"calibration_config: set one of {choices}, got none of them")
    return 1.0, _FUNCTIONS[kind](getattr(config, kind))


def _temperature(config: calibration_pb2.TemperatureScalingCalibration) -> float:
    if config.scaler <= 0.0:
        raise ValueError("temperature_scaling_calibration.scaler: want a value above 0, got "
                         f"{config.scaler}")
    return config.scaler


def _line(config: calibration_pb2.XYPairs) -> PiecewiseLinear:
    return PiecewiseLinear(tuple(pair.x for pair in config.x_y_pair),
                           tuple(pair.y for pair in config.x_y_pair))


def _sigmoid(config: calibration_pb2.SigmoidParameters) -> PlattScaling:
    return PlattScaling(config.a, config.b)


_FUNCTIONS = {
    "function_approximation": lambda config: _line(config.x_y_pairs),
    "class_id_function_approximations": lambda config: PerClass(tuple(
        (i, _line(pairs)) for i, pairs in sorted(config.class_id_xy_pairs_map.items()))),
    "sigmoid_calibration": lambda config: _sigmoid(config.sigmoid_parameters),
    "class_id_sigmoid_calibrations": lambda config: PerClass(tuple(
        (i, _sigmoid(pair)) for i, pair in sorted(config.class_id_sigmoid_parameters_map.items()))),
}
