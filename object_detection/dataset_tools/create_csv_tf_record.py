"""Reads boxes from a CSV file, one per line, for conversion to TFRecord files."""

import csv
import os
from collections.abc import Iterable, Mapping

from object_detection.dataset_tools import sources
from object_detection.utils import dataset_util

_BOX_COLUMNS = ("xmin", "ymin", "xmax", "ymax")


def read_csv(csv_path: str, image_dir: str, class_column: str = "class",
             image_list: str = "") -> list[sources.SourceImage]:
    """Reads a CSV file with a header.

    Columns are found by their names, in any order: filename, the class, xmin, ymin, xmax, ymax in
    pixels, and optionally width and height of the image. Others are ignored. The separator is a
    comma, a semicolon or a tab. A line with an empty class and empty box stands for an image
    without objects.

    Args:
        csv_path: the file, in UTF-8.
        image_dir: folder of the images.
        class_column: name of the column with the class.
        image_list: file that lists the images to take, one a line, with or without extension;
            empty for all.
    Returns:
        One item per image, in the order of first appearance. Objects are numbered within their
        image, and their note gives the line.
    Raises:
        ValueError: if a column is missing, or the image list names an image without a line.
    """
    try:
        with open(csv_path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"{csv_path}: not UTF-8: {error}") from error
    header = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.DictReader(text.splitlines(), delimiter=delimiter, skipinitialspace=True)
    columns = [name.strip() for name in reader.fieldnames or []]
    reader.fieldnames = columns
    wanted = ("filename", class_column, *_BOX_COLUMNS)
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise ValueError(f"{csv_path}: line 1 lacks the column(s) {missing}; it has {columns}. "
                         "Set --class_column if the class has another name")
    rows_by_image: dict[str, list[tuple[int, dict[str, str]]]] = {}
    for row in reader:
        filename = (row["filename"] or "").strip()
        if not filename:
            raise ValueError(f"{csv_path}: line {reader.line_num} has no filename")
        rows_by_image.setdefault(filename, []).append((reader.line_num, row))
    chosen = _choose(rows_by_image, image_list) if image_list else rows_by_image
    return [_source_image(filename, rows_by_image[filename], image_dir, class_column)
            for filename in chosen]


def _choose(filenames: Iterable[str], image_list: str) -> list[str]:
    by_name = {}
    for filename in filenames:
        by_name[os.path.splitext(filename)[0]] = by_name[filename] = filename
    listed = list(dict.fromkeys(dataset_util.read_examples_list(image_list)))
    unknown = [name for name in listed if name not in by_name]
    if unknown:
        raise ValueError(f"{image_list}: {len(unknown)} of {len(listed)} images have no line in "
                         f"the CSV file, for example {unknown[0]!r}")
    return [by_name[name] for name in listed]


def _source_image(filename: str, rows: list[tuple[int, Mapping[str, str]]], image_dir: str,
                  class_column: str) -> sources.SourceImage:
    objects = []
    for line, row in rows:
        values = [(row[name] or "").strip() for name in _BOX_COLUMNS]
        name = (row[class_column] or "").strip()
        if name or any(values):
            objects.append(sources.SourceObject(
                len(objects), name, tuple(_number(value) for value in values),
                note=f"line {line}"))
    path = fault = ""
    try:
        path = sources.find_image(image_dir, filename)
    except (ValueError, FileNotFoundError) as error:
        fault = str(error)
    return sources.SourceImage(path, filename, filename, tuple(objects), _size(rows[0][1]),
                               fault=fault)


def _size(row: Mapping[str, str]) -> tuple[int, int] | None:
    width, height = _number(row.get("width")), _number(row.get("height"))
    if width > 0 and height > 0 and max(width, height) < 1e9:
        return int(width), int(height)
    return None


def _number(text: str | None) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")  # a bad box is dropped and reported later
