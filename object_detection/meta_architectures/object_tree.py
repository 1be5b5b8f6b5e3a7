"""Variables as a tree of objects, which is what TensorFlow's object-based checkpoints follow.

The networks of this project are functions over named variables. `tf.train.Checkpoint` and
SavedModels want objects instead: a variable's key in a checkpoint is its path through attributes
(`model/_mask_rcnn_box_predictor/_box_prediction_head/...`). The tree gives every variable a path;
where an original's checkpoints have paths, the tree has the same.
"""

from collections.abc import Mapping

import tensorflow as tf


class Node(tf.Module):
    """One object on the way to variables; children are attributes, or items if they are numbered.

    Nodes can be passed to `tf.train.Checkpoint` one by one, to restore a part of a model.
    """

    def __init__(self) -> None:
        super().__init__(name="node")

    def __getitem__(self, index: int) -> tf.Module | tf.Variable:
        return getattr(self, str(index))


def attach(root: tf.Module, variables: Mapping[str, tf.Variable]) -> None:
    """Puts variables below `root`, by path (`node/node/variable`).

    Raises:
        ValueError: if a path ends where another goes on, or an attribute of the root is in the way.
    """
    made: dict[str, tf.Module] = {"": root}
    for path, variable in variables.items():
        folder, _, name = path.rpartition("/")
        parent = _node(made, folder)
        if hasattr(parent, name):
            raise ValueError(f"object tree: {path} is taken")
        setattr(parent, name, variable)


def _node(made: dict[str, tf.Module], path: str) -> tf.Module:
    """Returns the node of a path, creating it and those above it."""
    if path not in made:
        folder, _, name = path.rpartition("/")
        parent = _node(made, folder)
        if hasattr(parent, name):
            raise ValueError(f"object tree: {path} is taken")
        made[path] = Node()
        setattr(parent, name, made[path])
    return made[path]
