"""Published knowledge files, by name: where they lie under the data folder, their licence, and who made them.

Knowledge is not made of records, so these are no datasets to read; a command that takes a knowledge file takes
``dataset:knowledge/NAME`` in the place of a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rejoinder.data.datasets._contract import File
from rejoinder.errors import InputError, SpecError, nearest
from rejoinder.paths import data_home

PREFIX = "dataset:knowledge/"


@dataclass(frozen=True)
class PublishedKnowledge:
    """A published knowledge file."""

    name: str
    summary: str
    files: tuple[File, ...]
    licence: str
    citation: str


_ATOMIC = "ATOMIC is published by its authors as an archive; as 'head TAB relation TAB tail', one a line, put it there"
_CONCEPTNET = "ConceptNet-100K is published by its authors as an archive; put its text files there"

KNOWLEDGE = {
    found.name: found
    for found in (
        PublishedKnowledge(
            "atomic",
            "what follows from everyday events: 79,600 triples, the development split of ATOMIC",
            (
                File(
                    "knowledge/atomic/dev.tsv",
                    "a1fdf2243113f50ef531ebed9fd49f6a870b10f01e6ebe042d1732d3ef21044a",
                    4_080_656,
                    reason=_ATOMIC,
                ),
            ),
            "CC BY 4.0",
            "Sap et al. 2019 (AAAI)",
        ),
        PublishedKnowledge(
            "conceptnet",
            "what people know of things and doings: 100,000 triples of ConceptNet",
            (
                File(
                    "knowledge/conceptnet100k/train.txt",
                    "8fd8b132482fa17837e74084c6d3e0c88c828999990cffe1cf036013de906c16",
                    3_454_511,
                    reason=_CONCEPTNET,
                ),
            ),
            "CC BY-SA 4.0",
            "Speer, Chin, Havasi 2017 (AAAI); Li, Taheri, Tu, Gimpel 2016 (ACL)",
        ),
    )
}


def published(given: str) -> list[Path]:
    """The files that a name means: those of ``dataset:knowledge/NAME``, else the path itself."""
    if not given.startswith(PREFIX):
        return [Path(given)]
    name = given.removeprefix(PREFIX)
    if name not in KNOWLEDGE:
        raise SpecError(f"no published knowledge is called {name!r}; {nearest(name, KNOWLEDGE)}")
    paths = [data_home() / file.path for file in KNOWLEDGE[name].files]
    for path, file in zip(paths, KNOWLEDGE[name].files, strict=True):
        if not path.is_file():
            raise InputError(f"{path}: no such file; {file.reason}")
    return paths
