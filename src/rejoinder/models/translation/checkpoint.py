"""Checkpoints of other people's training code: which files a folder must contain, and weights read as tensors.

A torch file is a pickle, which can run any code: it is opened with ``weights_only``, which accepts tensors, plain
containers and numbers, and refuses everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError, RejoinderError, brief
from rejoinder.paths import cache_home

AUTHORS = "authors"  # instead of a folder: the authors' checkpoint, where it is looked for in the cache


class CheckpointMissingError(RejoinderError):
    """A checkpoint published by its authors, which cannot be shipped with this package, is missing."""


def checkpoint_folder(name: str, named: str | None, source: str) -> Path:
    """Return the folder of an adapter's files: the given one, or by default ``<cache>/models/NAME``."""
    folder = cache_home() / "models" / name if named is None else Path(named)
    if folder.is_dir():
        return folder
    problem = "no folder was given" if named is None else f"{named} is not a folder"
    raise CheckpointMissingError(
        f"{name} needs its authors' checkpoint, and {problem}; get the files listed in docs/adapters.md from {source} "
        f"and write {name}(folder='...')"
    )


def find_checkpoint_file(folder: Path, patterns: Sequence[str], what: str) -> Path:
    """Return the only file in a folder that matches one of the patterns; the first pattern with a match counts."""
    for pattern in patterns:
        matches = sorted(path for path in folder.glob(pattern) if path.is_file())
        if len(matches) > 1:
            names = " and ".join(path.relative_to(folder).as_posix() for path in matches[:2])
            raise InputError(f"{folder}: has several files that may be {what} ({names}); keep only one of them")
        if matches:
            return matches[0]
    raise InputError(f"{folder}: has no {' and no '.join(patterns)}; {what} is missing (see docs/adapters.md)")


def read_checkpoint_lines(path: Path) -> list[str]:
    """Return the lines of a text file, without line ends."""
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def read_checkpoint_weights(path: Path, inside: str | None = None) -> dict[str, Any]:
    """Return the tensors of a file by name: a state dict, or the entry ``inside`` of a larger dict."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", f"the checkpoint {path}") from None
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    try:
        with torch.serialization.safe_globals(_numpy_types()):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except Exception as error:  # each kind of damage has its own class
        raise InputError(f"{path}: is not a checkpoint that can be read safely ({_first_sentence(error)})") from None
    if inside is not None and isinstance(content, dict) and inside in content:
        content = content[inside]
    if not isinstance(content, dict) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise InputError(
            f"{path}: does not contain a state dict{f' under {inside!r}' if inside else ''} but {brief(type(content))}"
        )
    # Names begin with this if the network was trained on several devices.
    return {str(name).removeprefix("module."): value.float() for name, value in content.items()}


def weight_shape(weights: Mapping[str, Any], name: str, path: Path, dimensions: int = 2) -> tuple[int, ...]:
    """Return the shape of a weight, which shows the size of a network."""
    if name not in weights:
        raise InputError(
            f"{path}: has no weight {name!r}; this is a different checkpoint, or a different version of it"
        )
    shape = tuple(weights[name].shape)
    if len(shape) != dimensions:
        raise InputError(f"{path}: {name!r} has the shape {shape}, but {dimensions} dimensions are expected")
    return shape


def fill_network(network: Any, weights: Mapping[str, Any], names: Mapping[str, str], path: Path) -> Any:
    """Return the network with the weights of a file; ``names`` maps each parameter to its name in the file."""
    shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    missing = [names[name] for name in shapes if names[name] not in weights]
    if missing:
        raise InputError(
            f"{path}: lacks {len(missing)} of the {len(shapes)} weights ({', '.join(missing[:3])}"
            f"{', ...' if len(missing) > 3 else ''})"
        )
    for name, shape in shapes.items():
        file_shape = tuple(weights[names[name]].shape)
        if file_shape != shape:
            raise InputError(f"{path}: {names[name]!r} has the shape {file_shape}; the other weights require {shape}")
    network.load_state_dict({name: weights[names[name]] for name in shapes})
    return network.eval()


def _read_safetensors(path: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    try:
        return {name: value.float() for name, value in load_file(path).items()}
    except Exception as error:
        raise InputError(f"{path}: is not a safetensors file ({_first_sentence(error)})") from None


def _numpy_types() -> list[Any]:
    """The types in a pickled numpy number (an accuracy stored with the weights), under their old and new names."""
    import numpy as np

    number: Any = np.float64(1)
    scalar = number.__reduce__()[0]
    names = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
    return [*((scalar, name) for name in names), np.dtype, type(np.dtype(np.float64)), type(np.dtype(np.float32))]


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).partition(". ")[0][:160]
