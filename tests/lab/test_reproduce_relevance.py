"""The relevance reproduction: rows joined honestly, published figures as printed, summaries as defined.

No trained metric is run here: the rows are an examination. Only trivial metrics, made-up scores and the scores that
the authors of IDK published are held against the ratings.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from rejoinder_lab.papers.base import Figure, Reproduction, reproduction_tables, write_reproduction
from rejoinder_lab.papers.own import lengths
from rejoinder_lab.papers.own.relevance import relevance
from rejoinder_lab.papers.own.relevance.measures import (
    ColumnCorrelation,
    ScoredColumn,
    column_sensitivity,
    correlate_column,
    find_worst_column,
    macro_average,
    score_relevance_rows,
)
from rejoinder_lab.papers.own.relevance.relevance import _OWN, list_relevance_notes
from rejoinder_lab.papers.own.relevance.rows import (
    COLUMNS,
    FIVE,
    SIX,
    UNKNOWN,
    RelevanceColumn,
    RelevanceRows,
    join_systems,
    read_relevance_rows,
)
from rejoinder_lab.papers.own.relevance.tables import FLOORS, PUBLISHED, pooled_figures
from rejoinder_lab.papers.own.relevance.teachers import add_teacher_scores
from scipy import stats

from rejoinder.data.collection import Collection, collect
from rejoinder.errors import InputError
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.grouped import correlate_within
from rejoinder.stats.interval import Interval
from rejoinder.types import Item, Rating, Response, Turn

FEW = BootstrapPlan(n_resamples=50)


def at(found: Reproduction, table: str, row: str, column: str) -> Figure:
    [one] = [f for f in found.figures if (f.table, f.row, f.column) == (table, row, column)]
    return one


def of(value: float, samples: list[float]) -> ColumnCorrelation:
    return ColumnCorrelation(Interval(value, math.nan, math.nan, 10, 0, 10), np.array(samples))


# Published figures


def test_the_printed_ratios_follow_from_the_printed_correlations() -> None:
    # Table 4 against Tables 2 and 3: a slip in copying either would show.
    for row, known in PUBLISHED.items():
        if known.ratio is not None:
            values = known.spearman.values()
            assert max(values) / min(values) == pytest.approx(known.ratio, abs=0.06), row
    assert min(PUBLISHED["GRADE"].spearman.values()) == min(PUBLISHED["DYNA-EVAL"].spearman.values()) == 0


def test_every_published_row_has_both_correlations_of_the_same_columns() -> None:
    for known in PUBLISHED.values():
        assert list(known.spearman) == list(known.pearson)
        assert set(known.spearman) <= set(SIX)
    assert tuple(column.name for column in COLUMNS) == SIX == tuple(FLOORS)


# Joining


def usr_like() -> tuple[Collection, Collection]:
    """Rows as IDK has them, and the set that knows the systems."""
    long = "Is the Café open? " + "word " * 20
    rows = [
        Item("c-0", (Turn("hello there . how are you ?"),)),
        Item("c-1", (Turn("is the cafe open ? word word wo"),), meta={"end_cut": True}),
        Response("r-0", "c-0", UNKNOWN, "fine , thanks [UNK]"),
        Response("r-1", "c-0", UNKNOWN, "good ."),
        Response("r-2", "c-1", UNKNOWN, "it ' s closed"),
        Response("r-3", "c-1", UNKNOWN, "nobody said this"),
        Response("r-4", "c-0", UNKNOWN, "fine"),
        *(Rating("mean", "relevance", v, f"r-{i}") for i, v in enumerate([2.33, 3.0, 1.0, 2.0, 2.0])),
    ]
    known = [
        Item("k-0", (Turn("Hello there."), Turn("How are you?")), dialogue="d"),
        Item("k-1", (Turn(long),)),
        *(
            Response(f"k-0/{s}", "k-0", s, t)
            for s, t in {"A": "Fine, thanks 😀", "B": "Good.", "C": "good", "D": "Fine"}.items()
        ),
        Response("k-1/A", "k-1", "A", "It's closed"),
        *(
            Rating(f"p{i}", "relevance", v, "k-0/A")
            for i, v in enumerate([2, 2, 3])  # the mean is 2.333...
        ),
        Rating("p0", "relevance", 3, "k-0/B"),
        Rating("p0", "relevance", 3, "k-0/C"),
        Rating("p0", "relevance", 1, "k-0/D"),
        Rating("p0", "relevance", 1, "k-1/A"),
        Rating("p0", "fluency", 2, "k-1/A"),
    ]
    return collect(rows), collect(known)


def test_a_row_is_joined_by_reply_context_and_rating_and_stays_unknown_where_two_systems_said_it() -> None:
    column = RelevanceColumn("X", "x/x", "relevance", "y/y", 0)
    found = join_systems(column, *usr_like())
    assert {name: r.system for name, r in found.data.responses.items()} == {
        "r-0": "A",
        "r-1": UNKNOWN,  # B and C gave the same reply with the same rating
        "r-2": "A",  # the context was cut
        "r-3": UNKNOWN,
        "r-4": UNKNOWN,  # D was rated otherwise
    }
    assert found.n_joined == 2
    assert found.units == {"r-0": "d", "r-1": "d", "r-2": "k-1", "r-3": "c-1", "r-4": "c-0"}


def test_the_published_rows_find_their_systems(published: Path) -> None:
    by_name = {column.name: read_relevance_rows(column) for column in COLUMNS}
    joined = {name: rows.n_joined for name, rows in by_name.items()}
    assert joined == {"HUMOD": 0, "USR-TC": 178, "P-DD": 0, "FED-cor": 375, "FED-rel": 375, "Gupta 500": 500}
    assert {len(set(by_name[name].units.values())) for name in ("FED-cor", "FED-rel")} == {125}
    assert len(set(by_name["USR-TC"].units.values())) == 30
    both = [[r.text for r in by_name[name].data.responses.values()] for name in ("FED-cor", "FED-rel")]
    assert both[0] == both[1]  # so one seed draws the same rows for both


# Summaries


def test_the_macro_average_is_the_mean_of_columns_on_every_resample() -> None:
    columns = [of(0.2, [0.1, 0.2, 0.3] * 20), of(0.4, [0.3, 0.4, 0.5] * 20)]
    found = macro_average(columns, FEW)
    assert found.value == pytest.approx(0.3)
    assert found.low == pytest.approx(0.2)
    assert found.high == pytest.approx(0.4)
    assert (found.n, found.n_clusters) == (20, 10)


def test_the_worst_column_is_the_lowest_and_one_without_a_value_is_worse() -> None:
    columns = {"a": of(0.2, []), "b": of(-0.1, []), "c": of(0.5, [])}
    assert find_worst_column(columns)[0] == "b"
    assert find_worst_column(columns | {"d": of(math.nan, [])})[0] == "d"


def test_the_ratio_of_best_to_worst_keeps_its_sign_and_is_missing_where_it_would_be_infinite() -> None:
    assert column_sensitivity([of(0.6, [0.6] * 40), of(0.2, [0.2] * 40)], FEW).value == pytest.approx(3)
    negative = column_sensitivity([of(0.3, [0.3] * 40), of(-0.1, [-0.1] * 40)], FEW)
    assert negative.value == pytest.approx(-3)
    assert math.isnan(negative.low)
    assert math.isnan(column_sensitivity([of(0.3, [0.3] * 40), of(0.0, [0.0] * 40)], FEW).value)


# The whole on made-up rows


def made_up(column: RelevanceColumn, seed: int, n: int = 40) -> RelevanceRows:
    random = np.random.default_rng(seed)
    records: list[Item | Response | Rating] = []
    systems = ("A", "B") if column.twin or column.name == "Gupta 500" else (UNKNOWN,)
    for i in range(n):
        records.append(Item(f"i{i}", (Turn("what now?"),)))
        text = " ".join(["word"] * int(random.integers(1, 30)))
        meta = {} if column.name == "Gupta 500" else {"idk": float(random.normal())}
        records.append(Response(f"r{i}", f"i{i}", systems[i % len(systems)], text, meta))
        records.append(Rating("mean", column.aspect, float(random.integers(1, 6)), f"r{i}"))
    data = collect(records)
    return RelevanceRows(column, data, {f"r{i}": f"i{i}" for i in range(n)})


def pretended(name: str, noise: float) -> list[ScoredColumn]:
    """Made-up rows whose "metric" is the rating and some noise; the name of a metric that is not run."""
    found = []
    for number, column in enumerate(COLUMNS):
        scored = score_relevance_rows(made_up(column, number), ["length"])
        random = np.random.default_rng(100 + number)
        column_of = scored.evidence.mean + noise * random.normal(size=len(scored.evidence))
        evidence = dataclasses.replace(scored.evidence, scores={**scored.evidence.scores, name: column_of})
        found.append(dataclasses.replace(scored, evidence=evidence, metrics={**scored.metrics, name: "made up"}))
    return found


def test_figures_agree_with_scipy_and_with_their_definitions() -> None:
    scored = pretended("idk", noise=1.0)
    found = relevance.assemble_relevance(scored, plan=FEW)
    values = []
    for one in scored:
        expected = stats.spearmanr(one.evidence.scores["idk"], one.evidence.mean).statistic
        figure = at(found, "Spearman", "idk", one.rows.column.name)
        assert figure.measured == pytest.approx(expected)
        assert figure.published == PUBLISHED["IDK (H)"].spearman.get(one.rows.column.name)
        expected_pearson = stats.pearsonr(one.evidence.scores["idk"], one.evidence.mean).statistic
        assert at(found, "Pearson", "idk", one.rows.column.name).measured == pytest.approx(expected_pearson)
        values.append(expected)
    assert at(found, "Spearman over all six", "idk", "macro average").measured == pytest.approx(np.mean(values))
    assert at(found, "Spearman over all six", "idk", "worst column").measured == pytest.approx(min(values))
    ratio = at(found, "Spearman over the first five", "idk", "ratio of best to worst")
    assert ratio.measured == pytest.approx(max(values[:5]) / min(values[:5]))
    assert ratio.published == 3.9
    inside = correlate_within(scored[5].evidence.scores["idk"], scored[5].evidence.mean, scored[5].evidence.systems)
    assert at(found, "Spearman within systems", "idk", "Gupta 500").measured == pytest.approx(inside.value)
    assert {f.column for f in found.figures if f.table == "Spearman within systems"} == {
        "USR-TC",
        "FED-cor",
        "FED-rel",
        "Gupta 500",
    }


@pytest.mark.parametrize(
    ("noise", "said"), [(0.01, "aptness reaches every minimum."), (50.0, "aptness misses the minimum on HUMOD (")]
)
def test_the_floors_of_aptness_are_said(noise: float, said: str) -> None:
    found = relevance.assemble_relevance(pretended("aptness", noise), plan=FEW)
    assert [note for note in found.notes if note.startswith(said)]
    assert any("HUMOD 0.62, USR-TC 0.28" in note for note in found.notes)
    held = at(found, "Spearman", "aptness", "HUMOD").note
    assert held == f"made up; minimum 0.62: {'reached' if noise < 1 else 'missed'}"


def test_figures_by_length_are_those_of_the_rows_in_the_bin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "REPLY_BINS", (16, 200))
    monkeypatch.setattr("rejoinder_lab.papers.own.relevance.lengths.FEWEST", 10)
    scored = pretended("aptness", noise=1.0)
    found = relevance.assemble_relevance(scored, plan=FEW)
    table = "Spearman of aptness by tokens of the reply"
    for row, chosen in (("1 to 15", range(1, 16)), ("16 to 199", range(16, 200))):
        values = []
        for one in scored:
            sizes = [len(one.rows.data.responses[name].text.split()) for name in one.evidence.responses]
            rows = [i for i, size in enumerate(sizes) if size in chosen]
            expected = stats.spearmanr(one.evidence.scores["aptness"][rows], one.evidence.mean[rows]).statistic
            figure = at(found, table, row, one.rows.column.name)
            assert figure.measured == pytest.approx(expected)
            assert figure.n == len(rows)
            assert figure.low is not None
            assert figure.low <= figure.measured
            values.append(expected)
        assert at(found, table, row, "mean of the sets").measured == pytest.approx(np.mean(values))
    assert "200 or more" not in {f.row for f in found.figures if f.table == table}
    assert not any("of length by" in f.table for f in found.figures)


def test_the_results_can_be_written_and_have_all_columns(tmp_path: Path) -> None:
    found = relevance.assemble_relevance(pretended("aptness", 1.0), ["Not measured: nup (no such metric)."], FEW)
    assert [table.title for table in reproduction_tables(found)] == [
        "Spearman",
        "Spearman over all six",
        "Spearman over the first five",
        "Spearman within systems",
        "Pearson",
        "Pearson over all six",
        "Spearman of aptness by tokens of the context",  # the replies are too few in each bin
    ]
    heads = reproduction_tables(found)[0].heads
    assert [head.partition(":")[0] for head in heads[1::2]] == list(SIX)
    page, data = (path.read_text() for path in write_reproduction(found, tmp_path))
    assert "Not measured: nup" in page
    assert "Infinity" not in data
    assert "NaN" not in data


def test_a_metric_that_is_not_here_is_named_and_left_out() -> None:
    able, absent = relevance.split_usable(["length", "no_such_metric", "context_overlap(turns=2)"])
    assert able == ["length", "context_overlap(turns=2)"]
    assert len(absent) == 1
    assert absent[0].startswith("Not measured: no_such_metric (no metric is called")


def test_every_default_spec_needs_at_most_the_context_and_references() -> None:
    from rejoinder.metric import metric_names, parse

    for spec in relevance.SPECS:
        if spec.partition("(")[0] in metric_names():
            assert parse(spec).needs <= {"context", "references"}


def test_a_metric_that_needs_references_has_a_cell_only_where_there_are_some() -> None:
    none = ColumnCorrelation(Interval(math.nan, math.nan, math.nan, 0, 10, 0), np.full(3, math.nan))
    correlations = {column: {"bleu": none} for column in FIVE} | {"Gupta 500": {"bleu": of(0.3, [0.2, 0.3, 0.4])}}
    found = list(pooled_figures(correlations, {"bleu": "signature"}, FEW))
    assert [(f.table, f.column) for f in found if f.row == "bleu"] == [("Spearman", "Gupta 500")]


def test_the_metrics_that_need_nothing_fetched_are_in_the_table() -> None:
    assert {"cosine", "idk", "nsp", "aptness"} <= set(relevance.SPECS)
    said = list(list_relevance_notes([score_relevance_rows(made_up(COLUMNS[0], 7), ["length"])], 50))
    assert not any("BERT's" in note for note in said)
    assert set(_OWN) <= set(relevance.SPECS)


def test_the_two_columns_of_fed_are_drawn_together() -> None:
    first, second = (RelevanceColumn(name, "x", "relevance", None, seed=3) for name in ("FED-cor", "FED-rel"))
    one, two = (
        correlate_column(score_relevance_rows(made_up(c, 7), ["length"]), FEW)["length"] for c in (first, second)
    )
    assert (one.samples == two.samples).all()
    assert COLUMNS[3].seed == COLUMNS[4].seed
    assert len({c.seed for c in COLUMNS}) == 5


# The published rows


def test_the_scores_that_idk_s_authors_published_give_their_figures(published: Path) -> None:
    scored = [score_relevance_rows(read_relevance_rows(column), ["length"]) for column in COLUMNS]
    found = relevance.assemble_relevance(scored, plan=FEW)
    for table in ("Spearman", "Pearson"):
        for column in FIVE:
            figure = at(found, table, "IDK (H)", column)
            # One of three runs whose mean is printed with two decimals.
            assert figure.published is not None
            assert abs(figure.measured - figure.published) < 0.01, (table, column)
    length = at(found, "Spearman", "length", "HUMOD")
    mine = scored[0].evidence
    words = [len(relevance_words(scored[0].rows.data.responses[name].text)) for name in mine.responses]
    assert length.measured == pytest.approx(stats.spearmanr(words, mine.mean).statistic)
    assert at(found, "Spearman", "which system wrote it", "Gupta 500").measured == pytest.approx(0.569, abs=5e-4)
    assert any("USR-TC 178 of 180, FED-cor 375 of 375" in note for note in found.notes)


def relevance_words(text: str) -> list[str]:
    import re

    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text)


def test_the_rows_of_teachers_come_from_stored_scores_of_exactly_these_replies(published: Path) -> None:
    scored = [score_relevance_rows(read_relevance_rows(column), ["length"]) for column in COLUMNS]
    with_teachers = add_teacher_scores(scored)
    names = {f"teacher of permissive{model}" for model in ("", ", bi", ", cross")}
    for one in with_teachers:
        assert set(one.stored) == set(one.stored_by) == names
        assert all(
            np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all() for values in one.stored.values()
        )
        assert names <= set(correlate_column(one, FEW))
    reproduction = relevance.assemble_relevance(with_teachers, plan=FEW)
    figure = at(reproduction, "Spearman", "teacher of permissive", "P-DD")
    pdd = with_teachers[SIX.index("P-DD")]
    expected = stats.spearmanr(pdd.stored["teacher of permissive"], pdd.evidence.mean).statistic
    assert figure.measured == pytest.approx(expected)
    changed = dataclasses.replace(scored[0].rows, column=dataclasses.replace(COLUMNS[0], name="another"))
    with pytest.raises(InputError, match="to other questions"):
        add_teacher_scores([dataclasses.replace(scored[0], rows=changed), *scored[1:]])
