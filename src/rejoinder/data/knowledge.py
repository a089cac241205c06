"""Knowledge files line by line: a head, a relation and a tail, as ATOMIC and ConceptNet were published.

ATOMIC has ``head TAB relation TAB tail``, in lower case, with ``~`` for a space in some files. ConceptNet-100K has
``relation TAB head TAB tail``, in some files followed by a label 0 or 1. The tail "none" means that there is no tail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rejoinder.data.dataset import DatasetFile
from rejoinder.errors import InputError, SpecError, brief, nearest
from rejoinder.paths import data_home

ATOMIC = ("oEffect", "oReact", "oWant", "xAttr", "xEffect", "xIntent", "xNeed", "xReact", "xWant")
_BY_LOWER = {name.lower(): name for name in ATOMIC}
_PERSONS = re.compile(r"\bperson ?([xyz])\b", re.IGNORECASE)


class KnowledgeTriple(NamedTuple):
    """One piece of common sense."""

    head: str
    relation: str
    tail: str


def read_triples(path: Path) -> Iterator[KnowledgeTriple]:
    """Yield the triples of a file, without those whose tail is "none"; any other kind of line is an error."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip() and (triple := _parse_triple(line, path, number)):
                    yield triple
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not valid UTF-8; save it as UTF-8 text") from None


def _parse_triple(line: str, path: Path, number: int) -> KnowledgeTriple | None:
    cells = line.rstrip("\r\n").split("\t")
    if len(cells) == 4 and cells[3] in ("0", "1"):
        if cells[3] == "0":
            return None  # labelled as false
        cells = cells[:3]
    if len(cells) != 3 or not all(cell.strip() for cell in cells):
        raise InputError(
            f"{path}, line {number}: is not a triple (found {brief(line.strip())}); write head, relation and tail "
            "separated by tabs, as in ATOMIC, or relation, head and tail, as in ConceptNet"
        )
    if (relation := _BY_LOWER.get(cells[1].strip().lower())) is not None:
        head, tail = cells[0], cells[2]
    else:
        relation, head, tail = cells[0].strip(), cells[1], cells[2]
    tail = normalise_persons(tail)
    return None if tail.lower().rstrip(".") == "none" else KnowledgeTriple(normalise_persons(head), relation, tail)


def normalise_persons(text: str) -> str:
    """Return a head or tail with spaces, and with its persons written PersonX, PersonY and PersonZ."""
    spaced = " ".join(text.replace("~", " ").split()).replace(" 's", "'s")
    return _PERSONS.sub(lambda match: f"Person{match[1].upper()}", spaced)


PREFIX = "dataset:knowledge/"


@dataclass(frozen=True)
class PublishedKnowledge:
    """A published knowledge file."""

    name: str
    summary: str
    files: tuple[DatasetFile, ...]
    licence: str
    citation: str


_ATOMIC = (
    "ATOMIC is published by its authors as an archive; save it there as 'head TAB relation TAB tail', one per line"
)
_CONCEPTNET = "ConceptNet-100K is published by its authors as an archive; put its text files there"

KNOWLEDGE = {
    published.name: published
    for published in (
        PublishedKnowledge(
            "atomic",
            "what follows from everyday events: 79,600 triples, the development split of ATOMIC",
            (
                DatasetFile(
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
            "what people know about things and actions: 100,000 triples of ConceptNet",
            (
                DatasetFile(
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


def find_knowledge_files(source: str) -> list[Path]:
    """Return the files of ``dataset:knowledge/NAME``, or else the path itself."""
    if not source.startswith(PREFIX):
        return [Path(source)]
    name = source.removeprefix(PREFIX)
    if name not in KNOWLEDGE:
        raise SpecError(f"no published knowledge is called {name!r}; {nearest(name, KNOWLEDGE)}")
    paths = [data_home() / file.path for file in KNOWLEDGE[name].files]
    for path, file in zip(paths, KNOWLEDGE[name].files, strict=True):
        if not path.is_file():
            raise InputError(f"{path}: no such file; {file.reason}")
    return paths
