"""An exported graph computed by torch: for machines whose torch supports CUDA but whose onnxruntime does not.

It has the operations that our exporters use (opset 17); what does not depend on an input is computed once, at loading.
Sizes and shapes stay on the CPU, so that nothing waits for the GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.onnx.torch_operations import OPERATIONS

_SMALL = 64  # elements; a tensor this small is a size, a shape or a scalar, and stays on the CPU


class UnknownOperationError(InputError):
    """A graph needs an operation that is not implemented here."""


class _GraphStep(NamedTuple):
    operation: Any
    inputs: tuple[str, ...]
    settings: dict[str, Any]
    results: tuple[str, ...]
    last: tuple[str, ...]  # names that are not needed afterwards


class TorchGraph:
    """A graph with the ``run`` of an onnxruntime session."""

    def __init__(self, path: Path, device: str) -> None:
        try:
            import onnx
            import torch
            from onnx import numpy_helper
        except ImportError as error:
            raise MissingExtraError(error.name or "torch", "torch", f"computing {path.name} on a GPU") from None
        self._torch, self._device = torch, torch.device(device)
        model: Any = onnx.load(str(path))
        known = {
            tensor.name: self._to_tensor(numpy_helper.to_array(tensor, str(path.parent)))
            for tensor in model.graph.initializer
        }
        self._outputs = [tensor.name for tensor in model.graph.output]
        self._steps = self._plan(model.graph.node, known, path)
        self._constants = {name: known[name] for step in self._steps for name in step.inputs if name in known}
        self._constants |= {name: known[name] for name in self._outputs if name in known}

    def run(self, outputs: Sequence[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """Return the outputs of the graph for the given arrays, as arrays."""
        torch = self._torch
        values: dict[str, Any] = {"": None, **self._constants}
        values |= {
            name: torch.from_numpy(np.ascontiguousarray(array)).to(self._device) for name, array in inputs.items()
        }
        with torch.inference_mode():
            for step in self._steps:
                result = step.operation(*(values[name] for name in step.inputs), **step.settings)
                values[step.results[0]] = result
                for name in step.last:
                    del values[name]
            return [values[name].cpu().numpy() for name in outputs or self._outputs]

    def _to_tensor(self, array: Any) -> Any:
        tensor = self._torch.from_numpy(np.array(array))
        return tensor if tensor.numel() <= _SMALL else tensor.to(self._device)

    def _plan(self, nodes: Sequence[Any], known: dict[str, Any], path: Path) -> list[_GraphStep]:
        """Return the steps that depend on an input; the results of the others are put into ``known``."""
        steps: list[_GraphStep] = []
        known[""] = None
        for node in nodes:
            if node.op_type not in OPERATIONS:
                raise UnknownOperationError(
                    f"{path}: {node.op_type} cannot be computed by torch here; set REJOINDER_DEVICE=cpu"
                )
            step = _GraphStep(
                OPERATIONS[node.op_type], tuple(node.input), _node_attributes(node), tuple(node.output), ()
            )
            if all(name in known for name in step.inputs):
                with self._torch.inference_mode():
                    known[step.results[0]] = step.operation(*(known[name] for name in step.inputs), **step.settings)
            else:
                steps.append(step)
        return self._add_last_uses(steps, known)

    def _add_last_uses(self, steps: Sequence[_GraphStep], known: Mapping[str, Any]) -> list[_GraphStep]:
        needed = {*known, *self._outputs}
        steps_with_ends: list[_GraphStep] = []
        for step in reversed(steps):
            last = tuple(name for name in dict.fromkeys((*step.inputs, *step.results)) if name not in needed)
            needed.update(last)
            steps_with_ends.append(step._replace(last=last))
        return steps_with_ends[::-1]


def _node_attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of a node as plain values."""
    from onnx import AttributeProto, helper, numpy_helper

    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if attribute.type == AttributeProto.TENSOR:
            value = np.array(numpy_helper.to_array(value))
        attributes[attribute.name] = value.decode() if isinstance(value, bytes) else value
    return attributes
