"""Decodes tf.Example records into tensors, with the keys of the Object Detection API.

Rules where records differ:

- Class. With a label map, `image/object/class/text` decides; it is looked up among the names and
  the display names, and an unknown text gives label -1, never the label stored beside it. Without
  texts, or without a label map, `image/object/class/label` counts.
- Missing values. Weights are 1, flags false, areas those of the boxes.
- Unsound records. Decoding never stops at a field that does not fit: fields of objects always
  come out with one row per box, and `record_fault` says what was wrong. `record_checks.sanitize`
  turns that into an error or a skipped record. The exception is an undecodable image, which fails
  at run time unless `check_images` is set.
- Masks are uint8, not float32 as in the Object Detection API: a fourth of the memory.
"""

from typing import Any

import tensorflow as tf

from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.core.standard_fields import TfExampleFields as Keys
from object_detection.data_decoders import image_decoding, label_lookup

# Values of the enum InstanceMaskType in input_reader.proto.
NUMERICAL_MASKS = 1
PNG_MASKS = 2

_SCALARS = {
    Keys.image_encoded: tf.io.FixedLenFeature([], tf.string, ""),
    Keys.image_format: tf.io.FixedLenFeature([], tf.string, "jpeg"),
    Keys.filename: tf.io.FixedLenFeature([], tf.string, ""),
    Keys.key: tf.io.FixedLenFeature([], tf.string, ""),
    Keys.source_id: tf.io.FixedLenFeature([], tf.string, ""),
    Keys.height: tf.io.FixedLenFeature([], tf.int64, 0),
    Keys.width: tf.io.FixedLenFeature([], tf.int64, 0),
    Keys.is_annotated: tf.io.FixedLenFeature([], tf.int64, 1),
}
_LISTS = {
    Keys.image_class_text: tf.string, Keys.image_class_label: tf.int64,
    Keys.image_class_confidence: tf.float32, Keys.neg_category_ids: tf.int64,
    Keys.not_exhaustive_category_ids: tf.int64, Keys.object_bbox_ymin: tf.float32,
    Keys.object_bbox_xmin: tf.float32, Keys.object_bbox_ymax: tf.float32,
    Keys.object_bbox_xmax: tf.float32, Keys.object_class_text: tf.string,
    Keys.object_class_label: tf.int64, Keys.object_area: tf.float32,
    Keys.object_is_crowd: tf.int64, Keys.object_difficult: tf.int64,
    Keys.object_group_of: tf.int64, Keys.object_weight: tf.float32,
}
_BOX_EDGES = (Keys.object_bbox_ymin, Keys.object_bbox_xmin, Keys.object_bbox_ymax,
              Keys.object_bbox_xmax)


