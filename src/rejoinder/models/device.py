"""Where models run: on CUDA if available, otherwise on the CPU, or as $REJOINDER_DEVICE says. Only decided here.

Scores are computed in float32 on both, without TF32, so that they have the same decimals.
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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from rejoinder.errors import InputError, SpecError

if TYPE_CHECKING:
    import torch

Device: TypeAlias = Literal["cpu", "cuda"]
Runtime: TypeAlias = Literal["onnxruntime", "torch"]
CUDA_PROVIDER, CPU_PROVIDER = "CUDAExecutionProvider", "CPUExecutionProvider"
BATCH_LIMITS: dict[Device, tuple[int, int]] = {
    "cpu": (32, 512),
    "cuda": (512, 16_384),
}  # maximum rows and tokens of a batch


class GraphBackend(NamedTuple):
    """The device and the runtime that compute exported graphs."""

    device: Device
    runtime: Runtime


def requested_device() -> Device | None:
    """Return the device in $REJOINDER_DEVICE; None if it is not set."""
    chosen = os.environ.get("REJOINDER_DEVICE", "")
    if chosen in ("cpu", "cuda"):
        return "cpu" if chosen == "cpu" else "cuda"
    if chosen:
        raise SpecError(f"REJOINDER_DEVICE must be cpu or cuda, not {chosen!r}; unset it to use cuda if available")
    return None


def graph_backend() -> GraphBackend:
    """Return where exported graphs are computed: by onnxruntime on CUDA, by torch on CUDA, or on the CPU."""
    return _choose_backend(requested_device())


def torch_device(name: str | None = None) -> Device:
    """Return the device of torch networks: the given one, that of $REJOINDER_DEVICE, or CUDA if available."""
    if name not in (None, "cpu", "cuda"):
        raise InputError(f"device must be 'cpu' or 'cuda', not {name!r}")
    requested = name or requested_device()
    if requested == "cpu":
        return "cpu"
    if _torch_has_cuda():
        return "cuda"
    if requested == "cuda":
        raise InputError("device is 'cuda', but torch finds no GPU here; use device='cpu'")
    return "cpu"


def device_batch_limits(device: Device | None = None) -> tuple[int, int]:
    """Return the maximum rows and tokens of a batch; they do not change any score."""
    return BATCH_LIMITS[device or graph_backend().device]


def describe_backend() -> str:
    """Return in words where models run."""
    backend = graph_backend()
    return "the CPU" if backend.device == "cpu" else f"CUDA (exported graphs by {backend.runtime})"


@cache
def _choose_backend(requested: Device | None) -> GraphBackend:
    if requested != "cpu" and (requested or has_cuda_driver()):
        if CUDA_PROVIDER in _list_providers():
            return GraphBackend("cuda", "onnxruntime")
        if find_spec("onnx") is not None and _torch_has_cuda():
            return GraphBackend("cuda", "torch")
    if requested == "cuda":
        raise SpecError(
            "REJOINDER_DEVICE is cuda, but neither onnxruntime (install onnxruntime-gpu) nor torch with onnx finds a "
            "GPU here; unset it to compute on the CPU"
        )
    return GraphBackend("cpu", "onnxruntime")


@cache
def has_cuda_driver() -> bool:
    """Whether a CUDA driver is installed; checked without loading a large library."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def import_onnxruntime() -> Any:
    """Import onnxruntime without its telemetry, which writes files to the user's cache and contacts an events host.

    It reads the variable once, when it is loaded, so it must only be imported here.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def _list_providers() -> Sequence[str]:
    names: Sequence[str] = import_onnxruntime().get_available_providers()
    return names


def _torch_has_cuda() -> bool:
    """Whether torch finds a GPU; if so, float32 products get full precision (a container may have enabled TF32)."""
    if not has_cuda_driver() or find_spec("torch") is None:
        return False
    import torch

    if not torch.cuda.is_available():
        return False
    torch.set_float32_matmul_precision("highest")
    return True


_CPU_QUOTA_FILE = Path("/sys/fs/cgroup/cpu.max")


def count_threads() -> int:
    """Return the number of threads: $REJOINDER_THREADS, or by default the cores that this process may use."""
    chosen = os.environ.get("REJOINDER_THREADS")
    if chosen:
        if not chosen.isdecimal() or int(chosen) < 1:
            raise SpecError(f"REJOINDER_THREADS must be a whole number of at least 1, not {chosen!r}")
        return int(chosen)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _cpu_quota() or cores))


def _cpu_quota() -> int | None:
    """Return how many cores a container may use; None without a limit."""
    try:
        allowed, period = _CPU_QUOTA_FILE.read_text(encoding="ascii").split()
        return None if allowed == "max" else -(-int(allowed) // int(period))
    except (OSError, ValueError):
        return None


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Suppress the log, warnings and progress bars of transformers; errors are still raised."""
    import transformers.utils.logging

    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):  # some bars ignore the setting
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def training_device(name: str | None) -> torch.device:
    """Return the device of a name; without one, that of $REJOINDER_DEVICE, else a GPU where there is one."""
    import torch

    if name is None:
        return torch.device(torch_device())
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):  # no such name; no such device; a torch without CUDA
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise InputError(f"the device {name!r} is not available; name cuda (where there is one) or cpu")
    return device
