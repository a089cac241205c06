"""What has to be said beside the figures of ``reproduce chosen``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rejoinder.papers.chosen.ladders import SNAPSHOTS
from rejoinder.papers.chosen.measures import ChosenMeasures, Kind, measure_set_agreement, summarise_spread
from rejoinder.papers.chosen.sets import SHARE, Sets
from rejoinder.selection.overlap import measure_overlap

PEOPLE = (
    "The human ranking of the paper's systems was not released, so nothing here says how well a ranking agrees with "
    "people: the ladders have a known order (more training, more dialogues, less corrupted output), which is easier "
    "than telling ten finished systems apart."
)
TRAINED = (
    "The ten systems have the sizes and settings of Tables 5 and 6 but other data: the split train of the corpora "
    "(dataset:corpus/dialogues) instead of 5 million dialogues of OpenSubtitles, {steps} steps, the state with the "
    f"lowest loss on valid; recurrent decoders with attention. Checkpoints: {', '.join(map(str, SNAPSHOTS))} steps and "
    "the finished system. Replies are written greedily."
)
CHOICE = (
    "A system chooses the candidate with the lowest cross-entropy a token, as in section 4.1. The ladders were not "
    "ordered by any loss, and no loss stands among the rankings."
)
JUDGED = (
    "Nobody judged the candidates: the first pass by the model removes what it calls acceptable, with the error rates "
    "above. The model is our bi-encoder, so a ranking of scorers by these sets would favour it; the systems here are "
    "none of its kin, and aptness of replies stands in a row of its own."
)


def list_notes(found: ChosenMeasures, sets: Sets, steps: Sequence[int]) -> list[str]:
    """Sentences with figures, then those without; ``steps`` are those that the ten systems were trained for."""
    trained = TRAINED.format(steps=_format_range(list(steps)))
    return [*_describe_sets(sets), *_describe_findings(found), PEOPLE, trained, CHOICE, JUDGED]


def _describe_sets(sets: Sets) -> Iterator[str]:
    first = sets.chosen[0]
    shared = measure_overlap(first.questions)
    sizes = _format_range([len(built.questions) for built in sets.chosen[1:]])
    yield (
        f"Sets: {len(sets.items):,} contexts of DailyDialog's validation and test files; the first chosen set has "
        f"{len(first.questions):,} questions, the {len(sets.chosen) - 1} others {sizes}, each from another "
        f"{100 * SHARE:.0f}% of the repository and another draw from the pools; {len(sets.random)} random sets of "
        f"{len(sets.random[0]):,}. A content word of the truth is in {100 * shared.all.value:.1f}% of the false "
        f"candidates ({100 * shared.where_possible.value:.1f}% where the truth has one)."
    )


def _describe_findings(found: ChosenMeasures) -> Iterator[str]:
    chosen = [summarise_spread(ladder.coefficients(Kind.CHOSEN)) for ladder in found.ladders]
    drawn = [summarise_spread(ladder.coefficients(Kind.RANDOM)) for ladder in found.ladders]
    means = [float(np.mean([one.mean for one in many])) for many in (chosen, drawn)]
    wide = [float(np.mean([one.deviation for one in many])) for many in (chosen, drawn)]
    yield (
        f"Rank correlation with the ladders, mean over {len(chosen)}: CHOSEN {means[0]:.3f}, RANDOM {means[1]:.3f} "
        f"(asked: CHOSEN at least RANDOM: {_judge(means[0] >= means[1])}). Deviation over sets: {wide[0]:.4f} against "
        f"{wide[1]:.4f} (asked: at most half: {_judge(wide[0] <= wide[1] / 2)})."
    )
    alike = {
        kind: measure_set_agreement(np.nanmean(found.right[kind], axis=2).T[1 if kind is Kind.CHOSEN else 0 :])
        for kind in Kind
    }
    yield (
        "The ten systems: one set's ranking agrees with that of the others of its kind by "
        + " and ".join(f"{one.mean:.3f} ({kind.value}, at least {one.low:.3f})" for kind, one in alike.items())
        + "; the deviation of this agreement is "
        + " and ".join(f"{one.deviation:.4f}" for one in alike.values())
        + "."
    )


def _judge(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def _format_range(sizes: list[int]) -> str:
    return f"{min(sizes):,} to {max(sizes):,}" if min(sizes) != max(sizes) else f"{sizes[0]:,}"
