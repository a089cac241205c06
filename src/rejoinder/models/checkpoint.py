"""Checkpoints of other people's training code: which files a folder must hold, and weights that are read as tensors.

A file of torch's is a pickle, which may run anything: it is opened with ``weights_only``, which knows tensors, plain
containers and numbers, and refuses the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError, RejoinderError, brief
from rejoinder.files import sha256_of, sha256_of_parts
from rejoinder.paths import cache_home


class CheckpointMissingError(RejoinderError):
    """A checkpoint that its authors publish, that cannot come with this package, and that is not here."""


def checkpoint_folder(name: str, given: str | None, source: str) -> Path:
    """The folder of an adapter's files: the one that is named, else ``<cache>/models/NAME``."""
    folder = cache_home() / "models" / name if given is None else Path(given)
    if folder.is_dir():
        return folder
    found = "no folder is named" if given is None else f"{given} is no folder"
    raise CheckpointMissingError(
        f"{name} needs its authors' checkpoint, and {found}; get the files from {source} as docs/adapters.md lists "
        f"them and write {name}(folder='...')"
    )


def find_file(folder: Path, patterns: Sequence[str], what: str) -> Path:
    """The one file of a folder that has one of the names; the first name that is met counts."""
    for pattern in patterns:
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
        if len(found) > 1:
            shown = " and ".join(path.relative_to(folder).as_posix() for path in found[:2])
            raise InputError(f"{folder}: has several files that may be {what} ({shown}); leave one of them")
        if found:
            return found[0]
    raise InputError(f"{folder}: has no {' and no '.join(patterns)}: {what} is missing (docs/adapters.md)")


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, without their ends."""
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def files_digest(paths: Sequence[Path]) -> str:
    """One sha256 of several files, in their order."""
    return sha256_of_parts(sha256_of(path) for path in paths)


def read_weights(path: Path, inside: str | None = None) -> dict[str, Any]:
    """The tensors of a file by name: a state dict, or what lies under the key ``inside`` of a larger dict."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", f"the checkpoint {path}") from None
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    try:
        with torch.serialization.safe_globals(_numpy_types()):
            found = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except Exception as error:  # each damage has a class of its own
        raise InputError(f"{path}: is not a checkpoint that can be read safely ({_first_sentence(error)})") from None
    if inside is not None and isinstance(found, dict) and inside in found:
        found = found[inside]
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise InputError(
            f"{path}: holds no state dict{f' under {inside!r}' if inside else ''}, but {brief(type(found))}"
        )
    # Trained on several devices at once, every name begins so.
    return {str(name).removeprefix("module."): value.float() for name, value in found.items()}


def weight_shape(weights: Mapping[str, Any], name: str, path: Path, dimensions: int = 2) -> tuple[int, ...]:
    """The shape of a weight that decides the size of a network."""
    if name not in weights:
        raise InputError(
            f"{path}: has no weight {name!r}; this is not the checkpoint that is wanted, or another version"
        )
    shape = tuple(weights[name].shape)
    if len(shape) != dimensions:
        raise InputError(f"{path}: {name!r} has the shape {shape} where {dimensions} dimensions are wanted")
    return shape


def fill_network(network: Any, weights: Mapping[str, Any], names: Mapping[str, str], path: Path) -> Any:
    """The network with the weights of a file; ``names`` tells for each parameter what the file calls it."""
    wanted = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    missing = [names[name] for name in wanted if names[name] not in weights]
    if missing:
        raise InputError(
            f"{path}: {len(missing)} of the {len(wanted)} weights are missing ({', '.join(missing[:3])}"
            f"{' and so on' if len(missing) > 3 else ''})"
        )
    for name, shape in wanted.items():
        found = tuple(weights[names[name]].shape)
        if found != shape:
            raise InputError(f"{path}: {names[name]!r} has the shape {found}, but {shape} fits the other weights")
    network.load_state_dict({name: weights[names[name]] for name in wanted})
    return network.eval()


def _read_safetensors(path: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    try:
        return {name: value.float() for name, value in load_file(path).items()}
    except Exception as error:
        raise InputError(f"{path}: is not a safetensors file ({_first_sentence(error)})") from None


def _numpy_types() -> list[Any]:
    """What a pickled numpy number (an accuracy kept beside the weights) is made of, under its old and new names."""
    import numpy as np

    one: Any = np.float64(1)
    scalar = one.__reduce__()[0]
    names = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
    return [*((scalar, name) for name in names), np.dtype, type(np.dtype(np.float64)), type(np.dtype(np.float32))]


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).partition(". ")[0][:160]
