"""The SSREM paper (Bak and Oh 2020) on corpora that are here: Tables 2, 4 and 5, Figures 2 to 5, sections 6, 7.1 and 8.

Three scorers, RUBER, RSREM and SSREM, are trained over word averages and over MiniLM; the package's own stand beside.
Nothing is chosen by the rated rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.data.datasets import read_dataset
from rejoinder.errors import InputError
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.ssrem import claims as findings
from rejoinder.papers.ssrem import correlations, speakers, tables
from rejoinder.papers.ssrem import figures as drawings
from rejoinder.papers.ssrem.claims import agreement
from rejoinder.papers.ssrem.notes import NOTES, left_out
from rejoinder.papers.ssrem.published import KINDS, SHORT, SHOWN
from rejoinder.papers.ssrem.rows import BASELINES, Judged, judge_alone, judge_whole
from rejoinder.papers.ssrem.scorers import (
    BOTH,
    CORPORA,
    GLOVE,
    READINGS,
    Opened,
    Reading,
    Scorer,
    able,
    prepare,
    wanted,
)
from rejoinder.papers.ssrem.scores import Held, tell
from rejoinder.papers.ssrem.transfer import copied, transferred
from rejoinder.stats.interval import Interval
from rejoinder.types import Dialogue

SUMMARY = "SSREM, RSREM and RUBER (Tables 2, 4 and 5, Figures 2 to 5, sections 6 to 8), trained on films and Friends"
# Of the ways to measure Table 2: the paper's, and the two that compare sets of the same size.
WAYS = tuple(speakers.WAYS[i] for i in (0, 3, 1))
_RESAMPLES = 1000


@dataclass(frozen=True)
class Measured:
    """All that the tables are made of."""

    readings: Sequence[Reading]
    similarity: Sequence[Figure]
    held: Held
    whole: Sequence[Judged]
    alone: Sequence[Judged]


def reproduce() -> Reproduction:
    """Train what is not yet trained, score held-out dialogues and rated replies, and compare."""
    readings, absent = able(READINGS)
    if GLOVE not in readings:  # the paper's reading; EMB needs it too
        raise InputError(" ".join(absent))
    dialogues = [r for r in read_dataset("corpus/dialogues") if isinstance(r, Dialogue) and r.corpus in CORPORA]
    opened = [prepare(scorer, dialogues) for scorer in wanted(readings)]
    held = tell(opened, dialogues)
    usual = usual_of(opened)
    similarity = list(tables.similarity(speakers.reproduce(WAYS).figures))
    return assemble(Measured(readings, similarity, held, judge_whole(usual), judge_alone(usual)), absent)


def usual_of(opened: Sequence[Opened]) -> list[Opened]:
    """The scorers that are held against people: trained on both corpora, without copies."""
    return [one for one in opened if one.scorer.on == BOTH and not one.scorer.copies]


def assemble(found: Measured, absent: Sequence[str] = (), n_resamples: int = _RESAMPLES) -> Reproduction:
    """The figures, sentences and drawings of what was measured."""
    held, readings = found.held, found.readings
    whole, alone = (correlations.correlate_all(one, n_resamples) for one in (found.whole, found.alone))
    figures = [
        *found.similarity,
        *tables.told(held, readings),
        *tables.leads(held, readings),
        *correlations.correlations(whole, found.whole),
        *correlations.alone(alone, found.alone),
        *tables.transfer(held, readings),
        *tables.copying(held, readings),
    ]
    sentences = [
        *findings.similar(found.similarity),
        *findings.told_apart(held, readings),
        *agreement(whole["spearman"], alone["spearman"], readings),
        transferred(held, readings),
        *copied(held, readings),
        *NOTES,
        *left_out([*found.whole, *found.alone]),
        *absent,
    ]
    return Reproduction("ssrem", "SSREM: speaker-sensitive scoring", figures, sentences, _drawn(found))


def _drawn(found: Measured) -> dict[str, str]:
    """Figures 2 to 5, by the ending of their file's name."""
    drawn = {}
    for reading in found.readings:
        # The paper's own reading has the paper's name; the others have theirs behind it.
        ending = "" if reading == GLOVE else f"-{reading.encoder}"
        for number, one in zip((2, 4), found.whole, strict=True):
            title = f"Figure {number}: scores by people's rating, {one.name}, {reading.label}"
            drawn[f"figure-{number}{ending}"] = drawings.scatters(title, _clouds(one, reading))
    for corpus, shown in CORPORA.items():
        panels = {
            reading.label: {
                SHOWN[kind]: {s: found.held[Scorer(kind, reading), corpus].mean(name) for name, s in SHORT.items()}
                for kind in KINDS
            }
            for reading in found.readings
        }
        drawn[f"figure-3-{corpus}"] = drawings.points(f"Figure 3: mean score, {shown} test", panels)
    drawn["figure-5"] = drawings.points("Figure 5: mean score, trained on the other corpus", _crossed(found))
    return drawn


def _clouds(one: Judged, reading: Reading) -> dict[str, drawings.Cloud]:
    rows = {**{row: row for row in BASELINES}, **{SHOWN[kind]: Scorer(kind, reading).row for kind in KINDS}}
    return {name: drawings.Cloud(one.ratings, one.scores[row], one.slope(row)) for name, row in rows.items()}


def _crossed(found: Measured) -> dict[str, dict[str, dict[str, Interval]]]:
    return {
        f"{CORPORA[on]} to {CORPORA[test]}, {reading.label}": {
            SHOWN[kind]: {
                SHORT[name]: found.held[Scorer(kind, reading, (on,)), test].mean(name)
                for name in ("true", "same_conversation", "random")
            }
            for kind in KINDS
        }
        for reading in found.readings
        if not reading.shipped
        for on in BOTH
        for test in BOTH
        if on != test
    }
