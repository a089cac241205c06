"""int8 weights in an ONNX graph, computed in float32: each row or column of a matrix has its own scale.

The activations stay float32, so that a text's vector depends neither on the other texts in a batch nor on the machine's
integer instructions; the weights take a quarter of the space.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

INT8, SCALES = "/int8", "/scales"  # suffixes of the names of a matrix's two parts
_SMALLEST = 1_024  # elements; smaller matrices stay float32


def quantize_weights(source: Path, target: Path) -> int:
    """Write the graph of ``source`` with its matrices as int8; return the number of matrices."""
    import onnx

    model = onnx.load(str(source))
    count = quantize_graph(model.graph)
    onnx.save(model, str(target))
    return count


def quantize_graph(graph: Any, leave: Collection[str] = ()) -> int:
    """Store the matrices of a graph as int8, except for those in ``leave``; return the number of matrices."""
    from onnx import numpy_helper

    axes = _matrix_axes(graph)
    nodes: list[Any] = []
    count = 0
    for weight in list(graph.initializer):
        values = numpy_helper.to_array(weight)
        axis = axes.get(weight.name)
        if axis is None or weight.name in leave or values.size < _SMALLEST or values.dtype != np.float32:
            continue
        small, scales = quantize_matrix(values, axis)
        graph.initializer.remove(weight)
        if values.ndim == 2:
            scales = scales.ravel()
        for name, part in ((weight.name + INT8, small), (weight.name + SCALES, scales)):
            graph.initializer.append(numpy_helper.from_array(part, name))
        nodes += _dequantize_nodes(weight.name, axis, values.ndim)
        count += 1
    for i, node in enumerate(nodes):
        graph.node.insert(i, node)
    return count


def quantize_matrix(values: Any, axis: int) -> tuple[Any, Any]:
    """Return a matrix as int8 and a scale for each index on ``axis``; in a stack, each matrix on its own."""
    along = values.ndim - 1 - axis if values.ndim == 2 else 1
    largest = np.abs(values).max(axis=along, keepdims=True)
    scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return np.clip(np.rint(values / scales), -127, 127).astype(np.int8), scales


def _dequantize_nodes(name: str, axis: int, dimensions: int) -> list[Any]:
    """Return the nodes that turn a matrix into float32, once, at loading."""
    from onnx import TensorProto, helper

    if dimensions == 2:
        return [helper.make_node("DequantizeLinear", [name + INT8, name + SCALES], [name], f"{name}/read", axis=axis)]
    # DequantizeLinear supports scales along one axis only: a stack of matrices has them along two.
    return [
        helper.make_node("Cast", [name + INT8], [f"{name}/cast"], f"{name}/read", to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{name}/cast", name + SCALES], [name], f"{name}/scale"),
    ]


def _matrix_axes(graph: Any) -> dict[str, int]:
    """Return the matrices of the graph, each with the axis of its outputs."""
    axes: dict[str, int] = {}
    for node in graph.node:
        if node.op_type == "MatMul":
            axes[node.input[1]] = 1
        elif node.op_type == "Gather":
            axes[node.input[0]] = 0
        elif node.op_type == "Gemm":
            is_transposed = any(a.name == "transB" and a.i for a in node.attribute)
            axes[node.input[1]] = 0 if is_transposed else 1
        elif node.op_type == "Einsum":
            axes[node.input[1]] = 2
    sizes = {weight.name: len(weight.dims) for weight in graph.initializer}
    return {name: axis for name, axis in axes.items() if sizes.get(name) == (3 if axis == 2 else 2)}
