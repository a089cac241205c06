"""How much memory is free, so that a network that does not fit is refused before it is read."""

from __future__ import annotations

from pathlib import Path

from rejoinder.errors import RejoinderError
from rejoinder.models.device import Device

_MEMORY_FILE = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")
# Beside the weights: a few dequantised matrices (the largest, of the embeddings, has 0.9 GB) and one batch.
_EXTRA_BYTES = {"cpu": 1_500_000_000, "cuda": 2_500_000_000}
_BYTES_PER_WEIGHT = {"cpu": 4, "cuda": 2}


class TooLittleMemoryError(RejoinderError):
    """A network that needs more memory than is free."""


def check_memory(name: str, weights: int, device: Device) -> None:
    """Raise where a network of so many weights does not fit into the free memory of a device."""
    needed = weights * _BYTES_PER_WEIGHT[device] + min(_EXTRA_BYTES[device], 2 * weights)
    free = _free_on_gpu() if device == "cuda" else _free_here()
    if free is None or free >= needed:
        return
    cure = "set REJOINDER_DEVICE=cpu" if device == "cuda" else "close other programs or use a larger machine"
    where = "on the GPU" if device == "cuda" else "in memory"
    raise TooLittleMemoryError(f"{name} needs {needed / 1e9:.1f} GB {where}, and {free / 1e9:.1f} GB are free; {cure}")


def _free_on_gpu() -> int:
    import torch

    return int(torch.cuda.mem_get_info()[0])


def _free_here() -> int | None:
    """Return the free bytes of this machine or container; None where the system does not say."""
    known = [free for free in (_free_on_machine(), _free_in_container()) if free is not None]
    return min(known, default=None)


def _free_on_machine() -> int | None:
    try:
        for line in _MEMORY_FILE.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _free_in_container() -> int | None:
    try:
        limit = (_CONTAINER / "memory.max").read_text(encoding="ascii").strip()
        used = int((_CONTAINER / "memory.current").read_text(encoding="ascii"))
        lines = (_CONTAINER / "memory.stat").read_text(encoding="ascii").splitlines()
        # Cached files count as used, but the kernel gives them up.
        cached = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
        return None if limit == "max" else max(0, int(limit) - used + cached)
    except (OSError, ValueError, IndexError):
        return None
