"""The operations of ONNX (opset 17) that our exporters use, in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_DTYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 11: torch.float64}  # TensorProto.DataType


def _on_same_device(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return both on the device of the one that is not on the CPU."""
    if first.device == second.device:
        return first, second
    return (first.to(second.device), second) if first.device.type == "cpu" else (first, second.to(first.device))


def _binary(operation: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda first, second: operation(*_on_same_device(first, second))


def _divide(first: Tensor, second: Tensor) -> Tensor:
    is_integer = not first.is_floating_point()
    return torch.div(first, second, rounding_mode="trunc") if is_integer else first / second


def _constant(value: Any = None, **settings: Any) -> Tensor:
    content = value if value is not None else next(iter(settings.values()))
    return torch.from_numpy(np.array(content))


def _to_integers(tensor: Tensor) -> list[int]:
    return [int(number) for number in tensor.tolist()]


def _reshape(data: Tensor, shape: Tensor, allowzero: int = 0) -> Tensor:
    sizes = _to_integers(shape)
    return data.reshape([data.shape[i] if size == 0 and not allowzero else size for i, size in enumerate(sizes)])


def _unsqueeze(data: Tensor, axes: Tensor) -> Tensor:
    rank = data.dim() + axes.numel()
    for axis in sorted(number % rank for number in _to_integers(axes.reshape(-1))):
        data = data.unsqueeze(axis)
    return data


def _squeeze(data: Tensor, axes: Tensor | None = None) -> Tensor:
    return data.squeeze() if axes is None else data.squeeze(tuple(_to_integers(axes.reshape(-1))))


def _expand(data: Tensor, shape: Tensor) -> Tensor:
    # Either side may be wider: a size of 1 takes the other's.
    return data.expand(np.broadcast_shapes(tuple(data.shape), tuple(_to_integers(shape))))


def _gather(data: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    data, indices = _on_same_device(data, indices)
    axis %= data.dim()
    indices = torch.where(indices < 0, indices + data.shape[axis], indices)
    rows = data.index_select(axis, indices.reshape(-1))
    return rows.reshape([*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]])


def _gather_elements(data: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    data, indices = _on_same_device(data, indices)
    return torch.gather(data, axis, torch.where(indices < 0, indices + data.shape[axis], indices))


def _slice(
    data: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None
) -> Tensor:
    first, last = _to_integers(starts), _to_integers(ends)
    along = _to_integers(axes) if axes is not None else list(range(len(first)))
    by = _to_integers(steps) if steps is not None else [1] * len(first)
    whole: list[slice] = [slice(None)] * data.dim()
    for axis, start, end, step in zip(along, first, last, by, strict=True):
        whole[axis] = slice(start, end, step)
    return data[tuple(whole)]


def _constant_of_shape(shape: Tensor, value: Any = None) -> Tensor:
    filler = torch.zeros(1) if value is None else torch.from_numpy(np.array(value))
    return (
        filler.reshape([1] * max(1, shape.numel())).expand(_to_integers(shape)) if shape.numel() else filler.reshape(())
    )


def _dequantize(data: Tensor, scale: Tensor, zero: Tensor | None = None, axis: int = 1) -> Tensor:
    """DequantizeLinear."""
    data, scale = _on_same_device(data, scale)
    shape = [1] * data.dim()
    if scale.dim() == 1 and data.dim() > 1:
        shape[axis] = -1
        scale = scale.reshape(shape)
        zero = None if zero is None else zero.to(data.device).reshape(shape)
    return data.to(scale.dtype) * scale if zero is None else (data.to(scale.dtype) - zero.to(scale.dtype)) * scale


def _reduce_sum(data: Tensor, axes: Tensor | None = None, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Tensor:
    along = _to_integers(axes.reshape(-1)) if axes is not None else list(range(data.dim()))
    return data.sum(dim=along, keepdim=bool(keepdims))


def _reduce_l2(data: Tensor, axes: Any = None, keepdims: int = 1) -> Tensor:
    """ReduceL2."""
    norms: Tensor = torch.linalg.vector_norm(data, dim=None if axes is None else list(axes), keepdim=bool(keepdims))
    return norms


def _reduce_mean(data: Tensor, axes: Any = None, keepdims: int = 1) -> Tensor:
    return data.mean(dim=list(range(data.dim())) if axes is None else list(axes), keepdim=bool(keepdims))


def _clip(data: Tensor, least: Tensor | None = None, most: Tensor | None = None) -> Tensor:
    return torch.clamp(data, *(None if bound is None else bound.item() for bound in (least, most)))


def _gemm(a: Tensor, b: Tensor, c: Tensor | None = None, **settings: Any) -> Tensor:
    product: Tensor = (a.T if settings.get("transA") else a) @ (b.T if settings.get("transB") else b)
    product = product * settings.get("alpha", 1.0)
    return product if c is None else product + settings.get("beta", 1.0) * c.to(product.device)


def _layer_norm(data: Tensor, scale: Tensor, bias: Tensor | None = None, **settings: Any) -> Tensor:
    scale, bias = scale.to(data.device), None if bias is None else bias.to(data.device)
    return functional.layer_norm(
        data, data.shape[settings.get("axis", -1) :], scale, bias, settings.get("epsilon", 1e-5)
    )


def _where(condition: Tensor, first: Tensor, second: Tensor) -> Tensor:
    device = next((t.device for t in (condition, first, second) if t.device.type != "cpu"), condition.device)
    return torch.where(condition.to(device), first.to(device), second.to(device))


def _flatten(data: Tensor, axis: int = 1) -> Tensor:
    return data.reshape(int(np.prod(data.shape[:axis])), -1)


def _concat(*parts: Tensor, axis: int = 0) -> Tensor:
    device = next((part.device for part in parts if part.device.type != "cpu"), parts[0].device)
    return torch.cat([part.to(device) for part in parts], axis)


def _cast(data: Tensor, to: int) -> Tensor:
    return data.to(_DTYPES[to])


OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "Abs": torch.abs,
    "Add": _binary(torch.add),
    "And": _binary(torch.logical_and),
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "CumSum": lambda data, axis: torch.cumsum(data, int(axis)),
    "DequantizeLinear": _dequantize,
    "Div": _binary(_divide),
    "Einsum": lambda *operands, equation: torch.einsum(equation, *operands),
    "Equal": _binary(torch.eq),
    "Erf": torch.erf,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Gemm": _gemm,
    "Greater": _binary(torch.gt),
    "GreaterOrEqual": _binary(torch.ge),
    "Identity": lambda data: data,
    "LayerNormalization": _layer_norm,
    "Less": _binary(torch.lt),
    "LessOrEqual": _binary(torch.le),
    "Log": torch.log,
    "MatMul": _binary(torch.matmul),
    "Max": _binary(torch.maximum),
    "Min": _binary(torch.minimum),
    "Mul": _binary(torch.mul),
    "Neg": torch.neg,
    "Not": torch.logical_not,
    "Or": _binary(torch.logical_or),
    "Pow": _binary(torch.pow),
    "Range": lambda first, end, step: torch.arange(first.item(), end.item(), step.item()),
    "ReduceL2": _reduce_l2,
    "ReduceMean": _reduce_mean,
    "ReduceSum": _reduce_sum,
    "Relu": torch.relu,
    "Reshape": _reshape,
    "Shape": lambda data: torch.tensor(data.shape),
    "Sigmoid": torch.sigmoid,
    "Slice": _slice,
    "Softmax": lambda data, axis=-1: torch.softmax(data, axis),
    "Sqrt": torch.sqrt,
    "Squeeze": _squeeze,
    "Sub": _binary(torch.sub),
    "Tanh": torch.tanh,
    "Transpose": lambda data, perm=None: data.permute(perm or list(range(data.dim()))[::-1]),
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
