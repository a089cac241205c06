"""The CHOSEN paper (Sato et al. 2020): test sets with well-chosen false candidates against random ones.

The human ranking of the paper's ten systems was not released. Here ten systems of the same sizes are trained, and
rankings are compared with ladders of known order instead of people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.papers.base import Reproduction
from rejoinder.papers.chosen import tables
from rejoinder.papers.chosen.answers import (
    LossRequest,
    NetworkAnswers,
    candidate_texts,
    chosen_answers_home,
    context_texts,
    load_answers,
    make_loss_request,
)
from rejoinder.papers.chosen.figures import draw_boxes
from rejoinder.papers.chosen.ladders import FRACTION_SIZE, SNAPSHOTS, list_ladders, list_rungs, list_ten_systems
from rejoinder.papers.chosen.measures import (
    CORRUPTED_SHARES,
    CandidateKind,
    ChosenMeasures,
    Ladder,
    Values,
    align_to_contexts,
    corrupt_losses,
    corrupt_replies,
    draw_corrupted,
    measure_set_agreement,
    score_choices,
    score_network_replies,
    summarise_spread,
)
from rejoinder.papers.chosen.sets import SHARE, ChosenSets, build_sets
from rejoinder.papers.loader import load_notes
from rejoinder.selection.overlap import measure_overlap
from rejoinder.types import Question

_NOTES = load_notes("chosen")
SUMMARY = "CHOSEN: ten systems and ladders of known order, by well-chosen and by random false candidates (Tables 1, 3)"
METRICS = {
    "BLEU-1": "bleu(n=1)",
    "BLEU-2": "bleu(n=2)",
    "METEOR": "meteor",
    "ROUGE-L": "rouge_l",
    "aptness of the replies": "aptness",
}


def reproduce() -> Reproduction:
    """Build the sets, read the networks' answers from the cache, and compare."""
    sets = build_sets()
    questions = [q for built in sets.chosen for q in built.questions] + [q for one in sets.random for q in one]
    request = make_loss_request(questions)
    answers = {rung.name: _read_cached_answers(rung.folder, request) for rung in list_rungs()}
    measures = ChosenMeasurement(sets, request, answers).measure()
    coefficients = {
        ladder.name: (ladder.coefficients(CandidateKind.RANDOM), ladder.coefficients(CandidateKind.CHOSEN))
        for ladder in measures.ladders
    }
    return Reproduction(
        "chosen",
        "CHOSEN: ranking systems by response selection",
        tables.list_chosen_figures(measures, sets),
        list_chosen_notes(
            measures, sets, [read_steps(chosen_answers_home(request) / rung.folder) for rung in list_ten_systems()]
        ),
        {"figure-2": draw_boxes("Spearman with the ladder's order", coefficients)},
    )


def _read_cached_answers(folder: str, request: LossRequest) -> NetworkAnswers:
    place = chosen_answers_home(request) / folder.replace("/", ".")
    if not place.is_dir():
        raise InputError(
            f"the answers of {folder} are not in the cache; training the networks needs a GPU, see "
            "python -m rejoinder.papers.chosen.jobs --help"
        )
    return load_answers(place, request)


