"""Times Mask R-CNN with ResNet-50 and a pyramid against torchvision's, with the same weights.

    python benchmarks/torchvision_peer.py [--side 400] [--images 2] [--threads 2]

Needs PyTorch and torchvision beside this project. Both detect in, and then train on, the same
images of noise with two classes; one JSON line for each: median milliseconds of both ways, and
ours as a ratio to torchvision's. Detection includes resizing and masks of the whole image; a step
of training is forward, backward and an update with momentum, the first two parts of the backbone
frozen. Objects to train on lie where the network proposes some, so that regions match. The boxes
that both detect are compared first.
"""

import argparse
import json
import pathlib
import tempfile
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from timing import median_ms

from object_detection.builders import faster_rcnn_builder, optimizer_builder
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine.importers import table
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.protos import pipeline_pb2
from object_detection.serving import image_masks
from object_detection.utils import config_util

CONFIG = (pathlib.Path(__file__).resolve().parents[1]
          / "configs/mask_rcnn_resnet50_fpn_torchvision_coco.config")
CLASSES = 2
OBJECTS = 8  # per image, in training


def pipeline(side: int) -> pipeline_pb2.TrainEvalPipelineConfig:
    """Returns the ready config for images with this shorter side."""
    config = config_util.load_pipeline(str(CONFIG))
    detector = config.model.faster_rcnn
    detector.num_classes = CLASSES
    detector.image_resizer.half_pixel_resizer.min_dimension = side
    detector.image_resizer.half_pixel_resizer.max_dimension = 2 * side
    detector.feature_extractor.conv_hyperparams.batch_norm.epsilon = 1e-5
    return config


def theirs(side: int, images: np.ndarray) -> object:
    """Returns torchvision's network, random weights, batch norm frozen as it is on the images."""
    import torch
    from torchvision.models import detection
    from torchvision.ops import misc
    torch.manual_seed(0)
    backbone = detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet50", weights=None, trainable_layers=3,
        norm_layer=misc.FrozenBatchNorm2d)
    network = detection.MaskRCNN(backbone, CLASSES + 1, min_size=side, max_size=2 * side).eval()

    def set_statistics(module: object, inputs: tuple) -> None:
        module.running_mean = inputs[0].mean(dim=(0, 2, 3))
        module.running_var = inputs[0].var(dim=(0, 2, 3))

    hooks = [module.register_forward_pre_hook(set_statistics) for module in network.modules()
             if isinstance(module, misc.FrozenBatchNorm2d)]
    with torch.no_grad():
        network(_for_torch(images))
    for hook in hooks:
        hook.remove()
    return network


def _for_torch(images: np.ndarray) -> list:
    import torch
    return [torch.from_numpy(image.transpose(2, 0, 1)) / 255.0 for image in images]


def load(model: object, network: object) -> None:
    """Copies torchvision's weights."""
    import torch
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.pth"
        torch.save(network.state_dict(), path)
        report = table.load(model, path)
    assert not report.absent and not report.unused and not report.other_shape


def detectors(network: object, side: int, images: np.ndarray) -> dict[str, Callable]:
    """Returns functions that detect in the images, by name."""
    import torch
    model = faster_rcnn_builder.build(pipeline(side).model.faster_rcnn, is_training=False)
    model.build()
    load(model, network)
    network.eval()
    as_torch = _for_torch(images)
    as_tensor = tf.constant(images)
    size = images.shape[1:3]

    @tf.function
    def detect(pixels: tf.Tensor) -> tuple[tf.Tensor, ...]:
        resized, shapes = model.preprocess(pixels)
        found = model.postprocess(model.predict(resized, shapes), shapes)
        masks = image_masks.draw(found["detection_masks"], found["detection_boxes"],
                                 found["num_detections"], tf.constant([size] * len(images)))
        return found["detection_boxes"], found["num_detections"], masks

    def ours() -> tuple[tf.Tensor, ...]:
        return detect(as_tensor)

    def torchvision() -> np.ndarray:
        with torch.no_grad():
            found = network(as_torch)
        return _Fetched([one["boxes"].numpy() for one in found])

    compare(ours(), torchvision().value, size)
    return {"torchvision": torchvision, "ours": ours}


class _Fetched:
    """A result that is there already, in the form that the timing wants."""

    def __init__(self, value: object) -> None:
        self.value = value

    def numpy(self) -> object:
        return self.value


