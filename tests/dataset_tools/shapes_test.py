import numpy as np
import pytest
import reading_records as reading

from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.dataset_tools import shapes


def _scenes(count, **options):
    settings = shapes.ShapesSettings(image_size=64, **options)
    return [shapes.draw_scene(np.random.default_rng(seed), settings) for seed in range(count)]


def test_masks_do_not_overlap_and_boxes_are_tight():
    for scene in _scenes(20, max_objects=8):
        assert scene.masks.sum(axis=0).max(initial=0) <= 1
        for box, mask in zip(scene.boxes.astype(int), scene.masks):
            ymin, xmin, ymax, xmax = box
            assert mask[ymin:ymax, xmin:xmax].sum() == mask.sum() > 0
            assert mask[ymin].any() and mask[ymax - 1].any()
            assert mask[:, xmin].any() and mask[:, xmax - 1].any()


def test_a_shape_can_be_seen_against_the_background():
    differences = []
    for scene in _scenes(20, min_objects=1, max_objects=1, empty_share=0.0, noise=0.0):
        inside = scene.image[scene.masks[0] == 1].mean(0)
        ymin, xmin, ymax, xmax = scene.boxes[0].astype(int)
        around = scene.image[max(ymin - 3, 0):ymax + 3, max(xmin - 3, 0):xmax + 3]
        outside = scene.masks[0][max(ymin - 3, 0):ymax + 3, max(xmin - 3, 0):xmax + 3] == 0
        differences.append(np.abs(inside - around[outside].mean(0)).max())
    assert np.median(differences) > 60


def test_empty_images_exist():
    (scene,) = _scenes(1, empty_share=1.0)
    assert scene.boxes.shape == (0, 4)
    assert scene.masks.shape == (0, 64, 64)


def test_the_seed_decides_everything(tmp_path):
    settings = shapes.ShapesSettings(image_size=48)
    for name, seed, count in (("a", 1, 3), ("b", 1, 3), ("c", 2, 3), ("longer", 1, 4)):
        shapes.write_dataset(str(tmp_path / name), count, 1, seed, settings)
    read = {name: (tmp_path / name / "train.record").read_bytes()
            for name in ("a", "b", "c", "longer")}
    assert read["a"] == read["b"]
    assert read["a"] != read["c"]
    assert read["longer"].startswith(read["a"])  # more images leave the first ones as they were
    assert read["a"] != (tmp_path / "a" / "val.record").read_bytes()


def test_records_give_back_the_scene(tmp_path):
    counts = shapes.write_dataset(str(tmp_path), 4, 0, 5, shapes.ShapesSettings(image_size=64))
    items = reading.decoded(tmp_path / "train.record", load_instance_masks=True,
                            instance_mask_type=2,
                            label_map_proto_file=str(tmp_path / "label_map.pbtxt"))
    assert len(items) == counts["train_images"] == 4
    assert sum(len(item[Fields.groundtruth_boxes]) for item in items) == counts["train_objects"]
    for index, item in enumerate(items):
        scene = shapes.draw_scene(np.random.default_rng([5, 0, index]),
                                  shapes.ShapesSettings(image_size=64))
        assert item[Fields.record_fault] == b""
        np.testing.assert_array_equal(item[Fields.groundtruth_instance_masks], scene.masks)
        np.testing.assert_allclose(item[Fields.groundtruth_boxes], scene.boxes / 64)
        assert [name.decode() for name in item[Fields.groundtruth_class_texts]] == scene.names
        assert [shapes.CLASS_NAMES[label - 1]
                for label in item[Fields.groundtruth_classes]] == scene.names
    assert list(tmp_path.glob("samples/train_*.png"))
    assert not reading.examples(tmp_path / "val.record")


def test_bad_settings(tmp_path):
    with pytest.raises(ValueError, match="image_size"):
        shapes.write_dataset(str(tmp_path), 1, 1, 0, shapes.ShapesSettings(image_size=8))
    with pytest.raises(ValueError, match="num_train"):
        shapes.write_dataset(str(tmp_path), -1, 1)
