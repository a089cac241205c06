"""Sessions of exported graphs: opened on the chosen device, and run on batches in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, RejoinderError
from rejoinder.models import device
from rejoinder.models.batching import Rows
from rejoinder.models.device import CPU_PROVIDER, CUDA_PROVIDER, count_threads

_split_batches = ContextVar("splitting", default=True)


def compute_in_parallel(compute: Callable[[Rows], None], parts: Iterable[Rows]) -> None:
    """Compute batches in parallel, each on one core: cores that share a small matrix would wait for each other."""
    if device.graph_backend().device == "cuda":  # one batch fills the GPU
        for batch in parts:
            compute(batch)
        return
    pending = _split_for_workers(list(parts), count_threads()) if _split_batches.get() else list(parts)
    workers = min(count_threads(), len(pending))
    if workers < 2:
        for batch in pending:
            compute(batch)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(compute, pending):
            pass


@contextmanager
def keep_batches_whole() -> Iterator[None]:
    """Within this block, which texts are computed together does not depend on the number of threads."""
    before = _split_batches.set(False)
    try:
        yield
    finally:
        _split_batches.reset(before)


def _split_for_workers(parts: list[Rows], workers: int) -> list[Rows]:
    """Split batches until there is one for each core, if there are enough rows."""
    while len(parts) < workers and any(len(part) > 1 for part in parts):
        parts.sort(key=len)
        largest = parts.pop()
        parts += [largest[: len(largest) // 2], largest[len(largest) // 2 :]]
    return parts


def open_session(graph: Path) -> Any:
    """Open a session that computes in float32, however the weights are stored, on the chosen device."""
    backend = device.graph_backend()
    try:
        if backend.runtime == "torch":
            from rejoinder.models.onnx.torch_graph import TorchGraph, UnknownOperationError

            try:
                return TorchGraph(graph, backend.device)
            except UnknownOperationError:
                if device.requested_device() is not None:
                    raise
        return _open_onnxruntime(graph, "cuda" if backend == ("cuda", "onnxruntime") else "cpu")
    except RejoinderError:
        raise
    except Exception as error:  # the libraries' errors have no common base class
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{graph}: cannot be opened ({reason}); export the encoder again") from None


def _open_onnxruntime(graph: Path, target: device.Device) -> Any:
    onnxruntime = device.import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches run in parallel instead
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    # int8 arithmetic scales by the whole batch, so other rows would change a score: weights become float32 at loading.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(str(graph), options, providers=_choose_providers(target))


def _choose_providers(target: device.Device) -> list[Any]:
    """Return the execution providers for onnxruntime."""
    return [(CUDA_PROVIDER, {"use_tf32": "0"}), CPU_PROVIDER] if target == "cuda" else [CPU_PROVIDER]
