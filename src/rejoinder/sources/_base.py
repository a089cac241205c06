"""What a source is: it proposes candidates for a reply.

A source is a *value* like a metric: a frozen dataclass whose fields are its parameters, one file each in this folder,
with ``parse_source(str(source)) == source``. Applied to a corpus it becomes a proposer, which proposes candidates for
*moments* of that corpus (a turn, with the turns before it as context) or for items from anywhere.

What every proposer guarantees: no candidate has the same text as the true reply or as a turn of the context (ignoring
case and punctuation); for a moment of the corpus, no candidate is from another split; no text is proposed twice for one
moment; the same moment, seed and k give the same candidates, whatever else is proposed. If there are fewer than k, the
list is short.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from rejoinder import spec as specs
from rejoinder.indexes.corpus import Corpus
from rejoinder.registry import Registry, defined_class
from rejoinder.types import Candidate, Item


class Moment(NamedTuple):
    """A turn of a dialogue of the corpus, counted from 0: the true reply to the turns before it."""

    dialogue: str
    turn: int


ResponsePlace: TypeAlias = Moment | Item


class Proposer(Protocol):
    """A source over a corpus."""

    def propose(self, places: Sequence[ResponsePlace], k: int, seed: int = 0) -> list[list[Candidate]]:
        """Return up to k candidates for each place, in order; a place without candidates gets an empty list."""
        ...


@dataclasses.dataclass(frozen=True)
class Source:
    """Where candidates come from; subclasses are frozen dataclasses in one file each."""

    # The publication that introduced it, in one line.
    citation: ClassVar[str] = ""
    # Incremented whenever the same input may give other candidates.
    version: ClassVar[int] = 1

    def over(self, corpus: Corpus) -> Proposer:
        """Return the proposer of this source for a corpus."""
        raise NotImplementedError

    def __str__(self) -> str:
        return specs.format_spec(type(self).__module__.rpartition(".")[2], self)


_REGISTRY = Registry("rejoinder.sources", "source", defined_class(Source))


def source_names() -> list[str]:
    """Return the names of all sources."""
    return _REGISTRY.names()


def source_class(name: str) -> type[Source]:
    """Return the class of a source by its name."""
    return _REGISTRY.load(name)


def parse_source(spec: str) -> Source:
    """Return the source of a spec such as ``same_partner(exclusive=True)``.

    - ``spec``: a name with parameters, one of ``list_("sources")``.

    >>> import rejoinder
    >>> str(rejoinder.sources.parse_source("bm25(query='reply')"))
    "bm25(query='reply')"
    """
    parsed_spec = specs.parse_spec(spec, "source")
    return specs.construct(source_class(parsed_spec.name), parsed_spec)
