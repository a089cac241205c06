"""The IDK reproduction on made-up vectors and ratings; the printed figures against each other.

No rated row is read here but by counts: the rows are an examination.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rejoinder.data.collection import collect
from rejoinder.errors import RejoinderError
from rejoinder.papers.base import Figure, Reproduction, write_reproduction
from rejoinder.papers.base import reproduction_tables as tables_of
from rejoinder.papers.idk import figures as drawings
from rejoinder.papers.idk import idk, tables
from rejoinder.papers.idk.masking import HELD_OUT, MaskedAccuracy, find_largest_weights, measure_masking, recover_head
from rejoinder.papers.idk.rows import (
    RatedColumn,
    draw_rated_rows,
    read_test_rows,
    read_valid_rows,
    score_column,
    score_samples,
)
from rejoinder.papers.idk.variants import SEEDS, IdkVariant, list_variants, train_all_variants
from rejoinder.papers.loader import load_published
from rejoinder.papers.own.relevance.rows import FIVE, RelevanceColumn, RelevanceRows
from rejoinder.papers.own.relevance.tables import PUBLISHED
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.training.idk import IdkRegression
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
    others = {"length": random.normal(size=n), "norm_prob": np.where(np.arange(n) < 20, ratings, math.nan)}
    return RatedColumn(name, features, ratings, others, [f"u{i // 2}" for i in range(n)])


@pytest.fixture(scope="module")
def measured() -> idk.IdkMeasures:
    runs = train_all_variants(Made(), talks(), contexts=30)
    head = IdkRegression(np.r_[2.0, np.zeros(DIMENSIONS - 1)], 0.1)
    masked = measure_masking(Made(), talks(), head, IdkRegression(np.r_[-1.0, np.zeros(DIMENSIONS - 1)], 0.0), n=20)
    test = [made_up(name, seed) for seed, name in enumerate(FIVE)]
    specs = {"COS-FT": "length", "NUP-BERT (H)": "length", "NORM-PROB": "norm_prob"}
    return idk.IdkMeasures(runs, test, made_up("USR-TC", 9), head, masked, specs, frozenset({"NORM-PROB"}))


@pytest.fixture(scope="module")
def found(measured: idk.IdkMeasures) -> Reproduction:
    return idk.assemble_idk(measured, {"FED-RELEVANT": "FED-RELEVANT: not measured: fed (get it with: do so)."})


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
        figure = at(found, tables.OWN, "IDK (TC-S)", cell)
        assert figure.measured == pytest.approx(np.mean(values))
        assert figure.published == tables.TABLE_11["IDK (TC-S)"][cell].mean
        spread = at(found, tables.OWN + tables.DEVIATION, "IDK (TC-S)", cell)
        assert spread.measured == pytest.approx(np.std(values, ddof=1))
        assert spread.published == tables.TABLE_11["IDK (TC-S)"][cell].deviation
        assert at(found, tables.ABLATIONS, "TC-S, L1, idk", cell).measured == figure.measured
        assert len(values) == len(SEEDS)


def test_every_table_is_there_in_the_papers_order(found: Reproduction) -> None:
    titles = [table.title for table in tables_of(found)]
    numbers = [int(re.findall(r"\d+", title)[0]) for title in titles]
    assert numbers == sorted(numbers)
    assert set(numbers) == {2, 3, 4, 5, 7, 8, 9, 10, 11}
    assert math.isnan(at(found, tables.ALL_VALID, "H_IDK_bce_L1", "HUMOD S").measured)
    assert not math.isnan(at(found, tables.ALL_VALID, "H_IDK_bce_L1", "USR-TC S").measured)
    assert math.isnan(at(found, tables.PRIOR, "GRADE", "HUMOD S").measured)
    assert not math.isnan(at(found, tables.PRIOR, "COS-FT", "HUMOD S").measured)


def test_a_prior_metric_has_the_interval_of_its_column_by_units(found: Reproduction, measured: idk.IdkMeasures) -> None:
    figure = at(found, tables.PRIOR, "COS-FT", "P-DD S")
    one = measured.test[2]
    assert figure.measured == pytest.approx(stats.spearmanr(one.others["length"], one.ratings).statistic)
    plan = BootstrapPlan(method="spearman", seed=one.seed)
    [interval] = correlation_intervals({"x": one.others["length"]}, one.ratings, plan, items=list(one.units)).values()
    assert (figure.low, figure.high, figure.n) == (interval.low, interval.high, 60)
    assert figure.published == -0.02


def test_a_sampled_row_says_so_and_counts_its_rows(found: Reproduction) -> None:
    figure = at(found, tables.PRIOR, "NORM-PROB, 100 rows per column", "HUMOD S")
    assert (figure.published, figure.measured, figure.n) == (0.19, pytest.approx(1.0), 20)
    assert any("sampled once with the column's seed" in note for note in found.notes)
    assert at(found, tables.RATIO, "NORM-PROB, 100 rows per column", "ratio").measured == pytest.approx(1.0)
    [said] = [note for note in found.notes if note.startswith("IDK depends least")]
    assert "NORM-PROB" not in said, "a sample's ratio is no rival"


def test_a_row_that_cannot_be_measured_says_what_to_do(found: Reproduction) -> None:
    figure = at(found, tables.PRIOR, "FED-RELEVANT", "HUMOD S")
    assert math.isnan(figure.measured)
    assert figure.note == "FED-RELEVANT: not measured: fed (get it with: do so)."


def test_nup_stands_in_every_table_that_prints_it(found: Reproduction) -> None:
    values = {
        at(found, table, "NUP-BERT (H)", "HUMOD S").measured for table in (tables.PRIOR, tables.OWN, tables.NEGATIVES)
    }
    assert len(values) == 1
    assert not math.isnan(values.pop())


def test_what_is_absent_is_named_with_its_command_and_the_rest_goes_on() -> None:
    specs, absent = idk._split_measurable(
        {"COS-MAX-BERT": "context_overlap", "NUP-BERT (H)": "nup", "NORM-PROB": "norm_prob"}
    )
    assert specs == {"COS-MAX-BERT": "context_overlap"}
    assert absent["NUP-BERT (H)"].startswith("NUP-BERT (H): not measured: nup (")
    assert "rejoinder train nup" in absent["NUP-BERT (H)"]
    assert "rejoinder models get smollm2-135m" in absent["NORM-PROB"] or "torch" in absent["NORM-PROB"]


def test_the_ratio_is_of_the_mean_correlations(found: Reproduction) -> None:
    values = [at(found, tables.OWN, "IDK (H)", f"{column} S").measured for column in FIVE]
    ratio = at(found, tables.RATIO, "IDK (H)", "ratio")
    assert ratio.measured == pytest.approx(max(values) / min(values))
    assert ratio.published == 3.9


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


def test_each_finding_is_said_in_one_sentence_with_its_figures(found: Reproduction) -> None:
    starts = (
        "L1 matters with a fixed negative: ",
        "7 dimensions suffice: confirmed; ",
        "The training set hardly matters: ",
        "IDK does not beat the raw next-sentence head on Spearman: ",
        "IDK depends least on the test set: ",
        "Targets for IDK on the embedded features, set before it was measured: HUMOD ",
        "Random negatives make more weights large: ",
    )
    for start, note in zip(starts, found.notes, strict=False):
        assert note.startswith(start), note
        assert re.search(r"\.\d", note)
        assert note.count("; ") + 1 >= 1
    assert found.notes[-1] == "FED-RELEVANT: not measured: fed (get it with: do so)."


def runs_of(humod: float) -> list[dict[str, float]]:
    return [{f"{column} S": humod if column == "HUMOD" else 0.3 for column in FIVE}]


def test_findings_follow_the_numbers() -> None:
    from rejoinder.papers.idk.claims import list_idk_findings

    test = {
        IdkVariant("H"): runs_of(0.58),
        IdkVariant("TC-S"): runs_of(0.50),
        IdkVariant("H", "idk", "none"): runs_of(0.42),
        IdkVariant("TC-S", "idk", "none"): runs_of(0.49),
    }
    head = runs_of(0.4)[0]
    masked = {"a": MaskedAccuracy(0.9, 0.6, 0.9, 0.8, 10), "b": MaskedAccuracy(0.9, 0.5, 0.9, 0.8, 10)}
    said = list(list_idk_findings(test, head, masked, {}))
    assert "fixed negative: confirmed in part; Spearman on HUMOD is 0.58 with and 0.42 without on H" in said[0]
    assert said[1].startswith("7 dimensions suffice: refuted; ")
    assert said[2].startswith("The training set hardly matters: refuted; Spearman differs most on HUMOD, 0.58")
    assert ": refuted; the mean over five columns is 0.356 vs. 0.320" in said[3]
    assert "ahead on HUMOD;" in said[3]
    assert "lower: BERT NSP (1.3)" in said[4]
    assert "HUMOD 0.58 (reaches 0.50), FED-rel 0.30 (reaches 0.20)" in said[5]


# Drawings and files


def test_results_and_drawings_are_written_and_are_sound(found: Reproduction, tmp_path: Path) -> None:
    paths = write_reproduction(found, tmp_path)
    drawn = sorted(path.name for path in paths if path.suffix == ".svg")
    assert drawn == [f"idk-figure-{i}.svg" for i in range(1, 8)]
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


def made_up_rows(name: str, seed: int, n: int) -> RelevanceRows:
    records: list[Any] = []
    for i in range(n):
        records += [Item(f"i{i}", (Turn(f"what is {i}?"),)), Response(f"{name}-{i}", f"i{i}", "s", "word " * (i + 1))]
        records.append(Rating("mean", "relevance", float(i % 5), f"{name}-{i}"))
    return RelevanceRows(
        RelevanceColumn(name, "x", "relevance", None, seed),
        collect(records),
        {f"{name}-{i}": f"i{i}" for i in range(n)},
    )


def test_a_sample_is_drawn_once_by_the_columns_seed() -> None:
    first, second, other = (made_up_rows(name, seed, 50) for name, seed in (("a", 3), ("b", 3), ("c", 4)))
    drawn = [[pair.response.text for pair in draw_rated_rows(rows, 10)] for rows in (first, second, other)]
    assert drawn[0] == drawn[1] == [pair.response.text for pair in draw_rated_rows(first, 10)]
    assert drawn[0] != drawn[2]
    assert len(set(drawn[0])) == 10
    assert len(draw_rated_rows(first, 50)) == len(draw_rated_rows(first, 99)) == 50


def test_a_sample_is_scored_as_alone_and_equal_texts_once(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    import tiny_language_model

    from rejoinder.metric import parse
    from rejoinder.models.language_model import likelihood
    from rejoinder.scoring.api import score_pairs

    monkeypatch.setenv("REJOINDER_THREADS", "1")
    tiny_language_model.install(own_cache)
    specs = ["norm_prob", "fed", "fed(aspect='correct')"]
    columns = [made_up_rows(name, seed, 20) for name, seed in (("a", 3), ("b", 3))]
    read: list[int] = []
    one = likelihood.read_token_rows
    monkeypatch.setattr(
        likelihood, "read_token_rows", lambda network, rows: (read.append(len(rows)), one(network, rows))[1]
    )
    found = score_samples(columns, specs, 8)
    assert sum(read) == 8 * 2, "contexts once for norm_prob, conversations once for both aspects, of one column alone"
    for rows, scores in zip(columns, found, strict=True):
        drawn = draw_rated_rows(rows, 8)
        for spec in specs:
            assert list(scores[spec]) == [pair.response.id for pair in drawn]
            assert list(scores[spec].values()) == pytest.approx(score_pairs(parse(spec), drawn).tolist(), abs=1e-4)


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
    }
    for name, made in replaced.items():
        monkeypatch.setattr(idk, name, made)
    monkeypatch.setattr(idk, "SPECS", {**dict.fromkeys(("COS-FT", "COS-MAX-BERT"), "length"), **SLOW_SPECS})


SLOW_SPECS = {row: idk.SPECS[row] for row in (*idk.SLOW, "NUP-BERT (H)")}


def test_without_the_models_the_command_goes_on_and_says_what_to_run(small: None, own_cache: Path) -> None:
    found = idk.reproduce()
    assert not math.isnan(at(found, tables.PRIOR, "COS-FT", "HUMOD S").measured)
    assert math.isnan(at(found, tables.PRIOR, "NORM-PROB", "HUMOD S").measured)
    assert "rejoinder train nup" in at(found, tables.PRIOR, "NUP-BERT (H)", "HUMOD S").note
    assert [note.partition(":")[0] for note in found.notes[-4:]] == list(SLOW_SPECS)


def test_with_the_models_their_rows_are_measured_on_a_sample(small: None, own_cache: Path) -> None:
    pytest.importorskip("transformers")
    import tiny_language_model

    tiny_language_model.install(own_cache)
    found = idk.reproduce()
    for row in idk.SLOW:
        for table, cell in ((tables.PRIOR, "FED-rel P"), (tables.PRIOR_VALID, "USR-TC S")):
            figure = at(found, table, f"{row}, 100 rows per column", cell)
            assert not math.isnan(figure.measured)
            assert figure.n == 12
    whole = idk.reproduce(["fed"])
    named = at(whole, tables.PRIOR, "FED-RELEVANT", "HUMOD S")
    sampled = at(found, tables.PRIOR, "FED-RELEVANT, 100 rows per column", "HUMOD S")
    assert named.measured == pytest.approx(sampled.measured), "all rows, by the usual way, where the metric is named"
    assert named.published == sampled.published


def test_scores_of_a_sample_are_joined_by_id() -> None:
    rows = made_up_rows("a", 0, 5)
    one = score_column(rows, Made(), ["length"], {"fed": {"a-3": 0.5, "a-1": 0.2}})
    assert one.others["fed"] == pytest.approx([math.nan, 0.2, math.nan, 0.5, math.nan], nan_ok=True)
    assert list(one.units) == [f"i{i}" for i in range(5)]
    assert list(one.others) == ["length", "fed"]


def test_the_validation_rows_are_the_contexts_that_are_not_tested(published: Path) -> None:
    rows = read_test_rows()
    assert [one.column.name for one in rows] == list(FIVE)
    valid = read_valid_rows(rows[1])
    assert len(valid.data.responses) == 180
    assert not set(valid.units.values()) & set(rows[1].units.values())


def test_a_spec_that_stands_for_a_printed_row_takes_its_place() -> None:
    assert idk._find_printed_row("cosine(pooling='max', encoder='aptness')") == "COS-MAX-BERT"
    assert idk._find_printed_row("length") == "length"
