"""The IDK paper (Berlot-Attwell and Rudzicz 2022): Tables 2 to 11, Figures 1 to 7.

The paper's columns are computed again from what the authors released. The regressions of ours, in columns of their own,
are trained on the vectors of the package's cross-encoder instead of BERT's; nothing is chosen by the rated rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rejoinder.data.datasets import read_dataset
from rejoinder.models.aptness.model import open_aptness
from rejoinder.models.idk.pair_encoder import load_pair_encoder
from rejoinder.types import Dialogue
from rejoinder_lab.papers.base import Reproduction
from rejoinder_lab.papers.idk import figures as drawings
from rejoinder_lab.papers.idk import tables
from rejoinder_lab.papers.idk.ablations import ablation_figures
from rejoinder_lab.papers.idk.authors import (
    RESULTS,
    WEIGHTS,
    AuthorsResults,
    find_missing_files,
    read_authors_regressions,
    read_authors_results,
)
from rejoinder_lab.papers.idk.claims import list_disagreements, list_own_results, list_paper_findings
from rejoinder_lab.papers.idk.correlations import Measured, correlate_regressions, correlate_rows
from rejoinder_lab.papers.idk.masking import MaskedAccuracy, measure_masking, read_model_head
from rejoinder_lab.papers.idk.prior import PriorRows, collect_prior_rows
from rejoinder_lab.papers.idk.rows import RatedColumn, read_test_rows, read_valid_rows, score_column
from rejoinder_lab.papers.idk.variants import IdkVariant, Runs, train_all_variants
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.own.relevance.measures import AUTHORS_ROW
from rejoinder_lab.papers.own.relevance.rows import FIVE
from rejoinder_lab.training.idk import IdkRegression

SUMMARY = "IDK and the metrics it is compared with (Tables 2 to 11, Figures 1 to 7), beside what its authors released"
_FIGURES = dict(zip(FIVE, (3, 4, 5, 6, 7), strict=True))
_NOTES = load_notes("idk")


@dataclass(frozen=True)
class IdkMeasures:
    """Everything that the tables are made from."""

    runs: Runs
    test: Sequence[RatedColumn]
    valid: RatedColumn
    head: IdkRegression
    masked: Mapping[str, MaskedAccuracy]
    prior: PriorRows
    authors: Runs | None = None  # None where their file is missing
    results: AuthorsResults | None = None  # the same


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Train, score and compare; ``metrics`` are specs to compute instead of the stored scores of prior metrics."""
    rows = read_test_rows()
    rows.append(read_valid_rows(rows[1]))
    missing = find_missing_files()
    authors = None if WEIGHTS in missing else read_authors_regressions()
    results = None if RESULTS in missing else read_authors_results()
    prior = collect_prior_rows(rows, metrics, results.usr_scores if results else None)
    model, encoder = open_aptness(), load_pair_encoder()
    dialogues = [record for record in read_dataset("corpus/dialogues") if isinstance(record, Dialogue)]
    runs = train_all_variants(encoder, dialogues)
    head = read_model_head(model, encoder, dialogues)
    *test, valid = (
        score_column(one, encoder, prior.specs, known) for one, known in zip(rows, prior.known, strict=True)
    )
    masked = measure_masking(encoder, dialogues, head, runs[IdkVariant("H")][0])
    return assemble_idk(IdkMeasures(runs, test, valid, head, masked, prior, authors, results))


def assemble_idk(measures: IdkMeasures) -> Reproduction:
    """The figures, sentences and drawings of what was measured."""
    results = measures.results
    test = _measure(measures, measures.test, results.test if results else {})
    valid = _measure(measures, [measures.valid], results.valid if results else {})
    notes = {**measures.prior.notes, **measures.prior.absent}
    humod, own = measures.test[0], measures.runs[IdkVariant("H")][0]
    figures = [
        *tables.prior_figures(test, valid, results, notes),
        *tables.own_figures(test, notes),
        *tables.ratio_figures(test, notes),
        *tables.example_figures(humod, humod.scores(own).tolist()),
        *tables.masking_figures(measures.masked),
        *tables.idk_validation_figures(valid),
    ]
    figures.sort(key=lambda figure: int(figure.table.split()[1].rstrip(":")))  # in the paper's order
    figures += [*ablation_figures(test), *tables.large_weight_figures(measures.authors, measures.runs)]
    absent = [file for file, part in ((WEIGHTS, measures.authors), (RESULTS, results)) if part is None]
    sentences = [
        *list_paper_findings(measures.authors, results, test),
        *list_disagreements(figures),
        *([] if results is None else [_NOTES.text("printing error")]),
        *list_own_results(test.own, measures.masked, measures.runs),
        *_NOTES.paragraphs("method"),
        *_NOTES.paragraphs("changes"),
        *measures.prior.absent.values(),
        *(_NOTES.text("authors' file", file=file.path, reason=file.reason) for file in absent),
    ]
    return Reproduction(
        "idk", "IDK: relevance by one fixed negative", figures, sentences, dict(_draw_figures(measures))
    )


def _measure(
    measures: IdkMeasures, columns: Sequence[RatedColumn], authors: Mapping[IdkVariant, Sequence[Mapping[str, float]]]
) -> Measured:
    prior = correlate_rows(columns, measures.prior.names)
    return Measured(authors, prior, correlate_regressions(columns, measures.runs, measures.head))


def _draw_figures(measures: IdkMeasures) -> Iterator[tuple[str, str]]:
    """Figures 1 to 7 from the authors' weights and scores, and the weights of our network; by suffix of the file."""
    if measures.authors is not None:
        own, ablated = (measures.authors[IdkVariant("H", negative)][0].weights for negative in ("idk", "random"))
        title = "Figure 1: the authors' weights of IDK (H)"
        yield "figure-1", drawings.draw_weight_histogram(title, {"idk": own})
        title = "Figure 2: the authors' weights, fixed and random negatives"
        yield "figure-2", drawings.draw_weight_histogram(title, {"i don't know": own, "random negatives": ablated})
    for one in measures.test:
        if (scores := one.others.get(AUTHORS_ROW)) is not None:
            title = f"Figure {_FIGURES[one.name]}: the authors' IDK (H) and people, {one.name}"
            yield f"figure-{_FIGURES[one.name]}", drawings.draw_idk_scatter(title, one.ratings, scores)
    own, ablated = (measures.runs[IdkVariant("H", negative)][0].weights for negative in ("idk", "random"))
    title = "Our network: weights of IDK (H), fixed and random negatives"
    yield "our-weights", drawings.draw_weight_histogram(title, {"i don't know": own, "random negatives": ablated})
