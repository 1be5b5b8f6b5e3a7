"""Which part of a network a variable belongs to, by its name: a stage of the backbone, or a head.

A stage is numbered by how often it has halved the image: the layers of stage 3 write maps of
stride 8, as C3 in a ResNet (dilated layers count as if they had their stride). Heads are all that
is trained for detection and that no classifier has: the pyramid, the region proposal network, and
the box and mask heads. The fourth block of a C4 network, which reads the crops, is stage 5.
"""

import re
from collections.abc import Iterable

HEADS = 0

# Name of a group in a config to the first stage that it trains, as in Matterport's Mask_RCNN.
_FIRST_STAGE = {"heads": 6, "5+": 5, "4+": 4, "3+": 3, "all": 1}
PRESETS = tuple(_FIRST_STAGE)

# A pattern of the beginning of names, and the stage; the first that matches counts.
_RULES = tuple((re.compile(pattern), stage) for pattern, stage in (
    # All networks of the OD API: what reads the crops.
    (r"SecondStageFeatureExtractor/", 5),
    # TF1 ResNet v1.
    (r"FirstStageFeatureExtractor/resnet_v1_\d+/conv1/", 1),
    (r"FirstStageFeatureExtractor/resnet_v1_\d+/block1/", 2),
    (r"FirstStageFeatureExtractor/resnet_v1_\d+/block2/", 3),
    (r"FirstStageFeatureExtractor/resnet_v1_\d+/block3/", 4),
    (r"FirstStageFeatureExtractor/resnet_v1_\d+/block4/", 5),
    # MobileNet v1.
    (r"FirstStageFeatureExtractor/MobilenetV1/Conv2d_[01](?:_|/)", 1),
    (r"FirstStageFeatureExtractor/MobilenetV1/Conv2d_[23]_", 2),
    (r"FirstStageFeatureExtractor/MobilenetV1/Conv2d_[45]_", 3),
    (r"FirstStageFeatureExtractor/MobilenetV1/Conv2d_(?:[6-9]|1[01])_", 4),
    (r"FirstStageFeatureExtractor/MobilenetV1/Conv2d_1[23]_", 5),
    # Inception v2.
    (r"FirstStageFeatureExtractor/InceptionV2/Conv2d_1", 1),
    (r"FirstStageFeatureExtractor/InceptionV2/Conv2d_2", 2),
    (r"FirstStageFeatureExtractor/InceptionV2/Mixed_3", 3),
    (r"FirstStageFeatureExtractor/InceptionV2/Mixed_4", 4),
    (r"FirstStageFeatureExtractor/InceptionV2/Mixed_5", 5),
    # Inception-ResNet v2.
    (r"FirstStageFeatureExtractor/InceptionResnetV2/Conv2d_[12]", 1),
    (r"FirstStageFeatureExtractor/InceptionResnetV2/Conv2d_[34]", 2),
    (r"FirstStageFeatureExtractor/InceptionResnetV2/(?:Mixed_5|Repeat/)", 3),
    (r"FirstStageFeatureExtractor/InceptionResnetV2/(?:Mixed_6|Repeat_1/)", 4),
    # PNASNet-5, where cell 4 reduces; and NASNet-A but for two cells, see `stages_of`.
    (r"FirstStageFeatureExtractor/conv0(?:_bn)?/", 1),
    (r"FirstStageFeatureExtractor/cell_stem_0/", 2),
    (r"FirstStageFeatureExtractor/cell_stem_1/", 3),
    (r"FirstStageFeatureExtractor/reduction_cell_0/", 4),
    (r"FirstStageFeatureExtractor/cell_[0-3]/", 3),
    (r"FirstStageFeatureExtractor/cell_\d+/", 4),
    # Keras ResNets.
    (r"conv1_(?:conv|bn)/", 1),
    (r"conv2_block", 2),
    (r"conv3_block", 3),
    (r"conv4_block", 4),
    (r"conv5_block", 5),
    # Keras Inception-ResNet v2; its plain layers are numbered.
    (r"block35_", 3),
    (r"block17_", 4),
    (r"(?:block8_|conv_7b)", 5),
    # Matterport's ResNets.
    (r"(?:bn_)?conv1/", 1),
    (r"(?:res|bn)2[a-z]", 2),
    (r"(?:res|bn)3[a-z]", 3),
    (r"(?:res|bn)4[a-z]", 4),
    (r"(?:res|bn)5[a-z]", 5),
    # torchvision's ResNets.
    (r"backbone/body/(?:conv|bn)1/", 1),
    (r"backbone/body/layer1/", 2),
    (r"backbone/body/layer2/", 3),
    (r"backbone/body/layer3/", 4),
    (r"backbone/body/layer4/", 5),
    # Heads, by the names of the four systems.
    (r"(?:First|Second)StageBoxPredictor/|Conv/|RPNConv/", HEADS),
    (r"FirstStageFeatureExtractor/(?:.*/)?(?:fpn|FeatureMaps|top_down|bottom_up)", HEADS),
    (r".*(?:_fpn|FeatureMaps|top_down)/", HEADS),
    (r"mask_rcnn_keras_box_predictor/|dense(?:_\d+)?/", HEADS),
    (r"rpn_|fpn_|mrcnn_", HEADS),
    (r"backbone/fpn/|rpn/|roi_heads/", HEADS),
))
_NUMBERED = re.compile(r"(?:conv2d|freezable_batch_norm|batch_normalization)(?:_(\d+))?/")
_NUMBERED_FROM = ((156, 5), (72, 4), (5, 3), (3, 2), (0, 1))


_NASNET_REDUCTION = "FirstStageFeatureExtractor/reduction_cell_0/"
_NASNET_CELLS = re.compile(r"FirstStageFeatureExtractor/cell_[45]/")


def stages_of(names: Iterable[str]) -> dict[str, int | None]:
    """Returns the stage of each variable of a model: 1 to 5, HEADS, or None if it is not known."""
    stages = {name: _stage_of(name) for name in names}
    if any(name.startswith(_NASNET_REDUCTION) for name in stages):
        # Its reductions are cells of their own, so that six cells come before the first.
        stages.update({name: 3 for name in stages if _NASNET_CELLS.match(name)})
    return stages


def select(names: Iterable[str], preset: str) -> list[str]:
    """Returns the names that a preset trains: the heads, and the stages from its number on.

    Raises:
        ValueError: for another preset, or if a name is of no network that is known here.
    """
    if preset not in _FIRST_STAGE:
        raise ValueError(f"want one of {', '.join(PRESETS)}, got {preset!r}")
    names = list(names)
    if preset == "all":
        return names
    stages = stages_of(names)
    unknown = [name for name, stage in stages.items() if stage is None]
    if unknown:
        raise ValueError(f"{preset!r} says nothing about {unknown[0]!r}, a variable of a network "
                         "whose stages are not known here; give trainable_variables instead")
    return [name for name in names
            if stages[name] == HEADS or stages[name] >= _FIRST_STAGE[preset]]


def _stage_of(name: str) -> int | None:
    numbered = _NUMBERED.match(name)
    if numbered:
        number = int(numbered.group(1) or 0)
        return next(stage for first, stage in _NUMBERED_FROM if number >= first)
    return next((stage for pattern, stage in _RULES if pattern.match(name)), None)
