"""Class names of a label map, in Python and as a table for tf.data."""

import tensorflow as tf

from object_detection.utils import label_map_util

UNKNOWN = -1


def read_labels(label_map_path: str, use_display_name: bool = False) -> dict[str, int]:
    """Returns {name: id} with the names and the display names of a label map, stripped.

    Where one item's name is another's display name, the name wins (or the display name, with
    `use_display_name`).

    Raises:
        ValueError: if the label map has no item, besides the background.
    """
    labels: dict[str, int] = {}
    for displayed in (not use_display_name, use_display_name):  # the last one wins
        found = label_map_util.get_label_map_dict(label_map_path, use_display_name=displayed)
        labels.update({name.strip(): label for name, label in found.items()
                       if name.strip() and label >= 1})
    if not labels:
        raise ValueError(f"{label_map_path}: the label map holds no item")
    return labels


class LabelLookup(tf.Module):
    """Turns class texts into labels; made once, outside of tf.data functions."""

    def __init__(self, label_map_path: str, use_display_name: bool = False) -> None:
        super().__init__(name="label_lookup")
        labels = read_labels(label_map_path, use_display_name)
        self.path = label_map_path
        self._table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                tf.constant(list(labels), tf.string), tf.constant(list(labels.values()), tf.int64)),
            default_value=UNKNOWN)

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """Returns the int64 labels of string texts of any shape; -1 for an unknown text."""
        return self._table.lookup(tf.strings.strip(texts))
