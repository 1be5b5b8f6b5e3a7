"""Input pipelines of training and evaluation: record files in, batches at network size out.

A batch is a pair of dictionaries keyed by `core.standard_fields.InputDataFields`. B images, N rows
for objects, H x W the largest image of the batch, C classes.

features:
    image float32 [B, H, W, channels], resized, padded, then normalized for the network
    true_image_shape int32 [B, 3]: height, width, channels without padding
    original_image_spatial_shape int32 [B, 2]: before resizing (in training also before augmenting)
    source_id, key string [B]
    original_image uint8 [B, H0, W0, 3], padded, where retain_original_images asks for it
labels:
    groundtruth_boxes float32 [B, N, 4], normalized to the padded H x W
    groundtruth_classes float32 [B, N, C], one-hot
    groundtruth_weights, groundtruth_area float32 [B, N]; weight 0 marks padding
    groundtruth_is_crowd, groundtruth_difficult, groundtruth_group_of bool [B, N]
    num_groundtruth_boxes int32 [B]
    is_annotated bool [B], false for an image that adds no loss
    groundtruth_labeled_classes float32 [B, C], 1 for classes the image was searched for
    groundtruth_instance_masks uint8 [B, N, H, W], with load_instance_masks
    groundtruth_original_instance_masks uint8 [B, N, H0, W0], in evaluation with masks

N is max_number_of_boxes in training. It is the number of objects in the batch's fullest image in
evaluation, where nothing is cut off, and in training with masks and a resizer without fixed size,
where 100 full masks per image would mostly be empty.
"""

import dataclasses
from collections.abc import Callable, Mapping

import tensorflow as tf

from object_detection.builders import dataset_builder, image_resizer_builder, preprocessor_builder
from object_detection.core import centered_resizers, resizers
from object_detection.core.augment.tensors import Tensors
from object_detection.core.model import DetectionModel
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.data_decoders import record_checks
from object_detection.input_pipeline import batching, image_ids, transform
from object_detection.protos import eval_pb2, input_reader_pb2, model_pb2, train_pb2

# The pipeline has no Python control flow over tensors; converting it would take seconds.
_GRAPH_AS_WRITTEN = tf.autograph.experimental.do_not_convert
_PARAMS = ("batch_size", "seed", "skip_bad_records")


