"""The IDK paper (Berlot-Attwell and Rudzicz 2022): Tables 2 to 11, Figures 1 to 7.

Baselines, weights and Figures 1 to 7 are from what the authors released. The regressions of ours are trained on the
vectors of the package's cross-encoder instead of BERT's; nothing is chosen by the rated rows.
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
from rejoinder_lab.papers.idk.authors import WEIGHTS, find_missing_files, read_authors_regressions
from rejoinder_lab.papers.idk.claims import list_own_results, list_paper_findings
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


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Train, score and compare; ``metrics`` are specs to compute instead of the stored scores of prior metrics."""
    rows = read_test_rows()
    rows.append(read_valid_rows(rows[1]))
    prior = collect_prior_rows(rows, metrics)
    authors = None if WEIGHTS in find_missing_files() else read_authors_regressions()
    model, encoder = open_aptness(), load_pair_encoder()
    dialogues = [record for record in read_dataset("corpus/dialogues") if isinstance(record, Dialogue)]
    runs = train_all_variants(encoder, dialogues)
    head = read_model_head(model, encoder, dialogues)
    *test, valid = (
        score_column(one, encoder, prior.specs, known) for one, known in zip(rows, prior.known, strict=True)
    )
    masked = measure_masking(encoder, dialogues, head, runs[IdkVariant("H")][0])
    return assemble_idk(IdkMeasures(runs, test, valid, head, masked, prior, authors))


def assemble_idk(measures: IdkMeasures) -> Reproduction:
    """The figures, sentences and drawings of what was measured."""
    test = tables.correlate_all_runs(measures.runs, measures.test)
    valid = tables.correlate_all_runs(measures.runs, [measures.valid])
    head = tables.correlate_run(measures.head, measures.test)
    prior = tables.correlate_prior_scores(measures.test, measures.prior.names)
    held_out = tables.correlate_prior_scores([measures.valid], measures.prior.names)
    notes = {**measures.prior.notes, **measures.prior.absent}
    humod, own = measures.test[0], measures.runs[IdkVariant("H")][0]
    figures = [
        *tables.prior_figures(prior, held_out, notes),
        *tables.own_figures(test, head, prior, notes),
        *tables.ratio_figures(test, head, prior, notes),
        *tables.example_figures(humod, humod.scores(own).tolist()),
        *tables.masking_figures(measures.masked),
        *tables.idk_validation_figures(valid),
    ]
    figures.sort(key=lambda figure: int(figure.table.split()[1].rstrip(":")))  # in the paper's order
    figures += tables.large_weight_figures(measures.authors, measures.runs)
    sentences = [
        *list_paper_findings(measures.authors, prior),
        *list_own_results(test, head, measures.masked, measures.runs),
        *_NOTES.paragraphs("method"),
        *_NOTES.paragraphs("changes"),
        *measures.prior.absent.values(),
        *([] if measures.authors else [_NOTES.text("authors' file", file=WEIGHTS.path, reason=WEIGHTS.reason)]),
    ]
    return Reproduction(
        "idk", "IDK: relevance by one fixed negative", figures, sentences, dict(_draw_figures(measures))
    )


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
