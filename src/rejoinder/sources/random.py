"""Any utterance of the corpus by somebody else (the Rand set of Bak and Oh 2020; Tao et al. 2018 for negatives)."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.indexes.corpus import Corpus
from rejoinder.indexes.speakers import Scope, SpeakerSet
from rejoinder.sources._base import Source
from rejoinder.sources._set_proposer import SetProposer


@dataclass(frozen=True)
class Random(Source):
    """What others than the speaker say, drawn evenly from the moment's corpus, or from all corpora of its split.

    For an item that is not in the corpus: anything that anybody says, of any split.
    """

    scope: Scope = "corpus"

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model, section 3.1"

    def over(self, corpus: Corpus) -> SetProposer:
        """The source over a corpus."""
        return SetProposer(str(self), SpeakerSet("random", scope=self.scope), corpus)
