"""What a source is: it proposes candidates for the place of a reply.

A source is a *value* like a metric: a frozen dataclass whose fields are its parameters, one file each in this folder,
with ``parse_source(str(source)) == source``. Laid over a corpus it becomes a proposer, which is asked about *moments*
of that corpus (a turn, the turns before it being the context) or about items from anywhere.

What every proposer owes: nothing that says the same as the true reply or as a turn of the context (case and punctuation
aside); for a moment of the corpus, nothing from another split; never the same words twice for one moment; the same
candidates for the same moment, seed and k, whatever else is asked for. Where there are fewer than k, the list is short.
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
        """Up to k candidates for each place, in order; those that nothing can be said for get an empty list."""
        ...


@dataclasses.dataclass(frozen=True)
class Source:
    """Where candidates come from; subclasses are frozen dataclasses in one file each."""

    # Who proposed it, in one line.
    citation: ClassVar[str] = ""
    # Raised whenever the same input may give other candidates.
    version: ClassVar[int] = 1

    def over(self, corpus: Corpus) -> Proposer:
        """The source, ready to draw from a corpus."""
        raise NotImplementedError

    def __str__(self) -> str:
        return specs.format_spec(type(self).__module__.rpartition(".")[2], self)


_REGISTRY = Registry("rejoinder.sources", "source", defined_class(Source))


def source_names() -> list[str]:
    """Every source that can be typed by name."""
    return _REGISTRY.names()


def source_class(name: str) -> type[Source]:
    """The class behind a source's name."""
    return _REGISTRY.load(name)


def parse_source(spec: str) -> Source:
    """The source that a spec such as ``same_partner(exclusive=True)`` names.

    - ``spec``: a name with parameters, one of ``list_("sources")``.

    >>> import rejoinder
    >>> str(rejoinder.parse_source("bm25(query='reply')"))
    "bm25(query='reply')"
    """
    typed = specs.parse_spec(spec, "source")
    return specs.construct(source_class(typed.name), typed)
