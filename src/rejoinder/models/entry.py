"""An entry of the catalog of models: what it is for, its licence, its size, and where its files come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["encoder", "language-model", "sequence-model", "word-vectors"]
# What is done once to the files that were fetched, so that the model can be used: see models/preparation.py.
Preparation: TypeAlias = Literal["none", "onnx", "gguf", "vocabulary"]
MAIN = "main"  # the newest revision of a hub's repository, where none could be pinned


@dataclass(frozen=True)
class ModelFile:
    """One file of a model: its name in the model's folder, its place inside the package, and what it must be."""

    name: str
    member: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Package:
    """A Python package that carries the weights, and which of its files are wanted."""

    name: str
    version: str
    files: tuple[ModelFile, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.version} (Python package)"


@dataclass(frozen=True)
class Hub:
    """A repository of a model hub, at one revision: its safetensors, tokeniser and configuration are wanted.

    ``pins`` are the sha256 that are known beforehand. What the first download of another file found is written into
    the manifest (trust on first use).
    """

    repository: str
    revision: str = MAIN
    pins: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.repository} (hub)"


@dataclass(frozen=True)
class Shipped:
    """A folder of this package's own ``weights``, and the file that says it is whole."""

    folder: str
    card: str

    def __str__(self) -> str:
        return "comes with rejoinder"


@dataclass(frozen=True)
class Model:
    """An entry of the catalog."""

    name: str
    kind: Kind
    purpose: str
    licence: str
    size: int  # of what is downloaded, in bytes
    origin: Package | Hub | Shipped
    preparation: Preparation = "none"
    citation: str = ""
