"""String keys of the dictionaries and records at the edges of the package.

Inside, stages hand each other the NamedTuples of `core/structures.py`. These names are for what
users see: decoded records, batches, detections, box lists and tf.Example features. The values are
those of the Object Detection API, so dictionaries made for one work with the other.
"""


class InputDataFields:
    """Keys of decoded records and of input batches: N objects, H x W pixels, C classes."""

    # The image.
    image = "image"  # uint8 or float32 [H, W, 3]
    image_additional_channels = "image_additional_channels"  # uint8 [H, W, extra]
    original_image = "original_image"  # uint8 [H, W, 3] before resizing
    original_image_spatial_shape = "original_image_spatial_shape"  # int32 [2]: height, width
    true_image_shape = "true_image_shape"  # int32 [3], without padding
    key = "key"  # hash of the encoded bytes
    source_id = "source_id"  # image id that evaluation counts by
    filename = "filename"
    image_height = "image_height"
    image_width = "image_width"
    image_format = "image_format"

    # The objects.
    num_groundtruth_boxes = "num_groundtruth_boxes"
    groundtruth_boxes = "groundtruth_boxes"  # float32 [N, 4], normalized ymin xmin ymax xmax
    groundtruth_classes = "groundtruth_classes"  # int64 [N] from 1, or one-hot [N, C]
    groundtruth_class_texts = "groundtruth_class_texts"  # string [N]; ours, not in the OD API
    groundtruth_weights = "groundtruth_weights"
    groundtruth_confidences = "groundtruth_confidences"
    groundtruth_area = "groundtruth_area"  # float32 [N], pixels of the original image
    groundtruth_is_crowd = "groundtruth_is_crowd"
    groundtruth_difficult = "groundtruth_difficult"
    groundtruth_group_of = "groundtruth_group_of"
    groundtruth_label_types = "groundtruth_label_types"
    groundtruth_instance_masks = "groundtruth_instance_masks"  # uint8 [N, H, W], 0 or 1
    groundtruth_instance_mask_weights = "groundtruth_instance_mask_weights"
    groundtruth_instance_boundaries = "groundtruth_instance_boundaries"
    groundtruth_instance_classes = "groundtruth_instance_classes"
    groundtruth_keypoints = "groundtruth_keypoints"  # float32 [N, K, 2], normalized y x
    groundtruth_keypoint_visibilities = "groundtruth_keypoint_visibilities"
    groundtruth_keypoint_weights = "groundtruth_keypoint_weights"
    groundtruth_keypoint_depths = "groundtruth_keypoint_depths"
    groundtruth_keypoint_depth_weights = "groundtruth_keypoint_depth_weights"
    groundtruth_dp_num_points = "groundtruth_dp_num_points"
    groundtruth_dp_part_ids = "groundtruth_dp_part_ids"
    groundtruth_dp_surface_coords = "groundtruth_dp_surface_coords"
    groundtruth_track_ids = "groundtruth_track_ids"
    groundtruth_temporal_offsets = "groundtruth_temporal_offsets"
    groundtruth_track_match_flags = "groundtruth_track_match_flags"
    multiclass_scores = "multiclass_scores"
    proposal_boxes = "proposal_boxes"
    proposal_objectness = "proposal_objectness"

    # The whole image.
    groundtruth_image_classes = "groundtruth_image_classes"
    groundtruth_image_confidences = "groundtruth_image_confidences"
    groundtruth_labeled_classes = "groundtruth_labeled_classes"  # float32 [C], 1: looked for
    groundtruth_verified_neg_classes = "groundtruth_verified_neg_classes"
    groundtruth_not_exhaustive_classes = "groundtruth_not_exhaustive_classes"
    is_annotated = "is_annotated"  # bool []; false: the image adds no loss
    context_features = "context_features"
    context_feature_length = "context_feature_length"
    context_features_image_id_list = "context_features_image_id_list"
    valid_context_size = "valid_context_size"
    image_timestamps = "image_timestamps"

    # What the decoder found wrong with a record; ours, not in the OD API.
    record_fault = "record_fault"  # string [], empty for a sound record


