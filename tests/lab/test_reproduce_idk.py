"""The IDK reproduction on made-up vectors and ratings; the printed figures against each other.

No rated row is read here but by counts: the rows are an examination.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import xml.etree.ElementTree as ElementTree
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rejoinder_lab.papers.base import OURS, Figure, Reproduction, write_reproduction
from rejoinder_lab.papers.base import reproduction_tables as tables_of
from rejoinder_lab.papers.idk import ablations, correlations, idk, prior, stored, tables
from rejoinder_lab.papers.idk import figures as drawings
from rejoinder_lab.papers.idk.authors import (
    BASELINES,
    PREDICTIONS,
    RESULTS,
    WEIGHTS,
    AuthorsResults,
    count_large_weights,
    read_authors_regressions,
    read_authors_results,
    read_authors_scores,
)
from rejoinder_lab.papers.idk.authors import (
    DIMENSIONS as BERT_DIMENSIONS,
)
from rejoinder_lab.papers.idk.claims import list_disagreements, list_own_results, list_paper_findings
from rejoinder_lab.papers.idk.jobs import commands, list_nup_jobs
from rejoinder_lab.papers.idk.language_scores import METRICS, score_pairs_together
from rejoinder_lab.papers.idk.masking import (
    HELD_OUT,
    MaskedAccuracy,
    find_largest_weights,
    measure_masking,
    recover_head,
)
from rejoinder_lab.papers.idk.prior import PriorRows, collect_prior_rows
from rejoinder_lab.papers.idk.rows import RatedColumn, read_test_rows, read_valid_rows, score_column
from rejoinder_lab.papers.idk.variants import SEEDS, IdkVariant, Runs, list_variants, train_all_variants
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.own.relevance.measures import AUTHORS_ROW, ColumnCorrelation
from rejoinder_lab.papers.own.relevance.rows import FIVE, RelevanceColumn, RelevanceRows
from rejoinder_lab.papers.own.relevance.tables import PUBLISHED
from rejoinder_lab.training.idk import IdkRegression
from scipy import stats

from rejoinder.data.collection import collect
from rejoinder.errors import InputError, RejoinderError
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.types import Dialogue, Item, Rating, Response, Turn

DIMENSIONS = 10


class Made:
    """A pair encoder for tests: the first number says whether the reply has the context's mark, the others are noise.

    The fixed negatives have no mark; the mark of a text is its first word.
    """

    name, digest, dimensions, licence = "made", "d" * 64, DIMENSIONS, "none"

    def features(self, contexts: Any, replies: Any) -> Any:
        found = np.empty((len(replies), DIMENSIONS), np.float32)
        for i, (context, reply) in enumerate(zip(contexts, replies, strict=True)):
            random = np.random.default_rng(zlib.crc32("|".join([*context, reply]).encode()))
            found[i] = np.tanh(random.normal(size=DIMENSIONS) * 0.3)
            found[i, 0] = np.tanh((1.0 if reply.split()[0] == context[-1].split()[0] else -1.0) + found[i, 0])
        return found

    def cut(self, contexts: Any, replies: Any) -> list[bool]:
        return [False] * len(replies)


def talks() -> list[Dialogue]:
    return [
        Dialogue(
            f"{corpus}-{split}-{i}", tuple(Turn(f"m{i % 7} turn {j} of {corpus}") for j in range(8)), corpus, split
        )
        for corpus in ("cornell", "topical_chat", *HELD_OUT)
        for split in ("train", "valid", "test")
        for i in range(12)
    ]


def made_up(name: str, seed: int, n: int = 60) -> RatedColumn:
    random = np.random.default_rng(seed)
    features = np.tanh(0.5 * random.normal(size=(n, DIMENSIONS))).astype(np.float32)
    ratings = np.clip(np.round(3 + 2 * features[:, 0] + 0.3 * random.normal(size=n), 1), 1, 5)
    noise = random.normal(size=(len(BASELINES) + 3, n))
    others = dict(zip(BASELINES, ratings + 3 * noise[: len(BASELINES)], strict=True))
    others |= {AUTHORS_ROW: ratings + noise[-1], "length": noise[-2]}
    others |= {f"NUP-BERT (H), run {run}": ratings + run * noise[-3] for run in SEEDS}
    others["norm_prob"] = np.where(np.arange(n) < 20, ratings, math.nan)
    names = [f"humod-row-{i:04}" for i in range(n)]
    return RatedColumn(name, features, ratings, others, [f"u{i // 2}" for i in range(n)], responses=names)


def made_up_weights() -> Runs:
    """Weights as the authors': three large ones with the fixed negative, five with random ones."""
    few = {"idk": 3, "random": 5, "ics": 3, "ok": 3}
    weights = {
        v: np.r_[np.full(few[v.negative], 0.2), np.full(BERT_DIMENSIONS - few[v.negative], 1e-4)]
        for v in list_variants()
    }
    return {variant: [IdkRegression(values, 0.0)] * 3 for variant, values in weights.items()}


def made_up_results() -> AuthorsResults:
    """Correlations of the authors: .3, .01 more with each run, .2 less without L1."""
    test, valid = (
        {
            variant: [
                dict.fromkeys(cells, 0.3 + 0.01 * run - 0.2 * (variant.regularization == "none")) for run in SEEDS
            ]
            for variant in list_variants()
        }
        for cells in (tables.TEST, tables.VALID)
    )
    return AuthorsResults(test, valid, {row: dict.fromkeys(tables.VALID, 0.08) for row in BASELINES}, {})