def train_input(train_config: train_pb2.TrainConfig,
                train_input_config: input_reader_pb2.InputReader,
                model_config: model_pb2.DetectionModel, model: DetectionModel | None = None,
                params: Mapping[str, object] | None = None,
                input_context: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
    """Builds the dataset of training batches; it ends only if `num_epochs` is set.

    Args:
        model: gives resizer and pixel normalisation; without it the resizer is built from
            model_config and pixels stay in 0..255.
        params: "batch_size" overrides the config's; "seed" (int) makes shuffling and augmentation
            repeatable; "skip_bad_records" (bool) leaves out and counts what is an error otherwise.
        input_context: of a distribution strategy; batches are then those of one replica and the
            records those of one worker.
    Raises:
        ValueError: for settings or files that cannot work, before anything is read in earnest.
    """
    options = _options(params)
    network = _network(model_config, model)
    masks = train_input_config.load_instance_masks
    settings = transform.TransformSettings(
        num_classes=network.num_classes,
        resizer=network.resizer,
        training=True,
        steps=preprocessor_builder.build_all(train_config.data_augmentation_options),
        max_number_of_boxes=train_input_config.max_number_of_boxes,
        load_masks=masks,
        keep_original_image=train_config.retain_original_images,
        use_multiclass_scores=train_config.use_multiclass_scores,
        merge_multiple_label_boxes=train_config.merge_multiple_label_boxes,
        # Regions in a crowd are no background for this one; the others take no notice of crowds.
        keep_crowds=model_config.faster_rcnn.HasField("matterport"))
    resizer = network.resizer.for_training()
    fixed = resizer.fixed_size is not None
    batch_size = int(options.get("batch_size") or train_config.batch_size)
    if input_context is not None:
        batch_size = input_context.get_per_replica_batch_size(batch_size)
    batch_settings = batching.BatchSettings(
        batch_size=batch_size,
        drop_remainder=train_input_config.drop_remainder,
        num_boxes=train_input_config.max_number_of_boxes if fixed or not masks else None,
        resizer=resizer)
    decoder = dataset_builder.build_decoder(train_input_config, check_images=True)
    records = dataset_builder.build_records(train_input_config, decoder, input_context,
                                            seed=options.get("seed"))
    checked = _decoded(records, decoder.decode, network.num_classes, options)
    examples = _transformed(checked, settings, options)
    batches = _normalized(batching.batch(examples, batch_settings), network.normalize)
    return _finished(batches, train_input_config,
                     deterministic="seed" in options or not train_input_config.shuffle)


def eval_input(eval_config: eval_pb2.EvalConfig,
               eval_input_config: input_reader_pb2.InputReader,
               model_config: model_pb2.DetectionModel, model: DetectionModel | None = None,
               params: Mapping[str, object] | None = None,
               input_context: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
    """Builds the dataset of evaluation batches: every record once, the last batch may be smaller.

    Source ids are unique: records without one get one, a record that repeats another byte for byte
    is left out, and unlike records that share an id get a suffix; the last two are reported.
    Arguments are those of `train_input`.
    """
    options = _options(params)
    network = _network(model_config, model)
    if eval_config.force_no_resize:
        if isinstance(network.resizer, centered_resizers.CenteredResizer):
            raise ValueError("eval_config.force_no_resize: the model's resizer puts images in the "
                             "middle of their frames, so that evaluation needs it too; remove "
                             "the field")
        network = dataclasses.replace(network, resizer=resizers.IdentityResizer())
    settings = transform.TransformSettings(
        num_classes=network.num_classes,
        resizer=network.resizer,
        training=False,
        load_masks=eval_input_config.load_instance_masks,
        keep_original_image=eval_config.retain_original_images,
        unlabeled_means_all_classes=eval_config.image_classes_field_map_empty_to_ones)
    batch_settings = batching.BatchSettings(
        batch_size=int(options.get("batch_size") or eval_config.batch_size), drop_remainder=False,
        resizer=network.resizer)
    decoder = dataset_builder.build_decoder(eval_input_config, check_images=True)
    records = dataset_builder.build_records(eval_input_config, decoder, input_context,
                                            one_pass=True)
    records = image_ids.drop_repeated_records(records)
    checked = _decoded(records, decoder.decode, network.num_classes, options)
    worker = "" if input_context is None else f"{input_context.input_pipeline_id}_"
    checked = image_ids.make_unique(checked, prefix=f"image_{worker}".rstrip("_"))
    examples = _transformed(checked, settings, options)
    batches = _normalized(batching.batch(examples, batch_settings), network.normalize)
    return _finished(batches, eval_input_config, deterministic=True)


@dataclasses.dataclass(frozen=True)
class _Network:
    """What the pipeline needs to know of the model."""

    num_classes: int
    resizer: resizers.Resizer
    normalize: Callable[[tf.Tensor], tf.Tensor]


def _network(config: model_pb2.DetectionModel, model: DetectionModel | None) -> _Network:
    if model is not None:
        return _Network(model.num_classes, model.resizer, model.normalize)
    kind = config.WhichOneof("model")
    if kind != "faster_rcnn":
        raise ValueError(f"model: want faster_rcnn, got {kind or 'none'}")
    network = getattr(config, kind)
    return _Network(network.num_classes, image_resizer_builder.build(network.image_resizer),
                    lambda pixels: pixels)


def _options(params: Mapping[str, object] | None) -> Mapping[str, object]:
    unknown = sorted(set(params or {}) - set(_PARAMS))
    if unknown:
        raise ValueError(f"params: unknown {unknown}; known are {list(_PARAMS)}")
    return params or {}


def _decoded(records: tf.data.Dataset, decode: Callable[[tf.Tensor], Tensors], num_classes: int,
             options: Mapping[str, object]) -> tf.data.Dataset:
    """Decodes and checks records; what cannot be used is an error, or skipped and counted."""
    settings = record_checks.CheckSettings(
        num_classes=num_classes, skip_bad_records=bool(options.get("skip_bad_records")),
        issues=record_checks.IssueLog())

    @_GRAPH_AS_WRITTEN
    def checked(record: tf.Tensor) -> tuple[Tensors, tf.Tensor]:
        sanitized = record_checks.sanitize(decode(record), settings)
        return sanitized.tensors, sanitized.keep

    dataset = records.map(checked, num_parallel_calls=tf.data.AUTOTUNE)
    if settings.skip_bad_records:
        dataset = dataset.filter(lambda tensors, keep: keep)
    return dataset.map(lambda tensors, keep: tensors)


def _transformed(records: tf.data.Dataset, settings: transform.TransformSettings,
                 options: Mapping[str, object]) -> tf.data.Dataset:
    """Numbers the records, so that each draws its own random values, and transforms them."""
    seed = options.get("seed")
    if seed is None:
        seed = tf.random.uniform([], maxval=tf.int32.max, dtype=tf.int32)
    apply = transform.Transform(settings)

    @_GRAPH_AS_WRITTEN
    def numbered(index: tf.Tensor, record: Tensors) -> tuple[Tensors, Tensors]:
        return apply(record, tf.stack([tf.cast(seed, tf.int32),
                                       tf.cast(index % tf.int32.max, tf.int32)]))

    return records.enumerate().map(numbered, num_parallel_calls=tf.data.AUTOTUNE)


def _normalized(batches: tf.data.Dataset,
                normalize: Callable[[tf.Tensor], tf.Tensor]) -> tf.data.Dataset:
    """Normalizes after padding: as in the OD API, padding is black before normalisation."""
    def apply(features: Tensors, labels: Tensors) -> tuple[Tensors, Tensors]:
        return {**features, Fields.image: normalize(features[Fields.image])}, labels
    return batches.map(apply, num_parallel_calls=tf.data.AUTOTUNE)


def _finished(batches: tf.data.Dataset, config: input_reader_pb2.InputReader,
              deterministic: bool) -> tf.data.Dataset:
    options = tf.data.Options()
    options.deterministic = deterministic  # order of elements, for all parallel steps above
    return dataset_builder.prefetched(batches, config).with_options(options)
