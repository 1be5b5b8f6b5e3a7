"""The COCO scores as text for a terminal."""

from collections.abc import Mapping

from object_detection.metrics import coco_tools

_ROWS = (("AP    (IoU .50 to .95)", "Precision/mAP"), ("AP50", "Precision/mAP@.50IOU"),
         ("AP75", "Precision/mAP@.75IOU"), ("AP    small objects", "Precision/mAP (small)"),
         ("AP    medium objects", "Precision/mAP (medium)"),
         ("AP    large objects", "Precision/mAP (large)"), ("AR@1", "Recall/AR@1"),
         ("AR@10", "Recall/AR@10"), ("AR@100", "Recall/AR@100"),
         ("AR@100 small objects", "Recall/AR@100 (small)"),
         ("AR@100 medium objects", "Recall/AR@100 (medium)"),
         ("AR@100 large objects", "Recall/AR@100 (large)"))


def table(title: str, summary: Mapping[str, float], scorer: coco_tools.COCOEvalWrapper,
          num_images: int, num_detections: int) -> str:
    """Returns the 12 scores and AP and AP50 per class; what has no object says so."""
    objects = scorer.CategoryObjects()
    total = sum(objects.values())
    lines = [f"{title}: {num_images} images, {total} objects, {num_detections} detections"]
    if not total:
        lines.append("  no ground truth: the set has no object to find, so nothing can be scored")
        return "\n".join(lines)
    lines += [f"  {label:<24}{score(summary[name])}" for label, name in _ROWS]
    means = scorer.CategoryScores("Precision/mAP")
    halves = scorer.CategoryScores("Precision/mAP@.50IOU")
    width = max(len("class"), *(len(name) for name in objects))
    lines.append(f"  {'class':<{width}}  {'objects':>8}  {'AP':>6}  {'AP50':>6}")
    for name, count in objects.items():
        if count:
            values = f"{score(means[name]):>6}  {score(halves[name]):>6}"
        else:
            values = "no ground truth"
        lines.append(f"  {name:<{width}}  {count:>8}  {values}")
    return "\n".join(lines)


def score(value: float) -> str:
    """Returns a score with three decimals, or what -1 stands for."""
    return "no ground truth" if value == coco_tools.NO_GROUND_TRUTH else f"{value:6.3f}".strip()
