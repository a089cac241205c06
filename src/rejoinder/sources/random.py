"""Any turn of the corpus by another speaker (the Rand set of Bak and Oh 2020; Tao et al. 2018 for negatives)."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.indexes.corpus import Corpus
from rejoinder.indexes.speakers import Scope, SpeakerSet
from rejoinder.sources._base import Source
from rejoinder.sources._set_proposer import SetProposer


@dataclass(frozen=True)
class Random(Source):
    """Turns of other speakers, drawn uniformly from the moment's corpus, or from all corpora of its split.

    For an item that is not in the corpus: any turn of any speaker and split.
    """

    scope: Scope = "corpus"

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model, section 3.1"

    def over(self, corpus: Corpus) -> SetProposer:
        """Return the proposer of this source for a corpus."""
        return SetProposer(str(self), SpeakerSet("random", scope=self.scope), corpus)
