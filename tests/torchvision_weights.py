"""Names and shapes in the state_dict of torchvision's maskrcnn_resnet50_fpn, by rule."""

import numpy as np

BLOCKS = (3, 4, 6, 3)


def shapes(classes, width=64, depth=256, dense=1024, crop=7):
    """Returns shapes by name, as PyTorch keeps them.

    Args:
        classes: with background.
        width: channels of the stem; of a published model 64, and so on.
    """
    found = {}

    def layer(name, outputs, inputs, kernel=None, bias=True):
        sides = () if kernel is None else (kernel, kernel)
        found[f"{name}.weight"] = (outputs, inputs, *sides)
        if bias:
            found[f"{name}.bias"] = (outputs,)

    def normalized(name, norm, outputs, inputs, kernel):
        layer(name, outputs, inputs, kernel, bias=False)
        for kind in ("weight", "bias", "running_mean", "running_var"):
            found[f"{norm}.{kind}"] = (outputs,)
        found[f"{norm}.num_batches_tracked"] = ()

    body = "backbone.body"
    normalized(f"{body}.conv1", f"{body}.bn1", width, 3, 7)
    inputs = width
    for stage, count in enumerate(BLOCKS):
        inner = width * 2 ** stage
        for number in range(count):
            block = f"{body}.layer{stage + 1}.{number}"
            for index, (outputs, read, kernel) in enumerate(
                    [(inner, inputs, 1), (inner, inner, 3), (4 * inner, inner, 1)], start=1):
                normalized(f"{block}.conv{index}", f"{block}.bn{index}", outputs, read, kernel)
            if number == 0:
                normalized(f"{block}.downsample.0", f"{block}.downsample.1", 4 * inner, inputs, 1)
            inputs = 4 * inner
    for level in range(4):
        layer(f"backbone.fpn.inner_blocks.{level}.0", depth, 4 * width * 2 ** level, 1)
    for level in range(4):
        layer(f"backbone.fpn.layer_blocks.{level}.0", depth, depth, 3)
    layer("rpn.head.conv.0.0", depth, depth, 3)
    layer("rpn.head.cls_logits", 3, depth, 1)
    layer("rpn.head.bbox_pred", 12, depth, 1)
    layer("roi_heads.box_head.fc6", dense, depth * crop ** 2)
    layer("roi_heads.box_head.fc7", dense, dense)
    layer("roi_heads.box_predictor.cls_score", classes, dense)
    layer("roi_heads.box_predictor.bbox_pred", 4 * classes, dense)
    for number in range(4):
        layer(f"roi_heads.mask_head.{number}.0", depth, depth, 3)
    layer("roi_heads.mask_predictor.conv5_mask", depth, depth, 2)
    layer("roi_heads.mask_predictor.mask_fcn_logits", classes, depth, 1)
    return found


def random_values(named_shapes, seed=0):
    """Returns arrays by name; variances are positive, counters whole."""
    rng = np.random.default_rng(seed)
    values = {}
    for name, shape in named_shapes.items():
        if name.endswith("num_batches_tracked"):
            values[name] = np.int64(7)
        elif name.endswith("running_var"):
            values[name] = rng.uniform(0.5, 1.5, shape).astype(np.float32)
        else:
            values[name] = rng.normal(0.0, 0.1, shape).astype(np.float32)
    return values
