"""Builds datasets of decoded records from `train_input_reader` and `eval_input_reader` blocks."""

from collections.abc import Callable

import tensorflow as tf

from object_detection.core.augment.tensors import Tensors
from object_detection.core.standard_fields import TfExampleFields
from object_detection.data_decoders import label_lookup, record_checks, tf_example_decoder
from object_detection.input_pipeline import records
from object_detection.protos import input_reader_pb2


def build(input_reader_config: input_reader_pb2.InputReader, batch_size: int | None = None,
          transform_input_data_fn: Callable[[Tensors], object] | None = None,
          input_context: tf.distribute.InputContext | None = None,
          reduce_to_frame_fn: Callable | None = None) -> tf.data.Dataset:
    """Builds a dataset of decoded (and transformed) tensor dictionaries.

    Args:
        batch_size: None leaves examples unbatched; else they are padded to the batch's largest.
        transform_input_data_fn: applied to each decoded dictionary; returns nested tensors.
        input_context: which shard of the records this worker reads.
        reduce_to_frame_fn: for sequence examples, which this package does not read; must be None.
    Raises:
        ValueError: for a reader that cannot work, naming the field or file.
    """
    if reduce_to_frame_fn is not None:
        raise ValueError("dataset_builder.build: reduce_to_frame_fn is for sequence examples, "
                         "which are not supported")
    decoder = build_decoder(input_reader_config)
    dataset = build_records(input_reader_config, decoder, input_context)

    def decode(record: tf.Tensor) -> object:
        decoded = decoder.decode(record)
        return transform_input_data_fn(decoded) if transform_input_data_fn else decoded

    dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE,
                          deterministic=not input_reader_config.shuffle)
    if batch_size:
        dataset = dataset.padded_batch(batch_size,
                                       drop_remainder=input_reader_config.drop_remainder)
    return prefetched(dataset, input_reader_config)


def build_records(config: input_reader_pb2.InputReader,
                  decoder: tf_example_decoder.TfExampleDecoder,
                  input_context: tf.distribute.InputContext | None = None,
                  one_pass: bool = False, seed: int | None = None) -> tf.data.Dataset:
    """Builds a dataset of serialized records, shuffled and repeated as the config says.

    File names are shuffled all together and work is spread over threads as it comes, so
    `filenames_shuffle_buffer_size` and `num_parallel_batches` have no effect.

    Args:
        decoder: what the first record of each file is tried on.
        one_pass: read everything once, whatever `num_epochs` says.
        seed: makes the shuffled order repeatable.
    """
    kind = config.WhichOneof("input_reader")
    if kind != "tf_record_input_reader":
        raise ValueError("input_reader: set tf_record_input_reader { input_path: ... }, got "
                         f"{kind or 'no reader'}")
    sequence = input_reader_pb2.InputType.Value("TF_SEQUENCE_EXAMPLE")
    if config.input_type == sequence:
        raise ValueError("input_reader.input_type: TF_SEQUENCE_EXAMPLE is not supported; write "
                         "one tf.Example per frame and use TF_EXAMPLE")
    settings = records.ReaderSettings(
        patterns=tuple(config.tf_record_input_reader.input_path),
        shuffle=config.shuffle,
        shuffle_buffer_size=config.shuffle_buffer_size,
        num_epochs=1 if one_pass else config.num_epochs,
        sample_1_of_n_examples=config.sample_1_of_n_examples,
        num_readers=config.num_readers,
        read_block_length=config.read_block_length,
        seed=seed,
        weights=tuple(config.sample_from_datasets_weights),
        defaults=_known_classes(config))
    shard = records.Shard()
    if input_context is not None:
        shard = records.Shard(input_context.input_pipeline_id, input_context.num_input_pipelines)
    dataset = records.read(settings, shard)
    _check_first_records(records.find_files(settings.patterns), decoder)
    return dataset


def build_decoder(config: input_reader_pb2.InputReader,
                  check_images: bool = False) -> tf_example_decoder.TfExampleDecoder:
    """Builds the decoder of an input reader; see `TfExampleDecoder` for check_images."""
    return tf_example_decoder.TfExampleDecoder(
        load_instance_masks=config.load_instance_masks,
        instance_mask_type=config.mask_type,
        label_map_proto_file=config.label_map_path or None,
        use_display_name=config.use_display_name,
        num_keypoints=config.num_keypoints,
        num_additional_channels=config.num_additional_channels,
        load_multiclass_scores=config.load_multiclass_scores,
        load_context_features=config.load_context_features,
        expand_hierarchy_labels=config.expand_labels_hierarchy,
        load_dense_pose=config.load_dense_pose,
        load_track_id=config.load_track_id,
        load_keypoint_depth_features=config.load_keypoint_depth_features,
        use_keypoint_label_map=config.use_keypoint_label_map,
        check_images=check_images)


def prefetched(dataset: tf.data.Dataset,
               config: input_reader_pb2.InputReader) -> tf.data.Dataset:
    """Returns the dataset with `num_prefetch_batches` elements made ahead (-1: as many as help)."""
    count = config.num_prefetch_batches
    return dataset.prefetch(tf.data.AUTOTUNE if count < 0 else count)


def _known_classes(config: input_reader_pb2.InputReader) -> tuple[bytes, ...]:
    """Returns a serialized example for each path that states the classes it annotates.

    They are image-level labels (`image/class/text`), which say what an image was searched for.
    """
    if not config.known_classes:
        return ()
    if not config.label_map_path:
        raise ValueError("input_reader.known_classes: names need a label_map_path")
    labels = label_lookup.read_labels(config.label_map_path, config.use_display_name)
    examples = []
    for number, block in enumerate(config.known_classes):
        names = [name.strip() for name in block.name]
        unknown = [name for name in names if name not in labels]
        if unknown:
            raise ValueError(f"input_reader.known_classes[{number}]: {unknown} not in "
                             f"{config.label_map_path}, which has {sorted(labels)}")
        example = tf.train.Example()
        if names:
            feature = example.features.feature[TfExampleFields.image_class_text]
            feature.bytes_list.value.extend(name.encode("utf-8") for name in names)
        examples.append(example.SerializeToString(deterministic=True))
    return tuple(examples)


def _check_first_records(files: list[str], decoder: tf_example_decoder.TfExampleDecoder) -> None:
    """Raises ValueError if the first record of a file has another format than the decoder wants."""
    for path in files:
        for record in tf.data.TFRecordDataset(path).take(1):
            fault = record_checks.explain_first_record(record.numpy(), decoder)
            if fault:
                raise ValueError(f"{path}: the first record cannot be used: {fault}")
