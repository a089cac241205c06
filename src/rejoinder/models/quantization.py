"""int8 weights in an ONNX graph, computed in float32: each row or column of a matrix has a scale of its own.

The activations stay float32, so that a text's vector depends neither on its neighbours in a batch nor on the machine's
integer instructions; what is gained is size, a quarter of float32's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_SMALLEST = 1_024  # elements; what is smaller stays float32


def quantize_weights(source: Path, target: Path) -> int:
    """Write the graph of ``source`` with its matrices as int8; how many matrices that were."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(source))
    graph = model.graph
    axes = _axes(graph)
    nodes: list[Any] = []
    count = 0
    for weight in list(graph.initializer):
        values = numpy_helper.to_array(weight)
        axis = axes.get(weight.name)
        if axis is None or values.ndim != 2 or values.size < _SMALLEST or values.dtype != np.float32:
            continue
        scales, small = _quantized(values, axis)
        graph.initializer.remove(weight)
        for name, part in ((f"{weight.name}/int8", small), (f"{weight.name}/scales", scales)):
            graph.initializer.append(numpy_helper.from_array(part, name))
        inputs = [f"{weight.name}/int8", f"{weight.name}/scales"]
        nodes.append(onnx.helper.make_node("DequantizeLinear", inputs, [weight.name], f"{weight.name}/read", axis=axis))
        count += 1
    for i, node in enumerate(nodes):
        graph.node.insert(i, node)
    onnx.save(model, str(target))
    return count


def _axes(graph: Any) -> dict[str, int]:
    """The matrices of the graph and the axis that each output of theirs is computed along."""
    axes: dict[str, int] = {}
    for node in graph.node:
        if node.op_type == "MatMul":
            axes[node.input[1]] = 1
        elif node.op_type == "Gather":
            axes[node.input[0]] = 0
    return axes


def _quantized(values: Any, axis: int) -> tuple[Any, Any]:
    largest = np.abs(values).max(axis=1 - axis, keepdims=True)
    scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return scales.ravel(), np.clip(np.rint(values / scales), -127, 127).astype(np.int8)
