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
from rejoinder.reproduce import _idk_drawings as drawings
from rejoinder.reproduce import _idk_published as published
from rejoinder.reproduce import _idk_tables as tables
from rejoinder.reproduce import idk
from rejoinder.reproduce._contract import Figure, Reproduction, write_results
from rejoinder.reproduce._contract import tables as tables_of
from rejoinder.reproduce._idk_judged import Judged, judge, read_test, read_valid
from rejoinder.reproduce._idk_masking import HELD_OUT, Masked, largest, mask, read_head
from rejoinder.reproduce._idk_variants import SEEDS, Variant, train_all, variants
from rejoinder.reproduce._relevance_published import FIVE, PUBLISHED
from rejoinder.reproduce._relevance_rows import Column, Rows
from rejoinder.training.idk_steps import Fitted
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


def made_up(name: str, seed: int, n: int = 60) -> Judged:
    random = np.random.default_rng(seed)
    features = np.tanh(0.5 * random.normal(size=(n, DIMENSIONS))).astype(np.float32)
    ratings = np.clip(np.round(3 + 2 * features[:, 0] + 0.3 * random.normal(size=n), 1), 1, 5)
    return Judged(name, features, ratings, {"length": random.normal(size=n)})


@pytest.fixture(scope="module")
def measured() -> idk.Measured:
    runs = train_all(Made(), talks(), contexts=30)
    head = Fitted(np.r_[2.0, np.zeros(DIMENSIONS - 1)], 0.1)
    masked = mask(Made(), talks(), head, Fitted(np.r_[-1.0, np.zeros(DIMENSIONS - 1)], 0.0), n=20)
    test = [made_up(name, seed) for seed, name in enumerate(FIVE)]
    return idk.Measured(runs, test, made_up("USR-TC", 9), head, masked, {"COS-FT": "length"})


@pytest.fixture(scope="module")
def found(measured: idk.Measured) -> Reproduction:
    return idk.assemble(measured, ["Not measured: nup (no network)."])


def at(found: Reproduction, table: str, row: str, column: str) -> Figure:
    [one] = [f for f in found.figures if (f.table, f.row, f.column) == (table, row, column)]
    return one


# What is printed


def test_the_printed_tables_agree_where_they_repeat_each_other() -> None:
    for row in ("IDK (H)", "IDK (TC-S)", "NUP-BERT (H)", "NUP-BERT (TC-S)", "NUP-BERT (TC)", "BERT NSP"):
        for column in FIVE:
            assert published.TABLE_11[row][f"{column} S"].mean == PUBLISHED[row].spearman[column], (row, column)
            assert published.TABLE_11[row][f"{column} P"].mean == PUBLISHED[row].pearson[column], (row, column)
    for data in ("H", "TC-S"):
        assert published.TABLE_5[f"{data}, L1, idk"] == published.TABLE_11[f"IDK ({data})"]


def test_the_pinned_ablations_on_humod_are_as_printed() -> None:
    rows = ("H, L1, idk", "H, idk", "H, L1, random", "H, random")
    assert [published.TABLE_5[row]["HUMOD S"].mean for row in rows] == [0.58, 0.42, 0.61, 0.60]


def test_the_printed_ratios_follow_from_the_printed_correlations() -> None:
    for row, ratio in published.RATIOS.items():
        values = [published.TABLE_11[row][f"{column} S"].mean for column in FIVE]
        assert max(values) / min(values) == pytest.approx(ratio, abs=0.01), row


def test_every_variant_has_its_printed_row() -> None:
    mine = list(variants())
    assert len(mine) == len(set(mine)) == 28
    assert {v.short for v in mine if v.negative in ("idk", "random")} == set(published.TABLE_10)
    assert {v.metric for v in mine} == {row for row in published.TABLE_11 if row.startswith("IDK")}
    assert Variant("TC-S", "random", "l2").short == "TC-S_Rand3750_bce_L2"
    assert Variant("H", "idk", "none", "triplet").long == "H, idk"


# Measured beside printed


def test_a_figure_is_the_mean_over_seeds_of_the_correlation_of_scores_and_ratings(
    found: Reproduction, measured: idk.Measured
) -> None:
    for column, kind, method in ((0, "S", stats.spearmanr), (3, "P", stats.pearsonr)):
        one = measured.test[column]
        values = []
        for fitted in measured.runs[Variant("TC-S")]:
            odds = one.features.astype(float) @ fitted.weights + fitted.bias
            values.append(method(1 / (1 + np.exp(-odds)), one.ratings).statistic)
        cell = f"{FIVE[column]} {kind}"
        figure = at(found, tables.OWN, "IDK (TC-S)", cell)
        assert figure.measured == pytest.approx(np.mean(values))
        assert figure.published == published.TABLE_11["IDK (TC-S)"][cell].mean
        spread = at(found, tables.OWN + tables.DEVIATION, "IDK (TC-S)", cell)
        assert spread.measured == pytest.approx(np.std(values, ddof=1))
        assert spread.published == published.TABLE_11["IDK (TC-S)"][cell].deviation
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


