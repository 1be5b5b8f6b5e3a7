"""Metrics of detections against ground truth, on NumPy arrays."""
