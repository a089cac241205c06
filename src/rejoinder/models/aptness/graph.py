"""A network of `aptness` as an ONNX graph, with int8 matrices and with word embeddings in a file that graphs share."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import torch
from torch import Tensor, nn

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.models.aptness_card import EMBEDDINGS
from rejoinder.models.device import silence_transformers
from rejoinder.models.onnx.quantization import INT8, SCALES, quantize_graph

_OPSET = 17
WORD_EMBEDDINGS = "trunk.embeddings.word_embeddings.weight"
STATE = "state"  # the graph's metadata on which constant is which parameter: {parameter: [constant, transposed]}


def write_graph(
    module: nn.Module,
    inputs: Mapping[str, tuple[Tensor, dict[int, str]]],
    outputs: Mapping[str, dict[int, str]],
    state: Mapping[str, Tensor],
    path: Path,
) -> None:
    """Trace and write a graph: note its parameters, extract its word embeddings, make its other matrices int8."""
    import onnx

    with tempfile.TemporaryDirectory() as scratch, torch.no_grad(), silence_transformers(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer's remarks on constants and on its own deprecation
        torch.onnx.export(
            module.eval(),
            tuple(example for example, _ in inputs.values()),
            f"{scratch}/graph.onnx",
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={**{name: axes for name, (_, axes) in inputs.items()}, **outputs},
            opset_version=_OPSET,
            dynamo=False,
        )
        model = onnx.load(f"{scratch}/graph.onnx")
    constants = _match_constants(model.graph, state, path)
    words = constants.pop(WORD_EMBEDDINGS, None)
    quantize_graph(model.graph, leave=(words[0],) if words else ())
    if words:
        _extract_word_embeddings(model.graph, words[0], state[WORD_EMBEDDINGS].shape)
    note = model.metadata_props.add()
    note.key, note.value = STATE, orjson.dumps(constants, option=orjson.OPT_SORT_KEYS).decode()
    path.write_bytes(model.SerializeToString(deterministic=True))


def _match_constants(graph: Any, state: Mapping[str, Tensor], path: Path) -> dict[str, tuple[str, bool]]:
    """Return which constant of a graph is which parameter, and whether it is transposed; matched by value.

    The tracer transposes matrices, numbers them, and stores equal ones once.
    """
    from onnx import numpy_helper

    constants_by_digest: dict[str, str] = {}
    for constant in graph.initializer:
        constants_by_digest.setdefault(_constant_fingerprint(numpy_helper.to_array(constant)), constant.name)
    matches: dict[str, tuple[str, bool]] = {}
    for name, values in state.items():
        array = values.numpy()
        if (constant := constants_by_digest.get(_constant_fingerprint(array))) is not None:
            matches[name] = (constant, False)
        elif array.ndim == 2 and (constant := constants_by_digest.get(_constant_fingerprint(array.T))) is not None:
            matches[name] = (constant, True)
    unused = {constant.name for constant in graph.initializer} - {constant for constant, _ in matches.values()}
    if unused:
        raise InputError(f"{path.name}: {sorted(unused)[0]} in the graph is not a parameter of the network")
    return matches


def _constant_fingerprint(values: Any) -> str:
    return sha256_of_bytes(repr(values.shape).encode() + np.ascontiguousarray(values).tobytes())


def _extract_word_embeddings(graph: Any, name: str, shape: torch.Size) -> None:
    """Make the graph read the word embeddings from the file next to it: int8 rows, each times its scale."""
    from onnx import TensorProto, helper

    rows, width = shape
    graph.initializer.remove(next(constant for constant in graph.initializer if constant.name == name))
    for part, kind, dims, at, size in (
        (name + INT8, TensorProto.INT8, (rows, width), 0, rows * width),
        (name + SCALES, TensorProto.FLOAT, (rows, 1), rows * width, 4 * rows),
    ):
        tensor = graph.initializer.add()
        tensor.name, tensor.data_type, tensor.data_location = part, kind, TensorProto.EXTERNAL
        tensor.dims.extend(dims)
        for key, value in (("location", EMBEDDINGS), ("offset", str(at)), ("length", str(size))):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
    place, gather = next((i, n) for i, n in enumerate(graph.node) if n.op_type == "Gather" and n.input[0] == name)
    ids, out = gather.input[1], gather.output[0]
    graph.node.remove(gather)
    # Only the requested rows become float32: the whole table would take four times the memory and be slow to load.
    nodes = [
        helper.make_node("Gather", [name + INT8, ids], [f"{name}/row"], f"{name}/row"),
        helper.make_node("Cast", [f"{name}/row"], [f"{name}/cast"], f"{name}/cast", to=TensorProto.FLOAT),
        helper.make_node("Gather", [name + SCALES, ids], [f"{name}/scale"], f"{name}/scale"),
        helper.make_node("Mul", [f"{name}/cast", f"{name}/scale"], [out], f"{name}/read"),
    ]
    for i, node in enumerate(nodes):
        graph.node.insert(place + i, node)
