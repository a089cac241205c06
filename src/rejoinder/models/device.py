"""Where models compute: on CUDA where there is one, else on the CPU, or as $REJOINDER_DEVICE says. Decided here alone.

Scoring is in float32 on either, without TF32: what is written shall have the same decimals.
"""

from __future__ import annotations

import ctypes
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from rejoinder.errors import InputError, SpecError

Device: TypeAlias = Literal["cpu", "cuda"]
Runtime: TypeAlias = Literal["onnxruntime", "torch"]
CUDA_PROVIDER, CPU_PROVIDER = "CUDAExecutionProvider", "CPUExecutionProvider"
BATCH_LIMITS: dict[Device, tuple[int, int]] = {
    "cpu": (32, 512),
    "cuda": (512, 16_384),
}  # rows and tokens of a batch, at most


class Backend(NamedTuple):
    """Where exported graphs are computed, and by what."""

    device: Device
    runtime: Runtime


def requested_device() -> Device | None:
    """What $REJOINDER_DEVICE asks for; None where it asks for nothing."""
    chosen = os.environ.get("REJOINDER_DEVICE", "")
    if chosen in ("cpu", "cuda"):
        return "cpu" if chosen == "cpu" else "cuda"
    if chosen:
        raise SpecError(
            f"REJOINDER_DEVICE must be cpu or cuda, not {chosen!r}; leave it out for cuda where there is one"
        )
    return None


def graph_backend() -> Backend:
    """Where exported graphs are computed: by onnxruntime on CUDA, by torch on CUDA, or on the CPU."""
    return _place(requested_device())


def torch_device(name: str | None = None) -> Device:
    """Where networks of torch are computed: as named, as $REJOINDER_DEVICE says, or on CUDA where there is one."""
    if name not in (None, "cpu", "cuda"):
        raise InputError(f"device must be 'cpu' or 'cuda', not {name!r}")
    asked = name or requested_device()
    if asked == "cpu":
        return "cpu"
    if _torch_has_cuda():
        return "cuda"
    if asked == "cuda":
        raise InputError("device is 'cuda', but torch finds no GPU here; use device='cpu'")
    return "cpu"


def providers(device: Device) -> list[Any]:
    """What onnxruntime is asked to compute with."""
    return [(CUDA_PROVIDER, {"use_tf32": "0"}), CPU_PROVIDER] if device == "cuda" else [CPU_PROVIDER]


def batch_limits(device: Device | None = None) -> tuple[int, int]:
    """How many rows and tokens are computed at once; this changes no written number."""
    return BATCH_LIMITS[device or graph_backend().device]


def describe_backend() -> str:
    """Where models compute, in words."""
    place = graph_backend()
    return "the CPU" if place.device == "cpu" else f"CUDA (exported graphs by {place.runtime})"


@cache
def _place(asked: Device | None) -> Backend:
    if asked != "cpu" and (asked or has_driver()):
        if CUDA_PROVIDER in _onnx_providers():
            return Backend("cuda", "onnxruntime")
        if find_spec("onnx") is not None and _torch_has_cuda():
            return Backend("cuda", "torch")
    if asked == "cuda":
        raise SpecError(
            "REJOINDER_DEVICE is cuda, but neither onnxruntime (install onnxruntime-gpu) nor torch with onnx finds a "
            "GPU here; leave it out to compute on the CPU"
        )
    return Backend("cpu", "onnxruntime")


@cache
def has_driver() -> bool:
    """Whether a CUDA driver is installed: where there is none, nothing large is loaded to find that out."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def import_onnxruntime() -> Any:
    """The module onnxruntime without its telemetry, which leaves files in the user's cache and calls an events host.

    It reads the variable once, when it is loaded: so it is imported here and nowhere else.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def _onnx_providers() -> Sequence[str]:
    found: Sequence[str] = import_onnxruntime().get_available_providers()
    return found


def _torch_has_cuda() -> bool:
    """Whether torch finds a GPU; if so, its products of float32 become exact ones (a container may ask for TF32)."""
    if not has_driver() or find_spec("torch") is None:
        return False
    import torch

    if not torch.cuda.is_available():
        return False
    torch.set_float32_matmul_precision("highest")
    return True


_CPU_QUOTA_FILE = Path("/sys/fs/cgroup/cpu.max")


def count_threads() -> int:
    """How many threads to compute with: $REJOINDER_THREADS, else the cores that this process may use."""
    chosen = os.environ.get("REJOINDER_THREADS")
    if chosen:
        if not chosen.isdecimal() or int(chosen) < 1:
            raise SpecError(f"REJOINDER_THREADS must be a number from 1 on, not {chosen!r}")
        return int(chosen)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _cpu_quota() or cores))


def _cpu_quota() -> int | None:
    """How many cores a container may use, where one is set."""
    try:
        allowed, period = _CPU_QUOTA_FILE.read_text().split()
        return None if allowed == "max" else -(-int(allowed) // int(period))
    except (OSError, ValueError):
        return None


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Within it, transformers says nothing; its errors are exceptions."""
    import transformers.utils.logging

    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):  # some bars ask nobody
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
