"""The same weights in torchvision's maskrcnn_resnet50_fpn and here: the same results.

Runs where PyTorch and torchvision are installed. Weights are random, and scaled on the images so
that features are of order 1, scores are far apart and boxes move.
"""

import numpy as np
import pytest
import tensorflow as tf
import torchvision_configs
import torchvision_weights

from object_detection.builders import faster_rcnn_builder
from object_detection.engine.importers import table

torch = pytest.importorskip("torch")
detection = pytest.importorskip("torchvision.models.detection")

CLASSES = 7  # with background
MIN_SIZE, MAX_SIZE = 96, 160
SIZES = ((81, 110), (100, 90))  # height and width of two images
# Standard deviation of the outputs of these layers, channel by channel; of others 1 altogether.
SPREADS = {"rpn.head.cls_logits": 2.0, "rpn.head.bbox_pred": 0.2,
           "roi_heads.box_predictor.cls_score": 2.0, "roi_heads.box_predictor.bbox_pred": 2.0,
           "roi_heads.mask_predictor.mask_fcn_logits": 2.0}


class Recorded(dict):
    """Outputs of modules by name, as they were when the modules ran."""

    def keep(self, name, module, pick):
        module.register_forward_hook(
            lambda _, inputs, output: self.__setitem__(name, pick(inputs, output)))


def theirs(images):
    """Returns the network, scaled on the images, and a record of its stages."""
    torch.manual_seed(0)
    network = detection.maskrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=CLASSES, min_size=MIN_SIZE,
        max_size=MAX_SIZE).eval()
    values = torchvision_weights.random_values(
        {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()
         if ".bn" in name or "downsample.1" in name})
    network.load_state_dict({name: torch.from_numpy(np.asarray(
        np.abs(value) + 0.5 if name.endswith("weight") else value))
        for name, value in values.items()}, strict=False)
    for name, module in network.named_modules():
        if isinstance(module, torch.nn.Conv2d | torch.nn.Linear | torch.nn.ConvTranspose2d):
            module.register_forward_hook(_spread(SPREADS[name]) if name in SPREADS else _scaled)
    with torch.no_grad():
        network(images)  # the first run sets the scales
    for module in network.modules():
        module._forward_hooks.clear()
    record = Recorded()
    record.keep("maps", network.backbone, lambda _, output: list(output.values()))
    record.keep("proposals", network.rpn, lambda _, output: output[0])
    record.keep("found", network.roi_heads,
                lambda _, output: [dict(one) for one in output[0]])
    return network, record


def _scaled(module, inputs, output):
    """Divides weights by the spread of the module's outputs."""
    factor = 1.0 / (output.std() + 1e-6)
    module.weight.data *= factor
    if module.bias is not None:
        module.bias.data *= factor
    return output * factor


def _spread(wanted):
    """Returns a hook that gives every channel of a module a mean of 0 and this spread."""
    def hook(module, inputs, output):
        axes = [axis for axis in range(output.ndim) if axis != 1]
        factor = wanted / (output.std(dim=axes) + 1e-6)
        mean = output.mean(dim=axes)
        module.weight.data *= factor.reshape(-1, *[1] * (module.weight.ndim - 1))
        module.bias.data = (module.bias.data - mean) * factor
        shape = [1, -1, *[1] * (output.ndim - 2)]
        return (output - mean.reshape(shape)) * factor.reshape(shape)
    return hook


def ours(path):
    config = torchvision_configs.ready(MIN_SIZE, MAX_SIZE)
    config.num_classes = CLASSES - 1
    config.feature_extractor.conv_hyperparams.batch_norm.epsilon = 1e-5
    model = faster_rcnn_builder.build(config, is_training=False)
    model.build()
    report = table.load(model, path)
    assert not report.absent and not report.unused and not report.other_shape
    return model


def batch_of(model, images):
    """Resizes images and pads them, as batches are made."""
    resized = [model.preprocess(tf.constant(one.permute(1, 2, 0).numpy()[None] * 255.0))
               for one in images]
    height, width = (max(pixels.shape[axis] for pixels, _ in resized) for axis in (1, 2))
    pixels = [tf.pad(one, [[0, 0], [0, height - one.shape[1]], [0, width - one.shape[2]], [0, 0]])
              for one, _ in resized]
    return tf.concat(pixels, axis=0), tf.concat([shape for _, shape in resized], axis=0)


def x_first(boxes):
    return boxes.numpy()[..., [1, 0, 3, 2]]


@pytest.mark.slow
def test_boxes_scores_labels_and_masks_are_the_same(tmp_path):
    torch.set_num_threads(1)
    random = torch.Generator().manual_seed(1)
    images = [torch.nn.functional.interpolate(
        torch.rand(1, 3, 9, 9, generator=random), size, mode="bilinear")[0] for size in SIZES]
    network, record = theirs(images)
    with torch.no_grad():
        whole = network(images)
    assert {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()} == (
        torchvision_weights.shapes(CLASSES))
    path = str(tmp_path / "model.pth")
    torch.save(network.state_dict(), path)
    model = ours(path)
    pixels, shapes = batch_of(model, images)
    predicted = model.predict(pixels, shapes)
    found = model.postprocess(predicted, shapes)

    for own, other in zip(predicted["rpn_features_to_crop"], record["maps"], strict=True):
        np.testing.assert_allclose(own, other.permute(0, 2, 3, 1), atol=1e-4)
    for index, size in enumerate(SIZES):
        wanted = record["proposals"][index]
        count = int(predicted["num_proposals"][index])
        assert count == len(wanted) > 50
        # In parts of the input: anchors are up to five times as large as it, and so is rounding.
        # Whatever the order: scores of some neighbours are equal but for rounding.
        own = x_first(predicted["proposal_boxes"][index, :count]) / MAX_SIZE
        apart = np.abs(own[:, None] - wanted.numpy() / MAX_SIZE).max(axis=-1)
        assert apart.min(axis=0).max() < 1e-4 and apart.min(axis=1).max() < 1e-4
        wanted = record["found"][index]
        count = int(found["num_detections"][index])
        assert count == len(wanted["boxes"]) > 20
        assert len(set(wanted["labels"].tolist())) > 2 and wanted["scores"].std() > 0.05
        np.testing.assert_array_equal(found["detection_classes"][index, :count] + 1,
                                      wanted["labels"])
        np.testing.assert_allclose(found["detection_scores"][index, :count], wanted["scores"],
                                   atol=1e-4)
        # Boxes of `record` are those of the resized image; `whole` has those of the given one.
        np.testing.assert_allclose(
            x_first(found["detection_boxes"][index, :count]),
            whole[index]["boxes"].numpy() / np.tile(size[::-1], 2), atol=1e-4)
        assert wanted["masks"].std() > 0.1
        np.testing.assert_allclose(found["detection_masks"][index, :count],
                                   wanted["masks"][:, 0], atol=1e-3)
