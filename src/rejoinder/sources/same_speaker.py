"""What the same speaker says to anybody (SS of Bak and Oh 2020, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.indexes.corpus import Corpus
from rejoinder.indexes.speakers import SpeakerSet
from rejoinder.sources._base import Source
from rejoinder.sources._set_proposer import SetProposer


@dataclass(frozen=True)
class SameSpeaker(Source):
    """All that the speaker says in the split; with ``exclusive``, only in dialogues without the partner."""

    exclusive: bool = False

    citation = "Bak and Oh 2020, Speaker Sensitive Response Evaluation Model, section 3.1"

    def over(self, corpus: Corpus) -> SetProposer:
        """Return the proposer of this source for a corpus."""
        return SetProposer(str(self), SpeakerSet("same_speaker", self.exclusive), corpus)