@pytest.fixture(scope="module")
def measured() -> idk.IdkMeasures:
    runs = train_all_variants(Made(), talks(), contexts=30)
    head = IdkRegression(np.r_[2.0, np.zeros(DIMENSIONS - 1)], 0.1)
    masked = measure_masking(Made(), talks(), head, IdkRegression(np.r_[-1.0, np.zeros(DIMENSIONS - 1)], 0.0), n=20)
    test = [made_up(name, seed) for seed, name in enumerate(FIVE)]
    names = {row: [row] for row in BASELINES} | {"COS-FT": ["length"], "NORM-PROB": ["norm_prob"]}
    names |= {"NUP-BERT (H)": [f"NUP-BERT (H), run {run}" for run in SEEDS], correlations.AUTHORS_IDK: [AUTHORS_ROW]}
    rows = PriorRows([], [], names, {"COS-FT": "length"}, {"FED-RELEVANT": "FED-RELEVANT: not measured: do so."})
    return idk.IdkMeasures(runs, test, made_up("USR-TC", 9), head, masked, rows, made_up_weights(), made_up_results())


@pytest.fixture(scope="module")
def found(measured: idk.IdkMeasures) -> Reproduction:
    return idk.assemble_idk(measured)


def at(found: Reproduction, table: str, row: str, column: str) -> Figure:
    [one] = [f for f in found.figures if (f.table, f.row, f.column) == (table, row, column)]
    return one


# What is printed


def test_the_printed_tables_agree_where_they_repeat_each_other() -> None:
    for row in ("IDK (H)", "IDK (TC-S)", "NUP-BERT (H)", "NUP-BERT (TC-S)", "NUP-BERT (TC)", "BERT NSP"):
        for column in FIVE:
            assert tables.TABLE_11[row][f"{column} S"].mean == PUBLISHED[row].spearman[column], (row, column)
            assert tables.TABLE_11[row][f"{column} P"].mean == PUBLISHED[row].pearson[column], (row, column)
    for data in ("H", "TC-S"):
        assert tables.TABLE_5[f"{data}, L1, idk"] == tables.TABLE_11[f"IDK ({data})"]


def test_the_pinned_ablations_on_humod_are_as_printed() -> None:
    rows = ("H, L1, idk", "H, idk", "H, L1, random", "H, random")
    assert [tables.TABLE_5[row]["HUMOD S"].mean for row in rows] == [0.58, 0.42, 0.61, 0.60]


def test_the_printed_ratios_follow_from_the_printed_correlations() -> None:
    ratios = {row: ratio for row, ratio in load_published("idk")["Table 4"].items() if row.startswith("IDK-")}
    assert len(ratios) == 4
    for row, ratio in ratios.items():
        values = [tables.TABLE_11[row][f"{column} S"].mean for column in FIVE]
        assert max(values) / min(values) == pytest.approx(ratio, abs=0.01), row


def test_every_variant_has_its_printed_row() -> None:
    mine = list(list_variants())
    assert len(mine) == len(set(mine)) == 28
    assert {v.short for v in mine if v.negative in ("idk", "random")} == set(tables.TABLE_10)
    assert {v.metric for v in mine} == {row for row in tables.TABLE_11 if row.startswith("IDK")}
    assert IdkVariant("TC-S", "random", "l2").short == "TC-S_Rand3750_bce_L2"
    assert IdkVariant("H", "idk", "none", "triplet").long == "H, idk"


# Measured beside printed


def test_a_figure_is_the_mean_over_seeds_of_the_correlation_of_scores_and_ratings(
    found: Reproduction, measured: idk.IdkMeasures
) -> None:
    for column, kind, method in ((0, "S", stats.spearmanr), (3, "P", stats.pearsonr)):
        one = measured.test[column]
        values = []
        for fitted in measured.runs[IdkVariant("TC-S")]:
            odds = one.features.astype(float) @ fitted.weights + fitted.bias
            values.append(method(1 / (1 + np.exp(-odds)), one.ratings).statistic)
        cell = f"{FIVE[column]} {kind}"
        figure = at(found, tables.OWN, "IDK (TC-S)", cell + OURS)
        assert figure.measured == pytest.approx(np.mean(values))
        assert figure.published is None
        assert figure.low is not None
        assert figure.low < figure.measured
        spread = at(found, tables.OWN + tables.DEVIATION, "IDK (TC-S)", cell + OURS)
        assert spread.measured == pytest.approx(np.std(values, ddof=1))
        assert at(found, tables.ABLATIONS, "TC-S, L1, idk", cell + OURS).measured == figure.measured
        assert len(values) == len(SEEDS)


def test_the_papers_column_is_the_mean_of_the_authors_runs(found: Reproduction) -> None:
    figure = at(found, tables.OWN, "IDK (TC-S)", "HUMOD S")
    assert (figure.published, figure.measured) == (0.58, pytest.approx(0.31))
    spread = at(found, tables.OWN + tables.DEVIATION, "IDK (TC-S)", "HUMOD S")
    assert (spread.published, spread.measured) == (0.0, pytest.approx(0.01))
    assert at(found, tables.ABLATIONS, "TC-S, idk", "P-DD P").measured == pytest.approx(0.11)
    assert at(found, tables.RATIO, "IDK (H)", "ratio").measured == pytest.approx(1)
    [table] = [table for table in tables_of(found) if table.title == tables.ABLATIONS]
    assert table.heads[1:4] == ["HUMOD S: published", "theirs", "ours"]