def read_steps(folder: Path) -> int:
    """Return how many steps a network was trained for, according to the card beside its answers."""
    try:
        return int(orjson.loads((folder / "generator.json").read_bytes())["about"]["recipe"]["steps"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder}: has no card of a generator; load the answers again") from None


@dataclass
class ChosenMeasurement:
    """Computes what the tables show from sets and answers."""

    sets: ChosenSets
    request: LossRequest
    answers: dict[str, NetworkAnswers]

    def __post_init__(self) -> None:
        # By the questions, whose texts were tidied, and not by the items that they were made of.
        self._truths = [""] * len(self.request.contexts)
        for question in (q for one in self.sets.random for q in one):
            self._truths[self.request.order[context_texts(question)]] = candidate_texts(question)[0]
        for built in self.sets.chosen:
            for question in built.questions:
                self._truths[self.request.order[context_texts(question)]] = candidate_texts(question)[0]
        if not all(self._truths):
            raise InputError("a context of the request has no true reply; build the sets again")
        counts = [len(texts) for texts in self.request.texts]
        self._owners = np.repeat(np.arange(len(counts)), counts)
        self._at = {
            CandidateKind.CHOSEN: [self._places(built.questions) for built in self.sets.chosen],
            CandidateKind.RANDOM: [self._places(one) for one in self.sets.random],
        }
        self._scored: dict[str, dict[str, Values]] = {}

    def measure(self) -> ChosenMeasures:
        """Measure the ten systems and all ladders."""
        names = [rung.name for rung in list_ten_systems()]
        right = {kind: np.stack([self._right(self.answers[n].losses, kind) for n in names]) for kind in CandidateKind}
        replies = {name: np.stack([self._replies(n)[name] for n in names]) for name in METRICS}
        return ChosenMeasures(names, right, replies, [*self._ladders(), self._corrupted()])

    def _ladders(self) -> list[Ladder]:
        ladders = []
        for name, steps in list_ladders().items():
            right = {
                kind: np.stack([self._right(self.answers[s.name].losses, kind) for s in steps])
                for kind in CandidateKind
            }
            replies = {metric: np.stack([self._replies(s.name)[metric] for s in steps]) for metric in METRICS}
            ladders.append(Ladder(name, right, replies))
        return ladders

    def _corrupted(self) -> Ladder:
        """A ladder of one system, with a share of its answers replaced by noise or by replies to other contexts."""
        base = self.answers[FRACTION_SIZE.name]
        names = [" / ".join(context) for context in self.request.contexts]
        which = [draw_corrupted(names, share, "spoilt") for share in CORRUPTED_SHARES]
        right = {
            kind: np.stack([self._right(corrupt_losses(base.losses, self._owners, w), kind) for w in which])
            for kind in CandidateKind
        }
        scored = [self._scores(corrupt_replies(base.replies, w)) for w in which]
        replies = {metric: np.stack([one[metric] for one in scored]) for metric in METRICS}
        return Ladder(f"corrupted output, {FRACTION_SIZE.name}", right, replies)

    def _places(self, questions: Sequence[Question]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        contexts = np.array([self.request.order[context_texts(q)] for q in questions], np.int64)
        return self.request.at(questions), contexts

    def _right(self, losses: NDArray[np.float32], kind: CandidateKind) -> Values:
        """Where a network chose the true reply: sets, contexts."""
        size = len(self.request.contexts)
        return np.stack(
            [align_to_contexts(score_choices(losses, at), contexts, size) for at, contexts in self._at[kind]]
        )

    def _replies(self, name: str) -> dict[str, Values]:
        if name not in self._scored:
            self._scored[name] = self._scores(self.answers[name].replies)
        return self._scored[name]

    def _scores(self, replies: list[str]) -> dict[str, Values]:
        return score_network_replies(METRICS, self.request.contexts, self._truths, replies)


def list_chosen_notes(measures: ChosenMeasures, sets: ChosenSets, steps: Sequence[int]) -> list[str]:
    """Sentences with figures, then those without; ``steps`` are those that the ten systems were trained for."""
    return [
        _describe_sets(sets),
        *_describe_findings(measures),
        _NOTES.text("people"),
        _NOTES.text("training", steps=_format_range(list(steps)), snapshots=", ".join(map(str, SNAPSHOTS))),
        _NOTES.text("choice"),
        _NOTES.text("judges"),
    ]


def _describe_sets(sets: ChosenSets) -> str:
    first = sets.chosen[0]
    shared = measure_overlap(first.questions)
    sizes = _format_range([len(built.questions) for built in sets.chosen[1:]])
    return _NOTES.text(
        "sets",
        items=len(sets.items),
        first=len(first.questions),
        others=len(sets.chosen) - 1,
        sizes=sizes,
        share=SHARE,
        random=len(sets.random),
        random_size=len(sets.random[0]),
        shared=shared.all.value,
        possible=shared.where_possible.value,
    )


def _describe_findings(measures: ChosenMeasures) -> Iterator[str]:
    chosen = [summarise_spread(ladder.coefficients(CandidateKind.CHOSEN)) for ladder in measures.ladders]
    random = [summarise_spread(ladder.coefficients(CandidateKind.RANDOM)) for ladder in measures.ladders]
    means = [float(np.mean([one.mean for one in many])) for many in (chosen, random)]
    deviations = [float(np.mean([one.deviation for one in many])) for many in (chosen, random)]
    yield _NOTES.text(
        "ladders",
        n=len(chosen),
        mean_chosen=means[0],
        mean_random=means[1],
        mean_verdict=_finding_verdict(means[0] >= means[1]),
        deviation_chosen=deviations[0],
        deviation_random=deviations[1],
        deviation_verdict=_finding_verdict(deviations[0] <= deviations[1] / 2),
    )
    agreement = {
        kind: measure_set_agreement(
            np.nanmean(measures.right[kind], axis=2).T[1 if kind is CandidateKind.CHOSEN else 0 :]
        )
        for kind in CandidateKind
    }
    yield _NOTES.text(
        "agreement",
        means=" and ".join(f"{one.mean:.3f} ({kind.value}, at least {one.low:.3f})" for kind, one in agreement.items()),
        deviations=" and ".join(f"{one.deviation:.4f}" for one in agreement.values()),
    )


def _finding_verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def _format_range(sizes: list[int]) -> str:
    return f"{min(sizes):,} to {max(sizes):,}" if min(sizes) != max(sizes) else f"{sizes[0]:,}"
