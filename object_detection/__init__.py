"""Two-stage object detection driven by protobuf pipeline configs, on TensorFlow 2.

Importing this package loads nothing heavy: TensorFlow comes in with the submodule that needs it.
"""

__version__ = "0.1.0"
