"""What the same speaker says elsewhere in the same conversation (SC of Bak and Oh 2020, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.indexes.corpus import Corpus
from rejoinder.indexes.speakers import SpeakerSet
from rejoinder.sources._base import Source
from rejoinder.sources._set_proposer import SetProposer


@dataclass(frozen=True)
class SameConversation(Source):
    """What the speaker of the reply says later in the dialogue: the set without the context and the reply itself."""

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model, section 3.1"

    def over(self, corpus: Corpus) -> SetProposer:
        """Return the proposer of this source for a corpus."""
        return SetProposer(str(self), SpeakerSet("same_conversation"), corpus)
