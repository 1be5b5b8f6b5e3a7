"""A set of boxes with fields, for user code. Code of this package passes plain tensors."""

import tensorflow as tf

from object_detection.core import box_ops

_BOXES = "boxes"


class BoxList:
    """Boxes float [N, 4], [ymin, xmin, ymax, xmax], and any fields with N rows, by name.

    The boxes themselves are the field "boxes".
    """

    def __init__(self, boxes: tf.Tensor) -> None:
        """Makes a list without further fields.

        Raises:
            ValueError: unless boxes are a float tensor [N, 4].
        """
        self.data = {_BOXES: _checked_boxes(boxes)}

    def num_boxes(self) -> tf.Tensor:
        """Returns N, an int32 scalar."""
        return tf.shape(self.data[_BOXES])[0]

    def num_boxes_static(self) -> int | None:
        """Returns N if it is known when a graph is traced."""
        return self.data[_BOXES].shape[0]

    def get_all_fields(self) -> list[str]:
        """Returns the names of all fields, "boxes" among them."""
        return list(self.data)

    def get_extra_fields(self) -> list[str]:
        """Returns the names of all fields but "boxes"."""
        return [name for name in self.data if name != _BOXES]

    def add_field(self, field: str, field_data: tf.Tensor) -> None:
        """Adds a field, or replaces one, without a look at its shape."""
        self.data[field] = field_data

    def has_field(self, field: str) -> bool:
        """Tells whether there is a field of that name."""
        return field in self.data

    def get(self) -> tf.Tensor:
        """Returns the boxes [N, 4]."""
        return self.get_field(_BOXES)

    def set(self, boxes: tf.Tensor) -> None:
        """Replaces the boxes. Raises ValueError unless they are a float tensor [N, 4]."""
        self.data[_BOXES] = _checked_boxes(boxes)

    def get_field(self, field: str) -> tf.Tensor:
        """Returns a field. Raises ValueError if there is none of that name."""
        self._require(field)
        return self.data[field]

    def set_field(self, field: str, value: tf.Tensor) -> None:
        """Replaces a field. Raises ValueError if there is none of that name."""
        self._require(field)
        self.data[field] = value

    def get_center_coordinates_and_sizes(self) -> list[tf.Tensor]:
        """Returns y and x of the centre, height and width, each [N]."""
        return list(box_ops.center_size(self.get()))

    def transpose_coordinates(self) -> None:
        """Swaps y and x of the boxes, in place."""
        self.data[_BOXES] = tf.gather(self.data[_BOXES], [1, 0, 3, 2], axis=1)

    def as_tensor_dict(self, fields: list[str] | None = None) -> dict[str, tf.Tensor]:
        """Returns the named fields (None: all). Raises ValueError if one does not exist."""
        return {field: self.get_field(field)
                for field in (self.get_all_fields() if fields is None else fields)}

    def _require(self, field: str) -> None:
        if field not in self.data:
            raise ValueError(f"BoxList: no field {field!r}; there are {sorted(self.data)}")


def _checked_boxes(boxes: tf.Tensor) -> tf.Tensor:
    boxes = tf.convert_to_tensor(boxes)
    if boxes.shape.rank != 2 or boxes.shape[-1] != 4 or not boxes.dtype.is_floating:
        raise ValueError("BoxList: want boxes as a float tensor [N, 4], "
                         f"got {boxes.dtype.name} {boxes.shape}")
    return boxes
