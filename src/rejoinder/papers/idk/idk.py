"""The IDK paper (Berlot-Attwell and Rudzicz 2022) on the embedded models: Tables 2 to 5 and 7 to 11, Figures 1 to 7.

The regressions are trained on the vectors of the package's cross-encoder instead of BERT's; nothing is chosen by the
rated rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rejoinder.data.datasets import read_dataset
from rejoinder.metric import parse
from rejoinder.models.aptness.model import open_aptness
from rejoinder.models.encoder.pair_encoder import load_pair_encoder
from rejoinder.papers.base import Reproduction
from rejoinder.papers.idk import figures as drawings
from rejoinder.papers.idk import tables
from rejoinder.papers.idk.claims import describe_large_weights, list_idk_findings
from rejoinder.papers.idk.masking import MaskedAccuracy, measure_masking, read_model_head
from rejoinder.papers.idk.rows import (
    SAMPLE_ROWS,
    RatedColumn,
    read_test_rows,
    read_valid_rows,
    score_column,
    score_samples,
)
from rejoinder.papers.idk.variants import IdkVariant, Runs, train_all_variants
from rejoinder.papers.loader import load_notes
from rejoinder.papers.own.relevance.relevance import split_usable
from rejoinder.papers.own.relevance.rows import FIVE
from rejoinder.training.idk import IdkRegression
from rejoinder.types import Dialogue

SUMMARY = (
    "IDK and the metrics it is compared with (Tables 2 to 5 and 7 to 11, Figures 1 to 7), with the embedded models"
)
# Which metric of ours stands for a printed one.
SPECS = {
    "COS-FT": "cosine(encoder='glove-6b-50d')",
    "COS-MAX-BERT": "cosine(pooling='max')",
    "COS-NSP-BERT": "cosine(pooling='first')",
    "NORM-PROB": "norm_prob",
    "FED-CORRECT": "fed(aspect='correct')",
    "FED-RELEVANT": "fed",
    "NUP-BERT (H)": "nup",
}
SLOW = ("NORM-PROB", "FED-CORRECT", "FED-RELEVANT")  # on a sample of rows, unless they are named
_FIGURES = dict(zip(FIVE, (3, 4, 5, 6, 7), strict=True))


@dataclass(frozen=True)
class IdkMeasures:
    """Everything that the tables are made from."""

    runs: Runs
    test: Sequence[RatedColumn]
    valid: RatedColumn
    head: IdkRegression
    masked: Mapping[str, MaskedAccuracy]
    specs: Mapping[str, str]  # printed row -> the metric of ours that was measured for it
    sampled: frozenset[str] = frozenset()  # the rows that were measured on a sample


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Train, score and compare; ``metrics`` are specs to use instead of SPECS for the prior metrics, on all rows."""
    wanted = SPECS if metrics is None else {_find_printed_row(spec): spec for spec in metrics}
    specs, absent = _split_measurable(wanted)
    sampled = frozenset(row for row in specs if metrics is None and row in SLOW)
    whole = [spec for row, spec in specs.items() if row not in sampled]
    model, encoder = open_aptness(), load_pair_encoder()
    dialogues = [record for record in read_dataset("corpus/dialogues") if isinstance(record, Dialogue)]
    runs = train_all_variants(encoder, dialogues)
    head = read_model_head(model, encoder, dialogues)
    rows = read_test_rows()
    rows.append(read_valid_rows(rows[1]))
    samples = score_samples(rows, [specs[row] for row in specs if row in sampled])
    *test, valid = (score_column(one, encoder, whole, scores) for one, scores in zip(rows, samples, strict=True))
    masked = measure_masking(encoder, dialogues, head, runs[IdkVariant("H")][0])
    return assemble_idk(IdkMeasures(runs, test, valid, head, masked, specs, sampled), absent)


def _split_measurable(wanted: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the rows whose metric can be computed here, with its spec, and what is missing for the others."""
    specs, absent = {}, {}
    for row, spec in wanted.items():
        able, missing = split_usable([spec])
        if able:
            specs[row] = able[0]
        else:
            absent[row] = f"{row}: {missing[0][0].lower()}{missing[0][1:]}"
    return specs, absent


def _find_printed_row(spec: str) -> str:
    """The printed row that a spec stands for, or the spec itself."""
    typed = str(parse(spec))
    return next((row for row, known in SPECS.items() if str(parse(known)) == typed), typed)


def assemble_idk(measures: IdkMeasures, absent: Mapping[str, str]) -> Reproduction:
    """The figures, sentences and drawings of what was measured."""
    test = tables.correlate_all_runs(measures.runs, measures.test)
    valid = tables.correlate_all_runs(measures.runs, [measures.valid])
    head = tables.correlate_run(measures.head, measures.test)
    others = {
        row: {cell: value for one in measures.test for cell, value in one.correlations(one.others[spec]).items()}
        for row, spec in measures.specs.items()
    }
    labels = {row: f"{row}, {SAMPLE_ROWS} rows per column" for row in measures.sampled}
    figures = [
        *tables.prior_figures(measures.test, measures.valid, measures.specs, absent, labels),
        *tables.own_figures(test, head, others),
        *tables.ratio_figures(test, head, others, labels),
        *tables.masking_figures(measures.masked),
        *tables.idk_validation_figures(valid),
    ]
    figures.sort(key=lambda figure: int(figure.table.split()[1].rstrip(":")))  # in the paper's order
    whole = {row: run for row, run in others.items() if row not in measures.sampled}
    notes = load_notes("idk")
    sentences = [*list_idk_findings(test, head, measures.masked, whole), describe_large_weights(measures.runs)]
    sentences += notes.paragraphs("method")
    sentences += notes.paragraphs("sample", rows=SAMPLE_ROWS) if measures.sampled else []
    sentences += absent.values()
    return Reproduction("idk", "IDK: relevance by one fixed negative", figures, sentences, _draw_figures(measures))


def _draw_figures(measures: IdkMeasures) -> dict[str, str]:
    """Figures 1 to 7, by the suffix of their file name."""
    own = measures.runs[IdkVariant("H")][0]
    ablated = measures.runs[IdkVariant("H", "random")][0]
    figures = {
        "figure-1": drawings.draw_weight_histogram("Figure 1: weights of IDK (H)", {"idk": own.weights}),
        "figure-2": drawings.draw_weight_histogram(
            "Figure 2: weights of IDK (H), fixed and random negatives",
            {"i don't know": own.weights, "random negatives": ablated.weights},
        ),
    }
    for one in measures.test:
        title = f"Figure {_FIGURES[one.name]}: IDK (H) and people, {one.name}"
        figures[f"figure-{_FIGURES[one.name]}"] = drawings.draw_idk_scatter(title, one.ratings, one.scores(own))
    return figures
