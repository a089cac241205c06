"""People: their scores from a sheet, from ratings and from the annotation page, and how well they agree."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import orjson
import pytest
from annotation_projects import answer_to

from rejoinder.annotation.exports import export_judgements
from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.store import open_store
from rejoinder.annotation.units import make_units
from rejoinder.data.reader import stream
from rejoinder.errors import InputError
from rejoinder.selection.build import PoolSet, make_questions
from rejoinder.selection.human_scores import attach_human_scores, collect_human_scores, measure_human_agreement
from rejoinder.selection.pool_files import pools_path, read_pools, write_pools, write_scoring_project
from rejoinder.selection.settings import SelectionSettings
from rejoinder.selection.sheet import read_scoring_sheet, write_scoring_sheet
from rejoinder.types import Candidate, Question, Rating, Turn


def pools(n: int = 2, size: int = 5) -> tuple[Question, ...]:
    found = []
    for number in range(n):
        texts = [f"=1+{number}", "-- well, no.", *(f"Candidate {k} of pool {number}." for k in range(size - 2))]
        candidates = [Candidate(text, f"c{k}", None, "bm25") for k, text in enumerate(texts, start=1)]
        truth = Candidate(f'The truth of {number}, "so to say".', "c9", "true", "human")
        context = (Turn("One,\ntwo", "A"), Turn("Three"), Turn(f"Four {number}", "A"))
        found.append(Question(f"d/{number}", context, (*candidates, truth), dialogue=f"d/{number}"))
    return tuple(found)


def fill(path: Path, value: str = "1", truth: str = "5", columns: int = 5) -> None:
    """Give every row the same scores, and truths another."""
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    for row in rows[1:]:
        row[4 : 4 + columns] = [truth if row[1] == "c9" else value] * columns
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    path.write_text(out.getvalue(), "utf-8")


def test_a_sheet_goes_out_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    assert write_scoring_sheet(pools(), path) == 12
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    assert list(rows[0]) == ["question", "candidate", "context", "text", *(f"score {n}" for n in range(1, 6))]
    assert rows[0]["text"] == "'=1+0"  # else a spreadsheet would compute it
    assert rows[0]["context"] == "A: One,\ntwo\nThree\nA: Four 0"
    assert "true" not in path.read_text("utf-8-sig").replace("The truth", "")
    with pytest.raises(InputError, match="no scores are filled in"):
        read_scoring_sheet(path, pools())
    fill(path)
    scores = read_scoring_sheet(path, pools())
    assert scores["d/0", "c1"] == (1, 1, 1, 1, 1)
    assert scores["d/1", "c9"] == (5, 5, 5, 5, 5)
    built = make_questions(PoolSet(pools()), SelectionSettings(judge=None), scores)
    assert [question.id for question in built.questions] == ["d/0", "d/1"]
    assert built.questions[0].candidates[0].meta["ratings"] in ([1] * 5, [5] * 5)


def test_a_sheet_may_have_gaps_other_signs_between_cells_and_rows_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    rows = ["candidate;question;text;score 1;score 2;score 3", "c9;d/1;The truth of 1, so to say.;5;4.0;"]
    path.write_text("\n".join([*rows, "c3;d/1;Candidate 0 of pool 1.;;;"]) + "\n", "utf-8")
    plain = tuple(
        Question(one.id, one.context, tuple(Candidate(c.text.replace('"', ""), c.id, c.grade) for c in one.candidates))
        for one in pools()
    )
    assert read_scoring_sheet(path, plain) == {("d/1", "c9"): (5, 4)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(",1,1,1,1,1", ",1,1,6,1,1", 1), r"sheet.csv line 2: has the score '6'"),
        (lambda text: text.replace(",1,1,1,1,1", ",1,x,1,1,1", 1), r"line 2: has the score 'x'"),
        (lambda text: text.replace(",1,1,1,1,1", ",1,1.5,1,1,1", 1), r"has the score '1.5'"),
        (lambda text: text.replace("Candidate 0 of pool 0", "Another"), "is 'Candidate 0 of pool 0.', not 'Another.'"),
        (lambda text: text.replace("d/1,c2", "d/7,c2"), "the pools have no candidate 'c2' of question 'd/7'"),
        (lambda text: text.replace("d/0,c2", "d/0,c1").replace("'-- well, no.", "'=1+0", 1), "has a row already"),
        (lambda text: text.replace("candidate,", "kandidat,", 1), "the header must have the column 'candidate' once"),
        (lambda text: text.replace("score ", "note "), "the header must have the column 'score 1' once"),
        (lambda text: text.replace("c9,", "c9,,", 1), "cells, but the header has 9"),
        (lambda text: "", "is empty"),
    ],
)
def test_what_is_wrong_with_a_sheet_is_told_with_its_line(change: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    write_scoring_sheet(pools(), path)
    fill(path)
    path.write_text(change(path.read_text("utf-8")), "utf-8")  # type: ignore[operator]
    with pytest.raises(InputError, match=message):
        read_scoring_sheet(path, pools())


def test_ratings_name_candidates_as_the_annotation_page_does() -> None:
    given = [Rating(f"r{n}", "appropriate", float(n), "d/0/c1") for n in (4, 2, 3)]
    other = [Rating("r1", "fluency", 1.0, "d/0/c1"), Rating("r1", "appropriate", 1.0, "elsewhere")]
    assert collect_human_scores([*given, *other], pools()) == {("d/0", "c1"): (2, 3, 4)}
    with pytest.raises(InputError, match="none of the ratings is for a candidate of these pools"):
        collect_human_scores(other[1:], pools())
    with pytest.raises(InputError, match="there are no ratings of the aspect 'appropriate'"):
        collect_human_scores(other[:1], pools())
    with pytest.raises(InputError, match="scores must be whole numbers from 0 to 5"):
        collect_human_scores([Rating("r", "appropriate", 2.5, "d/0/c1")], pools())


def test_pools_go_to_the_annotation_page_and_their_ratings_come_back(tmp_path: Path) -> None:
    path = pools_path(tmp_path / "set.jsonl.gz")
    assert path.name == "set.pools.jsonl"
    write_pools(PoolSet(pools(), {"pools found": 2}), path)
    write_scoring_project(tmp_path / "people" / "project.toml", path)
    project = read_project(tmp_path / "people" / "project.toml")
    assert (project.form, project.raters_per_unit) == ("candidates", 5)
    units = make_units(project)
    assert [len(unit.payload["replies"]) for unit in units] == [6, 6]
    store = open_store(project, str(tmp_path / "store.sqlite"))
    try:
        store.load(units)
        for name in ("ann", "bob", "cem"):
            me = store.who(store.add_rater(name))
            assert me is not None
            while (given := store.next_unit(me)) is not None:
                store.submit(me, given.id, answer_to(project, given.unit, name), 4)
        (tmp_path / "ratings.jsonl").write_bytes(export_judgements(store, "ratings").content)
    finally:
        store.close()
    found = read_pools(path)
    assert found == PoolSet(pools(), {"pools found": 2})
    scores = collect_human_scores(stream(tmp_path / "ratings.jsonl"), found.questions)
    assert len(scores) == 12
    assert {len(one) for one in scores.values()} == {3}


def test_pools_without_their_card_can_still_be_read_and_a_broken_card_is_told(tmp_path: Path) -> None:
    path = tmp_path / "set.pools.jsonl"
    write_pools(PoolSet(pools(), {"a": 1}), path)
    (tmp_path / "set.pools.card.json").write_text("{")
    with pytest.raises(InputError, match=r"set\.pools\.card\.json: is not as it was written"):
        read_pools(path)
    (tmp_path / "set.pools.card.json").unlink()
    assert read_pools(path) == PoolSet(pools())


def test_agreement_is_fleiss_kappa_of_six_and_of_two_classes() -> None:
    # Counted by hand: two units, all agree on 5 and on 1: kappa is 1. Then one unit splits 3 to 2 over the border.
    whole = measure_human_agreement([(5, 5, 5, 5, 5), (1, 1, 1, 1, 1)])
    assert whole is not None
    assert whole.six.value == pytest.approx(1.0)
    split = measure_human_agreement([(5, 5, 5, 2, 2), (1, 1, 1, 1, 1)])
    assert split is not None
    # Observed: (.4 + 1) / 2 = .7. Expected by shares .3, .2, .5 in three classes: .38; in two, .3 and .7: .58.
    assert split.six.value == pytest.approx((0.7 - 0.38) / (1 - 0.38))
    assert split.two.value == pytest.approx((0.7 - 0.58) / (1 - 0.58))
    assert (split.candidates, split.raters) == (2, (5, 5))
    assert measure_human_agreement([(), ()]) is None


def test_scores_stay_with_their_candidates() -> None:
    scored = attach_human_scores(pools(), {("d/1", "c2"): (0, 1)})
    assert [one.meta for one in scored[0].candidates] == [{}] * 6
    assert scored[1].candidates[1].meta == {"ratings": [0, 1]}


def test_the_published_scores_agree_nearly_as_the_paper_says(published: Path) -> None:
    # Table 1 of Sato et al. 2020 says .22 and .63; the scores that were released are those of the 1,019 x 4 candidates
    # of the set alone, and give .216 and .615 (as docs/agreement.md says).
    path = published / "judgements" / "eval_via_selection" / "human_scores.jsonl"
    rows = [scores for line in path.read_bytes().splitlines() for scores in orjson.loads(line)]
    found = measure_human_agreement(rows, resamples=100)
    assert found is not None
    assert found.candidates == 4076
    assert found.six.value == pytest.approx(0.2156, abs=5e-5)
    assert found.two.value == pytest.approx(0.6155, abs=5e-5)
