"""Starts TensorFlow for a command without the notes its C++ libraries print before any setting."""

import os
import sys
from collections.abc import Callable, Sequence

from absl import app


def load_tensorflow(show_notes: bool = False) -> None:
    """Imports TensorFlow and opens its devices, with standard error closed to native code.

    TensorFlow 2.21 prints about ten lines (oneDNN, no CUDA driver, CPU features) whatever
    TF_CPP_MIN_LOG_LEVEL says. Python errors are raised as ever.

    Args:
        show_notes: leave everything visible, to find out why a GPU is not used, for example.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if show_notes:
        _start()
        return
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        _start()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def run_command(main: Callable[[Sequence[str]], None]) -> None:
    """Runs a command that takes flags only; bad input ends it with one line and exit status 1."""
    def guarded(argv: Sequence[str]) -> None:
        if len(argv) > 1:
            raise app.UsageError(f"unexpected argument {argv[1]!r}: every option is a --flag")
        load_tensorflow()
        try:
            main(argv)
        except (ValueError, OSError) as error:
            sys.exit(f"error: {explained(error)}")

    app.run(guarded)


def explained(error: Exception) -> str:
    """Returns the message of an error; that of a file the system refuses names the file first."""
    if not isinstance(error, OSError) or error.filename is None or error.strerror is None:
        return str(error)
    reason = f"{os.fspath(error.filename)}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    if isinstance(error, FileNotFoundError):
        reason += f" (looked from {os.getcwd()})"
    return reason


def _start() -> None:
    import tensorflow as tf
    tf.config.list_logical_devices()
