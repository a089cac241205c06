"""Sources of candidates, one file each: where alternative replies to a context come from.

>>> from rejoinder.sources import Corpus, Moment, parse_source
"""

from __future__ import annotations

from rejoinder.indexes.corpus import Corpus
from rejoinder.sources._base import Moment, Proposer, Source, parse_source, source_class, source_names
from rejoinder.sources._proposal import ProposedQuestions, propose

__all__ = [
    "Corpus",
    "Moment",
    "ProposedQuestions",
    "Proposer",
    "Source",
    "parse_source",
    "propose",
    "source_class",
    "source_names",
]
