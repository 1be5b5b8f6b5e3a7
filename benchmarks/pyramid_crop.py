"""Times the pyramid crop against loops over the levels.

    python benchmarks/pyramid_crop.py [--regions 300] [--backward] [--roi-align]

Regions of 14 x 14 samples from levels 2 to 6 of a 640 x 640 image with 256 channels. One JSON line:
median milliseconds of each way, and their ratio to the loop that crops the boxes of each level from
its map. `gather` and `gather_xla` are for static shapes, `sparse` is for others; `all_levels` is
the loop of the Object Detection API, which crops every box from every level and keeps one. With
--roi-align: RoIAlign with 14 x 14 cells of 2 x 2 samples, as a ratio to the gather. All must first
agree.
"""

import argparse
import json
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from timing import median_ms

from object_detection.core import crops
from object_detection.core.roi_align import RoiAlign, multilevel_roi_align
from object_detection.roi_croppers.pyramid import LevelRule

IMAGE, LEVELS, DEPTH, SIZE = 640, range(2, 7), 256, [14, 14]
Crop = Callable[[list[tf.Tensor], tf.Tensor, tf.Tensor], tf.Tensor]


def regions(count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns boxes of all sizes, float32 [1, P, 4] normalized, and the index of their levels."""
    random = np.random.default_rng(0)
    centre = random.uniform(0.0, 1.0, [1, count, 2])
    half = np.exp(random.uniform(np.log(0.01), np.log(0.5), [1, count, 2]))
    boxes = np.clip(np.concatenate([centre - half, centre + half], axis=-1), 0.0, 0.9999)
    sides = IMAGE * (boxes[..., 2:] - boxes[..., :2])
    levels = LevelRule().levels(tf.constant(sides[..., 0], tf.float32),
                                tf.constant(sides[..., 1], tf.float32), LEVELS[0], LEVELS[-1])
    return tf.constant(boxes, tf.float32), levels - LEVELS[0]


def per_level(maps: list[tf.Tensor], boxes: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    """Crops the boxes of each level from its map, and puts them back in order."""
    places = [tf.cast(tf.where(levels[0] == index)[:, 0], tf.int32) for index in range(len(maps))]
    parts = [crops.crop_and_resize(feature_map, tf.gather(boxes, place, axis=1), SIZE)[0]
             for feature_map, place in zip(maps, places, strict=True)]
    return tf.dynamic_stitch(places, parts)[None]


def all_levels(maps: list[tf.Tensor], boxes: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
    """Crops all boxes from every map."""
    return tf.add_n([
        tf.where((levels == index)[..., None, None, None],
                 crops.crop_and_resize(feature_map, boxes, SIZE), 0.0)
        for index, feature_map in enumerate(maps)])


def one_pass(use_static_shapes: bool) -> Crop:
    """Returns the crop of this project."""
    return lambda maps, boxes, levels: crops.multilevel_crop_and_resize(
        maps, boxes, levels, SIZE, use_static_shapes)


def aligned(use_static_shapes: bool) -> Crop:
    """Returns RoIAlign of this project."""
    settings = RoiAlign(*SIZE, sampling_ratio=2)

    def run(maps: list[tf.Tensor], boxes: tf.Tensor, levels: tf.Tensor) -> tf.Tensor:
        size = tf.cast(IMAGE // 2 ** (levels + LEVELS[0]), tf.float32)
        return multilevel_roi_align(maps, boxes * size[..., None], levels, settings,
                                    use_static_shapes)
    return run


def with_gradient(crop: Crop) -> Callable:
    """Returns a function that gives the gradient of the maps."""
    def run(maps: list[tf.Tensor], boxes: tf.Tensor, levels: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(maps)
            loss = tf.reduce_sum(crop(maps, boxes, levels) ** 2)
        return tape.gradient(loss, maps)
    return run


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--regions", type=int, default=300)
    parser.add_argument("--backward", action="store_true", help="forward and backward")
    parser.add_argument("--roi-align", action="store_true", help="RoIAlign, not crop and resize")
    options = parser.parse_args()
    maps = [tf.random.stateless_normal([1, IMAGE >> level, IMAGE >> level, DEPTH], seed=[level, 0])
            for level in LEVELS]
    boxes, levels = regions(options.regions)
    one = aligned if options.roi_align else one_pass
    ways = {"gather": one(True), "gather_xla": one(True), "sparse": one(False)}
    if not options.roi_align:
        ways = {"per_level": per_level, "all_levels": all_levels} | ways
    first = next(iter(ways))
    expected = ways[first](maps, boxes, levels)
    for name, crop in ways.items():
        np.testing.assert_allclose(crop(maps, boxes, levels), expected, atol=2e-3, err_msg=name)
    traced = {name: tf.function(with_gradient(crop) if options.backward else crop,
                                jit_compile=name.endswith("_xla"))
              for name, crop in ways.items()}
    medians = median_ms(traced, maps, boxes, levels)
    print(json.dumps({
        "benchmark": "pyramid_crop", "regions": options.regions, "backward": options.backward,
        "roi_align": options.roi_align, "median_ms": medians,
        "ratio": {name: value / medians[first] for name, value in medians.items()}}))


if __name__ == "__main__":
    main()