def test_no_printed_figure_stands_beside_ours(found: Reproduction) -> None:
    ours = [figure for figure in found.figures if figure.column.endswith(OURS)]
    assert ours
    assert all(figure.published is None for figure in ours)
    for note in found.notes:
        assert not re.search(r"\b(better|worse)\b", note), note


def test_every_table_is_there_in_the_papers_order(found: Reproduction) -> None:
    titles = [table.title for table in tables_of(found)]
    numbers = [int(re.findall(r"\d+", title)[0]) for title in titles if title.startswith("Table ")]
    assert numbers == sorted(numbers)
    assert set(numbers) == {2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
    assert math.isnan(at(found, tables.ALL_VALID, "H_IDK_bce_L1", "HUMOD S, ours").measured)
    assert not math.isnan(at(found, tables.ALL_VALID, "H_IDK_bce_L1", "USR-TC S, ours").measured)
    assert not math.isnan(at(found, tables.ALL_VALID, "H_IDK_bce_L1", "HUMOD S").measured)
    assert math.isnan(at(found, tables.PRIOR, "GRADE", "HUMOD S").measured)
    assert math.isnan(at(found, tables.PRIOR, "COS-FT", "HUMOD S").measured)
    assert not math.isnan(at(found, tables.PRIOR, "COS-FT", "HUMOD S, ours").measured)
    assert at(found, tables.PRIOR_VALID, "COS-MAX-BERT", "HUMOD S").measured == 0.08


def test_a_prior_metric_has_the_interval_of_its_column_by_units(found: Reproduction, measured: idk.IdkMeasures) -> None:
    figure = at(found, tables.PRIOR, "COS-FT", "P-DD S, ours")
    assert figure.note == "length"
    one = measured.test[2]
    assert figure.measured == pytest.approx(stats.spearmanr(one.others["length"], one.ratings).statistic)
    plan = BootstrapPlan(method="spearman", seed=one.seed)
    [interval] = correlation_intervals({"x": one.others["length"]}, one.ratings, plan, items=list(one.units)).values()
    assert (figure.low, figure.high, figure.n) == (interval.low, interval.high, 60)
    assert at(found, tables.PRIOR, "COS-FT", "P-DD S").published == -0.02


def test_the_authors_scores_stand_in_the_rows_of_the_paper_and_ours_under_their_own_names(
    found: Reproduction, measured: idk.IdkMeasures
) -> None:
    humod = measured.test[0]
    for table, row, name in (
        (tables.PRIOR, "COS-NSP-BERT", "COS-NSP-BERT"),
        (tables.NEGATIVES, correlations.HEAD, "BERT NSP"),
        (tables.OWN, correlations.AUTHORS_IDK, AUTHORS_ROW),
    ):
        figure = at(found, table, row, "HUMOD S")
        assert figure.measured == pytest.approx(stats.spearmanr(humod.others[name], humod.ratings).statistic)
        assert figure.low is not None
        assert figure.published == tables.TABLE_11.get(row.partition(",")[0], {}).get("HUMOD S", (0.08,))[0]
    own = at(found, tables.NEGATIVES, correlations.OWN_HEAD, "HUMOD S, ours")
    assert own.published is None
    assert own.measured == pytest.approx(stats.spearmanr(humod.scores(measured.head), humod.ratings).statistic)


def test_a_row_that_is_not_measured_on_all_rows_has_no_ratio(found: Reproduction) -> None:
    figure = at(found, tables.PRIOR, "NORM-PROB", "HUMOD S, ours")
    assert (figure.measured, figure.n) == (pytest.approx(1.0), 20)
    ratio = at(found, tables.RATIO, "NORM-PROB", "ratio, ours")
    assert ratio.low is None
    assert at(found, tables.RATIO, "COS-MAX-BERT", "ratio").published == 6.7
    assert correlations.sensitivity_ratio([{f"{column} S": 0.5 for column in FIVE[1:]}]) != 1.0, "one column is missing"


def test_a_row_that_cannot_be_measured_says_what_to_do(found: Reproduction) -> None:
    figure = at(found, tables.PRIOR, "FED-RELEVANT", "HUMOD S")
    assert math.isnan(figure.measured)
    assert figure.note == "FED-RELEVANT: not measured: do so."
    assert found.notes[-1] == figure.note


def test_three_runs_have_a_mean_and_a_deviation_in_every_table_that_prints_them(found: Reproduction) -> None:
    cells = [
        at(found, table, "NUP-BERT (H)", "HUMOD S, ours") for table in (tables.PRIOR, tables.OWN, tables.NEGATIVES)
    ]
    assert len({cell.measured for cell in cells}) == 1
    assert not math.isnan(cells[0].measured)
    assert cells[0].low is not None
    assert at(found, tables.PRIOR + tables.DEVIATION, "NUP-BERT (H)", "HUMOD S, ours").measured > 0


def test_the_ratio_is_of_the_mean_correlations(found: Reproduction) -> None:
    values = [at(found, tables.OWN, "IDK (H)", f"{column} S, ours").measured for column in FIVE]
    ratio = at(found, tables.RATIO, "IDK (H)", "ratio, ours")
    assert ratio.measured == pytest.approx(max(values) / min(values))
    assert at(found, tables.RATIO, "IDK (H)", "ratio").published == 3.9


# Masking


def test_the_head_is_read_from_vectors_and_log_odds() -> None:
    random = np.random.default_rng(0)
    features, weights = random.normal(size=(40, 6)).astype(np.float32), random.normal(size=6)
    head = recover_head(features, features.astype(float) @ weights - 0.7)
    assert head.weights == pytest.approx(weights, abs=1e-6)
    assert head.bias == pytest.approx(-0.7, abs=1e-6)
    with pytest.raises(RejoinderError, match="not a linear layer"):
        recover_head(features, (features.astype(float) @ weights) ** 2)


def test_the_largest_weights_are_kept_whatever_their_sign() -> None:
    assert find_largest_weights(IdkRegression(np.array([0.1, -3.0, 0.0, 2.0]), 0.0), 2) == [1, 3]


def test_dimensions_that_the_head_does_not_use_can_go(measured: idk.IdkMeasures) -> None:
    for masked in measured.masked.values():
        assert masked.kept == masked.whole
        assert masked.kept_ahead == masked.whole_ahead
        assert masked.n == 40
    useless = IdkRegression(np.r_[0.0, np.ones(DIMENSIONS - 1)], 0.0)
    lost = measure_masking(Made(), talks(), measured.head, useless, n=20)["friends"]
    assert lost.kept == 0.5
    assert lost.whole > 0.8


# Findings


def test_verdicts_are_by_what_the_authors_released_and_our_network_gets_none(found: Reproduction) -> None:
    starts = (
        "Only a small fraction of IDK's weights is above 0.01 (section 5.1): confirmed; 3, 3 and 3 of 768 ",
        "Random negatives make more weights large (Figure 2): confirmed; ",
        "On these rows, L1 helps where the negative is fixed (section 5.2, Table 5): confirmed; ",
        "On these rows, L2 does about as well as L1 (section 5, of validation rows): undecided; ",
        "On these rows, one fixed negative does as well as random ones (section 5.2, Table 5): undecided; ",
        "On these rows, IDK depends little on what it is trained on (Table 3): undecided; ",
        "Outside FED, IDK does not beat the raw next-sentence head on Spearman (appendix I, Table 11): refuted; ",
        "On FED, IDK beats the raw next-sentence head on Spearman (appendix I, Table 11): confirmed; ",
        "The four findings by three runs are about these rows with other seeds. ",
        "IDK depends least on the test set (Table 4): ",
        "Printed cells that the authors' files give again, as far as two decimals show: ",
        "The four cells of Table 5, H, random, ",
        *["On our vectors"] * 5,
        "Targets for IDK on the embedded features, set before it was measured: HUMOD ",
    )
    for start, note in zip(starts, found.notes, strict=False):
        assert note.startswith(start), note
        assert not (note.startswith("On our") and re.search("confirmed|refuted|undecided", note)), note


def test_a_difference_over_runs_has_welchs_interval() -> None:
    first, second = [0.58, 0.585, 0.59], [0.36, 0.42, 0.47]
    cell, comparison = "HUMOD S", ablations.L1_OR_NONE["H"]
    runs = {comparison.first: [{cell: v} for v in first], comparison.second: [{cell: v} for v in second]}
    found = ablations.compare_runs(runs, comparison, [cell])
    variances = [np.var(values, ddof=1) / 3 for values in (first, second)]
    degrees = sum(variances) ** 2 / sum(v**2 / 2 for v in variances)
    margin = stats.t.ppf(0.975, degrees) * sum(variances) ** 0.5
    assert found.value == pytest.approx(np.mean(first) - np.mean(second))
    assert (found.low, found.high) == pytest.approx((found.value - margin, found.value + margin))
    assert comparison.name == "H_IDK_bce_L1 less H_IDK_bce"


def test_cells_that_differ_from_the_printed_ones_are_listed_with_both_numbers() -> None:
    figures = [
        Figure(tables.ABLATIONS, "H, random", "FED-cor S", 0.1, 0.1328),
        Figure(tables.ABLATIONS, "H, random", "HUMOD S", 0.6, 0.6049),
        Figure(tables.ABLATIONS, "H, random", "HUMOD S, ours", None, 0.1),
        Figure(tables.TRIPLET, "H, idk", "FED-cor S", 0.1, 0.098),
    ]
    [sentence] = list_disagreements(figures)
    assert "Table 5 1 of 2, Table 9 1 of 1" in sentence
    assert sentence.endswith("Table 5, H, random, FED-cor S: printed 0.10, files 0.133.")


def test_without_the_authors_files_nothing_is_decided(measured: idk.IdkMeasures) -> None:
    scores = correlations.correlate_rows(measured.test, {"COS-FT": ["length"]})
    test = correlations.Measured({}, scores, scores)
    assert list(list_paper_findings(None, None, test)) == []
    assert len(list(list_paper_findings(made_up_weights(), None, test))) == 2
    assert len(list(list_paper_findings(None, made_up_results(), test))) == 4
    bare = idk.assemble_idk(replace(measured, authors=None, results=None))
    assert "figure-1" not in bare.drawings
    assert math.isnan(at(bare, tables.ABLATIONS, "H, idk", "HUMOD S").measured)
    for note, file in zip(bare.notes[-2:], (WEIGHTS, RESULTS), strict=True):
        assert note.startswith(f"{file.path} is not in the data folder; it is collected")


def scored_rows(values: dict[str, float]) -> correlations.ScoredRows:
    """Rows whose Spearman is as given on HUMOD and .3 elsewhere."""
    cells: dict[str, dict[str, ColumnCorrelation]] = {}
    for column in FIVE:
        of_cell = {row: value if column == "HUMOD" else 0.3 for row, value in values.items()}
        cells[f"{column} S"] = {
            row: ColumnCorrelation(BootstrapPlan().interval(value, np.full(9, value), 9, 0, 9), np.full(9, value))
            for row, value in of_cell.items()
        }
    return correlations.ScoredRows(cells, {row: [row] for row in values})


def test_what_our_network_does_follows_the_numbers() -> None:
    values = {
        IdkVariant("H"): 0.58,
        IdkVariant("TC-S"): 0.50,
        IdkVariant("H", "idk", "none"): 0.42,
        IdkVariant("TC-S", "idk", "none"): 0.49,
        IdkVariant("H", "random"): 0.4,
    }
    own = scored_rows({**{variant.short: value for variant, value in values.items()}, correlations.OWN_HEAD: 0.4})
    masked = {"a": MaskedAccuracy(0.9, 0.6, 0.9, 0.8, 10), "b": MaskedAccuracy(0.9, 0.5, 0.9, 0.8, 10)}
    weights = {variant: fits for variant, fits in made_up_weights().items() if variant in values}
    said = list(list_own_results(own, masked, weights))
    assert "0.58 with L1 and 0.42 without on H" in said[0]
    assert "a 0.900 to 0.600 (true reply ahead 0.900 to 0.800)" in said[1]
    assert "differs most on HUMOD between the training sets, 0.58 trained on H and 0.50" in said[2]
    assert "is 0.356 for IDK (H) and 0.320 for the bare head" in said[3]
    assert "the best is 1.9 and 1.3 times the worst" in said[3]
    assert "of 768 weights, 3, 3 and 3 exceed 0.01 with the fixed negative and 5, 5 and 5 with random ones" in said[4]
    assert "HUMOD 0.58 (reaches 0.50), FED-rel 0.30 (reaches 0.20)" in said[5]


# What the authors released


def test_the_authors_weights_are_read_and_those_above_001_are_as_the_paper_says(published: Path) -> None:
    runs = read_authors_regressions()
    assert set(runs) == set(list_variants())
    assert {len(fitted.weights) for fits in runs.values() for fitted in fits} == {768}
    assert count_large_weights(runs[IdkVariant("H")], 0.01) == [6, 7, 6]
    assert count_large_weights(runs[IdkVariant("H", "random")], 0.01) == [8, 8, 8]


def test_the_authors_scores_give_the_published_correlations_to_the_last_digit(published: Path) -> None:
    scores = read_authors_scores()
    for rows in read_test_rows():
        ratings = {rating.response: rating.value for rating in rows.data.ratings}
        names = [pair.response.id for pair in rows.data.pairs()]
        values = np.array([ratings[name] for name in names])
        if rows.column.name in ("HUMOD", "USR-TC"):
            values = np.round(3 * values) / 3  # means of three ratings, printed with two or three decimals
        for row, cells in load_published("idk")["Table 2, result logs"].items():
            own = np.array([scores[row][name] for name in names])
            for kind, method in (("S", stats.spearmanr), ("P", stats.pearsonr)):
                cell = f"{rows.column.name} {kind}"
                assert method(own, values).statistic == pytest.approx(cells[cell], abs=1e-6), (row, cell)


def test_the_authors_results_give_the_printed_tables_but_for_four_cells(published: Path) -> None:
    results = read_authors_results()
    penalized = [variant for variant in list_variants() if variant.regularization != "l2"]
    bce, triplet = ({v.long: v for v in penalized if v.loss == loss} for loss in ("bce", "triplet"))
    proposed = {v.metric: v for v in bce.values() if v.regularization == "l1" and v.negative != "random"}
    every = {variant.short: variant for variant in list_variants()}
    wrong = {
        "H, random, FED-cor S": (0.1, 0.133),
        "H, random, FED-cor P": (0.11, 0.225),
        "H, random, FED-rel S": (0.14, 0.218),
        "H, random, FED-rel P": (0.09, 0.287),
    }
    of_idk = {row: cells for row, cells in tables.TABLE_11.items() if row in proposed}
    for printed, rows, runs, n_cells, differing in (
        (tables.TABLE_5, bce, results.test, 80, wrong),
        (tables.TABLE_9, triplet, results.test, 80, {}),
        (tables.TABLE_10, every, results.valid, 96, {}),
        (of_idk, proposed, results.test, 60, {}),
    ):
        values = {
            f"{row}, {cell}": (one.mean, float(np.mean([run[cell] for run in runs[rows[row]]])))
            for row, cells in printed.items()
            for cell, one in cells.items()
        }
        assert len(values) == n_cells
        apart = {name: (one, round(two, 3)) for name, (one, two) in values.items() if abs(one - two) > 0.005}
        assert apart == differing
    for cell in ("FED-cor S", "FED-cor P", "FED-rel S", "FED-rel P"):
        assert tables.TABLE_5["H, random"][cell] == tables.TABLE_9["H, idk"][cell]


def test_the_authors_scores_of_usrs_validation_rows_are_those_of_our_rows(published: Path) -> None:
    results = read_authors_results()
    rows = read_valid_rows(read_test_rows()[1])
    scores = collect_prior_rows([rows], ["length"], results.usr_scores).known[0]
    ratings: dict[str, list[float]] = {}
    for rating in rows.data.ratings:
        if rating.aspect == rows.column.aspect and rating.response is not None:
            ratings.setdefault(rating.response, []).append(rating.value)
    for row in BASELINES:
        own = [scores[row][name] for name in ratings]
        means = [np.mean(values) for values in ratings.values()]
        assert stats.spearmanr(own, means).statistic == pytest.approx(results.baselines[row]["USR-TC S"], abs=1e-9)
        assert stats.pearsonr(own, means).statistic == pytest.approx(results.baselines[row]["USR-TC P"], abs=1e-9)


def test_results_that_are_not_the_authors_are_refused(tmp_path: Path) -> None:
    path = tmp_path / RESULTS.path
    path.parent.mkdir(parents=True)
    name = "exp/HUMOD_IDK_bce_L1_wt1_lim3750/test_results_HUMOD.csv"
    for text, message in (
        ("spearman,pearson\n0.1,0.2\n", "'text' must be a CSV file with 3 lines and the columns spearman, pearson"),
        ("spearman\n0.1\n0.2\n0.3\n", "'text' must be a CSV file with 3 lines"),
        ("spearman,pearson\n0.1,0.2\n0.1,0.2\n0.1,0.2\n", "results of .* are missing"),
    ):
        path.write_bytes(gzip.compress(json.dumps({"path": name, "text": text}).encode()))
        with pytest.raises(InputError, match=message):
            read_authors_results(tmp_path)


def test_a_file_that_is_not_the_authors_is_refused(tmp_path: Path) -> None:
    weights, scores = tmp_path / WEIGHTS.path, tmp_path / PREDICTIONS.path
    weights.parent.mkdir(parents=True)
    with pytest.raises(InputError, match="no such file; it is collected from the authors' files"):
        read_authors_regressions(tmp_path)
    line = {"variant": "HUMOD_IDK_bce_L1_wt1_lim3750", "run": 0, "epoch": 1, "weights": [0.5], "bias": 0.1}
    for wrong, message in (
        (line, "'weights' must be a list of 768 numbers"),
        ({**line, "variant": "HUMOD_YES_bce"}, "'variant' must be the name of an experiment"),
        ({**line, "weights": [0.5] * 768}, r"has the runs \[\] instead of|has the runs \[0\] instead of"),
    ):
        weights.write_bytes(gzip.compress(json.dumps(wrong).encode()))
        with pytest.raises(InputError, match=message):
            read_authors_regressions(tmp_path)
    for text, message in (
        ("metric\tset\trow\n", "expected the columns metric, set, row, score"),
        ("metric\tset\trow\tscore\nBLEU\tHUMOD\t0\t1\n", "expected a metric, a set, a row and a score"),
        ("metric\tset\trow\tscore\n" + 2 * "BERT NSP\tHUMOD\t0\t1\n", "two scores of humod-row-0000"),
    ):
        scores.write_bytes(gzip.compress(text.encode()))
        with pytest.raises(InputError, match=message):
            read_authors_scores(tmp_path)


# Drawings and files


def test_results_and_drawings_are_written_and_are_sound(found: Reproduction, tmp_path: Path) -> None:
    paths = write_reproduction(found, tmp_path)
    drawn = sorted(path.name for path in paths if path.suffix == ".svg")
    assert drawn == [*(f"idk-figure-{i}.svg" for i in range(1, 8)), "idk-our-weights.svg"]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert "NaN" not in text
        if path.suffix == ".svg":
            assert ElementTree.fromstring(text).tag.endswith("svg")
            assert len(text) < 40_000
    page = paths[0].read_text()
    assert "![idk-figure-3](idk-figure-3.svg)" in page
    assert "Table 5: ablations, test rows, standard deviation over three runs" in page


def test_a_scatter_has_a_dot_a_known_reply_and_a_histogram_a_bar_a_filled_bin() -> None:
    svg = drawings.draw_idk_scatter("a < b", np.array([1.0, 2, 3, math.nan]), np.array([0.1, math.nan, 0.9, 0.4]))
    assert svg.count("h0") == 2
    assert "a &lt; b" in svg
    bars = drawings.draw_weight_histogram("w", {"one": np.array([0.1, 0.1, 1e-4, 0.0]), "two": np.array([1.0])})
    assert bars.count("z") - bars.count("font-size") >= 3
    assert drawings.draw_idk_scatter("flat", np.ones(3), np.ones(3)).count("h0") == 3


# Rows


def test_rows_are_read_with_vectors_ratings_and_other_scores() -> None:
    records: list[Any] = []
    for i in range(6):
        records += [Item(f"i{i}", (Turn("m1 what now?"),)), Response(f"r{i}", f"i{i}", "s", "m1 " + "word " * i)]
        records.append(Rating("mean", "relevance", float(i), f"r{i}"))
    rows = RelevanceRows(
        RelevanceColumn("X", "x", "relevance", None, 0), collect(records), {f"r{i}": f"i{i}" for i in range(6)}
    )
    one = score_column(rows, Made(), ["context_overlap"])
    assert one.ratings.tolist() == [0, 1, 2, 3, 4, 5]
    assert one.features.shape == (6, DIMENSIONS)
    assert list(one.others) == ["context_overlap"]


def made_up_rows(name: str, seed: int, n: int, contexts: int = 99) -> RelevanceRows:
    records: list[Any] = []
    for i in range(n):
        records += [
            Item(f"i{i}", (Turn(f"what is {i % contexts}?"),)),
            Response(f"{name}-{i}", f"i{i}", "s", "word " * (i + 1)),
        ]
        records.append(Rating("mean", "relevance", float(i % 5), f"{name}-{i}"))
    return RelevanceRows(
        RelevanceColumn(name, "x", "relevance", None, seed),
        collect(records),
        {f"{name}-{i}": f"i{i}" for i in range(n)},
    )


def test_a_language_models_rows_are_scored_together_as_alone_and_work_goes_on(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    import tiny_language_model
    from rejoinder_lab.papers.idk import language_scores

    from rejoinder.models.language_model.model import open_language_model
    from rejoinder.scoring.api import score_pairs

    monkeypatch.setenv("REJOINDER_THREADS", "1")
    tiny_language_model.install(own_cache)
    pairs = list(made_up_rows("a", 3, 6, contexts=2).data.pairs())
    model = open_language_model("smollm2-135m")
    together = score_pairs_together(model, pairs, tmp_path / "work.jsonl")
    for row, metric in METRICS.items():
        assert together[row] == pytest.approx(score_pairs(metric, pairs).tolist(), abs=1e-4), row
    assert len((tmp_path / "work.jsonl").read_text().splitlines()) == 6
    monkeypatch.setattr(language_scores, "read_replies", lambda *_: pytest.fail("it was read before"))
    assert score_pairs_together(model, pairs, tmp_path / "work.jsonl") == together


def test_stored_scores_are_read_back_for_the_same_rows_only(tmp_path: Path) -> None:
    path, rows = tmp_path / "scores.json.gz", made_up_rows("a", 0, 3)
    scores = {"a-0": 0.123456789, "a-1": math.nan, "a-2": 3.0}
    stored.store_scores("COS-FT", "signature", rows, scores, path=path)
    stored.store_scores("COS-FT", "another", rows, {**scores, "a-0": 0.5}, run=1, path=path)
    runs = stored.read_stored_runs(path)["COS-FT"]
    assert sorted(runs) == [0, 1]
    assert runs[0].scores_of(rows) == pytest.approx({"a-0": 0.123457, "a-1": math.nan, "a-2": 3.0}, nan_ok=True)
    with pytest.raises(InputError, match="the scores of x are of other rows; compute them again"):
        runs[0].scores_of(made_up_rows("a", 0, 4))
    assert stored.StoredRun("", {}).scores_of(rows) is None
    assert stored.read_stored_runs(tmp_path / "none.gz") == {}


def test_scores_of_another_machine_are_merged(tmp_path: Path) -> None:
    here, there, rows = tmp_path / "here.json.gz", tmp_path / "there.json.gz", made_up_rows("a", 0, 2)
    scores = {"a-0": 0.25, "a-1": 0.5}
    stored.store_scores("COS-FT", "kept", rows, scores, path=here)
    stored.store_scores("NORM-PROB", "old", rows, scores, path=here)
    stored.store_scores("NORM-PROB", "new", rows, {"a-0": 1.0, "a-1": 2.0}, path=there)
    assert stored.add_stored_runs(there, here) == ["NORM-PROB"]
    runs = stored.read_stored_runs(here)
    assert runs["COS-FT"][0].scores_of(rows) == scores
    assert (runs["NORM-PROB"][0].signature, runs["NORM-PROB"][0].scores_of(rows)) == ("new", {"a-0": 1.0, "a-1": 2.0})
    before = here.read_bytes()
    stored.add_stored_runs(there, here)
    assert here.read_bytes() == before


def test_what_is_not_stored_says_how_to_compute_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior, "read_stored_runs", dict)
    monkeypatch.setattr(prior, "find_missing_files", lambda: [PREDICTIONS])
    rows = collect_prior_rows([made_up_rows("HUMOD", 0, 3)])
    for row, command in (
        ("NORM-PROB", "python -m rejoinder_lab.papers.idk.jobs language"),
        ("COS-FT", "python -m rejoinder_lab.papers.idk.jobs vectors"),
        ("NUP-BERT (TC)", 'jobs nup FOLDER --only "NUP-BERT (TC)"'),
        ("BERT NSP", "judgements/idk/authors_predictions.tsv.gz is not in the data folder"),
    ):
        assert rows.absent[row].startswith(f"{row}: not measured: ")
        assert command in rows.absent[row]
    assert list(rows.names) == [*map(prior.find_printed_row, prior.LIVE), correlations.AUTHORS_IDK]
    assert rows.names["GRADE"] == ["grade"]
    assert "trained here" in rows.notes["GRADE"]


def test_a_metric_that_is_named_takes_the_place_of_stored_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior, "find_missing_files", lambda: [PREDICTIONS])
    rows = collect_prior_rows([made_up_rows("HUMOD", 0, 3)], ["length"])
    assert rows.specs == ["length"]
    assert list(rows.names) == ["length", correlations.AUTHORS_IDK]


