"""Which adapted texts are accepted: the original stays if rewriting harms it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import Adaptation
from rejoinder.models.encoder.centred import load_centred_encoder
from rejoinder.models.language_model.sentence_end import ends_sentence
from rejoinder.types import Turn

ContextProposals: TypeAlias = Sequence[tuple[Sequence[Turn], Proposal]]
AdaptationVerdict: TypeAlias = Literal[
    "adapted",
    "unchanged",
    "left alone",
    "less likely",
    "stumbles",
    "too different",
    "repeats itself",
    "repeats the context",
    "breaks off",
    "not tried",
]


@dataclass(frozen=True)
class Acceptance:
    """The thresholds that an adapted text must reach, else the original stays; set before any rating was looked at.

    ``gain``: how much the mean log-probability of its tokens, given the context, must exceed the original's. ``drop``:
    how much less likely its least likely token may be than the original's, since one word that does not fit hardly
    changes a mean. ``similarity``: the cosine to the original by ``encoder``; one in a hundred random pairs of
    DailyDialog's turns reaches .4.
    """

    gain: float = 0.0
    drop: float = 0.0
    similarity: float = 0.4
    encoder: str = "aptness"


class AdaptationOutcome(NamedTuple):
    """The outcome for a proposal: the one to use, the verdict, and what was measured (None if nothing was)."""

    proposal: Proposal
    verdict: AdaptationVerdict
    text: str | None = None  # the rewritten text, whether accepted or not
    gain: float | None = None
    similarity: float | None = None


def judge_adaptations(
    pairs: ContextProposals, adaptations: Sequence[Adaptation | None], acceptance: Acceptance
) -> list[AdaptationOutcome]:
    """Return the outcome of each proposal: adapted if accepted, else the original."""
    compared = [i for i, adaptation in enumerate(adaptations) if adaptation is not None and adaptation.text]
    values = _adaptation_cosines(
        [(pairs[i][1].text, str(_adapted_text(adaptations[i]))) for i in compared], acceptance.encoder
    )
    cosines = dict(zip(compared, values, strict=True))
    outcomes = []
    for i, ((context, proposal), adaptation) in enumerate(zip(pairs, adaptations, strict=True)):
        verdict = _judge_adaptation(context, proposal.text, adaptation, cosines.get(i), acceptance)
        new_text = _adapted_text(adaptation)
        if verdict == "adapted" and new_text is not None:
            proposal = dataclasses.replace(proposal, text=new_text, origin=proposal.text)
        outcomes.append(AdaptationOutcome(proposal, verdict, new_text, _likelihood_gain(adaptation), cosines.get(i)))
    return outcomes


def _judge_adaptation(
    context: Sequence[Turn], text: str, adaptation: Adaptation | None, cosine: float | None, acceptance: Acceptance
) -> AdaptationVerdict:
    if adaptation is None:
        return "not tried"
    if not adaptation.text or adaptation.before is None or adaptation.after is None or cosine is None:
        return "left alone"
    words = _split_words(adaptation.text)
    if words == _split_words(text):
        return "unchanged"
    if ends_sentence(text) and not ends_sentence(adaptation.text):
        return "breaks off"
    if _repeats_a_run(words) and not _repeats_a_run(_split_words(text)):
        return "repeats itself"
    if any(words == _split_words(turn.text) for turn in context):
        return "repeats the context"
    if adaptation.after.mean < adaptation.before.mean + acceptance.gain:
        return "less likely"
    if adaptation.after.worst < adaptation.before.worst - acceptance.drop:
        return "stumbles"
    return "adapted" if cosine >= acceptance.similarity else "too different"


def _likelihood_gain(adaptation: Adaptation | None) -> float | None:
    return (
        None
        if adaptation is None or adaptation.before is None or adaptation.after is None
        else adaptation.after.mean - adaptation.before.mean
    )


def _adapted_text(adaptation: Adaptation | None) -> str | None:
    return adaptation.text if adaptation else None


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _repeats_a_run(words: Sequence[str], run: int = 3) -> bool:
    """Whether a run of words occurs twice: language models favour that, but nobody talks that way."""
    runs = [tuple(words[i : i + run]) for i in range(len(words) - run + 1)]
    return len(set(runs)) < len(runs)


def _adaptation_cosines(texts: Sequence[tuple[str, str]], encoder: str) -> list[float]:
    if not texts:
        return []
    vectors = load_centred_encoder(encoder).encode([text for pair in texts for text in pair])
    return [float(value) for value in np.einsum("ij,ij->i", vectors[::2], vectors[1::2])]
