"""Counts what a conversion read, wrote, skipped and dropped; printed and kept as JSON."""

import collections
import dataclasses
import json
from typing import Any

from object_detection.dataset_tools import example_builder

_MAX_PRINTED = 10
_SUSPICIOUS_SHARE = 0.2


@dataclasses.dataclass
class ConversionReport:
    """The result of a conversion. Lists are complete; the printed form cuts them short."""

    output_files: list[str] = dataclasses.field(default_factory=list)
    label_map_path: str = ""
    report_path: str = ""
    images_read: int = 0
    images_written: int = 0
    images_without_objects: int = 0  # among those written
    objects_read: int = 0  # of images that were not skipped
    objects_written: int = 0
    skipped_images: list[dict[str, str]] = dataclasses.field(default_factory=list)
    dropped_objects: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    notes: dict[str, int] = dataclasses.field(default_factory=dict)
    note_files: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    warnings: list[str] = dataclasses.field(default_factory=list)

    def add_skipped(self, file: str, reason: str) -> None:
        """Counts an image that is not in the record."""
        self.images_read += 1
        self.skipped_images.append({"file": file, "reason": reason})

    def add_written(self, file: str, num_objects: int,
                    dropped: list[example_builder.DroppedObject], notes: list[str]) -> None:
        """Counts an image that is in the record."""
        self.images_read += 1
        self.images_written += 1
        self.images_without_objects += num_objects == 0
        self.objects_read += num_objects + len(dropped)
        self.objects_written += num_objects
        self.dropped_objects += [drop._asdict() for drop in dropped]
        for note in notes:
            self.add_note(note, file)

    def add_note(self, note: str, file: str) -> None:
        """Counts something that was done to, or is odd about, an image that is written."""
        self.notes[note] = self.notes.get(note, 0) + 1
        files = self.note_files.setdefault(note, [])
        if file not in files[-1:]:
            files.append(file)

    def dropped_by_reason(self) -> dict[str, int]:
        """Returns the number of dropped objects for each reason."""
        return dict(collections.Counter(drop["reason"] for drop in self.dropped_objects))

    def finish(self) -> None:
        """Adds warnings that need the whole picture."""
        shares = self.dropped_by_reason()
        malformed = sum(shares.get(key, 0) for key in ("inverted", "outside", "zero_size"))
        if malformed > _SUSPICIOUS_SHARE * max(self.objects_read, 1):
            self.warnings.append(
                f"{malformed} of {self.objects_read} boxes are inverted, empty or outside their "
                "image: were [x, y, width, height] and [xmin, ymin, xmax, ymax] mixed up?")

    def to_json(self) -> str:
        """Returns the report as a JSON object."""
        content = dataclasses.asdict(self) | {
            "images_skipped": len(self.skipped_images),
            "objects_dropped": len(self.dropped_objects),
            "dropped_by_reason": self.dropped_by_reason()}
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def to_text(self) -> str:
        """Returns the report as lines to print."""
        lines = [f"images: {self.images_read} read, {self.images_written} written "
                 f"({self.images_without_objects} without objects), "
                 f"{len(self.skipped_images)} skipped",
                 f"objects: {self.objects_read} read, {self.objects_written} written, "
                 f"{len(self.dropped_objects)} dropped"]
        lines += _listing([f"  skipped {item['file']}: {item['reason']}"
                           for item in self.skipped_images])
        for reason, count in sorted(self.dropped_by_reason().items()):
            lines.append(f"  dropped as {reason}: {count}")
            lines += _listing([f"    {drop['file']} object {drop['object']}: {drop['detail']}"
                               for drop in self.dropped_objects if drop["reason"] == reason])
        for note, count in sorted(self.notes.items()):
            files = self.note_files[note]
            lines.append(f"  note {note}: {count}, in {len(files)} image(s), first {files[0]}")
        lines += [f"WARNING: {warning}" for warning in self.warnings]
        lines.append(f"label map: {self.label_map_path}")
        lines.append(f"records: {self.output_files[0]}"
                     + (f" and {len(self.output_files) - 1} more" if self.output_files[1:] else ""))
        lines.append(f"report: {self.report_path}")
        return "\n".join(lines)


def _listing(lines: list[str]) -> list[str]:
    shown = lines[:_MAX_PRINTED]
    if len(lines) > len(shown):
        shown.append(f"    ... and {len(lines) - len(shown)} more, see the JSON report")
    return shown