def test_scores_of_another_machine_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    rows, ours, theirs = made_up_rows("HUMOD", 0, 3), tmp_path / "ours.json.gz", tmp_path / "theirs.json.gz"
    scores = {pair.response.id: 0.5 for pair in rows.data.pairs()}
    stored.store_scores("COS-FT", "signature", rows, scores, path=ours)
    stored.store_scores("NUP-BERT (H)", "first", rows, scores, path=ours)
    for run in (0, 2):
        stored.store_scores("NUP-BERT (H)", f"another, run {run}", rows, scores, run, theirs)
    done = CliRunner().invoke(commands, ["add", str(theirs), "-o", str(ours)])
    assert (done.exit_code, done.stderr) == (0, f"{ours}: NUP-BERT (H)\n")
    runs = stored.read_stored_runs(ours)
    assert list(runs) == ["COS-FT", "NUP-BERT (H)"]
    assert {number: run.signature for number, run in runs["NUP-BERT (H)"].items()} == {
        0: "another, run 0",
        2: "another, run 2",
    }
    assert runs["NUP-BERT (H)"][2].scores_of(rows) == scores


def test_nup_is_trained_three_times_on_each_set() -> None:
    jobs = list_nup_jobs()
    assert len(jobs) == len({job.name for job in jobs}) == 9
    assert [(job.corpus, job.contexts) for job in jobs[::3]] == [
        ("cornell", 3750),
        ("topical_chat", 3750),
        ("topical_chat", None),
    ]
    assert [job.run for job in list_nup_jobs(["NUP-BERT (TC)"])] == [0, 1, 2]


