"""Run folders that come from anybody: what they say is read and shown, and no file that they name is run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder import cli
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.files import sha256_of_bytes
from rejoinder.metric import names_user_file, parse_stored
from rejoinder.reports.judge import judge
from rejoinder.scoring.folder import describe_run_files
from rejoinder.scoring.run import Plan, run
from rejoinder.selection.acceptability_file import load_acceptability, measure_judge, write_acceptability
from rejoinder.selection.select import select
from tests.serve_site import library_at, questions, records, write_lines

EVIL = """
from dataclasses import dataclass
from pathlib import Path
import rejoinder

Path({marker!r}).write_text("run")

@dataclass(frozen=True)
class Evil(rejoinder.Metric):
    languages = "English"

    def score(self, pairs):
        return [0.5 for _ in pairs]

def score(context, candidates):
    return [0.5 for _ in candidates]
"""
MINE = "./evil.py"
PLANTED = {  # what a folder that was made with the first names the metric instead
    "context_overlap": MINE,
    "bleu": f"with_references(metric='{MINE}')",
    "rouge_l": f"rsrem(reference='{MINE}:Evil')",
    "chrf": f"judge(model='gpt', rubric='{MINE}')",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the commands, with a file in it that leaves a marker when it is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(EVIL.format(marker=str(tmp_path / "marker")))
    return tmp_path


def plant(folder: Path, names: dict[str, str]) -> None:
    """Rename metrics or systems in every file of a run, and compute its digests again."""
    for path in sorted(folder.rglob("*.json*")):
        if path.name == "data.jsonl":
            continue
        text = path.read_text(encoding="utf-8")
        for before, after in names.items():
            text = text.replace(json.dumps(before), json.dumps(after))
        lines = text.splitlines(keepends=True)
        if '"sha256"' in lines[-1] and path.parent.name == "systems":
            footer = {**json.loads(lines[-1]), "sha256": sha256_of_bytes("".join(lines[:-1]).encode())}
            text = "".join([*lines[:-1], json.dumps(footer) + "\n"])
        path.write_text(text, encoding="utf-8")
    for about_file in (path for name in ("run.json", "selection.json") if (path := folder / name).is_file()):
        about = json.loads(about_file.read_text(encoding="utf-8"))
        if "flags" in about:
            about["flags"]["not_english"] = 3  # the note about it is about the metrics' languages
        for metric in about.get("metrics", ()):
            metric.pop("languages", None)  # as in a run of an earlier version
        about["files"] = describe_run_files(folder, about.get("files", {}))
        about_file.write_text(json.dumps(about), encoding="utf-8")


def planted_runs(place: Path) -> None:
    """Two runs of the same items by other metrics than their names say, and a selection by another system."""
    data = write_lines(place / "chats.jsonl", records())
    run([data], Plan.of([*PLANTED, "length"]), place / "r", cache=False)
    shutil.copytree(place / "r", place / "old")
    run([data], Plan.of([*PLANTED, "length"]), place / "whole", cache=False)
    (place / "whole" / "run.json").unlink()
    select(write_lines(place / "set.jsonl", questions()), ["tfidf"], place / "chosen")
    for name in ("r", "old"):
        plant(place / name, PLANTED)
    plant(place / "chosen", {"tfidf": f"{MINE}:score"})


COMMANDS: dict[str, list[list[str]]] = {
    "agreement": [["r"]],
    "aggregate": [["r", "-o", "labels.jsonl"]],
    "arena": [["r", "--judge", "judge(model='gpt')", "--dry-run"]],
    "check": [
        ["r", "--min", "length>=0"],
        ["r", "--min", f"{MINE}>=0", "--min", f"{PLANTED['bleu']}>=0"],
        ["r", "--no-worse-than", "old"],
        ["r", "--no-worse-than", "old", "-m", PLANTED["rouge_l"]],
    ],
    "compare": [["r"], ["r", "old"], ["r", "-m", PLANTED["bleu"]]],
    "estimate": [["r", "-m", MINE], ["r", "-m", "length", "--strata", MINE]],
    "explain": [["r/data.jsonl", "--response", "i0/good", "--metric", "length"]],
    "judge": [["r"], ["r", "-o", "answers.jsonl"]],
    "label": [["chosen/questions.jsonl", "--suggest"]],
    "next": [["r"], ["r", "--for", "estimate", "--strata", MINE]],
    "power": [["r", "--difference", "0.1"], ["r", "--difference", "0.1", "-m", MINE]],
    "report": [["r", "-o", "r.html"], ["r", "--format", "text", "-o", "-"], ["chosen", "--format", "text", "-o", "-"]],
    "score": [["chats.jsonl", *(word for spec in [*PLANTED, "length"] for word in ("-m", spec)), "-o", "r"]],
    "select": [["chosen"]],
    "show": [["r"], ["r", "--sort", "length"], ["r", "--where", "length > 2"], ["r", "--sort", MINE, "--by", "system"]],
    "trust": [["r"]],
}
OTHERS = {  # commands that read no run; what they read has no specs
    *("annotate", "attack", "augment", "build", "cache", "data", "demo", "doctor", "embed", "export", "help", "import"),
    *("index", "list", "models", "propose", "rank", "reproduce", "serve", "shards", "situate", "speakers", "train"),
}


def test_every_command_reads_runs_in_the_test_below_or_reads_none() -> None:
    assert set(cli.program.list_commands(None)) == {*COMMANDS, *OTHERS}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted folders, made once."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "evil.py").write_text(EVIL.format(marker=str(folder / "marker")))
    planted_runs(folder)
    return folder


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_command_runs_a_file_that_a_run_folder_names(
    made: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    for arguments in COMMANDS[command]:
        done = CliRunner().invoke(cli.program, [command, *arguments])
        assert not (made / "marker").exists(), arguments
        assert done.exception is None or isinstance(done.exception, RejoinderError | SystemExit), done.exc_info
        assert "Usage:" not in done.output, done.output
        if done.exception is not None:
            assert "\n" not in str(done.exception)


def test_python_shows_a_planted_run_without_its_files(place: Path) -> None:
    planted_runs(place)
    scores = rejoinder.load(place / "r")
    assert MINE in str(scores)
    assert "not_english: 3" in str(scores)
    assert "<table" in scores._repr_html_()
    assert scores.spec(MINE) == MINE
    assert scores.spec(PLANTED["bleu"]) == PLANTED["bleu"]
    with pytest.raises(RejoinderError, match="the run has no scores of"):
        scores.spec("./evil.py:Other")
    assert len(list(scores.rows())) == 16
    assert str(rejoinder.report(place / "r"))
    rejoinder.compare(place / "r")
    with pytest.raises(SpecError, match="names a Python file"):
        judge(place / "r")
    assert not (place / "marker").exists()


@pytest.fixture
def client(place: Path) -> Iterator[Any]:
    pytest.importorskip("starlette")
    pytest.importorskip("httpx2")
    from tests.serve_site import client_of, house_of

    library_at(place / "runs")
    planted = {"context_overlap": MINE, "bleu": PLANTED["bleu"]}
    plant(place / "runs" / "chats", planted)
    plant(place / "runs" / "later", planted)
    plant(place / "runs" / "chosen", {"tfidf": f"{MINE}:score"})
    with client_of(house_of(place / "runs")) as found:
        yield found


def test_no_page_of_the_server_runs_a_file_that_a_run_folder_names(client: Any, place: Path) -> None:
    from rejoinder.server.pages.app import PAGES

    values = {"{reply}": ["0"], "{item}": ["0"], "{question}": ["0"], "{model}": ["aptness"], "{set}": ["kitchen"]}
    values["{run}"] = ["chats", "later", "chosen", "ranked"]
    paths = list(PAGES)
    for word, replacements in values.items():
        paths = [path.replace(word, one) for path in paths for one in (replacements if word in path else [word])]
    paths += [f"/runs/chats/replies.{form}" for form in ("csv", "jsonl", "zip")]
    for path in paths:
        for query in ("", "?old=chats&new=later", f"?metric={MINE}", f"?old=chats&new=later&metric={MINE}",
                      f"?sort={MINE}", f"?of={MINE}&from=0", "?run=chats&reply=0"):  # fmt: skip
            answer = client.get(path + query)
            assert answer.status_code < 500, (path + query, answer.text)
            assert not (place / "marker").exists(), path + query
    assert MINE in client.get("/runs/chats").text
    assert client.get("/runs/chats").status_code == client.get("/compare?old=chats&new=later").status_code == 200
    for text in (MINE, PLANTED["bleu"]):
        pairs = [{"context": ["Open?"], "response": "Yes."}]
        assert client.post("/score", json={"metrics": [text], "pairs": pairs}).status_code < 500
        assert not (place / "marker").exists(), text


def test_a_run_by_a_metric_of_ones_own_keeps_its_note_when_the_file_is_gone(place: Path) -> None:
    german = [{"prompt": "Wie geht es dir?", "response": "Mir geht es heute ausgesprochen gut, danke."}] * 3
    data = write_lines(place / "chats.jsonl", [{**row, "id": str(n)} for n, row in enumerate(german)])
    done = run([data], Plan.of([MINE]), place / "own", cache=False)
    (place / "evil.py").unlink()
    assert str(rejoinder.load(place / "own")) == str(done.scores)
    assert f"{MINE}: made for English" in str(done.scores)


@pytest.mark.parametrize(
    "spec",
    [
        *PLANTED.values(), "evil.py", "/tmp/evil.py:Evil", " ./evil.py (x=1)", "a/b.py:C(n=1)",
        "with_references(metric=\"with_references(metric='./evil.py')\")", "many(of=['bleu', './evil.py'])",
        "many(of={'a': ('./evil.py',)})",
    ],
)  # fmt: skip
def test_a_stored_spec_that_names_a_file_anywhere_is_refused(spec: str) -> None:
    assert names_user_file(spec)
    with pytest.raises(SpecError, match="names a Python file"):
        parse_stored(spec)


@pytest.mark.parametrize("spec", ["bleu(n=2)", "with_references(metric='chrf')", "length"])
def test_a_stored_spec_of_the_package_is_the_metric(spec: str) -> None:
    assert parse_stored(spec) == rejoinder.parse(spec)


def test_measurements_of_a_judge_name_no_file_to_run(place: Path) -> None:
    from tests.test_build_acceptability import drawn

    spec = "aptness(model='bi')"
    known = measure_judge(drawn(4, 0), drawn(4, 1), spec)
    write_acceptability([known], place / "judges.json")
    planted = (place / "judges.json").read_text().replace(json.dumps(spec), json.dumps(MINE))
    (place / "judges.json").write_text(planted)
    assert load_acceptability(rejoinder.parse(spec), place / "judges.json").metric == spec
    assert not (place / "marker").exists()