class DetectionResultFields:
    """Keys of detections, in results of a model and of an exported one."""

    source_id = "source_id"
    key = "key"
    detection_boxes = "detection_boxes"
    detection_scores = "detection_scores"
    detection_multiclass_scores = "detection_multiclass_scores"
    detection_classes = "detection_classes"
    detection_features = "detection_features"
    cropped_rpn_box_features = "cropped_rpn_box_features"
    detection_anchor_indices = "detection_anchor_indices"
    detection_masks = "detection_masks"
    detection_surface_coords = "detection_surface_coords"
    detection_boundaries = "detection_boundaries"
    detection_keypoints = "detection_keypoints"
    detection_keypoint_scores = "detection_keypoint_scores"
    detection_keypoint_depths = "detection_keypoint_depths"
    detection_embeddings = "detection_embeddings"
    detection_offsets = "detection_temporal_offsets"
    num_detections = "num_detections"
    raw_detection_boxes = "raw_detection_boxes"
    raw_detection_scores = "raw_detection_scores"
    raw_detection_feature_map_indices = "raw_detection_feature_map_indices"


class BoxListFields:
    """Names of the fields that a box list can carry."""

    boxes = "boxes"
    classes = "classes"
    scores = "scores"
    weights = "weights"
    confidences = "confidences"
    objectness = "objectness"
    masks = "masks"
    mask_weights = "mask_weights"
    boundaries = "boundaries"
    keypoints = "keypoints"
    keypoint_visibilities = "keypoint_visibilities"
    keypoint_heatmaps = "keypoint_heatmaps"
    keypoint_depths = "keypoint_depths"
    keypoint_depth_weights = "keypoint_depth_weights"
    densepose_num_points = "densepose_num_points"
    densepose_part_ids = "densepose_part_ids"
    densepose_surface_coords = "densepose_surface_coords"
    is_crowd = "is_crowd"
    group_of = "group_of"
    track_ids = "track_ids"
    temporal_offsets = "temporal_offsets"
    track_match_flags = "track_match_flags"


class PredictionFields:
    """Names that box predictors attach to what they return."""

    feature_maps = "feature_maps"
    anchors = "anchors"
    raw_detection_boxes = "raw_detection_boxes"
    raw_detection_feature_map_indices = "raw_detection_feature_map_indices"


class TfExampleFields:
    """Feature keys of the tf.Example records that converters write and the decoder reads."""

    image_encoded = "image/encoded"
    image_format = "image/format"
    key = "image/key/sha256"
    filename = "image/filename"
    source_id = "image/source_id"
    height = "image/height"
    width = "image/width"
    channels = "image/channels"
    colorspace = "image/colorspace"
    additional_channels = "image/additional_channels/encoded"
    image_class_text = "image/class/text"
    image_class_label = "image/class/label"
    image_class_confidence = "image/class/confidence"
    image_class_synset = "image/class/synset"
    neg_category_ids = "image/neg_category_ids"
    not_exhaustive_category_ids = "image/not_exhaustive_category_ids"
    is_annotated = "image/is_annotated"  # int64, 1 where absent; ours, not in the OD API
    object_bbox_ymin = "image/object/bbox/ymin"
    object_bbox_xmin = "image/object/bbox/xmin"
    object_bbox_ymax = "image/object/bbox/ymax"
    object_bbox_xmax = "image/object/bbox/xmax"
    object_class_text = "image/object/class/text"
    object_class_label = "image/object/class/label"
    object_multiclass_scores = "image/object/class/multiclass_scores"
    object_segment_area = "image/object/segment/area"
    object_area = "image/object/area"
    object_is_crowd = "image/object/is_crowd"
    object_difficult = "image/object/difficult"
    object_group_of = "image/object/group_of"
    object_truncated = "image/object/truncated"
    object_occluded = "image/object/occluded"
    object_depiction = "image/object/depiction"
    object_view = "image/object/view"
    object_weight = "image/object/weight"
    object_orientation = "image/object/orientation"
    object_polygon_x = "image/object/polygon/x"
    object_polygon_y = "image/object/polygon/y"
    instance_masks = "image/object/mask"
    instance_mask_weights = "image/object/mask/weight"
    instance_boundaries = "image/object/boundaries"
    instance_classes = "image/segmentation/object/class"
    object_keypoint_x = "image/object/keypoint/x"
    object_keypoint_y = "image/object/keypoint/y"
    object_keypoint_visibility = "image/object/keypoint/visibility"
    object_keypoint_text = "image/object/keypoint/text"
    object_track_label = "image/object/track/label"
    detection_class_label = "image/detection/label"
    detection_score = "image/detection/score"
    detection_bbox_ymin = "image/detection/bbox/ymin"
    detection_bbox_xmin = "image/detection/bbox/xmin"
    detection_bbox_ymax = "image/detection/bbox/ymax"
    detection_bbox_xmax = "image/detection/bbox/xmax"
    context_features = "image/context_features"
    context_feature_length = "image/context_feature_length"
    context_features_image_id_list = "image/context_features_image_id_list"
