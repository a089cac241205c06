"""A run over shards is read as one run: comparisons, trust and reports are those of one big file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from rejoinder.cli import program
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import RunError
from rejoinder.reports.summary import repeat_commands
from rejoinder.scoring.folder import read_run_about
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.run import Plan, load, run

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
METRICS = ("bleu", "length")


def typed(*words: str) -> str:
    done = CliRunner().invoke(program, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The example chats, scored as one file and as shards of Parquet."""
    pytest.importorskip("pyarrow", reason="the arrow extra is not installed")
    here = tmp_path_factory.mktemp("runs")
    run([CHATS], Plan.of(METRICS), here / "one", cache=False)
    typed("shards", "write", str(CHATS), "-o", str(here / "parts"), "--records", "300", "--gather")
    words = [word for spec in METRICS for word in ("-m", spec)]
    typed("score", str(here / "parts"), *words, "-o", str(here / "many"), "--processes", "1")
    return here / "one", here / "many"


@pytest.mark.parametrize(
    "words",
    [
        ("compare",),
        ("compare", "-m", "bleu", "--format", "json"),
        ("trust", "--aspect", "appropriate"),
        ("agreement",),
        ("report", "--format", "csv"),
        ("check", "--min", "bleu>=0.01"),
    ],
)
def test_commands_on_runs_say_the_same_of_shards(runs: tuple[Path, Path], words: Sequence[str]) -> None:
    one, many = (typed(words[0], str(folder), *words[1:]) for folder in runs)
    assert one == many != ""


def test_what_the_parts_say_adds_up(runs: tuple[Path, Path]) -> None:
    one, many = map(read_run_about, runs)
    for key in ("counts", "systems", "flags", "metrics", "versions"):
        assert one[key] == many[key], key
    assert len(many["inputs"]) == many["shards"] == 5
    assert list(load(runs[0]).rows()) == sorted(
        load(runs[1]).rows(), key=lambda row: list(load(runs[0]).responses).index(row["response"])
    )
    assert load_data(runs[1]).items == load_data(runs[0]).items  # with their contexts: there are ratings


def test_the_page_names_shards_as_what_was_scored(runs: tuple[Path, Path]) -> None:
    from rejoinder.reports.findings import compute_findings

    assert (
        repeat_commands(compute_findings(runs[1], "appropriate"))[0]
        == "rejoinder score SHARDS -m bleu -m length -o RUN"
    )
    assert repeat_commands(compute_findings(runs[0], "appropriate"))[0].startswith("rejoinder score chats.jsonl")


def test_a_server_shows_a_run_over_shards(runs: tuple[Path, Path]) -> None:
    pytest.importorskip("starlette", reason="the web extra is not installed")
    from rejoinder.server.pages.library import RunLibrary

    assert {name: one.kind for name, one in RunLibrary([str(runs[0].parent)]).runs().items()} == {
        "one": "scores",
        "many": "scores",
    }


def test_a_run_at_an_address_is_to_be_copied_first() -> None:
    with pytest.raises(RunError, match="copy the run to this machine first"):
        load(Path("s3://bucket/runs/march"))


def test_shards_that_were_lost_or_a_damaged_list_are_told(runs: tuple[Path, Path], tmp_path: Path) -> None:
    listed = json.loads((runs[1] / "sharded.json").read_text())
    (tmp_path / "sharded.json").write_text(json.dumps(listed))
    with pytest.raises(RunError, match=r"the scores of 5 of 5 shards are missing"):
        load(tmp_path)
    (tmp_path / "sharded.json").write_text('{"shards": []}')
    with pytest.raises(RunError, match="lists no shards with replies"):
        load(tmp_path)
    (tmp_path / "sharded.json").write_text('{"shards": 3}')
    with pytest.raises(RunError, match="cannot be read"):
        load(tmp_path)


def test_references_of_other_sources_show_in_the_signature(tmp_path: Path) -> None:
    from rejoinder.data.shards.files import shards_of
    from rejoinder.scoring.sharded.run import score_shards

    (tmp_path / "in").mkdir()
    for source in ("people", "retrieval"):
        item = {"kind": "item", "id": source, "context": [{"text": "Hello?"}]}
        item["references"] = [{"text": "Hello there", "source": source}]
        reply = {"kind": "response", "id": f"{source}/a", "item": source, "system": "a", "text": "Hello you"}
        lines = "".join(json.dumps(one) + "\n" for one in (item, reply))
        (tmp_path / "in" / f"{source}.jsonl").write_text(lines)
    score_shards(shards_of(str(tmp_path / "in")), Plan.of(["bleu"]), tmp_path / "run", LocalEngine(1))
    assert "references:people" in load(tmp_path / "run").metrics["bleu"]
    assert load(tmp_path / "run").metrics["bleu"].endswith("(and 1 more in other shards)")
