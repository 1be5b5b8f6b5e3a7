"""A set of numpy boxes with fields, for metrics and user scripts."""

import numpy as np

_BOXES = "boxes"


class BoxList:
    """Boxes [N, 4], [ymin, xmin, ymax, xmax], and any fields with N rows, by name.

    The boxes themselves are the field "boxes".
    """

    def __init__(self, data: np.ndarray) -> None:
        """Makes a list without further fields.

        Raises:
            ValueError: unless data is a float array [N, 4] in which no minimum is above its
                maximum.
        """
        if not isinstance(data, np.ndarray):
            raise ValueError(f"BoxList: want a numpy array, got {type(data).__name__}")
        if data.ndim != 2 or data.shape[1] != 4 or data.dtype not in (np.float32, np.float64):
            raise ValueError("BoxList: want a float32 or float64 array [N, 4], "
                             f"got {data.dtype} {list(data.shape)}")
        wrong = np.flatnonzero((data[:, 0] > data[:, 2]) | (data[:, 1] > data[:, 3]))
        if wrong.size:
            raise ValueError("BoxList: want boxes [ymin, xmin, ymax, xmax]; box "
                             f"{wrong[0]} is {data[wrong[0]].tolist()}, with a minimum above its "
                             "maximum")
        self.data = {_BOXES: data}

    def num_boxes(self) -> int:
        """Returns N."""
        return self.data[_BOXES].shape[0]

    def get_extra_fields(self) -> list[str]:
        """Returns the names of all fields but "boxes"."""
        return [name for name in self.data if name != _BOXES]

    def has_field(self, field: str) -> bool:
        """Tells whether there is a field of that name."""
        return field in self.data

    def add_field(self, field: str, field_data: np.ndarray) -> None:
        """Adds a field. Raises ValueError if it exists or has not N rows."""
        if self.has_field(field):
            raise ValueError(f"BoxList: field {field!r} exists already")
        if len(field_data.shape) < 1 or field_data.shape[0] != self.num_boxes():
            raise ValueError(f"BoxList: field {field!r}: want {self.num_boxes()} rows, one per "
                             f"box, got shape {list(field_data.shape)}")
        self.data[field] = field_data

    def get(self) -> np.ndarray:
        """Returns the boxes [N, 4]."""
        return self.get_field(_BOXES)

    def get_field(self, field: str) -> np.ndarray:
        """Returns a field. Raises ValueError if there is none of that name."""
        if not self.has_field(field):
            raise ValueError(f"BoxList: no field {field!r}; there are {sorted(self.data)}")
        return self.data[field]

    def get_coordinates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns ymin, xmin, ymax, xmax, each [N]."""
        boxes = self.get()
        return boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3]
