"""``rejoinder show``: which replies, in which order, and every format; what it prints fits 100 columns."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import rejoinder
from rejoinder.cli import program
from rejoinder.errors import InputError, RejoinderError, RunError
from rejoinder.reports.reply_cards import render_card
from rejoinder.scoring.result import MetricFacts, Scores
from rejoinder.types import Item, Record, Response, Turn

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("show")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REJOINDER_CACHE", str(folder / "cache"))
        rejoinder.run([CHATS], rejoinder.Plan.of(["length", "meteor"]), folder / "run")
    return folder / "run"


def invoke(*words: object) -> Result:
    done = CliRunner().invoke(program, list(map(str, words)))
    if isinstance(done.exception, RejoinderError):
        raise done.exception
    return done


def test_all_replies_in_the_order_of_the_run(run: Path) -> None:
    listing, scores = rejoinder.show(run), rejoinder.load(run)
    assert listing.responses == list(scores.responses)
    assert len(listing) == listing.n_selected == listing.n_total == 192


def test_the_worst_and_the_best_by_the_first_metric_with_a_direction(run: Path) -> None:
    scores = rejoinder.load(run)
    ascending = np.sort(scores["meteor"])
    worst, best = rejoinder.show(run, worst=5), rejoinder.show(run, best=5)
    assert [row["meteor"] for row in worst.rows()] == ascending[:5].tolist()
    assert [row["meteor"] for row in best.rows()] == ascending[::-1][:5].tolist()
    assert worst.title == "5 of 192 replies, worst meteor first"
    assert best.title == "5 of 192 replies, best meteor first"
    assert rejoinder.show(run, worst=3, sort="length").title.endswith("lowest length first")
    assert rejoinder.show(run, best=1, sort="rating:appropriate").columns["rating:appropriate"][0] == 5.0


def test_a_metric_that_is_better_low_and_missing_scores() -> None:
    records: list[Record] = [Item(f"i{i}", (Turn("Well?"),)) for i in range(4)]
    data = rejoinder.data.collect([*records, *(Response(f"r{i}", f"i{i}", "s", "Yes.") for i in range(4))])
    base = rejoinder.score(data, "length")
    facts = {"error": MetricFacts("error", (0.0, 9.0), False, frozenset())}
    where = base.responses, base.items, base.systems, base.system_codes, base.dialogues
    values = {"error": np.array([1.0, math.nan, 3.0, 2.0])}
    scores = Scores(facts, values, *where, base.dialogue_codes, base.clusters, data=data)
    assert rejoinder.show(scores, worst=9).responses == ["r2", "r3", "r0"]
    assert rejoinder.show(scores, best=9).responses == ["r0", "r3", "r2"]
    assert rejoinder.show(scores, sort="error").responses == ["r2", "r3", "r0", "r1"]
    assert "–" in str(rejoinder.show(scores))


def test_conditions_systems_search_and_ids_narrow_the_choice(run: Path) -> None:
    listing = rejoinder.show(run, where="length<5", system=["plain", "parrot"], count=3)
    assert len(listing) == 3
    assert listing.n_selected > 3
    assert {row["system"] for row in listing.rows()} <= {"plain", "parrot"}
    assert all(row["length"] < 5 for row in listing.rows())
    found = rejoinder.show(run, search="ONION soup")
    assert found.n_selected
    assert all("onion soup" in (row["context"] + row["reply"]).lower() for row in found.rows())
    ids = ["soup-3/parrot", "trains-1/plain"]
    assert rejoinder.show(run, ids=ids).responses == ids
    assert rejoinder.show(run, ids=ids, where="system=plain").responses == ids[1:]
    assert rejoinder.show(run, ids=ids, best=1, sort="length").responses == ["trains-1/plain"]
    none = rejoinder.show(run, where="length>1000", by="turns")
    assert (len(none), none.title) == (0, "No reply meets the conditions (192 in the run).")
    assert str(none) == none.title


def test_columns_can_be_chosen(run: Path) -> None:
    chosen = rejoinder.show(run, metrics=["meteor", "rating:on-topic"], references=True)
    names = ["response", "item", "dialogue", "system", "context", "reply", "references", "meteor", "rating:on-topic"]
    assert list(chosen.columns) == names
    assert len(chosen.columns["references"][0]) == 4
    assert {"rating:appropriate", "rating:on-topic"} <= set(rejoinder.show(run, metrics=["rating"]).columns)
    assert chosen.to_pandas()["meteor"].tolist() == rejoinder.load(run)["meteor"].tolist()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"worst": 1, "best": 1}, "not both"),
        ({"system": "nobody"}, "the run has no system 'nobody'"),
        ({"sort": "metor"}, "did you mean 'meteor'"),
        ({"metrics": ["system"]}, "system has no numbers; choose a metric: length, meteor"),
        ({"worst": 1, "metrics": ["length"]}, "no metric here has a direction"),
        ({"ids": ["x"]}, "the run has no reply 'x'"),
    ],
)
def test_what_cannot_be_shown_is_said(run: Path, settings: dict[str, object], problem: str) -> None:
    with pytest.raises((InputError, RunError), match=problem):
        rejoinder.show(run, **settings)  # type: ignore[arg-type]


def test_what_is_printed_fits_100_columns_and_says_everything(run: Path) -> None:
    done = invoke("show", run, "--worst", 50)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert "50 of 192 replies, worst meteor first" in done.stdout
    worst = rejoinder.show(run, worst=1)
    words = " ".join(done.stdout.split())
    assert worst.responses[0] in words
    assert f"> {worst.columns['reply'][0]}" in words
    assert len([line for line in invoke("show", run).stdout.splitlines() if line[:5].strip().isdigit()]) == 20


def test_a_card_wraps_cuts_and_escapes() -> None:
    long = "word " * 400
    card = render_card(1, "bot (r)", f"first\n{long}\nlast turn", long, {"m": "0.1"})
    assert max(map(len, card.splitlines())) <= 100
    assert "…" in card
    assert "last turn" in card
    assert "first" not in card
    assert "more lines)" in card
    full = render_card(1, "bot (r)", f"first\n{long}\nlast turn", long, {"m": "0.1"}, full=True)
    assert full.count("word") == 800
    odd = render_card(1, "bot (r)", "", "\x1b[31mred", {})
    assert "\x1b" not in odd
    wide = render_card(1, "机器人", "你好" * 80, "", {"m": "0.1"})
    assert "(empty)" in wide
    assert max(len(line.encode("gb2312", "replace")) for line in wide.splitlines()) <= 100
    many = {f"judge(model='a long name of a model', rubric='number {i}')": "0.500" for i in range(3)}
    stacked = render_card(7, "bot (r)", "Hi.", "Hello.", many)
    assert all(name in stacked for name in many)  # names are never split


def test_csv_jsonl_json_and_parquet_hold_the_same_rows(run: Path, tmp_path: Path) -> None:
    expected = list(rejoinder.show(run, worst=30).rows())
    printed = invoke("show", run, "--worst", 30, "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["reply"] for row in rows] == [row["reply"] for row in expected]
    assert [float(row["meteor"]) for row in rows] == [row["meteor"] for row in expected]
    invoke("show", run, "--worst", 30, "-o", tmp_path / "x.jsonl")
    assert [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()] == expected
    assert len(json.loads(invoke("show", run, "--worst", 30, "--format", "json").stdout)["rows"]) == 30
    parquet = pytest.importorskip("pyarrow.parquet")
    invoke("show", run, "--worst", 30, "--parquet", "--references", "-o", tmp_path / "x.parquet")
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table["reply"].to_pylist() == [row["reply"] for row in expected]
    assert all(table["references"].to_pylist())
    for form in ("markdown", "html", "latex"):
        assert expected[0]["system"] in invoke("show", run, "--worst", 2, "--format", form).stdout


def test_files_get_all_replies_and_a_terminal_twenty(run: Path, tmp_path: Path) -> None:
    assert len(invoke("show", run, "--jsonl").stdout.splitlines()) == 192
    assert "(192 replies)" in invoke("show", run, "-o", tmp_path / "all.csv").stderr
    assert invoke("show", run, "--jsonl", "-o", "-", "-n", 2).stdout.count("\n") == 2


def test_formulas_in_replies_stay_texts_in_csv() -> None:
    scores = rejoinder.score(["=HYPERLINK(1)"], "length", contexts=[["Hi."]])
    assert "'=HYPERLINK(1)" in rejoinder.show(scores).render("csv")
    assert '"=HYPERLINK(1)"' in rejoinder.show(scores).render("jsonl")


def test_outputs_that_cannot_be_are_one_line(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be printed; name one, e.g. -o replies.parquet"):
        invoke("show", run, "--parquet")
    with pytest.raises(InputError, match=r"its ending names no format; end it in .txt, "):
        invoke("show", run, "-o", tmp_path / "x.xyz")
    refused = invoke("show", run, "--csv", "-o", tmp_path / "x.parquet")
    assert ".parquet means Parquet, but the output is csv; end the name in .csv" in refused.output


def test_next_hands_its_replies_to_show(run: Path, tmp_path: Path) -> None:
    invoke("next", run, "--by", "mix", "-n", 4, "-o", tmp_path / "ids.txt")
    ids = (tmp_path / "ids.txt").read_text().split()
    lines = invoke("show", run, "--ids", tmp_path / "ids.txt", "--jsonl").stdout.splitlines()
    assert [json.loads(line)["response"] for line in lines] == ids


def test_conditions_on_the_command_line_are_joined(run: Path) -> None:
    both = invoke("show", run, "--where", "length<5 or length>20", "--where", "system=plain", "--jsonl").stdout
    assert {json.loads(line)["system"] for line in both.splitlines()} == {"plain"}


def test_a_listing_goes_to_pandas_polars_and_arrow(run: Path) -> None:
    listing = rejoinder.show(run, worst=4, references=True, by="turns")
    frame = listing.to_pandas()
    assert list(frame.columns) == list(listing.columns)
    table = listing.to_arrow()
    assert table.column_names == list(listing.columns)
    assert table["meteor"].to_pylist() == frame["meteor"].tolist()
    assert table["references"].to_pylist() == [list(one) for one in listing.columns["references"]]
    polars = pytest.importorskip("polars")
    assert listing.to_polars()["reply"].to_list() == frame["reply"].tolist()
    nothing = rejoinder.show(run, where="meteor>2", references=True)
    assert nothing.to_polars().schema["references"] == polars.List(polars.String)
    assert nothing.to_arrow().num_rows == len(nothing.to_pandas()) == 0
