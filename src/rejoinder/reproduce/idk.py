"""The IDK paper (Berlot-Attwell and Rudzicz 2022) on the embedded models: Tables 2 to 5 and 7 to 11, Figures 1 to 7.

The regressions are trained on the vectors of the package's cross-encoder instead of BERT's; nothing is chosen by the
rated rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rejoinder.data.datasets import read_dataset
from rejoinder.models.aptness import open_aptness
from rejoinder.models.pair_encoder import load_pair_encoder
from rejoinder.registry import parse
from rejoinder.reproduce import _idk_drawings as drawings
from rejoinder.reproduce import _idk_tables as tables
from rejoinder.reproduce._contract import Reproduction
from rejoinder.reproduce._idk_findings import findings, large_weights
from rejoinder.reproduce._idk_judged import Judged, judge, read_test, read_valid
from rejoinder.reproduce._idk_masking import Masked, head_of, mask
from rejoinder.reproduce._idk_notes import NOTES
from rejoinder.reproduce._idk_variants import Runs, Variant, train_all
from rejoinder.reproduce._relevance_published import FIVE
from rejoinder.reproduce.relevance import usable
from rejoinder.training.idk_steps import Fitted
from rejoinder.types import Dialogue

SUMMARY = (
    "IDK and the metrics it is compared with (Tables 2 to 5 and 7 to 11, Figures 1 to 7), with the embedded models"
)
# Which metric of ours stands for a printed one; those of language models take long and must be named.
SPECS = {
    "COS-FT": "cosine(encoder='glove-6b-50d')",
    "COS-MAX-BERT": "cosine(pooling='max')",
    "COS-NSP-BERT": "cosine(pooling='first')",
    "NORM-PROB": "norm_prob",
    "FED-CORRECT": "fed(aspect='correct')",
    "FED-RELEVANT": "fed",
    "NUP-BERT (H)": "nup",
}
SLOW = ("NORM-PROB", "FED-CORRECT", "FED-RELEVANT")
_FIGURES = dict(zip(FIVE, (3, 4, 5, 6, 7), strict=True))


@dataclass(frozen=True)
class Measured:
    """All that the tables are made of."""

    runs: Runs
    test: Sequence[Judged]
    valid: Judged
    head: Fitted
    masked: Mapping[str, Masked]
    specs: Mapping[str, str]  # printed row -> the metric of ours that was measured for it


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Train, score and compare; ``metrics`` are specs to take instead of SPECS for the prior metrics."""
    if metrics is None:
        wanted = {row: spec for row, spec in SPECS.items() if row not in SLOW}
    else:
        wanted = {_printed(spec): str(parse(spec)) for spec in metrics}
    able, absent = usable(list(wanted.values()))
    if left := [SPECS[row] for row in SLOW if row not in wanted]:
        absent.append(f"Not measured, since language models take long here: {', '.join(left)}; name them with -m.")
    specs = {row: str(parse(spec)) for row, spec in wanted.items() if str(parse(spec)) in able}
    model, encoder = open_aptness(), load_pair_encoder()
    dialogues = [record for record in read_dataset("corpus/dialogues") if isinstance(record, Dialogue)]
    runs = train_all(encoder, dialogues)
    head = head_of(model, encoder, dialogues)
    rows = read_test()
    test = [judge(one, encoder, list(specs.values())) for one in rows]
    valid = judge(read_valid(rows[1]), encoder, list(specs.values()))
    masked = mask(encoder, dialogues, head, runs[Variant("H")][0])
    return assemble(Measured(runs, test, valid, head, masked, specs), absent)


def _printed(spec: str) -> str:
    """The printed row that a spec stands for, or the spec itself."""
    typed = str(parse(spec))
    return next((row for row, known in SPECS.items() if str(parse(known)) == typed), typed)


def assemble(found: Measured, absent: Sequence[str] = ()) -> Reproduction:
    """The figures, sentences and drawings of what was measured."""
    test = tables.correlate_all(found.runs, found.test)
    valid = tables.correlate_all(found.runs, [found.valid])
    head = tables.of_run(found.head, found.test)
    others = {
        row: {cell: value for one in found.test for cell, value in one.correlations(one.others[spec]).items()}
        for row, spec in found.specs.items()
    }
    figures = [
        *tables.prior(found.test, found.valid, found.specs),
        *tables.own(test, head),
        *tables.ratios(test, head, others),
        *tables.masking(found.masked),
        *tables.on_validation(valid),
    ]
    figures.sort(key=lambda figure: int(figure.table.split()[1].rstrip(":")))  # in the paper's order
    sentences = [*findings(test, head, found.masked, others), large_weights(found.runs), *NOTES, *absent]
    return Reproduction("idk", "IDK: relevance by one fixed negative", figures, sentences, _drawn(found))


def _drawn(found: Measured) -> dict[str, str]:
    """Figures 1 to 7, by the ending of their file's name."""
    own = found.runs[Variant("H")][0]
    ablated = found.runs[Variant("H", "random")][0]
    drawn = {
        "figure-1": drawings.histogram("Figure 1: weights of IDK (H)", {"idk": own.weights}),
        "figure-2": drawings.histogram(
            "Figure 2: weights of IDK (H), fixed and random negatives",
            {"i don't know": own.weights, "random negatives": ablated.weights},
        ),
    }
    for one in found.test:
        title = f"Figure {_FIGURES[one.name]}: IDK (H) and people, {one.name}"
        drawn[f"figure-{_FIGURES[one.name]}"] = drawings.scatter(title, one.ratings, one.scores(own))
    return drawn
