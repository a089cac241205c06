"""What the same speaker says in conversations with the same partner (SP of Bak and Oh 2020, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.indexes.corpus import Corpus
from rejoinder.indexes.speakers import SpeakerSet
from rejoinder.sources._base import Source
from rejoinder.sources._set_proposer import SetProposer


@dataclass(frozen=True)
class SamePartner(Source):
    """What the speaker says in dialogues in which the partner speaks too, this one included unless ``exclusive``."""

    exclusive: bool = False

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model, section 3.1"

    def over(self, corpus: Corpus) -> SetProposer:
        """Return the proposer of this source for a corpus."""
        return SetProposer(str(self), SpeakerSet("same_partner", self.exclusive), corpus)