def compare(own: tuple[tf.Tensor, ...], wanted: list[np.ndarray], size: tuple[int, int]) -> None:
    """Checks that each box has a neighbour within a hundredth of the image in the other set."""
    boxes, counts, _ = own
    for index, other in enumerate(wanted):
        mine = boxes.numpy()[index, :int(counts[index]), [1, 0, 3, 2]].T
        other = other / np.tile(size[::-1], 2)
        apart = np.abs(mine[:, None] - other[None]).max(axis=-1, initial=0.0)
        assert len(mine) and len(other) and np.mean(apart.min(axis=0) < 0.01) > 0.95


def objects(network: object, images: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns boxes [B, OBJECTS, 4] in pixels, y first, labels and masks of made-up objects."""
    import torch
    kept = []
    hook = network.rpn.register_forward_hook(lambda *call: kept.extend(call[2][0]))
    with torch.no_grad():
        network.eval()(_for_torch(images))
    hook.remove()
    boxes = []
    for proposals in kept:
        large = [box for box in proposals.numpy() if min(box[2:] - box[:2]) >= 16]
        boxes.append(np.stack(large[::len(large) // OBJECTS][:OBJECTS])[:, [1, 0, 3, 2]])
    masks = np.zeros([len(images), OBJECTS, *images.shape[1:3]], np.uint8)
    for of_image, drawn in zip(boxes, masks):
        for (ymin, xmin, ymax, xmax), mask in zip(of_image.astype(int), drawn):
            mask[ymin:ymax, xmin:xmax] = 1
    labels = np.tile(np.arange(OBJECTS) % CLASSES, [len(images), 1])
    return np.stack(boxes), labels, masks


def steps(network: object, side: int, images: np.ndarray) -> dict[str, Callable]:
    """Returns functions that train one step on the images, by name."""
    import torch
    config = pipeline(side)
    model = faster_rcnn_builder.build(config.model.faster_rcnn, is_training=True)
    model.build()
    load(model, network)
    config.train_config.ClearField("gradient_clipping_by_norm")
    config.train_config.optimizer.momentum_optimizer.learning_rate.Clear()
    config.train_config.optimizer.momentum_optimizer.learning_rate.constant_learning_rate \
        .learning_rate = 1e-6
    step = TrainStep(model, optimizer_builder.build(config.train_config.optimizer),
                     TrainSettings.from_config(config.train_config))
    pixels, shapes = model.preprocess(tf.constant(images))
    boxes, classes, masks = objects(network, images)
    size = np.tile(np.float32(images.shape[1:3]), 2)
    features = {Fields.image: pixels, Fields.true_image_shape: shapes}
    labels = {Fields.groundtruth_boxes: tf.constant(boxes / size),
              Fields.groundtruth_classes: tf.one_hot(classes, CLASSES),
              Fields.groundtruth_weights: tf.ones(classes.shape),
              Fields.groundtruth_is_crowd: tf.zeros(classes.shape, tf.bool),
              Fields.groundtruth_instance_masks: tf.constant(masks)}
    network.train()
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=1e-6,
                                momentum=0.9, weight_decay=1e-4)
    as_torch = _for_torch(images)
    targets = [{"boxes": torch.from_numpy(boxes[index][:, [1, 0, 3, 2]]),
                "labels": torch.from_numpy(classes[index] + 1),
                "masks": torch.from_numpy(masks[index])} for index in range(len(images))]

    def torchvision() -> _Fetched:
        total = sum(network(as_torch, targets).values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return _Fetched(total.item())

    def ours() -> tf.Tensor:
        return step(features, labels).total_loss

    return {"torchvision": torchvision, "ours": ours}


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=400, help="shorter side after resizing")
    parser.add_argument("--images", type=int, default=2, help="in one batch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    try:
        import torch
        import torchvision  # noqa: F401
    except ImportError as error:
        raise SystemExit(f"torchvision_peer: {error}; install torch and torchvision beside this "
                         "project") from error
    torch.set_num_threads(options.threads)
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    shape = (options.images, options.side, options.side * 4 // 3, 3)
    images = np.random.default_rng(0).uniform(0, 255, shape).astype(np.float32)
    network = theirs(options.side, images)
    for name, build in (("detect", detectors), ("train", steps)):
        medians = median_ms(build(network, options.side, images), repeats=options.repeats)
        print(json.dumps({
            "benchmark": f"torchvision_peer_{name}", "images": options.images,
            "side": options.side, "median_ms": medians,
            "ours_over_torchvision": medians["ours"] / medians["torchvision"]}), flush=True)


if __name__ == "__main__":
    main()
