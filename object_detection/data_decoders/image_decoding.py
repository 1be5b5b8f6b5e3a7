"""Decodes the encoded images and masks of records, as tensor ops."""

import tensorflow as tf

_MAX_REASON = 200  # characters of TensorFlow's own message that are passed on


def decode_image(encoded: tf.Tensor, dct_method: str = "") -> tf.Tensor:
    """Decodes JPEG, PNG, GIF (first frame) or BMP.

    Gray images are repeated to 3 channels, alpha is dropped, 16 bits are cut to 8, and an EXIF
    orientation is not applied: converters have seen to that.

    Args:
        encoded: string [].
        dct_method: "INTEGER_FAST", "INTEGER_ACCURATE" or empty; for JPEG only.
    Returns:
        uint8 [H, W, 3].
    Raises:
        tf.errors.InvalidArgumentError: at run time, for bytes that are no sound image.
    """
    def any_format() -> tf.Tensor:
        return tf.io.decode_image(encoded, channels=3, expand_animations=False)

    if dct_method:
        image = tf.cond(
            tf.io.is_jpeg(encoded),
            lambda: tf.io.decode_jpeg(encoded, channels=3, dct_method=dct_method), any_format)
    else:
        image = any_format()
    return tf.ensure_shape(image, [None, None, 3])


def decode_image_or_fault(encoded: tf.Tensor, dct_method: str = "") -> tuple[tf.Tensor, tf.Tensor]:
    """Decodes an image like `decode_image`, but returns an error instead of raising it.

    Passes through Python, so it cannot be exported. TensorFlow has no op that reports an
    undecodable image in the graph, and its error does not say which record is meant.

    Returns:
        uint8 [H, W, 3], a single black pixel if the image is unsound; string [], empty or what is
        wrong.
    """
    def attempt(data: tf.Tensor) -> tuple[tf.Tensor, bytes]:
        try:
            return decode_image(data, dct_method), b""
        except tf.errors.InvalidArgumentError as error:
            return tf.zeros([1, 1, 3], tf.uint8), _reason(data.numpy(), error).encode("utf-8")

    image, fault = tf.py_function(attempt, [encoded], [tf.uint8, tf.string])
    return tf.ensure_shape(image, [None, None, 3]), tf.ensure_shape(fault, [])


def decode_channels(encoded: tf.Tensor, height: tf.Tensor, width: tf.Tensor,
                    count: int) -> tf.Tensor:
    """Decodes `count` one-channel images [count] of one size into uint8 [height, width, count]."""
    def decode(data: tf.Tensor) -> tf.Tensor:
        channel = tf.io.decode_image(data, channels=1, expand_animations=False)[:, :, 0]
        return tf.ensure_shape(channel, [None, None])

    planes = tf.map_fn(decode, encoded,
                       fn_output_signature=tf.TensorSpec([None, None], tf.uint8))
    planes = tf.reshape(planes, [count, height, width])
    return tf.transpose(planes, [1, 2, 0])


def decode_png_masks(encoded: tf.Tensor, height: tf.Tensor,
                     width: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Decodes masks; any value but 0 belongs to the object.

    Args:
        encoded: string [N].
        height, width: int32 [], size of the image that the masks are for.
    Returns:
        uint8 [N, height, width] of 0 and 1; bool [N], false where a mask has another size (it
        then comes out empty).
    """
    def decode(data: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        mask = tf.io.decode_image(data, channels=1, expand_animations=False)[:, :, 0]
        fits = tf.reduce_all(tf.equal(tf.shape(mask), [height, width]))
        mask = tf.cond(fits, lambda: tf.cast(mask > 0, tf.uint8),
                       lambda: tf.zeros([height, width], tf.uint8))
        return tf.ensure_shape(mask, [None, None]), fits

    def decode_all() -> tuple[tf.Tensor, tf.Tensor]:
        return tf.map_fn(decode, encoded, fn_output_signature=(
            tf.TensorSpec([None, None], tf.uint8), tf.TensorSpec([], tf.bool)))

    # map_fn cannot stack nothing without a static shape.
    masks, fits = tf.cond(
        tf.size(encoded) > 0, decode_all,
        lambda: (tf.zeros([0, height, width], tf.uint8), tf.zeros([0], tf.bool)))
    return tf.ensure_shape(masks, [None, None, None]), fits


def reshape_numerical_masks(values: tf.Tensor, height: tf.Tensor,
                            width: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Cuts a flat list of mask values into masks; any value above 0 belongs to the object.

    Args:
        values: float32 [N * height * width], row by row.
        height, width: int32 [].
    Returns:
        uint8 [N, height, width] of 0 and 1; bool [], false if the length is no multiple of the
        size (there are then no masks).
    """
    fits = tf.equal(tf.size(values) % tf.maximum(height * width, 1), 0)
    values = tf.cond(fits, lambda: values, lambda: values[:0])
    return tf.cast(tf.reshape(values, [-1, height, width]) > 0, tf.uint8), fits


def _reason(data: bytes, error: tf.errors.InvalidArgumentError) -> str:
    if data.startswith((b"/9j/", b"iVBORw0KGgo")):
        return (f"image/encoded starts with {data[:16]!r}: that is base64 text; "
                "decode it before writing it")
    text = (error.message or "").split("}} ")[-1].split(" [Op:")[0][:_MAX_REASON]
    return f"undecodable image ({len(data)} bytes, starting with {data[:8]!r}): {text}"
