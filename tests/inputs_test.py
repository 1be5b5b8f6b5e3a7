"""Input pipelines: records written here, batches checked."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection import inputs
from object_detection.protos import eval_pb2, input_reader_pb2, model_pb2, train_pb2

KEEP = "keep_aspect_ratio_resizer { min_dimension: 40 max_dimension: 64 }"
PAD = "keep_aspect_ratio_resizer { min_dimension: 40 max_dimension: 64 pad_to_max_dimension: true }"
FIXED = "fixed_shape_resizer { height: 32 width: 48 }"


def make_example(size=(20, 30), boxes=((0.1, 0.2, 0.5, 0.6),), labels=None, source_id="a",
                 crowd=None, gray=False, masks=False, value=100):
    height, width = size
    image = np.full([height, width, 1 if gray else 3], value, np.uint8)
    boxes = np.array(boxes, np.float32).reshape(-1, 4)
    labels = [1] * len(boxes) if labels is None else labels

    def floats(values):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    def ints(values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def texts(values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    feature = {
        "image/encoded": texts([tf.io.encode_png(image).numpy()]),
        "image/format": texts([b"png"]),
        "image/source_id": texts([source_id.encode()]),
        "image/filename": texts([(source_id or "nameless").encode()]),
        "image/height": ints([height]), "image/width": ints([width]),
        "image/object/class/label": ints(labels),
        "image/object/is_crowd": ints(crowd or [0] * len(boxes)),
    }
    for i, side in enumerate(("ymin", "xmin", "ymax", "xmax")):
        feature[f"image/object/bbox/{side}"] = floats(boxes[:, i])
    if masks:
        pixels = []
        for ymin, xmin, ymax, xmax in boxes:
            mask = np.zeros([height, width, 1], np.uint8)
            mask[round(ymin * height):round(ymax * height),
                 round(xmin * width):round(xmax * width)] = 1
            pixels.append(tf.io.encode_png(mask).numpy())
        feature["image/object/mask"] = texts(pixels)
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def write(path, examples):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for example in examples:
            writer.write(example)
    return str(path)


def reader(path, extra="shuffle: false num_epochs: 1"):
    return text_format.Parse(
        f'tf_record_input_reader {{ input_path: "{path}" }} {extra}',
        input_reader_pb2.InputReader())


def model_of(resizer, num_classes=3):
    return text_format.Parse(
        f"faster_rcnn {{ num_classes: {num_classes} image_resizer {{ {resizer} }} }}",
        model_pb2.DetectionModel())


def train(path, resizer=KEEP, batch_size=1, reader_text="shuffle: false num_epochs: 1",
          train_text="", params=None, input_context=None):
    config = text_format.Parse(f"batch_size: {batch_size} {train_text}", train_pb2.TrainConfig())
    return inputs.train_input(config, reader(path, reader_text), model_of(resizer), params=params,
                              input_context=input_context)


def evaluate(path, resizer=KEEP, batch_size=1, reader_text="shuffle: false", eval_text=""):
    config = text_format.Parse(f"batch_size: {batch_size} {eval_text}", eval_pb2.EvalConfig())
    return inputs.eval_input(config, reader(path, reader_text), model_of(resizer))


def test_one_image_as_a_training_batch(tmp_path):
    path = write(tmp_path / "a.record", [make_example(
        boxes=[[0.1, 0.2, 0.5, 0.6], [0, 0, 1, 1]], labels=[1, 3])])
    features, labels = next(iter(train(path)))
    assert features["image"].shape == [1, 40, 60, 3]  # 20 x 30, doubled
    assert features["image"].dtype == tf.float32
    np.testing.assert_allclose(features["image"], 100.0)
    assert features["true_image_shape"].numpy().tolist() == [[40, 60, 3]]
    assert features["original_image_spatial_shape"].numpy().tolist() == [[20, 30]]
    assert features["source_id"].numpy().tolist() == [b"a"]
    assert labels["groundtruth_boxes"].shape == [1, 100, 4]
    np.testing.assert_allclose(labels["groundtruth_boxes"][0, :2], [[.1, .2, .5, .6], [0, 0, 1, 1]])
    np.testing.assert_array_equal(labels["groundtruth_classes"][0, :3],
                                  [[1, 0, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(labels["groundtruth_weights"][0, :3], [1, 1, 0])
    assert labels["num_groundtruth_boxes"].numpy().tolist() == [2]


def test_unlike_sizes_are_padded_and_boxes_follow(tmp_path):
    path = write(tmp_path / "a.record", [
        make_example((375, 500), [[0, 0, 1, 1]]), make_example((500, 375), [[0, 0, 1, 0.5]])])
    resizer = "keep_aspect_ratio_resizer { min_dimension: 60 max_dimension: 100 }"
    features, labels = next(iter(train(path, resizer, batch_size=2)))
    assert features["image"].shape == [2, 80, 80, 3]
    assert features["true_image_shape"].numpy().tolist() == [[60, 80, 3], [80, 60, 3]]
    np.testing.assert_allclose(labels["groundtruth_boxes"][:, 0],
                               [[0, 0, 0.75, 1], [0, 0, 1, 0.375]])  # 60 / 80, 30 / 80
    assert features["image"].numpy()[0, 60:].max() == 0.0
    assert features["image"].numpy()[1, :, 60:].max() == 0.0


def test_padding_by_the_resizer_counts_as_padding_too(tmp_path):
    path = write(tmp_path / "a.record", [make_example((20, 30), [[0, 0, 1, 1]])])
    features, labels = next(iter(train(path, PAD)))
    assert features["image"].shape == [1, 64, 64, 3]
    assert features["true_image_shape"].numpy().tolist() == [[40, 60, 3]]
    np.testing.assert_allclose(labels["groundtruth_boxes"][0, 0], [0, 0, 40 / 64, 60 / 64])


def test_an_image_in_the_middle_of_its_frame(tmp_path):
    path = write(tmp_path / "a.record", [make_example((20, 30), [[0, 0.5, 1, 1]], masks=True)])
    resizer = "centered_square_resizer { min_dimension: 40 max_dimension: 64 }"
    text = "num_epochs: 1 load_instance_masks: true mask_type: PNG_MASKS"
    for features, labels in (next(iter(train(path, resizer, reader_text=text))),
                             next(iter(evaluate(path, resizer, reader_text=text)))):
        assert features["image"].shape == [1, 64, 64, 3]
        assert features["true_image_shape"].numpy().tolist() == [[40, 60, 3]]
        # 40 x 60 from (12, 2) on; the object is its right half.
        np.testing.assert_allclose(labels["groundtruth_boxes"][0, 0],
                                   [12 / 64, 32 / 64, 52 / 64, 62 / 64])
        mask = labels["groundtruth_instance_masks"].numpy()[0, 0]
        rows, columns = np.nonzero(mask)
        assert (rows.min(), rows.max(), columns.min(), columns.max()) == (12, 51, 32, 61)
        assert features["image"].numpy()[0, :12].max() == 0.0
        assert features["image"].numpy()[0, 12:52, 2:62].min() == 100.0
    with pytest.raises(ValueError, match="force_no_resize: .* middle of their frames"):
        evaluate(path, resizer, eval_text="force_no_resize: true")


def test_random_crops_train_and_whole_images_evaluate(tmp_path):
    path = write(tmp_path / "a.record", [make_example((20, 30), [[0, 0, 1, 1]], masks=True)] * 2)
    resizer = "random_crop_resizer { min_dimension: 40 }"
    text = "num_epochs: 1 load_instance_masks: true mask_type: PNG_MASKS"
    dataset = train(path, resizer, batch_size=2, reader_text=text)
    assert dataset.element_spec[0]["image"].shape == [2, 40, 40, 3]
    assert dataset.element_spec[1]["groundtruth_instance_masks"].shape == [2, 100, 40, 40]
    features, labels = next(iter(dataset))
    assert features["true_image_shape"].numpy().tolist() == [[40, 40, 3]] * 2
    np.testing.assert_allclose(labels["groundtruth_boxes"][:, 0], [[0, 0, 1, 1]] * 2)
    features, labels = next(iter(evaluate(path, resizer, reader_text=text)))
    assert features["image"].shape == [1, 64, 64, 3]
    assert features["true_image_shape"].numpy().tolist() == [[40, 60, 3]]


LABEL_MAP = "".join(f"item {{ id: {number} name: '{name}' }} "
                    for number, name in enumerate(("cat", "dog", "owl"), start=1))


@pytest.mark.parametrize("weights", ["", "sample_from_datasets_weights: [0.5, 0.5]"])
def test_data_sets_that_know_some_classes_each(tmp_path, weights):
    (tmp_path / "labels.pbtxt").write_text(LABEL_MAP)
    # Of the second set, one image states by itself what it was searched for.
    stating = tf.train.Example.FromString(make_example(labels=[2], source_id="stating"))
    stating.features.feature["image/class/text"].bytes_list.value[:] = [b"dog"]
    write(tmp_path / "one.record", [make_example(labels=[1], source_id="one")])
    write(tmp_path / "two.record", [make_example(labels=[3], source_id="two"),
                                    stating.SerializeToString()])
    config = text_format.Parse(f"""
        label_map_path: "{tmp_path}/labels.pbtxt" shuffle: false num_epochs: 1 {weights}
        tf_record_input_reader {{ input_path: "{tmp_path}/one.record"
                                  input_path: "{tmp_path}/two.record" }}
        known_classes {{ name: "cat" name: "dog" }} known_classes {{ name: "owl" }}
        """, input_reader_pb2.InputReader())

    def found():
        dataset = inputs.train_input(train_pb2.TrainConfig(batch_size=1), config, model_of(KEEP))
        return {features["source_id"].numpy()[0].decode():
                labels["groundtruth_labeled_classes"].numpy()[0].tolist()
                for features, labels in dataset}
    assert found() == {"one": [1, 1, 0], "two": [0, 0, 1], "stating": [0, 1, 0]}
    del config.known_classes[1].name[:]  # all classes
    assert found() == {"one": [1, 1, 0], "two": [1, 1, 1], "stating": [0, 1, 0]}


@pytest.mark.parametrize("text, message", [
    ("known_classes { } known_classes { }", "want one block per input_path, got 2 .* for 1"),
    ("known_classes { name: 'cow' }", r"known_classes\[0\]: \['cow'\] not in .*'cat', 'dog'"),
    ("known_classes { name: 'cat' }", "names need a label_map_path")])
def test_known_classes_that_cannot_be(tmp_path, text, message):
    (tmp_path / "labels.pbtxt").write_text(LABEL_MAP)
    path = write(tmp_path / "a.record", [make_example()])
    if "need a label_map_path" not in message:
        text += f" label_map_path: '{tmp_path}/labels.pbtxt'"
    with pytest.raises(ValueError, match=message):
        train(path, reader_text=text)


def test_fixed_size_gives_static_shapes(tmp_path):
    path = write(tmp_path / "a.record", [make_example(masks=True)] * 2)
    dataset = train(path, FIXED, batch_size=2, reader_text=(
        "num_epochs: 1 load_instance_masks: true mask_type: PNG_MASKS max_number_of_boxes: 7"))
    features, labels = dataset.element_spec
    assert features["image"].shape == [2, 32, 48, 3]
    assert labels["groundtruth_boxes"].shape == [2, 7, 4]
    assert labels["groundtruth_classes"].shape == [2, 7, 3]
    assert labels["groundtruth_instance_masks"].shape == [2, 7, 32, 48]
    assert labels["groundtruth_instance_masks"].dtype == tf.uint8


def test_image_without_boxes_and_a_set_of_only_such(tmp_path):
    path = write(tmp_path / "a.record", [make_example((33, 47), boxes=[], masks=True)] * 2)
    text = "shuffle: false num_epochs: 1 load_instance_masks: true mask_type: PNG_MASKS"
    for resizer in (KEEP, FIXED):
        features, labels = next(iter(train(path, resizer, 2, text)))
        assert labels["num_groundtruth_boxes"].numpy().tolist() == [0, 0]
        assert labels["groundtruth_weights"].numpy().sum() == 0
        assert np.isfinite(features["image"]).all()
    _, labels = next(iter(evaluate(path, batch_size=2, reader_text=text)))
    assert labels["groundtruth_boxes"].shape == [1, 0, 4]  # the second record repeats the first


def test_too_many_boxes_are_cut_alike_in_training_and_kept_in_evaluation(tmp_path, caplog):
    boxes = [[0.0, 0.0, 0.5, 0.5]] * 149 + [[0, 0, 1, 1]]
    path = write(tmp_path / "a.record", [make_example((8, 8), boxes, masks=True)])
    text = "shuffle: false num_epochs: 1 load_instance_masks: true mask_type: PNG_MASKS"
    _, labels = next(iter(train(path, reader_text=text)))
    for key in ("groundtruth_boxes", "groundtruth_classes", "groundtruth_is_crowd",
                "groundtruth_instance_masks"):
        assert labels[key].shape[1] == 100, key
    assert labels["num_groundtruth_boxes"].numpy().tolist() == [100]
    assert "has 150 boxes" in caplog.text and "max_number_of_boxes" in caplog.text
    _, labels = next(iter(evaluate(path, reader_text=text)))
    assert labels["groundtruth_boxes"].shape == [1, 150, 4]


def test_masks_are_resized_and_kept_at_original_size_for_evaluation(tmp_path):
    path = write(tmp_path / "a.record", [make_example((20, 30), [[0.5, 0, 1, 1]], masks=True)])
    _, labels = next(iter(evaluate(
        path, reader_text="load_instance_masks: true mask_type: PNG_MASKS")))
    masks = labels["groundtruth_instance_masks"].numpy()
    assert masks.shape == (1, 1, 40, 60) and masks.dtype == np.uint8
    assert masks[0, 0, :20].max() == 0 and masks[0, 0, 20:].min() == 1
    original = labels["groundtruth_original_instance_masks"].numpy()
    assert original.shape == (1, 1, 20, 30) and original.sum() == 300


def test_crowd_boxes_are_for_evaluation_only(tmp_path):
    path = write(tmp_path / "a.record", [make_example(
        boxes=[[0, 0, .5, .5], [0, 0, 1, 1]], crowd=[0, 1])])
    _, labels = next(iter(train(path)))
    assert labels["num_groundtruth_boxes"].numpy().tolist() == [1]
    _, labels = next(iter(evaluate(path)))
    assert labels["groundtruth_is_crowd"].numpy().tolist() == [[False, True]]


def test_gray_images_get_three_channels(tmp_path):
    path = write(tmp_path / "a.record", [make_example(gray=True)])
    features, _ = next(iter(train(path)))
    assert features["image"].shape == [1, 40, 60, 3]


def test_evaluation_is_one_pass_with_the_remainder(tmp_path):
    sizes = [(20, 30), (30, 20), (24, 24)]
    path = write(tmp_path / "a.record", [
        make_example(sizes[i % 3], source_id=str(i)) for i in range(10)])
    batches = list(evaluate(path, batch_size=4))
    assert [len(features["image"]) for features, _ in batches] == [4, 4, 2]
    ids = [i for features, _ in batches for i in features["source_id"].numpy()]
    assert ids == [str(i).encode() for i in range(10)]
    assert batches[0][0]["original_image"].shape == [4, 30, 30, 3]
    assert batches[0][0]["original_image"].dtype == tf.uint8
    assert len(list(evaluate(path, reader_text="sample_1_of_n_examples: 2"))) == 5


def test_source_ids_are_unique(tmp_path, caplog):
    first = make_example(source_id="x")
    path = write(tmp_path / "a.record", [
        first, make_example(source_id="x", value=7), make_example(source_id="", value=1),
        make_example(source_id="", value=2), first])
    dataset = evaluate(path)
    for _ in range(2):  # nothing is remembered from one pass to the next
        ids = [features["source_id"].numpy()[0] for features, _ in dataset]
        assert ids == [b"x", b"x#2", b"image_2", b"image_3"]
    assert "repeats an earlier one" in caplog.text and "several records" in caplog.text


def test_training_repeats_shuffles_and_drops_the_remainder(tmp_path):
    path = write(tmp_path / "a.record", [make_example(source_id=str(i)) for i in range(5)])
    dataset = train(path, FIXED, batch_size=2, reader_text="shuffle_buffer_size: 5",
                    params={"seed": 1})  # in order, so that epochs do not overlap
    ids = [i for features, _ in dataset.take(10) for i in features["source_id"].numpy()]
    assert len(ids) == 20
    # Every epoch of 5 holds every record once.
    assert all(sorted(ids[5 * e:5 * e + 5]) == [b"0", b"1", b"2", b"3", b"4"] for e in range(4))
    assert len(list(train(path, batch_size=2))) == 2
    assert len(list(train(path, batch_size=2, reader_text="num_epochs: 1 drop_remainder: false")
                    )) == 3


def test_a_seed_repeats_order_and_augmentation(tmp_path):
    path = write(tmp_path / "a.record", [make_example(source_id=str(i)) for i in range(6)])
    augment = ("data_augmentation_options { random_horizontal_flip { } } "
               "data_augmentation_options { random_adjust_brightness { } }")
    runs = [list(train(path, train_text=augment, params={"seed": 5}, reader_text="num_epochs: 2"))
            for _ in range(2)]
    for (features1, labels1), (features2, labels2) in zip(*runs):
        np.testing.assert_array_equal(features1["image"], features2["image"])
        np.testing.assert_array_equal(labels1["groundtruth_boxes"], labels2["groundtruth_boxes"])
    values = {float(features["image"].numpy().mean()) for features, _ in runs[0]}
    assert len(values) == 12  # each image of each epoch draws its own brightness


def test_workers_share_the_records(tmp_path):
    path = write(tmp_path / "a.record", [make_example(source_id=str(i)) for i in range(6)])
    seen = []
    for worker in range(2):
        context = tf.distribute.InputContext(2, worker, num_replicas_in_sync=2)
        dataset = train(path, FIXED, batch_size=2, input_context=context)
        for features, _ in dataset:
            assert features["image"].shape[0] == 1  # half of the global batch
            seen.extend(features["source_id"].numpy())
    assert sorted(seen) == [str(i).encode() for i in range(6)]


def test_unusable_files_are_named(tmp_path):
    with pytest.raises(ValueError, match="no file matches '.*missing-\\*'"):
        train(tmp_path / "missing-*")
    text = tmp_path / "boxes.csv"
    text.write_text("filename,width,height,class\n")
    with pytest.raises(ValueError, match="boxes.csv: not a TFRecord file, it looks like text"):
        train(text)
    empty = write(tmp_path / "empty.record", [])
    with pytest.raises(ValueError, match="empty"):
        train(empty)


@pytest.mark.parametrize("change, message", [
    (dict(labels=[4]), "label 4 of object 0: want 1 to 3"),
    (dict(boxes=[[0, 0, 20, 30]]), "pixels")])
def test_bad_records_are_named_or_skipped(tmp_path, change, message):
    path = write(tmp_path / "a.record", [make_example(source_id="good"),
                                         make_example(source_id="bad", **change)])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as error:
        list(train(path))
    assert "bad" in str(error.value)
    kept = list(train(path, params={"skip_bad_records": True}))
    assert [features["source_id"].numpy()[0] for features, _ in kept] == [b"good"]


def test_an_undecodable_image_is_named(tmp_path):
    example = tf.train.Example.FromString(make_example(source_id="cut"))
    example.features.feature["image/encoded"].bytes_list.value[0] = b"\xff\xd8\xff\xe0 cut off"
    path = write(tmp_path / "a.record", [example.SerializeToString()])
    with pytest.raises(tf.errors.InvalidArgumentError, match="source_id=.*cut.*undecodable image"):
        list(train(path))


def test_unlike_settings_are_refused(tmp_path):
    path = write(tmp_path / "a.record", [make_example()])
    with pytest.raises(ValueError, match="want one of .*'v0'.*, got 'v9'"):
        train(path, train_text="data_augmentation_options { autoaugment_image "
                               "{ policy_name: 'v9' } }")
    with pytest.raises(ValueError, match="unknown \\['batch'\\]"):
        train(path, params={"batch": 2})
    with pytest.raises(ValueError, match="one weight per input_path"):
        train(path, reader_text="sample_from_datasets_weights: [0.5, 0.5]")


def test_pixels_are_normalized_after_padding(tmp_path):
    class Model:
        num_classes = 3
        normalize = staticmethod(lambda pixels: pixels - 50.0)

    from object_detection.core import resizers
    Model.resizer = resizers.KeepAspectRatioResizer(min_dimension=40, max_dimension=64,
                                                    pad_to_max_dimension=True)
    path = write(tmp_path / "a.record", [make_example()])
    config = text_format.Parse("batch_size: 1", train_pb2.TrainConfig())
    features, _ = next(iter(inputs.train_input(config, reader(path), model_of(KEEP), Model())))
    assert features["image"].numpy()[0, 0, 0, 0] == 50.0
    assert features["image"].numpy()[0, -1, -1, 0] == -50.0  # black before normalisation


def test_equal_boxes_merge_into_one_with_all_classes(tmp_path):
    path = write(tmp_path / "a.record", [make_example(
        boxes=[[0, 0, 1, 1], [0, 0, .5, .5], [0, 0, 1, 1]], labels=[1, 2, 3])])
    _, labels = next(iter(train(path, train_text="merge_multiple_label_boxes: true")))
    assert labels["num_groundtruth_boxes"].numpy().tolist() == [2]
    np.testing.assert_array_equal(labels["groundtruth_classes"][0, :2], [[1, 0, 1], [0, 1, 0]])