@pytest.fixture
def small(measured: idk.IdkMeasures, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command on made-up rows and vectors, with what was trained above."""
    monkeypatch.setenv("REJOINDER_THREADS", "1")
    replaced: dict[str, Any] = {
        "open_aptness": lambda: None,
        "load_pair_encoder": Made,
        "read_dataset": lambda _: iter(talks()),
        "train_all_variants": lambda *_: measured.runs,
        "read_model_head": lambda *_: measured.head,
        "measure_masking": lambda *_: measured.masked,
        "read_test_rows": lambda: [made_up_rows(column, i, 12) for i, column in enumerate(FIVE)],
        "read_valid_rows": lambda _: made_up_rows("USR-TC", 1, 12),
        "find_missing_files": lambda: [WEIGHTS, PREDICTIONS, RESULTS],
    }
    for name, made in replaced.items():
        monkeypatch.setattr(idk, name, made)
    monkeypatch.setattr(prior, "find_missing_files", replaced["find_missing_files"])
    monkeypatch.setattr(prior, "read_stored_runs", dict)
    monkeypatch.setattr(prior, "LIVE", ("length",))


def test_without_what_is_stored_or_released_the_command_goes_on(small: None) -> None:
    result = idk.reproduce()
    assert not math.isnan(at(result, tables.PRIOR, "length", "HUMOD S, ours").measured)
    assert math.isnan(at(result, tables.PRIOR, "NORM-PROB", "HUMOD S").measured)
    assert "jobs nup" in at(result, tables.PRIOR, "NUP-BERT (H)", "HUMOD S").note
    assert not math.isnan(at(result, tables.OWN, "IDK (H)", "HUMOD S, ours").measured)


def test_scores_that_are_known_are_joined_by_id() -> None:
    rows = made_up_rows("a", 0, 5)
    one = score_column(rows, Made(), ["length"], {"fed": {"a-3": 0.5, "a-1": 0.2}})
    assert one.others["fed"] == pytest.approx([math.nan, 0.2, math.nan, 0.5, math.nan], nan_ok=True)
    assert list(one.units) == [f"i{i}" for i in range(5)]
    assert list(one.others) == ["length", "fed"]


def test_the_results_page_is_what_the_released_and_stored_scores_give(published: Path) -> None:
    rows = read_test_rows()
    known = collect_prior_rows(rows)
    columns = []
    for one, scores in zip(rows, known.known, strict=True):
        pairs = list(one.data.pairs())
        names = [pair.response.id for pair in pairs]
        ratings = {rating.response: rating.value for rating in one.data.ratings}
        others = {key: np.array([of_key.get(name, math.nan) for name in names]) for key, of_key in scores.items()}
        others[AUTHORS_ROW] = np.array([pair.response.meta["idk"] for pair in pairs])
        values, units = np.array([ratings[name] for name in names]), [one.units[name] for name in names]
        columns.append(
            RatedColumn(one.column.name, np.empty((0, 0), np.float32), values, others, units, one.column.seed)
        )
    live = {*prior.LIVE, *prior.OWN_NETWORKS}  # computed, neither released nor stored
    names_by_row = {row: keys for row, keys in known.names.items() if row not in live}
    rebuilt = correlations.correlate_rows(columns, names_by_row)
    page = json.loads((Path(__file__).parents[2] / "docs" / "results" / "idk.json").read_text(encoding="utf-8"))
    written = {(cell["table"], cell["row"], cell["column"]): cell for cell in page}
    compared = 0
    for row in names_by_row:
        table = tables.NEGATIVES if row in (correlations.HEAD, correlations.AUTHORS_IDK) else tables.PRIOR
        for cell in tables.TEST:
            mean = rebuilt.mean(row, cell)
            expected = mean.interval[:3] if mean else (None, None, None)
            found = written[table, row, cell if row in (*BASELINES, correlations.AUTHORS_IDK) else cell + OURS]
            assert [found[key] for key in ("measured", "low", "high")] == pytest.approx(expected, abs=1e-6), (row, cell)
            compared += expected[0] is not None
    assert compared >= 110


def test_the_validation_rows_are_the_contexts_that_are_not_tested(published: Path) -> None:
    rows = read_test_rows()
    assert [one.column.name for one in rows] == list(FIVE)
    valid = read_valid_rows(rows[1])
    assert len(valid.data.responses) == 180
    assert not set(valid.units.values()) & set(rows[1].units.values())


def test_a_spec_that_stands_for_a_printed_row_takes_its_place() -> None:
    assert prior.find_printed_row("cosine(encoder='glove-6b-50d', pooling='mean')") == "COS-FT"
    assert prior.find_printed_row("fed(over='conversation')") == "FED-RELEVANT"
    assert prior.find_printed_row("length") == "length"
