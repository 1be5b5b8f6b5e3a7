"""A detector on images in the middle of their frames gives boxes relative to the image."""

import numpy as np
import pytest
import small_detector
import tensorflow as tf

from object_detection.builders import model_builder

FRAMED = "image_resizer { centered_square_resizer { min_dimension: 0 max_dimension: 64 } }"
AS_IS = "image_resizer { identity_resizer { } }"


def built(stages, resizer):
    return model_builder.build(small_detector.config(stages, resizer), is_training=False)


def detections(model, images):
    pixels, true_shapes = model.preprocess(images)
    return model.postprocess(model.predict(pixels, true_shapes), true_shapes), pixels


def test_proposals_of_the_frame_are_mapped_to_the_image():
    framed, as_is = built(1, FRAMED), built(1, AS_IS)
    image = tf.random.stateless_uniform([1, 32, 64, 3], [1, 2], maxval=255.0)
    frame = tf.pad(image, [[0, 0], [16, 16], [0, 0], [0, 0]])
    detections(framed, image), detections(as_is, frame)  # makes the variables
    for target, source in zip(as_is.variables, framed.variables):
        target.assign(source)
    got, pixels = detections(framed, image)
    expected, same_pixels = detections(as_is, frame)
    np.testing.assert_allclose(pixels, same_pixels)
    # Rows 16 to 48 of 64 hold the image.
    boxes = expected["raw_detection_boxes"] * 64.0
    boxes = (boxes - [16.0, 0.0, 16.0, 0.0]) / [32.0, 64.0, 32.0, 64.0]
    np.testing.assert_allclose(got["raw_detection_boxes"], boxes, atol=1e-5)
    assert (got["detection_boxes"].numpy() >= 0).all()
    assert (got["detection_boxes"].numpy() <= 1 + 1e-6).all()


@pytest.mark.parametrize("stages", [2, 3])
def test_detections_and_masks_in_a_frame(stages):
    model = built(stages, FRAMED)
    images = tf.random.stateless_uniform([2, 32, 64, 3], [1, 2], maxval=255.0)
    pixels, true_shapes = model.preprocess(images)
    predictions = model.predict(pixels, true_shapes)
    got = model.postprocess(predictions, true_shapes)
    boxes = got["detection_boxes"].numpy()
    assert boxes.min() >= 0 and boxes.max() <= 1 + 1e-6
    # Heads that have learnt nothing leave regions about where they are.
    regions = tf.gather(predictions["proposal_boxes"], got["detection_anchor_indices"],
                        batch_dims=1).numpy()
    assert regions[..., 0].min() >= 16 and regions[..., 2].max() <= 48
    expected = (regions - [16.0, 0.0, 16.0, 0.0]) / [32.0, 64.0, 32.0, 64.0]
    for row, count in enumerate(got["num_detections"].numpy().astype(int)):
        assert count
        np.testing.assert_allclose(boxes[row, :count], expected[row, :count], atol=0.05)
    if stages == 3:
        assert got["detection_masks"].shape == [2, 5, 5, 5]
