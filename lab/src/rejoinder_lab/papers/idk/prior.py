"""The metrics that IDK is compared with: where the scores of each printed row come from, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rejoinder.metric import parse
from rejoinder_lab.papers.idk.authors import BASELINES, PREDICTIONS, find_missing_files, read_authors_scores
from rejoinder_lab.papers.idk.correlations import AUTHORS_IDK, HEAD
from rejoinder_lab.papers.idk.language_scores import METRICS
from rejoinder_lab.papers.idk.rows import VALID_SET, ScoresById
from rejoinder_lab.papers.idk.stored import StoredRun, StoredRuns, read_stored_runs
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.own.relevance.measures import AUTHORS_ROW
from rejoinder_lab.papers.own.relevance.relevance import split_usable
from rejoinder_lab.papers.own.relevance.rows import RelevanceRows

OWN_NETWORKS = {"GRADE": "grade", "DYNA-EVAL": "dynaeval"}  # trained here, not by their authors
LIVE = ("cosine(pooling='max')", "cosine(pooling='first')", *OWN_NETWORKS.values())  # by models in the package
WORD_VECTORS = {"COS-FT": "cosine(encoder='glove-6b-50d')"}
NETWORKS = ("NUP-BERT (H)", "NUP-BERT (TC-S)", "NUP-BERT (TC)")
STORED = (*WORD_VECTORS, *METRICS, *NETWORKS)
_NOTES = load_notes("idk")


@dataclass(frozen=True)
class PriorRows:
    """What the tables of prior metrics are made from."""

    specs: Sequence[str]  # metrics to compute
    known: Sequence[ScoresById]  # scores that are there, of each column
    names: Mapping[str, Sequence[str]]  # row -> under which names its scores stand, one per run
    notes: Mapping[str, str] = field(default_factory=dict)  # row -> what measured it
    absent: Mapping[str, str] = field(default_factory=dict)  # row -> why it was not measured


def collect_prior_rows(
    columns: Sequence[RelevanceRows],
    metrics: Sequence[str] | None = None,
    usr_scores: Mapping[str, Sequence[float]] | None = None,
) -> PriorRows:
    """Return the scores that are there and what is to be computed.

    ``metrics`` are specs to compute instead; ``usr_scores`` are the authors' scores of USR's validation rows.
    """
    stored = {row: runs for row, runs in read_stored_runs().items() if row in STORED and metrics is None}
    able, failed = split_usable(LIVE if metrics is None else metrics)
    computed = {find_printed_row(spec): [spec] for spec in able}
    authors = {} if PREDICTIONS in find_missing_files() else read_authors_scores()
    known = [{**authors, **_valid_scores(rows, usr_scores or {}), **_stored_scores(stored, rows)} for rows in columns]
    names = {
        **{row: [row] for row in authors},
        **{row: [_name_run(row, run) for run in sorted(runs)] for row, runs in stored.items()},
        **computed,
        AUTHORS_IDK: [AUTHORS_ROW],
    }
    notes = {
        **dict.fromkeys(authors, "the authors' scores"),
        **{row: runs[min(runs)].signature for row, runs in stored.items()},
        **{row: _NOTES.text(row, spec=spec) if row in OWN_NETWORKS else spec for row, [spec] in computed.items()},
    }
    absent = {f"not measured {i}": text for i, text in enumerate(failed)}
    if metrics is None:
        absent |= _explain_absence(stored, columns)
    if not authors:
        reason = _NOTES.text("authors' file", file=PREDICTIONS.path, reason=PREDICTIONS.reason)
        absent |= {row: _NOTES.text("not measured", row=row, reason=reason) for row in BASELINES}
    return PriorRows(able, known, names, notes, absent)


def find_printed_row(spec: str) -> str:
    """The printed row that a spec stands for, or the spec itself."""
    typed = str(parse(spec))
    specs = {
        **WORD_VECTORS,
        **OWN_NETWORKS,
        **{row: str(metric) for row, metric in METRICS.items()},
        "NUP-BERT (H)": "nup",
    }
    return next((row for row, known in specs.items() if str(parse(known)) == typed), typed)


def _name_run(row: str, run: int) -> str:
    return f"{row}, run {run}"


def _stored_scores(stored: StoredRuns, rows: RelevanceRows) -> ScoresById:
    return {
        _name_run(row, number): scores
        for row, runs in stored.items()
        for number, run in runs.items()
        if (scores := run.scores_of(rows)) is not None
    }


def _valid_scores(rows: RelevanceRows, usr_scores: Mapping[str, Sequence[float]]) -> ScoresById:
    """The authors' scores of USR's validation rows by reply.

    In this order each file gives the correlations that its authors wrote beside it, to the last digit.
    """
    if rows.column.dataset != VALID_SET:
        return {}
    responses = [pair.response for pair in rows.data.pairs()]
    systems = list(dict.fromkeys(response.system for response in responses))
    by_system = sorted(responses, key=lambda one: systems.index(one.system))
    orders = {row: responses if row == HEAD else by_system for row in usr_scores}
    return {
        row: {response.id: score for response, score in zip(orders[row], scores, strict=True)}
        for row, scores in usr_scores.items()
    }


def _explain_absence(stored: StoredRuns, columns: Sequence[RelevanceRows]) -> dict[str, str]:
    """Why a row was not measured, or which sets of a language model's row were."""
    reasons: dict[str, str] = {}
    sentences = {}
    for row in STORED:
        sets = _list_stored_sets(stored, row, columns)
        if row in METRICS and 0 < len(sets) < len(columns):
            reason = _NOTES.text("language model")
            sentences[row] = _NOTES.text("measured in part", row=row, sets=", ".join(sets), reason=reason)
        elif not sets:
            kind = "language model" if row in METRICS else "NUP-BERT" if row in NETWORKS else "word vectors"
            reasons[row] = _NOTES.text(kind, row=row)
    return {row: _NOTES.text("not measured", row=row, reason=reason) for row, reason in reasons.items()} | sentences


def _list_stored_sets(stored: StoredRuns, row: str, columns: Sequence[RelevanceRows]) -> list[str]:
    runs: Sequence[StoredRun] = list(stored.get(row, {}).values())
    return [one.column.dataset for one in columns if any(one.column.dataset in run.columns for run in runs)]