def test_the_ratio_is_of_the_mean_correlations(found: Reproduction) -> None:
    values = [at(found, tables.OWN, "IDK (H)", f"{column} S").measured for column in FIVE]
    ratio = at(found, tables.RATIO, "IDK (H)", "ratio")
    assert ratio.measured == pytest.approx(max(values) / min(values))
    assert ratio.published == 3.9


# Masking


def test_the_head_is_read_from_vectors_and_log_odds() -> None:
    random = np.random.default_rng(0)
    features, weights = random.normal(size=(40, 6)).astype(np.float32), random.normal(size=6)
    head = read_head(features, features.astype(float) @ weights - 0.7)
    assert head.weights == pytest.approx(weights, abs=1e-6)
    assert head.bias == pytest.approx(-0.7, abs=1e-6)
    with pytest.raises(RejoinderError, match="not a linear layer"):
        read_head(features, (features.astype(float) @ weights) ** 2)


def test_the_largest_weights_are_kept_whatever_their_sign() -> None:
    assert largest(Fitted(np.array([0.1, -3.0, 0.0, 2.0]), 0.0), 2) == [1, 3]


def test_dimensions_that_the_head_does_not_use_can_go(measured: idk.Measured) -> None:
    for masked in measured.masked.values():
        assert masked.kept == masked.whole
        assert masked.kept_ahead == masked.whole_ahead
        assert masked.n == 40
    useless = Fitted(np.r_[0.0, np.ones(DIMENSIONS - 1)], 0.0)
    lost = mask(Made(), talks(), measured.head, useless, n=20)["friends"]
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
        "Asked of IDK on the embedded features before it was measured: HUMOD ",
        "Random negatives make more weights large: ",
    )
    for start, note in zip(starts, found.notes, strict=False):
        assert note.startswith(start), note
        assert re.search(r"\.\d", note)
        assert note.count("; ") + 1 >= 1
    assert found.notes[-1] == "Not measured: nup (no network)."


def runs_of(humod: float) -> list[dict[str, float]]:
    return [{f"{column} S": humod if column == "HUMOD" else 0.3 for column in FIVE}]


def test_findings_follow_the_numbers() -> None:
    from rejoinder.reproduce._idk_findings import findings

    test = {
        Variant("H"): runs_of(0.58),
        Variant("TC-S"): runs_of(0.50),
        Variant("H", "idk", "none"): runs_of(0.42),
        Variant("TC-S", "idk", "none"): runs_of(0.49),
    }
    head = runs_of(0.4)[0]
    masked = {"a": Masked(0.9, 0.6, 0.9, 0.8, 10), "b": Masked(0.9, 0.5, 0.9, 0.8, 10)}
    said = list(findings(test, head, masked, {}))
    assert "fixed negative: confirmed in part; Spearman on HUMOD is 0.58 with and 0.42 without on H" in said[0]
    assert said[1].startswith("7 dimensions suffice: refuted; ")
    assert said[2].startswith("The training set hardly matters: refuted; Spearman differs most on HUMOD, 0.58")
    assert ": refuted; the mean over five columns is 0.356 against 0.320" in said[3]
    assert "ahead on HUMOD;" in said[3]
    assert "lower: BERT NSP (1.3)" in said[4]
    assert "HUMOD 0.58 (reaches 0.50), FED-rel 0.30 (reaches 0.20)" in said[5]


# Drawings and files


def test_results_and_drawings_are_written_and_are_sound(found: Reproduction, tmp_path: Path) -> None:
    paths = write_results(found, tmp_path)
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
    svg = drawings.scatter("a < b", np.array([1.0, 2, 3, math.nan]), np.array([0.1, math.nan, 0.9, 0.4]))
    assert svg.count("h0") == 2
    assert "a &lt; b" in svg
    bars = drawings.histogram("w", {"one": np.array([0.1, 0.1, 1e-4, 0.0]), "two": np.array([1.0])})
    assert bars.count("z") - bars.count("font-size") >= 3
    assert drawings.scatter("flat", np.ones(3), np.ones(3)).count("h0") == 3


# Rows


def test_rows_are_read_with_vectors_ratings_and_other_scores() -> None:
    records: list[Any] = []
    for i in range(6):
        records += [Item(f"i{i}", (Turn("m1 what now?"),)), Response(f"r{i}", f"i{i}", "s", "m1 " + "word " * i)]
        records.append(Rating("mean", "relevance", float(i), f"r{i}"))
    rows = Rows(Column("X", "x", "relevance", None, 0), collect(records), {f"r{i}": f"i{i}" for i in range(6)})
    one = judge(rows, Made(), ["context_overlap"])  # type: ignore[arg-type]
    assert one.ratings.tolist() == [0, 1, 2, 3, 4, 5]
    assert one.features.shape == (6, DIMENSIONS)
    assert list(one.others) == ["context_overlap"]


def test_the_validation_rows_are_the_contexts_that_are_not_tested(published: Path) -> None:
    rows = read_test()
    assert [one.column.name for one in rows] == list(FIVE)
    valid = read_valid(rows[1])
    assert len(valid.data.responses) == 180
    assert not set(valid.units.values()) & set(rows[1].units.values())


def test_a_spec_that_stands_for_a_printed_row_takes_its_place() -> None:
    assert idk._printed("cosine(pooling='max', encoder='aptness')") == "COS-MAX-BERT"
    assert idk._printed("length") == "length"
