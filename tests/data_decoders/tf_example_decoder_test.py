import os

import numpy as np
import small_records as records
import tensorflow as tf
from absl.testing import parameterized

from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.data_decoders import tf_example_decoder

TWO_BOXES = [[0.0, 0.25, 0.5, 0.75], [0.5, 0.0, 1.0, 1.0]]


def decode(serialized, traced=False, **options):
    """Decodes eagerly, or as an input pipeline does: traced, from a data set."""
    decoder = tf_example_decoder.TfExampleDecoder(**options)
    if traced:
        tensors = next(iter(tf.data.Dataset.from_tensors(serialized).map(decoder.decode)))
    else:
        tensors = decoder.decode(tf.constant(serialized))
    return {key: value.numpy() for key, value in tensors.items()}


def fault(tensors):
    return tensors[Fields.record_fault].decode()


class TfExampleDecoderTest(tf.test.TestCase, parameterized.TestCase):

    def _label_map(self):
        return self._write(
            "item { id: 1 name: 'cat' display_name: 'Cat!' } item { id: 7 name: 'dog' }")

    def _write(self, text):
        path = os.path.join(self.get_temp_dir(), "map.pbtxt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_boxes_classes_and_defaults(self):
        got = decode(records.record(TWO_BOXES, object__class__label=[2, 1],
                                    object__class__text=["b", "a"]))
        self.assertEqual(fault(got), "")
        self.assertAllEqual(got[Fields.image].shape, [4, 6, 3])
        self.assertAllEqual(got[Fields.original_image_spatial_shape], [4, 6])
        self.assertAllClose(got[Fields.groundtruth_boxes], TWO_BOXES)
        self.assertAllEqual(got[Fields.groundtruth_classes], [2, 1])
        self.assertAllEqual(got[Fields.groundtruth_class_texts], [b"b", b"a"])
        self.assertEqual(got[Fields.num_groundtruth_boxes], 2)
        self.assertAllEqual(got[Fields.groundtruth_weights], [1, 1])
        # Half of 4 rows times half of 6 columns; half of the rows times all columns.
        self.assertAllClose(got[Fields.groundtruth_area], [6, 12])
        for key in (Fields.groundtruth_is_crowd, Fields.groundtruth_difficult,
                    Fields.groundtruth_group_of):
            self.assertAllEqual(got[key], [False, False])
        self.assertEqual(got[Fields.source_id], b"17")
        self.assertEqual(got[Fields.filename], b"a.png")

    def test_stored_values_are_kept(self):
        got = decode(records.record(
            TWO_BOXES, object__class__label=[1, 1], object__is_crowd=[0, 1],
            object__difficult=[1, 0], object__group_of=[0, 1], object__area=[5.0, 7.0],
            object__weight=[0.5, 0.0], neg_category_ids=[4], not_exhaustive_category_ids=[5, 6],
            **{"class__label": [3], "class__confidence": [0.25], "key__sha256": "ab"}))
        self.assertAllEqual(got[Fields.groundtruth_is_crowd], [False, True])
        self.assertAllEqual(got[Fields.groundtruth_difficult], [True, False])
        self.assertAllEqual(got[Fields.groundtruth_group_of], [False, True])
        self.assertAllClose(got[Fields.groundtruth_area], [5, 7])
        self.assertAllClose(got[Fields.groundtruth_weights], [0.5, 0])
        self.assertAllEqual(got[Fields.groundtruth_verified_neg_classes], [4])
        self.assertAllEqual(got[Fields.groundtruth_not_exhaustive_classes], [5, 6])
        self.assertAllEqual(got[Fields.groundtruth_image_classes], [3])
        self.assertAllClose(got[Fields.groundtruth_image_confidences], [0.25])
        self.assertEqual(got[Fields.key], b"ab")

    @parameterized.product(kind=["numerical", "png"], traced=[False, True])
    def test_a_record_without_objects(self, kind, traced):
        got = decode(records.record(), traced, load_instance_masks=True, num_keypoints=3,
                     instance_mask_type=2 if kind == "png" else 1,
                     label_map_proto_file=self._label_map())
        self.assertEqual(fault(got), "")
        self.assertAllEqual(got[Fields.groundtruth_boxes].shape, [0, 4])
        self.assertAllEqual(got[Fields.groundtruth_instance_masks].shape, [0, 4, 6])
        self.assertAllEqual(got[Fields.groundtruth_keypoints].shape, [0, 3, 2])
        self.assertEqual(got[Fields.groundtruth_classes].dtype, np.int64)

    def test_text_is_looked_up_by_name_and_display_name_and_wins_over_the_label(self):
        got = decode(records.record(TWO_BOXES, object__class__text=["Cat!", "dog"],
                                    object__class__label=[3, 3], **{"class__text": ["dog"]}),
                     label_map_proto_file=self._label_map())
        self.assertAllEqual(got[Fields.groundtruth_classes], [1, 7])
        self.assertAllEqual(got[Fields.groundtruth_image_classes], [7])
        self.assertEqual(fault(got), "")

    def test_labels_count_without_texts(self):
        got = decode(records.record(TWO_BOXES, object__class__label=[3, 1]),
                     label_map_proto_file=self._label_map())
        self.assertAllEqual(got[Fields.groundtruth_classes], [3, 1])

    def test_an_unknown_text_is_minus_one_and_named(self):  # BR-13: text "Cat", map has "cat"
        got = decode(records.record(TWO_BOXES, object__class__text=["dog", "Cat"],
                                    object__class__label=[7, 1]),
                     label_map_proto_file=self._label_map())
        self.assertAllEqual(got[Fields.groundtruth_classes], [7, -1])
        self.assertRegex(fault(got), "class text 'Cat' of object 1 is not in .*map.pbtxt")

    def test_texts_without_a_label_map_are_a_fault(self):
        got = decode(records.record(TWO_BOXES, object__class__text=["a", "b"]))
        self.assertIn("0 values for 2 boxes (texts count only with a label_map_path)", fault(got))
        self.assertAllEqual(got[Fields.groundtruth_classes], [-1, -1])

    @parameterized.parameters(
        ({"object__is_crowd": [1]}, "image/object/is_crowd: 1 values, want 2"),
        ({"object__area": [1.0, 2.0, 3.0]}, "image/object/area: 3 values, want 2"),
        ({"object__bbox__xmax": [0.5]}, "have 2, 2, 2, 1 values"))
    def test_lists_of_unlike_length_are_a_fault_and_come_out_aligned(self, fields, message):
        got = decode(records.record(TWO_BOXES, object__class__label=[1, 1], **fields))
        self.assertIn(message, fault(got))
        count = got[Fields.num_groundtruth_boxes]
        for key in (Fields.groundtruth_boxes, Fields.groundtruth_classes, Fields.groundtruth_area,
                    Fields.groundtruth_is_crowd, Fields.groundtruth_weights):
            self.assertLen(got[key], count)

    def test_numerical_masks(self):
        masks = np.zeros([2, 4, 6])
        masks[0, 0, 1] = masks[1, 3, 5] = 1
        got = decode(records.record(TWO_BOXES, object__class__label=[1, 1],
                                    object__mask=masks.ravel().tolist()), True,
                     load_instance_masks=True)
        self.assertEqual(fault(got), "")
        self.assertAllEqual(got[Fields.groundtruth_instance_masks], masks)
        self.assertEqual(got[Fields.groundtruth_instance_masks].dtype, np.uint8)
        self.assertAllEqual(got[Fields.groundtruth_instance_mask_weights], [1, 1])

    def test_png_masks_with_any_value_above_0(self):
        masks = np.zeros([2, 4, 6])
        masks[0, 1, 1] = masks[1, 2, 5] = 1
        got = decode(records.record(
            TWO_BOXES, object__class__label=[1, 1],
            object__mask=[records.png(masks[0]), records.png(255 * masks[1])]), True,
            load_instance_masks=True, instance_mask_type=tf_example_decoder.PNG_MASKS)
        self.assertEqual(fault(got), "")
        self.assertAllEqual(got[Fields.groundtruth_instance_masks], masks)

    @parameterized.parameters(
        ([], "no masks in the record"),
        ([[4, 6]], "1 masks for 2 boxes"),
        ([[4, 6], [2, 3]], "masks do not have the size of the image, 4x6"))
    def test_png_masks_that_do_not_fit(self, sizes, message):
        got = decode(records.record(
            TWO_BOXES, object__class__label=[1, 1],
            object__mask=[records.png(np.ones(size)) for size in sizes] or None),
            load_instance_masks=True, instance_mask_type=tf_example_decoder.PNG_MASKS)
        self.assertIn(message, fault(got))
        self.assertAllEqual(got[Fields.groundtruth_instance_masks].shape, [2, 4, 6])

    @parameterized.parameters((47, 4, 6, "size of the image"), (24, 4, 6, "1 masks for 2 boxes"),
                              (48, 6, 4, "size of the image"))  # height and width swapped
    def test_numerical_masks_that_do_not_fit(self, values, height, width, message):
        got = decode(records.record(
            TWO_BOXES, object__class__label=[1, 1], object__mask=[1.0] * values,
            **{"height": height, "width": width, "encoded": records.png(np.zeros([4, 6, 3]))}),
            load_instance_masks=True)
        self.assertIn(message, fault(got))
        self.assertAllEqual(got[Fields.groundtruth_instance_masks].shape, [2, 4, 6])

    @parameterized.parameters([[[4, 6]], [[4, 6, 2]], [[4, 6, 4]]])
    def test_images_come_out_with_three_channels(self, shape):  # BR-16
        got = decode(records.record(encoded=records.png(np.full(shape, 9))))
        self.assertAllEqual(got[Fields.image], np.full([4, 6, 3], 9))

    def test_dct_method(self):
        jpeg = tf.io.encode_jpeg(np.full([4, 6, 3], 100, np.uint8)).numpy()
        for encoded in (jpeg, records.png(np.full([4, 6, 3], 100))):
            got = decode(records.record(encoded=encoded), dct_method="INTEGER_ACCURATE")
            self.assertAllClose(got[Fields.image], np.full([4, 6, 3], 100), atol=2)

    def test_additional_channels(self):
        planes = [np.full([4, 6], value) for value in (3, 8)]
        got = decode(records.record(
            additional_channels__encoded=[records.png(plane) for plane in planes]),
            num_additional_channels=2)
        self.assertAllEqual(got[Fields.image_additional_channels], np.stack(planes, axis=2))

    def test_keypoints_are_nan_where_invisible(self):
        got = decode(records.record(
            TWO_BOXES, object__class__label=[1, 1], object__keypoint__y=[0.1, 0.2, 0.3, 0.4],
            object__keypoint__x=[0.5, 0.6, 0.7, 0.8],
            object__keypoint__visibility=[1, 0, 1, 1]), num_keypoints=2)
        self.assertAllClose(
            got[Fields.groundtruth_keypoints],
            [[[0.1, 0.5], [np.nan, np.nan]], [[0.3, 0.7], [0.4, 0.8]]])
        self.assertAllEqual(got[Fields.groundtruth_keypoint_visibilities],
                            [[True, False], [True, True]])

    def test_scores_tracks_and_context(self):
        got = decode(records.record(
            TWO_BOXES, object__class__label=[1, 1], object__track__label=[8, 9],
            object__class__multiclass_scores=[0.1, 0.9, 0.3, 0.7],
            context_features=[1.0, 2.0, 3.0, 4.0], context_feature_length=2),
            load_multiclass_scores=True, load_track_id=True, load_context_features=True)
        self.assertEqual(fault(got), "")
        self.assertAllClose(got[Fields.multiclass_scores], [[0.1, 0.9], [0.3, 0.7]])
        self.assertAllEqual(got[Fields.groundtruth_track_ids], [8, 9])
        self.assertAllClose(got[Fields.context_features], [[1, 2], [3, 4]])
        self.assertEqual(got[Fields.context_feature_length], 2)

    @parameterized.parameters(
        (b"/9j/4AAQSkZJRgAB", "base64"), (b"", "undecodable image"),
        (b"\x89PNG\r\n\x1a\nxyz", "undecodable image"))  # BR-19, BR-20
    def test_a_bad_image_is_a_fault_if_images_are_checked(self, encoded, message):
        got = decode(records.record(encoded=encoded), True, check_images=True)
        self.assertIn(message, fault(got))
        self.assertAllEqual(got[Fields.image].shape, [1, 1, 3])
        with self.assertRaises(tf.errors.InvalidArgumentError):
            decode(records.record(encoded=encoded))

    def test_a_good_image_is_the_same_if_images_are_checked(self):
        got = decode(records.record(), check_images=True)
        self.assertEqual(fault(got), "")
        self.assertAllEqual(got[Fields.image].shape, [4, 6, 3])

    def test_unsupported_options_are_refused(self):
        for option in ("load_dense_pose", "expand_hierarchy_labels"):
            with self.assertRaisesRegex(ValueError, option):
                tf_example_decoder.TfExampleDecoder(**{option: True})
        with self.assertRaisesRegex(ValueError, "instance_mask_type"):
            tf_example_decoder.TfExampleDecoder(instance_mask_type=3)

    def test_an_empty_label_map_has_its_own_message(self):
        path = self._write("")
        with self.assertRaisesRegex(ValueError, "map.pbtxt.*empty"):
            tf_example_decoder.TfExampleDecoder(label_map_proto_file=path)


def test_mask_types_are_those_of_the_proto():
    from object_detection.protos import input_reader_pb2
    assert tf_example_decoder.NUMERICAL_MASKS == input_reader_pb2.NUMERICAL_MASKS
    assert tf_example_decoder.PNG_MASKS == input_reader_pb2.PNG_MASKS
