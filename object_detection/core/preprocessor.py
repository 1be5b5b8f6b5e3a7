"""The augmentations of a training input, by the name each has in `data_augmentation_options`.

The functions live in `core/augment`; each takes the tensors of one decoded record, a seed, and its
settings. `preprocess` runs a list of them.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

from object_detection.core.augment import autoaugment, color, crops, geometry, labels
from object_detection.core.augment.tensors import Tensors
from object_detection.core.standard_fields import InputDataFields as Fields

Step = Callable[[Tensors, tf.Tensor], Tensors]  # settings are bound already

AUGMENTATIONS: dict[str, Callable[..., Tensors]] = {
    function.__name__: function for function in (
        autoaugment.autoaugment_image,
        color.adjust_gamma,
        color.normalize_image,
        color.random_adjust_brightness,
        color.random_adjust_contrast,
        color.random_adjust_hue,
        color.random_adjust_saturation,
        color.random_black_patches,
        color.random_distort_color,
        color.random_jpeg_quality,
        color.random_patch_gaussian,
        color.random_pixel_value_scale,
        color.random_rgb_to_gray,
        color.rgb_to_gray,
        color.subtract_channel_mean,
        crops.random_crop_image,
        crops.random_crop_pad_image,
        crops.random_crop_to_aspect_ratio,
        crops.random_scale_crop_and_pad_to_square,
        crops.random_square_crop_by_scale,
        crops.ssd_random_crop,
        crops.ssd_random_crop_fixed_aspect_ratio,
        crops.ssd_random_crop_pad,
        crops.ssd_random_crop_pad_fixed_aspect_ratio,
        geometry.random_absolute_pad_image,
        geometry.random_downscale_to_target_pixels,
        geometry.random_horizontal_flip,
        geometry.random_image_scale,
        geometry.random_pad_image,
        geometry.random_resize_method,
        geometry.random_rotation90,
        geometry.random_self_concat_image,
        geometry.random_vertical_flip,
        geometry.resize_image,
        geometry.scale_boxes_to_pixel_coordinates,
        labels.convert_class_logits_to_softmax,
        labels.drop_label_probabilistically,
        labels.random_jitter_boxes,
        labels.remap_labels,
    )
}


def preprocess(tensors: Tensors, steps: Sequence[Step], seed: tf.Tensor) -> Tensors:
    """Runs augmentations in order, each with a seed of its own.

    Args:
        tensors: one record with unbatched tensors: image [H, W, channels] of any number type,
            0..255; groundtruth_boxes float32 [N, 4] normalized; and what else it has.
        steps: functions of (tensors, seed), as `preprocessor_builder.build` returns them.
        seed: int32 [2].
    Returns:
        A dictionary with the same keys; the image is float32.
    """
    tensors = {**tensors, Fields.image: tf.cast(tensors[Fields.image], tf.float32)}
    for number, step in enumerate(steps):
        tensors = step(tensors, tf.random.fold_in(seed, number))
    return tensors
