"""Ratings in ordinary tables: who rated, what, how it is written, and what rows that repeat another are."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from click.testing import CliRunner
from importing import imported, save

import rejoinder
from rejoinder.cli import program
from rejoinder.data.importers import ImportTally
from rejoinder.data.tables.rating_cells import parse_rating
from rejoinder.data.tables.rating_columns import find_rating_columns
from rejoinder.errors import InputError, InputWarning
from rejoinder.types import Rating

RATINGS = {"anna": [4, 2, 1, 5], "ben": [5, 3, 1, 4], "cem": [4, 2, 3, 4]}


def table(tmp_path: Path, text: str, name: str = "t.csv") -> Path:
    return save(tmp_path / name, text)


def ratings_of(path: Path, **options: Any) -> list[tuple[str, str, float]]:
    data = rejoinder.read(path, options=rejoinder.data.ImportOptions(**options))
    return [(rating.rater, rating.aspect, rating.value) for rating in data.ratings]


def long_table(head: str = "annotator") -> str:
    rows = [
        f"{item},Question {item}?,Answer {item}.,{rater},{values[item]}"
        for item in range(4)
        for rater, values in RATINGS.items()
    ]
    return "\n".join([f"id,prompt,reply,{head},rating", *rows]) + "\n"


def wide_table(heads: Sequence[str]) -> str:
    rows = [
        ",".join([f"{item},Question {item}?,Answer {item}.", *(str(values[item]) for values in RATINGS.values())])
        for item in range(4)
    ]
    return "\n".join([",".join(["id,prompt,reply", *heads]), *rows]) + "\n"


def expected_alpha() -> float:
    return float(krippendorff.alpha(np.array(list(RATINGS.values()), float), level_of_measurement="ordinal"))


# Who rated.


@pytest.mark.parametrize(
    "head",
    [
        "rater",
        "annotator",
        "rater_id",
        "Rater ID",
        "worker",
        "WorkerId",
        "coder",
        "judge_name",
        "evaluator",
        "reviewer",
    ],
)
def test_a_column_of_raters_is_known_by_its_usual_names(tmp_path: Path, head: str) -> None:
    path = table(tmp_path, long_table(head))
    report = rejoinder.agreement(path, resamples=100)
    assert [row.rater for row in report.aspects[0].raters] == list(RATINGS)
    assert [row.mean for row in report.aspects[0].raters] == [float(np.mean(values)) for values in RATINGS.values()]
    assert report.aspects[0].alpha.value == pytest.approx(expected_alpha())


@pytest.mark.parametrize(
    "heads",
    [
        ["rater_1", "rater_2", "rater_3"],
        ["rating 1", "rating 2", "rating 3"],
        ["Rater A", "Rater B", "Rater C"],
        ["score_1", "score_2", "score_3"],
        ["annotator1", "annotator2", "annotator3"],
    ],
)
def test_a_column_per_rater_is_that_raters(tmp_path: Path, heads: list[str]) -> None:
    path = table(tmp_path, wide_table(heads))
    report = rejoinder.agreement(path, resamples=100)
    assert [row.rater for row in report.aspects[0].raters] == heads
    assert [row.mean for row in report.aspects[0].raters] == [float(np.mean(values)) for values in RATINGS.values()]
    assert report.aspects[0].alpha.value == pytest.approx(expected_alpha())


@pytest.mark.parametrize("columns", ["r_*", "r_anna,r_ben,r_cem", "r_anna, r_b*, r_cem"])
def test_columns_of_raters_are_named_by_a_pattern_or_a_list(tmp_path: Path, columns: str) -> None:
    path = table(tmp_path, wide_table(["r_anna", "r_ben", "r_cem"]))
    found = ratings_of(path, fields=(("rating:quality", columns),))
    assert {(rater, aspect) for rater, aspect, _ in found} == {(f"r_{name}", "quality") for name in RATINGS}
    with pytest.raises(InputError, match=r"no column 'x_\*'"):
        ratings_of(path, fields=(("rating:quality", "x_*"),))


def test_a_column_per_rater_and_aspect(tmp_path: Path) -> None:
    heads = "helpfulness_1,helpfulness_2,annotator_1_fluency,annotator_2_fluency"
    found = ratings_of(table(tmp_path, f"prompt,reply,{heads}\nHi.,Yes.,1,2,3,4\n"))
    assert found == [
        ("rater 1", "helpfulness", 1),
        ("rater 2", "helpfulness", 2),
        ("annotator 1", "fluency", 3),
        ("annotator 2", "fluency", 4),
    ]


def test_a_rating_beside_those_of_several_raters_is_asked_about(tmp_path: Path) -> None:
    path = table(tmp_path, "prompt,reply,rating,rater 1,rater 2\nHi.,Yes.,3,2,4\n")
    with pytest.raises(InputError, match="may be their mean or another rater's; name the columns"):
        ratings_of(path)
    assert ratings_of(path, fields=(("rating:quality", "rater *"),)) == [
        ("rater 1", "quality", 2),
        ("rater 2", "quality", 4),
    ]
    assert ratings_of(path, fields=(("rating", "rating"),)) == [("unnamed:1", "rating", 3)]


def test_two_columns_that_could_name_the_rater_are_asked_about(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 columns could hold the rater: annotator, worker"):
        ratings_of(table(tmp_path, "prompt,reply,annotator,worker,rating\nHi.,Yes.,ann,w1,3\n"))
    assert ratings_of(table(tmp_path, "prompt,reply,judge,worker\nHi.,Yes.,ann,w1\n")) == []


def test_a_rating_without_its_rater_says_what_to_do(tmp_path: Path) -> None:
    path = table(tmp_path, "id,prompt,reply,rater,rating\n1,Hi.,Yes.,ann,3\n2,Ho.,No.,,4\n")
    with pytest.raises(InputError, match=r"line 3: has a rating, but 'rater', .*, is empty; .* --field rater="):
        ratings_of(path)
    assert [rater for rater, *_ in ratings_of(path, fields=(("rater", ""),))] == ["unnamed:1", "unnamed:1"]


@pytest.mark.parametrize(
    "heads",
    [
        "rater_1,rating_1,rater_2,rating_2",  # the raters' names, or four raters
        "rating_1,rating_2,score_1,score_2",
        "rating 1,rating_1",
        "rating 2,rating 2",
        "helpfulness_1,helpfulness_2,annotator_1_helpfulness,annotator_2_helpfulness",
        "helpfulness,helpfulness rating",
        "Rating,rating",
        "rating,rating",
        "fluency,fluency",
    ],
)
def test_two_columns_of_the_same_ratings_are_asked_about(tmp_path: Path, heads: str) -> None:
    values = ",".join(str(1 + number) for number in range(heads.count(",") + 1))
    path = table(tmp_path, f"id,prompt,reply,{heads}\n1,Hi.,Yes.,{values}\n")
    with pytest.raises(InputError, match=r"columns could hold the same ratings: .* name it: .* --field rating=COLUMN"):
        ratings_of(path)


def test_a_heading_that_occurs_twice_gives_two_columns(tmp_path: Path) -> None:
    path = table(tmp_path, "prompt,reply,rating.1,rating,rating,note.a,note\nHi.,Yes.,1,2,3,4,5\n")
    fields = (("rating:quality", "rating,rating.1,rating.2"),)
    assert ratings_of(path, fields=fields) == [
        ("rating", "quality", 2),
        ("rating.1", "quality", 1),
        ("rating.2", "quality", 3),
    ]
    data = rejoinder.read(path, options=rejoinder.data.ImportOptions(fields=fields))
    assert "note -> meta.note, note.a -> meta.note.a" in data.imported[0]


def test_no_column_of_a_table_in_memory_or_of_parquet_is_lost_to_its_name(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["Hi?", "Yes.", 1, 5]], columns=["prompt", "reply", "rating", "rating"])
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = [pyarrow.array([value]) for value in ("Hi?", "Yes.", 1, 5)]
    arrow = pyarrow.Table.from_arrays(columns, names=list(frame.columns))
    parquet.write_table(arrow, tmp_path / "t.parquet")
    for source in (frame, arrow, tmp_path / "t.parquet"):
        with pytest.raises(InputError, match=r"2 columns could hold the same ratings: rating, rating\.1"):
            rejoinder.read(source)
        data = rejoinder.read(source, options=rejoinder.data.ImportOptions(fields=(("rating:a", "rating,rating.1"),)))
        assert [rating.value for rating in data.ratings] == [1, 5]


def test_some_rows_of_json_without_a_rater_are_asked_about(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "prompt": "Hi?", "reply": "Yes.", "rater": "ann", "aspect": "tone", "model": "a", "rating": 4},
        {"id": 2, "prompt": "Ho?", "reply": "No.", "rater": "ben", "aspect": "tone", "model": "a", "rating": 2},
    ]
    for key, said in (("rater", "rater"), ("aspect", "aspect"), ("model", "system"), ("id", "id")):
        lacking = {name: value for name, value in rows[1].items() if name != key}
        with pytest.raises(InputError, match=f"line 2: has no '{key}', which holds the {said} in other rows"):
            rejoinder.read(save(tmp_path / "t.jsonl", [rows[0], lacking]))
    unrated = {name: value for name, value in rows[1].items() if name not in ("rater", "aspect", "rating")}
    data = rejoinder.read(save(tmp_path / "t.jsonl", [rows[0], unrated]))
    assert (len(data.responses), len(data.ratings)) == (2, 1)
    assert data.imported[0].endswith("left out: nothing")


def test_a_name_is_the_same_with_a_space_after_it_and_in_another_unicode_form(tmp_path: Path) -> None:
    names = ["Zo\u00eb", "Zoe\u0308", "Zo\u00eb "]
    rows = "".join(f"{n},Hi {n}?,Yes.,{name},{name},3\n" for n, name in enumerate(names))
    data = rejoinder.read(table(tmp_path, "id,prompt,reply,model,rater,rating\n" + rows))
    assert {response.system for response in data.responses.values()} == {"Zo\u00eb"}
    assert {rating.rater for rating in data.ratings} == {"Zo\u00eb"}
    assert "names with other spaces or Unicode forms (4)" in data.imported[0]


# What was rated.


def test_an_aspect_column_keeps_aspects_apart(tmp_path: Path) -> None:
    rows = [("ann", "fluency", 4), ("ann", "helpfulness", 2), ("ben", "fluency", 5), ("ben", "helpfulness", 1)]
    for head in ("aspect", "criterion", "dimension"):
        text = f"prompt,reply,rater,{head},score\n" + "".join(f"Hi.,Yes.,{r},{a},{v}\n" for r, a, v in rows)
        assert ratings_of(table(tmp_path, text)) == rows
        text = f"prompt,reply,{head},value\n" + "".join(f"Hi.,Yes.,{a},{v}\n" for r, a, v in rows if r == "ann")
        found = ratings_of(table(tmp_path, text), repeats="same")
        assert found == [("unnamed:1", "fluency", 4), ("unnamed:1", "helpfulness", 2)]


def test_several_columns_of_ratings_beside_an_aspect_are_asked_about(tmp_path: Path) -> None:
    path = table(tmp_path, "prompt,reply,aspect,rating,score\nHi.,Yes.,fluency,3,4\n")
    with pytest.raises(InputError, match="2 columns could hold its ratings: rating, score"):
        ratings_of(path)


def test_a_column_may_be_called_like_its_aspect() -> None:
    names = ["helpfulness", "Fluency", "rating:tone", "quality rating", "user_rating", "human coherence"]
    plain, by_rater = find_rating_columns([*names, "rating_id", "bleu_score", "notes", "time", "confidence"])
    aspects = ["helpfulness", "fluency", "tone", "quality", "user rating", "coherence"]
    assert [(source.column, source.aspect) for source in plain] == list(zip(names, aspects, strict=True))
    assert by_rater == []


def test_an_aspect_column_applies_to_a_column_per_rater(tmp_path: Path) -> None:
    text = "id,prompt,reply,aspect,rater_1,rater_2\n1,Hi.,Yes.,fluency,4,4\n1,Hi.,Yes.,tone,4,4\n"
    assert ratings_of(table(tmp_path, text)) == [
        ("rater_1", "fluency", 4),
        ("rater_2", "fluency", 4),
        ("rater_1", "tone", 4),
        ("rater_2", "tone", 4),
    ]


def test_an_aspect_column_applies_to_the_column_that_is_named(tmp_path: Path) -> None:
    text = "id,prompt,reply,aspect,score,rating\n1,Hi.,Yes.,fluency,4,1\n1,Hi.,Yes.,tone,4,1\n"
    found = ratings_of(table(tmp_path, text), fields=(("rating", "score"),))
    assert found == [("unnamed:1", "fluency", 4), ("unnamed:1", "tone", 4)]


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ("value,overall", "2 columns could hold its ratings: overall, value"),
        ("rater_1_fluency,rater_2_fluency", "2 columns could hold its ratings: rater_1_fluency, rater_2_fluency"),
        ("rating,fluency_1", "2 columns could hold its ratings: rating, fluency_1"),
    ],
)
def test_an_aspect_column_beside_other_aspects_is_asked_about(tmp_path: Path, heads: str, said: str) -> None:
    path = table(tmp_path, f"prompt,reply,aspect,{heads}\nHi.,Yes.,tone,4,2\n")
    with pytest.raises(InputError, match=said):
        ratings_of(path)
    path = table(tmp_path, "prompt,reply,aspect,overall\nHi.,Yes.,tone,4\n")
    with pytest.raises(InputError, match="'overall' holds ratings of an aspect of its own"):
        ratings_of(path)


# How a rating is written.


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["4/5", "3 / 5", "5 of 5"], [4, 3, 5]),
        (["5 stars", "1 star", "4-star"], [5, 1, 4]),
        (["★★★★★", "★★☆☆☆", "⭐⭐⭐"], [5, 2, 3]),
        (["good", "Bad", "yes"], [1, 0, 1]),
        (["👍", "👎🏽", "thumbs up"], [1, 0, 1]),
        (["TRUE", "false", "true"], [1, 0, 1]),
        (["80%", "75 %", "0%"], [80, 75, 0]),
        (["4,5", "3", "2.5"], [4.5, 3, 2.5]),
        (["4", "n/a", "-"], [4]),
        (["4", "k.A.", "#N/A"], [4]),
    ],
)
def test_a_column_is_read_in_the_one_way_it_is_written(tmp_path: Path, cells: list[str], values: list[float]) -> None:
    rows = "".join(f'{number},Hi {number}.,Yes.,"{cell}"\n' for number, cell in enumerate(cells))
    tally = ImportTally()
    found = imported("csv", table(tmp_path, "id,prompt,reply,rating\n" + rows), tally, system="x")
    assert [rating.value for rating in found.ratings] == values
    assert tally.left_out == ({"empty ratings": 3 - len(values)} if len(values) < 3 else {})


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["4", "good", "5"], "2 are numbers, but not 'good' .*line 3"),
        (["good", "4", "5"], "2 are numbers, but not 'good' .*line 2"),
        (["4/5", "8/10", "3/5"], "2 are numbers of 5, but not '8/10'"),
        (["4", "5 stars", "3"], "but not '5 stars'"),
        (["4", "it was rude", "3"], "but not 'it was rude'"),
        (["yes", "maybe", "no"], "2 are words such as good, but not 'maybe'"),
        (["1", "a", "b", "c", "d", "2", "3", "4", "5", "6"], "'a' .*, 'b' .*, 'c' .* and 1 more"),
    ],
)
def test_cells_that_are_written_in_another_way_are_shown(tmp_path: Path, cells: list[str], said: str) -> None:
    rows = "".join(f"{number},Hi {number}.,Yes.,{cell}\n" for number, cell in enumerate(cells))
    path = table(tmp_path, "id,prompt,reply,rating\n" + rows)
    with pytest.raises(InputError, match=said) as caught:
        ratings_of(path)
    assert "leave out the ratings with: rejoinder score" in str(caught.value)
    assert ratings_of(path, fields=(("rating", ""),)) == []


def test_a_column_with_the_name_of_ratings_and_none_in_it_is_not_used(tmp_path: Path) -> None:
    path = table(tmp_path, "id,prompt,reply,feedback\n1,Hi.,Yes.,It was fine\n2,Ho.,No.,Rude\n")
    data = rejoinder.read(path)
    assert data.ratings == []
    assert data.imported[0].endswith("; not used: feedback")


@pytest.mark.parametrize("value", [float("inf"), 10**400, [1], {"a": 1}, "1e999"])
def test_what_is_not_a_finite_number_is_not_a_rating(value: Any) -> None:
    cell = parse_rating(value)
    assert cell is not None
    assert np.isnan(cell.value)


def test_a_rater_beside_text_that_is_no_rating_is_not_used(tmp_path: Path) -> None:
    path = table(tmp_path, "prompt,reply,rater,overall\nHi.,Yes.,ann,fine\nHi.,Yes.,ben,rude\n")
    data = rejoinder.read(path)
    assert (len(data.responses), data.ratings) == (1, [])
    assert data.imported[0].endswith("; not used: overall, rater; left out: rows that repeat another (1)")
    path = table(tmp_path, "id,prompt,reply,rater,overall,score_1\n1,Hi.,Yes.,ann,fine,3\n", "wide.csv")
    assert rejoinder.read(path).imported[0].endswith("; not used: overall, rater")


def test_a_number_with_an_underscore_is_none(tmp_path: Path) -> None:
    path = table(tmp_path, "id,prompt,reply,rating\n1,Hi.,Yes.,1_0\n2,Ho.,No.,2\n")
    with pytest.raises(InputError, match="1 are numbers, but not '1_0'"):
        ratings_of(path)


def test_the_ratings_of_empty_replies_that_are_left_out_are_counted(tmp_path: Path) -> None:
    path = table(tmp_path, "id,prompt,reply,fluency,tone\n1,Hi.,Yes.,1,2\n2,Ho.,,2,n/a\n3,Ha.,,4,5\n")
    data = rejoinder.read(path, options=rejoinder.data.ImportOptions(empty="drop"))
    assert len(data.ratings) == 2
    assert data.imported[0].endswith("left out: ratings of empty replies (3), empty replies (2), empty ratings (1)")


def test_a_column_without_a_heading_is_named_by_its_place(tmp_path: Path) -> None:
    path = table(tmp_path, ",prompt,reply,,\n0,Hi.,Yes.,,\n1,Ho.,No.,x,\n")
    assert rejoinder.read(path).imported[0].endswith("not used: (column 1), (column 4)")
    assert rejoinder.read([{"prompt": "Hi.", "reply": "Yes.", "": 1}]).imported[0].endswith("not used: (no name)")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["prompt", None, "reply"], ["Hi.", "x", "Yes."]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert rejoinder.read(tmp_path / "t.xlsx").imported[0].endswith("not used: (column 2)")


def test_empty_cells_at_the_end_of_a_row_of_a_sheet_are_counted(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["prompt", "reply", "reference", "rating"], ["Hi.", "Yes."], ["Ho.", "No.", "None.", 4]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert rejoinder.read(tmp_path / "t.xlsx").imported[0].endswith("left out: empty ratings (1), empty references (1)")
    assert len(ratings_of(tmp_path / "t.xlsx", fields=(("rating:quality", "rating"),))) == 1


# Rows that repeat another.


def forty_rows(more: str = "") -> str:
    head = f"prompt,reply,rating{',' + more if more else ''}\n"
    rows = []
    for number in range(20):
        row = f"Question {number}?,Answer {number}.,{1 + number % 5}" + (f",{number}" if more else "")
        rows += [row, row]
    return head + "\n".join(rows) + "\n"


def test_a_repeated_row_is_no_second_rater(tmp_path: Path) -> None:
    path = table(tmp_path, forty_rows("id"))
    data = rejoinder.read(path)
    assert len(data.responses) == len(data.ratings) == 20
    assert {rating.rater for rating in data.ratings} == {"unnamed:1"}
    assert "left out: rows that repeat another with the same rating (20)" in data.imported[0]
    report = rejoinder.agreement(path, resamples=100)
    assert np.isnan(report.aspects[0].alpha.value)
    trust = rejoinder.trust(rejoinder.score(path, "length"), data, aspect="rating", resamples=100)
    assert np.isnan(trust.one_rater.value)


def test_repeated_rows_without_an_id_or_a_rater_are_asked_about(tmp_path: Path) -> None:
    path = table(tmp_path, forty_rows())
    with pytest.raises(InputError, match=r"line 3: 20 rows repeat .* --repeats same; .* --repeats apart$"):
        rejoinder.read(path)
    same = rejoinder.read(path, options=rejoinder.data.ImportOptions(repeats="same"))
    apart = rejoinder.read(path, options=rejoinder.data.ImportOptions(repeats="apart"))
    assert (len(same.responses), len(same.ratings)) == (20, 20)
    assert (len(apart.responses), len(apart.ratings)) == (40, 40)
    assert "20 rows have the context, system and reply of an earlier one" in apart.imported[0]


def test_different_ratings_without_names_are_people_without_names(tmp_path: Path) -> None:
    text = "id,prompt,reply,rating\n1,Hi.,Yes.,4\n1,Hi.,Yes.,5\n2,Ho.,No.,1\n2,Ho.,No.,2\n"
    path = table(tmp_path, text)
    data = rejoinder.read(path)
    assert data.ratings == [
        Rating("unnamed:1", "rating", 4, "1/t"),
        Rating("unnamed:1", "rating", 1, "2/t"),
        Rating("unnamed:2", "rating", 5, "1/t"),
        Rating("unnamed:2", "rating", 2, "2/t"),
    ]
    assert "2 replies have several ratings without a rater's name" in data.imported[0]
    (aspect,) = rejoinder.agreement(path, resamples=100).aspects
    reference = krippendorff.alpha(np.array([[4, 1], [5, 2]], float), level_of_measurement="ordinal")
    assert aspect.alpha.value == pytest.approx(reference)
    assert np.isnan(aspect.cohen.value)
    assert aspect.raters == []


def test_equal_and_different_rows_with_an_id_are_asked_about(tmp_path: Path) -> None:
    path = table(tmp_path, "id,prompt,reply,rating\n1,Hi.,Yes.,4\n1,Hi.,Yes.,4\n1,Hi.,Yes.,5\n")
    with pytest.raises(
        InputError, match=r"if equal rows are copies.*--repeats same; if they are ratings of people who"
    ):
        rejoinder.read(path)
    assert [value for *_, value in ratings_of(path, repeats="same")] == [4, 5]
    assert [value for *_, value in ratings_of(path, repeats="apart")] == [4, 4, 5]


def test_without_ids_equal_rows_among_different_ones_are_people_who_agree(tmp_path: Path) -> None:
    path = table(tmp_path, "prompt,reply,rating\nHi.,Yes.,4\nHi.,Yes.,4\nHi.,Yes.,5\n")
    assert [value for *_, value in ratings_of(path, repeats="same")] == [4, 4, 5]


def test_a_rater_who_rated_one_reply_twice(tmp_path: Path) -> None:
    equal = table(tmp_path, "prompt,reply,rater,rating\nHi.,Yes.,ann,4\nHi.,Yes.,ann,4\n", "equal.csv")
    data = rejoinder.read(equal)
    assert (len(data.responses), len(data.ratings)) == (1, 1)
    assert "rows that repeat another with the same rating (1)" in data.imported[0]
    other = table(tmp_path, "prompt,reply,rater,rating\nHi.,Yes.,ann,4\nHi.,Yes.,ann,5\n", "other.csv")
    with pytest.raises(InputError, match="'ann' rated a reply with this context, system and text before"):
        rejoinder.read(other)
    assert len(rejoinder.read(other, options=rejoinder.data.ImportOptions(repeats="apart")).responses) == 2


def test_the_same_rating_again_in_a_row_that_differs_is_asked_about(tmp_path: Path) -> None:
    path = table(tmp_path, "id,prompt,reply,rater,rating,Kriterium\n1,Hi.,Yes.,ann,4,Ton\n1,Hi.,Yes.,ann,4,Sprache\n")
    with pytest.raises(InputError, match=r"'ann' gave this reply the same rating .* --field aspect=COLUMN"):
        rejoinder.read(path)
    assert ratings_of(path, repeats="same") == [("ann", "rating", 4)]
    assert [aspect for _, aspect, _ in ratings_of(path, fields=(("aspect", "Kriterium"),))] == ["Ton", "Sprache"]


def test_a_row_number_makes_no_copy_another_row(tmp_path: Path) -> None:
    for head in ("", "Unnamed: 0", "index"):
        path = table(tmp_path, f"{head},id,prompt,reply,rating\n0,1,Hi.,Yes.,4\n1,1,Hi.,Yes.,4\n")
        data = rejoinder.read(path)
        assert len(data.ratings) == 1
        assert "left out: rows that repeat another with the same rating (1)" in data.imported[0]


def test_whether_a_row_is_a_copy_is_the_same_in_every_form(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"id": [1, 1], "prompt": "Hi?", "reply": "Yes.", "rating": [4, 4], "wer": ["x", "y"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        assert len(rejoinder.read(source).ratings) == 2


def test_methods_that_learn_about_raters_need_their_names(tmp_path: Path) -> None:
    path = table(tmp_path, "id,prompt,reply,rating\n1,Hi.,Yes.,4\n1,Hi.,Yes.,5\n")
    with pytest.raises(InputError, match="dawid_skene learns how each rater rates, but ratings of 'rating' have no"):
        rejoinder.aggregate(path, method="dawid_skene")
    (aspect,) = rejoinder.aggregate(path, method="mean")
    assert [rating.value for rating in aspect.records] == [4.5]


# Tables in memory.


def test_scores_line_up_with_the_rows_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [("Hi?", "Yes.", 4), ("Where?", "Over there.", 2), ("Hi?", "Yes.", 1)]
    frame = pandas.DataFrame(rows, columns=["prompt", "reply", "rating"], index=["x", "y", "z"])
    with pytest.warns(InputWarning, match="1 row has the context, system and reply of an earlier one"):
        scores = rejoinder.score(frame, "length")
    assert scores["length"].tolist() == [1, 2, 1]
    assert frame.assign(length=scores["length"])["length"].tolist() == [1, 2, 1]
    joined = frame.join(scores.to_pandas().rename(columns={"reply": "reply_read"}))
    assert joined["length"].tolist() == [1, 2, 1]
    assert joined["rating:rating"].tolist() == joined["rating"].tolist()
    assert joined["reply_read"].tolist() == joined["reply"].tolist()


def test_rows_that_count_once_keep_their_place_and_their_rating() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"prompt": ["Hi?", "Ho?", "Hi?"], "reply": ["Yes.", "Over there.", "Yes."], "rating": [4, 2, 1]},
        index=[7, 8, 9],
    )
    scores = rejoinder.score(frame, "length", options=rejoinder.data.ImportOptions(repeats="same"))
    assert len(scores) == 2
    assert scores["length"].tolist() == [1, 2, 1]
    table = scores.to_pandas()
    assert table.index.tolist() == [7, 8, 9]
    assert table["rating:rating"].tolist() == [4, 2, 1]
    assert table["reply"].tolist() == ["Yes.", "Over there.", "Yes."]


def test_scores_line_up_with_lists_and_arrow_tables() -> None:
    rows = [{"prompt": "Hi?", "reply": reply} for reply in ("Yes.", "Over there.", "Yes.")]
    assert rejoinder.score(rows, "length")["length"].tolist() == [1, 2, 1]
    pyarrow = pytest.importorskip("pyarrow")
    scores = rejoinder.score(pyarrow.Table.from_pylist(rows), "length")
    assert scores["length"].tolist() == [1, 2, 1]
    assert scores.to_arrow()["reply"].to_pylist() == ["Yes.", "Over there.", "Yes."]
    pytest.importorskip("polars")
    assert scores.to_polars()["length"].to_list() == [1, 2, 1]


def test_a_row_that_is_left_out_has_no_score() -> None:
    rows = [{"prompt": "Hi?", "reply": "Yes."}, {"prompt": "Ho?", "reply": ""}, {"prompt": "You?", "reply": "Me too."}]
    options = rejoinder.data.ImportOptions(empty="drop")
    scores = rejoinder.score(rows, "length", options=options)
    np.testing.assert_array_equal(scores["length"], [1, np.nan, 2])
    pytest.importorskip("pandas")
    assert scores.to_pandas()["reply"].tolist()[::2] == ["Yes.", "Me too."]


def test_an_empty_reply_of_a_table_in_memory_is_told_what_works() -> None:
    rows = [{"prompt": "Hi?", "reply": ""}, {"prompt": "Ho?", "reply": "Over there."}]
    with pytest.raises(InputError, match=r"rejoinder\.score\(rejoinder\.read\(DATA, allow_empty=True\)\)"):
        rejoinder.score(rows, "length")
    scores = rejoinder.score(rejoinder.read(rows, allow_empty=True), "length")
    np.testing.assert_array_equal(scores["length"], [np.nan, 2])


def test_an_error_about_a_table_in_memory_names_the_argument() -> None:
    rows = [{"id": 1, "prompt": "Hi?", "reply": "Yes.", "rating": value} for value in (4, 4, 5)]
    with pytest.raises(InputError, match=r"options=rejoinder.data.ImportOptions\(repeats='same'\)"):
        rejoinder.read(rows)
    with pytest.raises(
        InputError, match=r"ImportOptions\(fields=\(\('context', 'COLUMN'\), \('response', 'COLUMN'\)\)\)"
    ):
        rejoinder.read([{"a": "Hi?", "b": "Yes."}])


# Columns that decide, and what is said.


@pytest.mark.parametrize(
    "head", ["expected_output", "expected_answer", "gold", "ground_truth", "ideal", "Ground Truth", "reference_answer"]
)
def test_a_reference_is_known_by_its_usual_names(tmp_path: Path, head: str) -> None:
    data = rejoinder.read(table(tmp_path, f"input,output,{head}\nHi?,Yes.,Sure.\n"))
    assert [one.text for item in data.items.values() for one in item.references] == ["Sure."]


@pytest.mark.parametrize(
    "history",
    [
        [{"type": "human", "content": "Hello."}, {"type": "ai", "content": "Hi."}],
        [{"type": "human", "data": {"content": "Hello."}}, {"type": "ai", "data": {"content": "Hi."}}],
        [["human", "Hello."], ["ai", "Hi."]],
        [["Hello.", "Hi."]],
    ],
)
def test_a_chat_history_comes_before_the_last_input(history: list[Any]) -> None:
    (item,) = rejoinder.read([{"input": "Where?", "output": "Here.", "chat_history": history}]).items.values()
    assert [turn.text for turn in item.context] == ["Hello.", "Hi.", "Where?"]


@pytest.mark.parametrize(
    "history",
    ['["Hello.", "Hi."]', "['Hello.', 'Hi.']", "[['human', 'Hello.'], ['ai', 'Hi.']]", "[('Hello.', 'Hi.')]"],
)
def test_lists_in_the_cells_of_a_text_are_lists(tmp_path: Path, history: str) -> None:
    cell = history.replace('"', '""')
    path = table(tmp_path, f"input,output,chat_history,ground_truths\nWhere?,Here.,\"{cell}\",\"['A', 'B']\"\n")
    (item,) = rejoinder.read(path).items.values()
    assert [turn.text for turn in item.context] == ["Hello.", "Hi.", "Where?"]
    assert [reference.text for reference in item.references] == ["A", "B"]
    path = table(tmp_path, "input,output,reference\n[sic] Where?,Here.,[1] There.\n")
    (item,) = rejoinder.read(path).items.values()
    assert (item.context[0].text, item.references[0].text) == ("[sic] Where?", "[1] There.")


@pytest.mark.parametrize("first", [None, "", 12.5])
def test_messages_beside_replies_are_rows_whatever_the_first_reply_is(tmp_path: Path, first: Any) -> None:
    messages = [{"role": "user", "content": "Hi."}]
    rows = [{"messages": messages, "answer": first}, {"messages": messages, "answer": "Yes."}]
    data = rejoinder.read(save(tmp_path / "t.jsonl", rows), options=rejoinder.data.ImportOptions(empty="drop"))
    assert data.imported[0].startswith(f"{tmp_path}/t.jsonl: read as jsonl; messages -> context, answer -> response")


def test_ragas_columns_are_known() -> None:
    row = {"user_input": "Hi?", "response": "Yes.", "retrieved_contexts": ["A page."], "reference": "Sure."}
    data = rejoinder.read([row])
    (response,) = data.responses.values()
    assert response.meta == {"documents": ["A page."]}
    assert data.imported[0].endswith("left out: nothing")


def test_rows_of_a_conversation_are_chained_if_asked_for(tmp_path: Path) -> None:
    text = "conversation_id,prompt,reply\nc,Hi.,Hello.\nd,Bye.,So long.\nc,Where?,Here.\nc,When?,Now.\n"
    path = table(tmp_path, text)
    with pytest.warns(
        InputWarning, match="2 rows belong to a conversation with earlier rows and are read without them"
    ):
        rejoinder.read(path)
    data = rejoinder.read(path, options=rejoinder.data.ImportOptions(chain=True))
    contexts = [[turn.text for turn in item.context] for item in data.items.values()]
    assert contexts == [["Hi."], ["Bye."], ["Hi.", "Hello.", "Where?"], ["Hi.", "Hello.", "Where?", "Here.", "When?"]]
    assert "2 rows continue the conversation of earlier rows" in data.imported[0]
    with pytest.raises(InputError, match="has 2 turns, but --chain is for rows that hold one turn"):
        rejoinder.read(
            [{"history": ["a", "b"], "reply": "c", "thread": 1}], options=rejoinder.data.ImportOptions(chain=True)
        )


def test_a_row_twice_in_a_chained_conversation_is_asked_about(tmp_path: Path) -> None:
    path = table(tmp_path, "thread,prompt,reply,rating\nc,Hi.,Hello.,4\nc,Hi.,Hello.,5\nc,Where?,Here.,3\n")
    with pytest.raises(
        InputError, match=r"line 3: has the turn and the reply of the row before it, .* --chain --repeats"
    ):
        rejoinder.read(path, options=rejoinder.data.ImportOptions(chain=True))
    same = rejoinder.read(path, options=rejoinder.data.ImportOptions(chain=True, repeats="same"))
    assert [len(item.context) for item in same.items.values()] == [1, 3]
    assert sorted(rating.value for rating in same.ratings) == [3, 4, 5]
    apart = rejoinder.read(path, options=rejoinder.data.ImportOptions(chain=True, repeats="apart"))
    assert [len(item.context) for item in apart.items.values()] == [1, 3, 5]
    text = "id,thread,prompt,reply,rating\n1,c,Hi.,Hello.,4\n1,c,Hi.,Hello.,4\n2,c,Where?,Here.,3\n"
    named = rejoinder.read(table(tmp_path, text, "ids.csv"), options=rejoinder.data.ImportOptions(chain=True))
    assert [len(item.context) for item in named.items.values()] == [1, 3]
    assert len(named.ratings) == 2
    rows = [{"thread": 1, "prompt": "Hi.", "reply": "Hello."}] * 2
    with pytest.raises(InputError, match=r"ImportOptions\(chain=True, repeats='apart'\)"):
        rejoinder.read(rows, options=rejoinder.data.ImportOptions(chain=True))


def test_raters_of_a_chained_conversation_rate_the_same_replies(tmp_path: Path) -> None:
    rows = [f"c,{p},{r},{rater},3" for rater in ("ann", "ben") for p, r in (("Hi.", "Hello."), ("Where?", "Here."))]
    path = table(tmp_path, "\n".join(["thread,prompt,reply,rater,rating", *rows]) + "\n")
    data = rejoinder.read(path, options=rejoinder.data.ImportOptions(chain=True))
    assert (len(data.responses), len(data.ratings)) == (2, 4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turn,response\n1,Yes.\n", "context=COLUMN"),
        ("u,b\nHi?,Yes.\n", "context=COLUMN --field response=COLUMN"),
        ("prompt,v1,v2\nHi?,Yes.,No.\n", "response:NAME=COLUMN"),
    ],
)
def test_a_suggestion_names_no_column_that_nobody_named(tmp_path: Path, text: str, said: str) -> None:
    done = CliRunner().invoke(program, ["score", str(table(tmp_path, text)), "-m", "length"])
    assert str(done.exception).endswith(said)


def test_what_was_not_used_is_said_in_the_same_words_everywhere(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    path = table(tmp_path, "prompt,reply,model,note,rating,index\nHi?,Yes.,a,x,3,1\nHo?,No.,a,y,,2\n")
    said = (
        "read as csv; prompt -> context, reply -> response, model -> system, rating -> rating:rating, "
        "note -> meta.note; not used: index; "
    )
    said += "left out: empty ratings (1)"
    with pytest.warns(InputWarning) as caught:
        data = rejoinder.read(path)
    assert [str(one.message) for one in caught] == data.imported == [f"{path}: {said}"]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = CliRunner().invoke(program, ["score", "t.csv", "-m", "length", "--processes", "1", "-o", "run"])
    assert f"t.csv: {said}\n" in done.stderr
    done = CliRunner().invoke(program, ["agreement", "t.csv", "--resamples", "100"])
    assert f"t.csv: {said}\n" in done.stderr
    done = CliRunner().invoke(program, ["import", "csv", "t.csv", "-o", "o.jsonl"])
    assert done.stderr.splitlines()[-2:] == ["not used: index", "left out: empty ratings (1)"]


def test_systems_that_look_alike_are_one_in_a_table_and_refused_in_records(tmp_path: Path) -> None:
    names = ["Zoë", "Zoe\u0308", "Zoë ", " Zoë", "Zo\u200bë"]
    rows = "".join(f"Question {number}?,Yes.,{name}\n" for number, name in enumerate(names))
    data = rejoinder.read(table(tmp_path, "prompt,reply,model\n" + rows))
    assert {response.system for response in data.responses.values()} == {"Zoë"}
    assert "names with other spaces or Unicode forms (4)" in data.imported[0]
    lines = [{"id": "q", "context": ["Hi?"]}, {"item": "q", "system": "a", "text": "x"}]
    lines += [{"item": "q", "system": "a ", "text": "y"}]
    with pytest.raises(InputError, match=r"line 3: the system 'a ' looks like 'a', but differs in spaces"):
        rejoinder.read(save(tmp_path / "own.jsonl", lines))
    rating = {"response": "q/a", "aspect": "x", "value": 1}
    raters = [lines[0], lines[1], {**rating, "rater": "Zoë"}, {**rating, "rater": "Zoe\u0308"}]
    with pytest.raises(InputError, match=r"line 4: the rater 'Zoe\\u0308' looks like 'Zo\\xeb'"):
        rejoinder.read(save(tmp_path / "raters.jsonl", raters))


def test_canned_replies_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"Question {number}?,{'Sorry.' if number % 2 else number}\n" for number in range(20))
    data = rejoinder.read(table(tmp_path, "prompt,reply\n" + rows))
    said = "9 replies have the text of an earlier one by the same system, most often 'Sorry.' (10)"
    assert data.imported[0].endswith(said)


def test_a_list_of_ratings_is_not_one_raters() -> None:
    rows = [{"id": 1, "prompt": "Hi?", "reply": "Yes.", "rater": "ann", "rating": [4, 5]}]
    data = rejoinder.read(rows)
    assert [(rating.rater, rating.value) for rating in data.ratings] == [("unnamed:1", 4), ("unnamed:2", 5)]


# Columns that hold no field.


def test_columns_that_hold_no_field_say_something_of_the_reply(tmp_path: Path) -> None:
    """Ratings, row numbers, long texts and lists are no groups of replies."""
    rows = [
        {"prompt": "Rye?", "reply": "Yes.", "Category": " bread ", "n": 3, "ok": True, "tags": ["a"], "why": "x" * 201},
        {"prompt": "Way?", "reply": "Left.", "Category": "", "n": float("nan"), "ok": False, "tags": ["b"], "why": "y"},
    ]
    data = rejoinder.read(rows)
    assert [response.meta for response in data.responses.values()] == [
        {"Category": "bread", "n": 3, "ok": True},
        {"ok": False, "why": "y"},
    ]
    assert data.imported[0].endswith(
        "Category -> meta.Category, n -> meta.n, ok -> meta.ok, why -> meta.why, system = system (not in the file); "
        "not used: tags; left out: long texts and lists in 'why' (1)"
    ), data.imported[0]
    path = table(tmp_path, "index,prompt,reply,tool_calls,overall\n1,Hi.,Yes.,[],fine\n")
    assert rejoinder.read(path).imported[0].endswith("; not used: index, overall, tool_calls")


def test_later_rows_of_a_reply_that_say_something_else_are_counted(tmp_path: Path) -> None:
    head = "id,prompt,reply,rater,rating,comment\n"
    path = table(tmp_path, head + "1,Hi.,Yes.,ann,3,fine\n1,Hi.,Yes.,ben,4,\n1,Hi.,Yes.,cem,4,good\n")
    data = rejoinder.read(path)
    assert [response.meta for response in data.responses.values()] == [{"comment": "fine"}]
    assert data.imported[0].endswith("; left out: other values for meta in a reply's later rows (1)")


def test_replies_are_grouped_by_a_column_under_its_own_name(tmp_path: Path) -> None:
    rows = "".join(f"Ask {n}?,{'Yes. ' * (1 + n % 2)},{'even' if n % 2 else 'odd'}\n" for n in range(20))
    path = table(tmp_path, "prompt,reply,parity\n" + rows)
    for name in ("one", "two"):
        done = CliRunner().invoke(program, ["score", str(path), "-m", "length", "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    for runs in (["one"], ["one", "two"]):
        folders = [str(tmp_path / name) for name in runs]
        for by in ("parity", "meta.parity"):
            done = CliRunner().invoke(program, ["compare", *folders, "--by", by])
            assert done.exit_code == 0, done.output
            assert re.search(r"^even +10 ", done.output, re.MULTILINE), done.output