class TfExampleDecoder(tf.Module):
    """Turns a serialized tf.Example into a dictionary of tensors."""

    def __init__(self, load_instance_masks: bool = False,
                 instance_mask_type: int = NUMERICAL_MASKS,
                 label_map_proto_file: str | None = None, use_display_name: bool = False,
                 dct_method: str = "", num_keypoints: int = 0, num_additional_channels: int = 0,
                 load_multiclass_scores: bool = False, load_context_features: bool = False,
                 expand_hierarchy_labels: bool = False, load_dense_pose: bool = False,
                 load_track_id: bool = False, load_keypoint_depth_features: bool = False,
                 use_keypoint_label_map: bool = False, *, check_images: bool = False) -> None:
        """Sets up the decoder. The arguments are those of the Object Detection API.

        Args:
            load_instance_masks: whether to read masks.
            instance_mask_type: NUMERICAL_MASKS (or 0, the default of the proto) or PNG_MASKS.
            label_map_proto_file: label map for class texts.
            use_display_name: whether a display name wins where it equals the name of another item.
            dct_method: see `image_decoding.decode_image`.
            num_keypoints: number of keypoints of each object; 0 reads none.
            num_additional_channels: number of images with one more channel each.
            load_multiclass_scores: whether to read a row of scores per object.
            load_context_features: whether to read the features of Context R-CNN.
            expand_hierarchy_labels, load_dense_pose, load_keypoint_depth_features,
            use_keypoint_label_map: must be false; no model of this family uses them.
            load_track_id: whether to read track ids.
            check_images: report an undecodable image in `record_fault` instead of failing. Ours.
        Raises:
            ValueError: for an argument without support here, or a faulty label map.
        """
        super().__init__(name="tf_example_decoder")
        for name, value in (("expand_hierarchy_labels", expand_hierarchy_labels),
                            ("load_dense_pose", load_dense_pose),
                            ("load_keypoint_depth_features", load_keypoint_depth_features),
                            ("use_keypoint_label_map", use_keypoint_label_map)):
            if value:
                raise ValueError(f"TfExampleDecoder: {name} is not supported for the two-stage "
                                 "models of this package, want false")
        if instance_mask_type not in (0, NUMERICAL_MASKS, PNG_MASKS):
            raise ValueError("TfExampleDecoder: instance_mask_type: want 1 (NUMERICAL_MASKS) or "
                             f"2 (PNG_MASKS), got {instance_mask_type}")
        self._load_masks = load_instance_masks
        self._png_masks = instance_mask_type == PNG_MASKS
        self._dct_method = dct_method
        self._num_keypoints = num_keypoints
        self._num_additional_channels = num_additional_channels
        self._load_multiclass_scores = load_multiclass_scores
        self._load_context_features = load_context_features
        self._load_track_id = load_track_id
        self._check_images = check_images
        self._lookup = (label_lookup.LabelLookup(label_map_proto_file, use_display_name)
                        if label_map_proto_file else None)

    @property
    def feature_spec(self) -> dict[str, Any]:
        """Returns the features that are read from a record, as `parse_single_example` wants it."""
        lists = dict(_LISTS)
        if self._load_masks:
            lists[Keys.instance_masks] = tf.string if self._png_masks else tf.float32
            lists[Keys.instance_mask_weights] = tf.float32
        if self._load_multiclass_scores:
            lists[Keys.object_multiclass_scores] = tf.float32
        if self._num_additional_channels:
            lists[Keys.additional_channels] = tf.string
        if self._num_keypoints:
            lists[Keys.object_keypoint_y] = lists[Keys.object_keypoint_x] = tf.float32
            lists[Keys.object_keypoint_visibility] = tf.int64
        if self._load_track_id:
            lists[Keys.object_track_label] = tf.int64
        spec: dict[str, Any] = dict(_SCALARS)
        if self._load_context_features:
            lists[Keys.context_features] = tf.float32
            spec[Keys.context_feature_length] = tf.io.FixedLenFeature([], tf.int64, 0)
        for key, dtype in lists.items():
            spec[key] = tf.io.FixedLenSequenceFeature([], dtype, allow_missing=True)
        return spec

    def decode(self, tf_example_string_tensor: tf.Tensor) -> dict[str, tf.Tensor]:
        """Decodes one record.

        Args:
            tf_example_string_tensor: string [], a serialized tf.Example.
        Returns:
            Tensors by `InputDataFields`. N objects, H x W pixels of the stored image:
            image uint8 [H, W, 3]; original_image_spatial_shape int32 [2]; source_id, filename,
            key, record_fault string []; image_height, image_width int64 [] as the record states
            them; is_annotated bool []; num_groundtruth_boxes int32 []; groundtruth_boxes float32
            [N, 4], normalized;
            groundtruth_classes int64 [N], from 1; groundtruth_class_texts string [N];
            groundtruth_area, groundtruth_weights float32 [N]; groundtruth_is_crowd,
            groundtruth_difficult, groundtruth_group_of bool [N]; lists for the whole image:
            groundtruth_image_classes, groundtruth_image_confidences,
            groundtruth_verified_neg_classes, groundtruth_not_exhaustive_classes; and, if asked
            for, groundtruth_instance_masks uint8 [N, H, W], groundtruth_instance_mask_weights [N],
            multiclass_scores [N, any], groundtruth_keypoints [N, K, 2] (NaN where invisible),
            groundtruth_keypoint_visibilities [N, K], image_additional_channels [H, W, any],
            groundtruth_track_ids [N], context_features [any, length], context_feature_length.
        """
        parsed = tf.io.parse_single_example(tf_example_string_tensor, self.feature_spec)
        faults = _Faults()
        tensors = self._image_tensors(parsed, faults)
        shape = tensors[Fields.original_image_spatial_shape]
        tensors |= self._object_tensors(parsed, shape, faults)
        count = tensors[Fields.num_groundtruth_boxes]
        if self._load_masks:
            tensors |= self._mask_tensors(parsed, shape, count, faults)
        tensors |= self._optional_tensors(parsed, count, faults)
        tensors[Fields.record_fault] = faults.joined()
        return tensors

    def _image_tensors(self, parsed: dict, faults: "_Faults") -> dict[str, tf.Tensor]:
        encoded = parsed[Keys.image_encoded]
        if self._check_images:
            image, fault = image_decoding.decode_image_or_fault(encoded, self._dct_method)
            faults.add(fault != "", fault)
        else:
            image = image_decoding.decode_image(encoded, self._dct_method)
        shape = tf.shape(image)[:2]
        tensors = {
            Fields.image: image,
            Fields.original_image_spatial_shape: shape,
            Fields.source_id: parsed[Keys.source_id],
            Fields.filename: parsed[Keys.filename],
            Fields.key: parsed[Keys.key],
            Fields.image_height: parsed[Keys.height],
            Fields.image_width: parsed[Keys.width],
            Fields.is_annotated: parsed[Keys.is_annotated] > 0,
            Fields.groundtruth_image_classes: self._labels(
                parsed[Keys.image_class_text], parsed[Keys.image_class_label]),
            Fields.groundtruth_image_confidences: parsed[Keys.image_class_confidence],
            Fields.groundtruth_verified_neg_classes: parsed[Keys.neg_category_ids],
            Fields.groundtruth_not_exhaustive_classes: parsed[Keys.not_exhaustive_category_ids],
        }
        if self._num_additional_channels:
            tensors[Fields.image_additional_channels] = image_decoding.decode_channels(
                parsed[Keys.additional_channels], shape[0], shape[1],
                self._num_additional_channels)
        return tensors

    def _object_tensors(self, parsed: dict, shape: tf.Tensor,
                        faults: "_Faults") -> dict[str, tf.Tensor]:
        edges = [parsed[key] for key in _BOX_EDGES]
        sizes = tf.stack([tf.size(edge) for edge in edges])
        count = tf.reduce_min(sizes)
        faults.add(tf.reduce_max(sizes) > count, tf.strings.join(
            ["image/object/bbox/ymin, xmin, ymax, xmax have ",
             tf.strings.reduce_join(tf.strings.as_string(sizes), separator=", "),
             " values, want as many of each"]))
        boxes = tf.stack([edge[:count] for edge in edges], axis=1)
        height_width = tf.cast(tf.maximum(boxes[:, 2:] - boxes[:, :2], 0), tf.float32)
        areas = tf.reduce_prod(height_width * tf.cast(shape, tf.float32), axis=1)
        texts = parsed[Keys.object_class_text]
        labels = self._labels(texts, parsed[Keys.object_class_label])
        if self._lookup is not None:
            self._check_texts(texts, labels, faults)
        faults.add(tf.not_equal(tf.size(labels), count), tf.strings.join(
            ["image/object/class/", "text and " if self._lookup else "", "label: ",
             tf.strings.as_string(tf.size(labels)), " values for ", tf.strings.as_string(count),
             " boxes", "" if self._lookup else " (texts count only with a label_map_path)"]))

        def aligned(key: str, default: tf.Tensor) -> tf.Tensor:
            return _aligned(parsed[key], count, default, key, faults)

        flags = tf.zeros([count], tf.int64)
        return {
            Fields.num_groundtruth_boxes: count,
            Fields.groundtruth_boxes: boxes,
            Fields.groundtruth_classes: _fit(labels, tf.fill(
                [count], tf.constant(label_lookup.UNKNOWN, tf.int64))),
            Fields.groundtruth_class_texts: _fit(texts, tf.fill([count], "")),
            Fields.groundtruth_area: aligned(Keys.object_area, areas),
            Fields.groundtruth_weights: aligned(Keys.object_weight, tf.ones([count])),
            Fields.groundtruth_is_crowd: aligned(Keys.object_is_crowd, flags) > 0,
            Fields.groundtruth_difficult: aligned(Keys.object_difficult, flags) > 0,
            Fields.groundtruth_group_of: aligned(Keys.object_group_of, flags) > 0,
        }

    def _labels(self, texts: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        if self._lookup is None:
            return labels
        return tf.cond(tf.size(texts) > 0, lambda: self._lookup(texts), lambda: labels)

    def _check_texts(self, texts: tf.Tensor, labels: tf.Tensor, faults: "_Faults") -> None:
        unknown = tf.logical_and(tf.size(texts) > 0, labels == label_lookup.UNKNOWN)
        # One more row, so that there is a first true one even without objects.
        row = tf.argmax(tf.concat([tf.cast(unknown, tf.int32), [1]], axis=0),
                        output_type=tf.int32)
        text = tf.concat([texts, [""]], axis=0)[tf.minimum(row, tf.size(texts))]
        faults.add(tf.reduce_any(unknown), tf.strings.join(
            ["class text '", text, "' of object ", tf.strings.as_string(row), " is not in ",
             self._lookup.path]))

    def _mask_tensors(self, parsed: dict, shape: tf.Tensor, count: tf.Tensor,
                      faults: "_Faults") -> dict[str, tf.Tensor]:
        values = parsed[Keys.instance_masks]
        if self._png_masks:
            masks, fits = image_decoding.decode_png_masks(values, shape[0], shape[1])
            fits = tf.reduce_all(fits)
        else:
            masks, fits = image_decoding.reshape_numerical_masks(values, shape[0], shape[1])
        stated = tf.cast(tf.stack([parsed[Keys.height], parsed[Keys.width]]), tf.int32)
        swapped = tf.logical_and(stated[0] > 0, tf.reduce_any(stated != shape))
        fits = tf.logical_and(fits, tf.logical_or(tf.size(values) == 0, tf.logical_not(swapped)))
        size = tf.strings.reduce_join(tf.strings.as_string(shape), separator="x")
        faults.add(tf.logical_not(fits), tf.strings.join(
            ["image/object/mask: masks do not have the size of the image, ", size,
             " (height x width)"]))
        found = tf.shape(masks)[0]
        some = tf.logical_and(fits, count > 0)
        faults.add(tf.logical_and(some, tf.size(values) == 0),
                   "no masks in the record (image/object/mask), but masks are wanted")
        faults.add(tf.logical_and(tf.logical_and(fits, tf.size(values) > 0), found != count),
                   tf.strings.join(["image/object/mask: ", tf.strings.as_string(found),
                                    " masks for ", tf.strings.as_string(count), " boxes"]))
        missing = tf.maximum(count - found, 0)
        masks = tf.pad(masks[:count], [[0, missing], [0, 0], [0, 0]])
        return {
            Fields.groundtruth_instance_masks: masks,
            Fields.groundtruth_instance_mask_weights: _aligned(
                parsed[Keys.instance_mask_weights], count, tf.ones([count]),
                Keys.instance_mask_weights, faults),
        }

    def _optional_tensors(self, parsed: dict, count: tf.Tensor,
                          faults: "_Faults") -> dict[str, tf.Tensor]:
        tensors = {}
        if self._load_multiclass_scores:
            tensors[Fields.multiclass_scores] = _rows(
                parsed[Keys.object_multiclass_scores], count, Keys.object_multiclass_scores, faults)
        if self._load_track_id:
            tensors[Fields.groundtruth_track_ids] = _aligned(
                parsed[Keys.object_track_label], count,
                tf.fill([count], tf.constant(-1, tf.int64)), Keys.object_track_label, faults)
        if self._load_context_features:
            length = parsed[Keys.context_feature_length]
            tensors[Fields.context_features] = tf.reshape(
                parsed[Keys.context_features],
                tf.stack([tf.constant(-1, tf.int64), tf.maximum(length, 1)]))
            tensors[Fields.context_feature_length] = length
        if self._num_keypoints:
            tensors |= self._keypoint_tensors(parsed, count, faults)
        return tensors

    def _keypoint_tensors(self, parsed: dict, count: tf.Tensor,
                          faults: "_Faults") -> dict[str, tf.Tensor]:
        points = count * self._num_keypoints
        unset = tf.fill([points], float("nan"))
        y, x = (_aligned(parsed[key], points, unset, key, faults)
                for key in (Keys.object_keypoint_y, Keys.object_keypoint_x))
        placed = tf.logical_not(tf.logical_or(tf.math.is_nan(y), tf.math.is_nan(x)))
        visible = _aligned(parsed[Keys.object_keypoint_visibility], points,
                           tf.cast(placed, tf.int64), Keys.object_keypoint_visibility, faults) > 0
        keypoints = tf.where(visible[:, None], tf.stack([y, x], axis=1), float("nan"))
        return {
            Fields.groundtruth_keypoints: tf.reshape(keypoints, [count, self._num_keypoints, 2]),
            Fields.groundtruth_keypoint_visibilities: tf.reshape(
                visible, [count, self._num_keypoints]),
        }


class _Faults:
    """Collects what is wrong with a record while its decoding is traced."""

    def __init__(self) -> None:
        self._messages: list[tf.Tensor] = []

    def add(self, found: tf.Tensor, message: tf.Tensor | str) -> None:
        self._messages.append(tf.where(found, message, ""))

    def joined(self) -> tf.Tensor:
        messages = tf.stack(self._messages)
        return tf.strings.reduce_join(tf.boolean_mask(messages, messages != ""), separator="; ")


def _fit(values: tf.Tensor, default: tf.Tensor) -> tf.Tensor:
    """Returns `values`, cut or continued with the end of `default`, at the length of it."""
    return tf.concat([values, default[tf.size(values):]], axis=0)[:tf.size(default)]


def _aligned(values: tf.Tensor, count: tf.Tensor, default: tf.Tensor, key: str,
             faults: _Faults) -> tf.Tensor:
    """Returns [count] values, the default where a record has none at all."""
    size = tf.size(values)
    faults.add(tf.logical_and(size > 0, size != count), tf.strings.join(
        [key, ": ", tf.strings.as_string(size), " values, want ", tf.strings.as_string(count)]))
    return _fit(values, default)


def _rows(values: tf.Tensor, count: tf.Tensor, key: str, faults: _Faults) -> tf.Tensor:
    """Returns [count, any], the values in rows of equal length."""
    length = tf.size(values) // tf.maximum(count, 1)
    faults.add(length * count != tf.size(values), tf.strings.join(
        [key, ": ", tf.strings.as_string(tf.size(values)), " values cannot be shared out among ",
         tf.strings.as_string(count), " boxes"]))
    return tf.reshape(values[:length * count], [count, length])
