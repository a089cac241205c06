"""How well a corpus covers each speaker set: for how many moments, with what sizes, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.indexes.pool_sampling import draw_keys
from rejoinder.indexes.speakers import NOBODY, SETS, SpeakerSet

REPORTED_SETS = (
    SpeakerSet("same_conversation"),
    SpeakerSet("same_partner"),
    SpeakerSet("same_partner", exclusive=True),
    SpeakerSet("same_speaker"),
    SpeakerSet("same_speaker", exclusive=True),
    SpeakerSet("random"),
)


@dataclass(frozen=True)
class SetCoverage:
    """The coverage of one set: how many moments have a candidate in it, and its sizes for these."""

    of: SpeakerSet
    moments: int
    share: float
    median_size: float
    largest_size: int


@dataclass(frozen=True)
class SpeakerCoverage:
    """The coverage of all sets in a corpus, and the reasons for the gaps."""

    dialogues: int
    turns: int
    moments: int
    speakers: int  # permanent ones
    one_dialogue: int  # of these, those in only one dialogue of a split
    one_partner: int  # and those with only one partner
    without_label: int  # moments
    not_lasting: int  # moments whose label does not last
    without_partner: int  # moments
    offers: Sequence[SetCoverage]


def measure_coverage(corpus: Corpus) -> SpeakerCoverage:
    """Return the coverage over all moments of a corpus; it counts what a source would propose."""
    turns = corpus.moments()
    index = corpus.speakers
    speaker = corpus.speaker[turns]
    named, permanent = corpus.has_label[speaker], corpus.permanent[speaker]
    dialogues, partners = _count_partners(corpus)
    return SpeakerCoverage(
        len(corpus.ids),
        corpus.n_turns,
        len(turns),
        len(dialogues),
        int((dialogues == 1).sum()),
        int((partners == 1).sum()),
        int((~named).sum()),
        int((named & ~permanent).sum()),
        int((index.partner[turns] == NOBODY).sum()),
        tuple(_measure_set(corpus, speaker_set, turns) for speaker_set in REPORTED_SETS),
    )


def _measure_set(corpus: Corpus, speaker_set: SpeakerSet, turns: Numbers) -> SetCoverage:
    covered = corpus.speakers.sample(speaker_set, turns, 1, draw_keys(turns, 0))[:, 0] >= 0
    sizes = _set_sizes(corpus, speaker_set, turns)[covered]
    return SetCoverage(
        speaker_set,
        int(covered.sum()),
        float(covered.mean()) if len(turns) else float("nan"),
        float(np.median(sizes)) if len(sizes) else float("nan"),
        int(sizes.max(initial=0)),
    )


def _set_sizes(corpus: Corpus, speaker_set: SpeakerSet, turns: Numbers) -> Numbers:
    """Return how many turns the set of each moment has."""
    pools = corpus.speakers.pools
    if speaker_set != SpeakerSet("same_speaker", exclusive=True):
        return pools(speaker_set, turns).size
    # Its pool still includes the dialogues with the partner, which are skipped when drawing.
    in_conversation, with_partner, anywhere = (pools(SpeakerSet(name), turns).size for name in SETS[:3])
    return np.where(pools(speaker_set, turns).size > 0, anywhere - np.maximum(in_conversation, with_partner), 0)


def _count_partners(corpus: Corpus) -> tuple[Numbers, Numbers]:
    """Return in how many dialogues each permanent speaker of a split speaks, and with how many partners."""
    index = corpus.speakers
    of_run = corpus.permanent[index.by_speaker.keys % len(corpus.has_label)]
    pairs = np.unique(index.run * np.int64(len(corpus.ids)) + corpus.dialogue)
    dialogues = np.bincount(pairs // len(corpus.ids), minlength=len(of_run))
    partners = np.bincount(index.by_pair.keys // len(corpus.has_label), minlength=len(of_run))
    return dialogues[of_run], partners[of_run]
