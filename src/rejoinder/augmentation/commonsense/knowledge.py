"""Knowledge files: events (heads), relations, and what follows from the events (tails).

Two layouts are read, with one triple per line and cells separated by tabs. ATOMIC (Sap et al. 2019): head, relation,
tail, with "~" or a space between words. ConceptNet-100K (Li et al. 2016): relation, head, tail, and in some files a
label, where 0 marks a triple that is not true. Relations without a template are skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.augmentation.commonsense.phrases import BLANK, ME, YOU, fill_persons, make_person, normalise_phrase
from rejoinder.data.knowledge import find_knowledge_files
from rejoinder.data.reader import InputFile, InputLine
from rejoinder.errors import InputError, brief
from rejoinder.models.base import Encoder, Vectors

KnowledgeKind: TypeAlias = Literal["atomic", "conceptnet"]
RELATIONS: Mapping[KnowledgeKind, tuple[str, ...]] = {
    "atomic": ("oReact", "oEffect", "oWant"),
    "conceptnet": ("CausesDesire", "HasFirstSubevent"),
}
_ATOMIC = frozenset("oeffect oreact owant xattr xeffect xintent xneed xreact xwant xreason hinderedby isafter".split())
_HINT = "correct it, or skip such lines with skip_broken=True (on the command line: --skip-broken)"


class LocatedTriple(NamedTuple):
    """One line of a knowledge file."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The triples of some files that templates can turn into sentences; tails that several people gave come first."""

    kind: KnowledgeKind
    tails: Mapping[str, Mapping[str, tuple[str, ...]]]  # head: relation: tails
    broken: int = 0  # lines that were left out because they could not be read
    name: str = field(default="")

    @property
    def source(self) -> str:
        """The source of references that are made from it."""
        return f"commonsense/{self.kind}"


def read_knowledge(*files: str | Path, skip_broken: bool = False) -> Knowledge:
    """Read the knowledge of files in one layout (ATOMIC's or ConceptNet's).

    - ``files``: files, or ``dataset:knowledge/NAME``.
    - ``skip_broken``: skip and count unreadable lines; otherwise such a line is an error.

    >>> import rejoinder
    >>> knowledge = rejoinder.augmentation.read_knowledge("atomic.tsv")
    """
    paths = [path for one in files for path in find_knowledge_files(str(one))]
    if not paths:
        raise InputError("no knowledge file is named; name at least one")
    counts: dict[str, dict[str, Counter[str]]] = {}
    kinds: dict[KnowledgeKind, str] = {}
    broken = 0
    for path in paths:
        reader = _TripleReader(path, skip_broken)
        for triple in reader:
            counts.setdefault(triple.head, {}).setdefault(triple.relation, Counter())[triple.tail] += 1
        kinds.setdefault(reader.kind, path.name)
        broken += reader.broken
    if len(kinds) > 1:
        names = " and ".join(f"{name} ({kind})" for kind, name in kinds.items())
        raise InputError(f"{names} have different layouts; read them separately")
    if not counts:
        known = ", ".join(RELATIONS[next(iter(kinds))])
        raise InputError(f"{paths[0].name}: has no triples with the relations that are used here ({known})")
    tails = {
        head: {
            relation: tuple(tail for tail, _ in tails_count.most_common()) for relation, tails_count in of_head.items()
        }
        for head, of_head in counts.items()
    }
    return Knowledge(next(iter(kinds)), tails, broken, ", ".join(path.name for path in paths))


