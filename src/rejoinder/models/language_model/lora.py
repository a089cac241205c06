"""Low-rank additions to a network's matrices (LoRA; Hu et al. 2022): a few megabytes that teach it one task.

Each matrix W gets two thin ones, A and B; their product B A, times a scale, is trained. For use it is added to W once,
so that the model runs as fast as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class LowRankLayer(nn.Module):
    """A frozen linear layer with its low-rank addition, which is initially zero."""

    def __init__(self, layer: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.layer = layer
        self.scale = scale
        self.a = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features**0.5)
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the output of the layer plus the addition."""
        added: Tensor = (inputs @ self.a.T.to(inputs.dtype)) @ self.b.T.to(inputs.dtype)
        output: Tensor = self.layer(inputs) + self.scale * added
        return output


def attach_lora(network: Any, rank: int, scale: float, seed: int, layers: Sequence[str] = LAYERS) -> list[nn.Parameter]:
    """Freeze a network and attach an addition to each matrix of the layers; return the parameters to train."""
    torch.manual_seed(seed)
    network.requires_grad_(False)
    for name, layer in list(_linear_layers(network, layers)):
        parent = network.get_submodule(name.rpartition(".")[0])
        setattr(parent, name.rpartition(".")[2], LowRankLayer(layer, rank, scale).to(layer.weight.device))
    return [parameter for parameter in network.parameters() if parameter.requires_grad]


def extract_lora(network: Any) -> dict[str, Tensor]:
    """Return the trained matrices by the name of the layer, with the scale applied."""
    matrices = {}
    for name, layer in network.named_modules():
        if isinstance(layer, LowRankLayer):
            matrices[f"{name}.a"] = layer.a.detach().cpu()
            matrices[f"{name}.b"] = layer.b.detach().cpu() * layer.scale
    return matrices


def merge_lora(network: Any, parts: Mapping[str, Tensor], layers: Sequence[str] = LAYERS) -> None:
    """Add the trained matrices to those of a plain network, in place; each part must match one."""
    known = dict(_linear_layers(network, layers))
    layer_names = {name.rpartition(".")[0] for name in parts}
    if not layer_names <= known.keys() or len(parts) != 2 * len(layer_names):
        raise ValueError(
            f"{len(layer_names - known.keys())} of {len(layer_names)} additions match no matrix of this model"
        )
    for name in sorted(layer_names):
        weight = known[name].weight
        product = parts[f"{name}.b"].double() @ parts[f"{name}.a"].double()
        if product.shape != weight.shape:
            raise ValueError(f"{name} has the shape {tuple(weight.shape)} here, not {tuple(product.shape)}")
        with torch.no_grad():
            weight += product.to(device=weight.device, dtype=weight.dtype)


def _linear_layers(network: Any, layers: Sequence[str]) -> Iterator[tuple[str, nn.Linear]]:
    for name, layer in network.named_modules():
        if isinstance(layer, nn.Linear) and name.rpartition(".")[2] in layers:
            yield name, layer
