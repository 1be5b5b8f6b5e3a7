"""The order in which Keras counts the layers of a network.

A checkpoint of a Keras functional model names layers by number (`layer_with_weights-12`), not by
name. The numbers follow from how the layers are wired: Keras sorts layers by their distance from
the output, the farthest first, and layers of one distance by when a search that starts at the
output and follows the inputs in order meets them first. The wiring of each network is described
here from the tables that also build it, and the numbers are computed from that.
"""

import dataclasses
import functools

from object_detection.nets import inception_resnet_v2, resnet_keras


class LayerGraph:
    """Layers and the layers they read from, added in the order of the computation."""

    def __init__(self) -> None:
        self._inputs: dict[str, tuple[str, ...]] = {}
        self._weighted: set[str] = set()

    def add(self, name: str, *inputs: str, weighted: bool = False) -> str:
        """Adds a layer that reads from `inputs`, and returns its name."""
        self._inputs[name] = inputs
        if weighted:
            self._weighted.add(name)
        return name

    def weighted_layers(self) -> list[str]:
        """Returns the layers with weights in Keras's order; the layer added last is the output."""
        output = next(reversed(self._inputs))
        depths = dict.fromkeys(self._inputs, 0)
        for name in reversed(self._inputs):
            for source in self._inputs[name]:
                depths[source] = max(depths[source], depths[name] + 1)
        met = self._search(output)
        ordered = sorted(met, key=lambda name: (-depths[name], met[name]))
        return [name for name in ordered if name in self._weighted]

    def _search(self, output: str) -> dict[str, int]:
        """Returns when a depth-first search from the output meets each layer."""
        met: dict[str, int] = {}
        waiting = [output]
        while waiting:
            name = waiting.pop()
            if name not in met:
                met[name] = len(met)
                waiting.extend(reversed(self._inputs[name]))
        return met


@dataclasses.dataclass(frozen=True)
class Network:
    """Keras's view of a network cut in two.

    Attributes:
        layers: Keras's name of the layer with weights by our scope; a batch norm has the scope of
            its convolution with `/BatchNorm` behind it.
        first, second: names of the layers with weights that see the image and the regions, each
            in the order in which Keras counts them. The whole network counts `first`, then
            `second`.
    """

    layers: dict[str, str]
    first: list[str]
    second: list[str]


class _Builder:
    """Adds convolutions with their batch norm and activation to a graph."""

    def __init__(self) -> None:
        self.graph = LayerGraph()
        self.layers: dict[str, str] = {}

    def conv(self, source: str, scope: str, name: str, norm_name: str | None = None,
             activated: bool = True) -> str:
        """Adds a convolution, its batch norm unless `norm_name` is None, and an activation."""
        self.layers[scope] = name
        output = self.graph.add(name, source, weighted=True)
        if norm_name is not None:
            self.layers[f"{scope}/BatchNorm"] = norm_name
            output = self.graph.add(norm_name, output, weighted=True)
        return self.graph.add(f"{name} activation", output) if activated else output


@functools.cache
def resnet(num_layers: int, last_stage_sees_regions: bool) -> Network:
    """Returns the ResNet of nets/resnet_keras.py, cut before stage 5 or not at all."""
    first = _Builder()
    net = first.conv(first.graph.add("image"), "conv1", "conv1_conv", "conv1_bn")
    last = resnet_keras.LAST_STAGE
    for stage in range(resnet_keras.FIRST_STAGE, last):
        net = _resnet_stage(first, net, stage, num_layers)
    if not last_stage_sees_regions:
        _resnet_stage(first, net, last, num_layers)
        return Network(first.layers, first.graph.weighted_layers(), [])
    second = _Builder()
    _resnet_stage(second, second.graph.add("regions"), last, num_layers)
    return Network({**first.layers, **second.layers}, first.graph.weighted_layers(),
                   second.graph.weighted_layers())


def _resnet_stage(builder: _Builder, net: str, stage: int, num_layers: int) -> str:
    blocks = resnet_keras.NUM_BLOCKS[num_layers][stage - resnet_keras.FIRST_STAGE]
    for block in range(1, blocks + 1):
        scope, name = f"conv{stage}/block{block}", f"conv{stage}_block{block}"
        shortcut = net
        if block == 1:
            shortcut = builder.conv(net, f"{scope}/shortcut", f"{name}_0_conv", f"{name}_0_bn",
                                    activated=False)
        for number in (1, 2, 3):
            net = builder.conv(net, f"{scope}/conv{number}", f"{name}_{number}_conv",
                               f"{name}_{number}_bn", activated=number < 3)
        net = builder.graph.add(f"{name}_add", shortcut, net)
        net = builder.graph.add(f"{name}_out", net)
    return net


@functools.cache
def inception_resnet() -> Network:
    """Returns the network of nets/inception_resnet_v2.py, cut after the last block17."""
    table = inception_resnet_v2
    first = _InceptionBuilder(created=0)
    net = first.graph.add("image")
    for scope in ("Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_2b_3x3", "Conv2d_3b_1x1",
                  "Conv2d_4a_3x3"):
        net = first.unnamed(net, scope)
    # The pooling branch of Mixed_5b has a convolution, those of Mixed_6a and 7a have none.
    pooled = (("Conv2d_0b_1x1", 64, 1),)
    net = first.mixed(net, "Mixed_5b", (*table.MIXED_5B, pooled))
    for number in range(1, table.NUM_BLOCK_35 + 1):
        net = first.residual(net, f"Repeat/block35_{number}", table.BLOCK_35, f"block35_{number}")
    net = first.mixed(net, "Mixed_6a", table.MIXED_6A)
    for number in range(1, table.NUM_BLOCK_17 + 1):
        net = first.residual(net, f"Repeat_1/block17_{number}", table.BLOCK_17,
                             f"block17_{number}")
    second = _InceptionBuilder(first.created)
    net = second.mixed(second.graph.add("regions"), "Mixed_7a", table.MIXED_7A)
    for number in range(1, table.NUM_BLOCK_8 + 1):
        net = second.residual(net, f"Repeat/block8_{number}", table.BLOCK_8, f"block8_{number}")
    net = second.residual(net, "Block8", table.BLOCK_8, f"block8_{table.NUM_BLOCK_8 + 1}")
    second.conv(net, "Conv2d_7b_1x1", "conv_7b", "conv_7b_bn")
    return Network({**first.layers, **second.layers}, first.graph.weighted_layers(),
                   second.graph.weighted_layers())


class _InceptionBuilder(_Builder):
    """Most of the network's layers have no name of their own: Keras numbers them as created."""

    def __init__(self, created: int) -> None:
        super().__init__()
        self.created = created

    def unnamed(self, source: str, scope: str) -> str:
        suffix = f"_{self.created}" if self.created else ""
        self.created += 1
        return self.conv(source, scope, f"conv2d{suffix}", f"freezable_batch_norm{suffix}")

    def mixed(self, source: str, scope: str,
              branches: tuple[inception_resnet_v2.Branch, ...]) -> str:
        outputs = []
        for number, branch in enumerate(branches):
            net = source
            for conv_scope, _, _ in branch:
                net = self.unnamed(net, f"{scope}/Branch_{number}/{conv_scope}")
            outputs.append(net)
        return self.graph.add(f"{scope} joined", *outputs)

    def residual(self, source: str, scope: str, branches: tuple[inception_resnet_v2.Branch, ...],
                 name: str) -> str:
        net = self.mixed(source, scope, branches)
        net = self.conv(net, f"{scope}/Conv2d_1x1", f"{name}_conv", activated=False)
        return self.graph.add(f"{name}_out", source, net)