class _TripleReader:
    """The triples of one file; its layout is that of the first readable line."""

    def __init__(self, path: Path, skip_broken: bool) -> None:
        self._source = InputFile(path)
        self._skip = skip_broken
        self._kind: KnowledgeKind | None = None
        self.broken = 0

    @property
    def kind(self) -> KnowledgeKind:
        """The layout, known when the file has been read."""
        if self._kind is None:
            raise InputError(f"{self._source.name}: no line is a triple; {_LAYOUTS}")
        return self._kind

    def __iter__(self) -> Iterator[LocatedTriple]:
        for line in self._source.lines():
            try:
                triple = self._triple(line)
            except InputError:
                if not self._skip:
                    raise
                self.broken += 1
                continue
            if triple is not None:
                yield triple

    def _triple(self, line: InputLine) -> LocatedTriple | None:
        """Return the triple of a line; None if its relation is not used or it is marked as not true."""
        try:
            cells = [cell.strip() for cell in line.text.decode("utf-8").rstrip("\r\n").split("\t")]
        except UnicodeDecodeError as error:
            raise InputError(f"{line.place}: not UTF-8 at byte {error.start + 1}; save the file as UTF-8") from None
        if len(cells) not in (3, 4) or not all(cells):
            problem = f"{len(cells)} cell{'s' * (len(cells) != 1)}" if all(cells) else "an empty cell"
            raise InputError(f"{line.place}: is not a triple (found {problem}: {brief(chr(9).join(cells))}); {_HINT}")
        kind = self._kind or _detect_layout(cells, line)
        head, relation, tail = cells[:3] if kind == "atomic" else (cells[1], cells[0], cells[2])
        if not relation.isalnum() or relation.isdigit():
            raise InputError(f"{line.place}: has {brief(relation)} instead of a relation; {_HINT}")
        if len(cells) == 4 and (kind == "atomic" or cells[3] not in ("0", "1")):
            raise InputError(f"{line.place}: has {brief(cells[3])} after the triple; {_HINT}")
        self._kind = kind
        wanted = {name.lower(): name for name in RELATIONS[kind]}.get(relation.lower())
        return LocatedTriple(normalise_phrase(head), wanted, tail) if wanted and cells[3:] != ["0"] else None


_LAYOUTS = "lines must be 'head TAB relation TAB tail' (ATOMIC) or 'relation TAB head TAB tail' (ConceptNet)"


def _detect_layout(cells: list[str], line: InputLine) -> KnowledgeKind:
    if cells[1].lower() in _ATOMIC:
        return "atomic"
    if cells[0].isalpha() and cells[0][0].isupper() and " " not in cells[0]:
        return "conceptnet"
    raise InputError(f"{line.place}: has no known layout (found {brief(chr(9).join(cells))}); {_LAYOUTS}")


_SENTENCE = re.compile(r"[^.!?]+[.!?]*")
_MIN_WORDS = 2  # words in a sentence that has some meaning
_SOMEONE = make_person("someone")


class HeadMatch(NamedTuple):
    """A head and its cosine to an utterance."""

    head: str
    score: float


class HeadIndex:
    """The heads of some knowledge as vectors."""

    def __init__(self, knowledge: Knowledge, encoder: Encoder) -> None:
        self._encoder = encoder
        self.heads = sorted(knowledge.tails)

    @cached_property
    def _vectors(self) -> Vectors:
        return self._encoder.encode([phrase_head(head) for head in self.heads])

    def nearest(self, utterances: Sequence[str], least: float) -> list[list[HeadMatch]]:
        """Return the heads with a cosine of at least ``least`` to each utterance, nearest first, ties by alphabet."""
        pieces = [_split_sentences(utterance) for utterance in utterances]
        flat = list(dict.fromkeys(piece for own_pieces in pieces for piece in own_pieces))
        if not flat:
            return [[] for _ in utterances]
        cosines = dict(zip(flat, self._encoder.encode(flat) @ self._vectors.T, strict=True))
        matches = []
        for own_pieces in pieces:
            best = np.max([cosines[piece] for piece in own_pieces], axis=0) if own_pieces else np.zeros(len(self.heads))
            order = np.argsort(-best.round(6), kind="stable")
            matches.append([HeadMatch(self.heads[n], float(best[n])) for n in order if best[n] >= least])
        return matches


def phrase_head(head: str) -> str:
    """Return a head as the person it is about would say it."""
    text = fill_persons(head.replace(BLANK, "something"), {"personx": ME, "persony": YOU, "personz": _SOMEONE})
    return text if text.startswith("I ") or text.startswith("my ") else f"I {text}".replace("I be ", "I am ")


def _split_sentences(utterance: str) -> list[str]:
    """Return the sentences of an utterance, and the whole if there are several."""
    text = " ".join(utterance.split())
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)]
    long_enough = [sentence for sentence in sentences if len(sentence.split()) >= _MIN_WORDS]
    return [*long_enough, text] if len(sentences) != 1 and text else long_enough or [text] * bool(text)
