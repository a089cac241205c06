"""The command line as a user meets it: tables on the output, one line for every mistake, exit status 2."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rejoinder
from rejoinder import cli

EXAMPLES = Path(__file__).parent.parent / "examples"
CHATS = EXAMPLES / "chats.jsonl"


class Ran:
    """How a command ended."""

    def __init__(self, capfd: pytest.CaptureFixture[str], *argv: object) -> None:
        before = sys.argv
        sys.argv = ["rejoinder", *map(str, argv)]
        self.status = 0
        try:
            cli.main()
        except SystemExit as stop:
            self.status = int(stop.code or 0)
        finally:
            sys.argv = before
        self.out, self.err = capfd.readouterr()


@pytest.fixture
def ran(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(tmp_path)
    return lambda *argv: Ran(capfd, *argv)


def test_the_first_command_prints_a_table_and_says_where_the_results_are(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = ran("score", CHATS)
    assert done.status == 0
    assert "Mean score by system" in done.out
    for system in ("attentive", "plain", "drifter", "parrot"):
        assert system in done.out
    folder = Path(done.err.rpartition("results: ")[2].split()[0])
    assert json.loads((folder / "run.json").read_text())["counts"]["response"] == 192
    assert "bleu|n:4" in done.err
    again = ran("score", CHATS)
    assert again.out == done.out
    assert "nothing was computed" in again.err


@pytest.mark.parametrize("form", ["markdown", "html", "latex", "csv", "json"])
def test_the_table_comes_in_every_form(ran, form: str) -> None:  # type: ignore[no-untyped-def]
    done = ran("score", CHATS, "-m", "length", "-m", "bleu(n=1)", "--format", form)
    assert done.status == 0
    if form == "json":
        rows = json.loads(done.out)["rows"]
        assert {row["system"] for row in rows} == {"attentive", "plain", "drifter", "parrot"}
        assert rows[0]["length"]["low"] < rows[0]["length"]["value"] < rows[0]["length"]["high"]
    if form == "csv":
        assert (
            done.out.splitlines()[0] == "system,n,length,length low,length high,bleu(n=1),bleu(n=1) low,bleu(n=1) high"
        )


def test_standard_input_gzip_and_several_files_give_the_same_scores(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lines = CHATS.read_bytes().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(
        b"".join(line for line in lines if b'"kind":"item"' not in line.replace(b" ", b""))
    )
    with gzip.open(tmp_path / "b.jsonl.gz", "wb") as file:
        file.write(b"".join(line for line in lines if b'"kind":"item"' in line.replace(b" ", b"")))
    two = ran("score", "a.jsonl", "b.jsonl.gz", "-m", "rouge_l", "--format", "csv")
    one = ran("score", CHATS, "-m", "rouge_l", "--format", "csv")
    assert sorted(two.out.splitlines()) == sorted(one.out.splitlines())
    command = [sys.executable, "-m", "rejoinder", "score", "-", "-m", "rouge_l", "--format", "csv"]
    piped = subprocess.run(command, input=CHATS.read_bytes(), capture_output=True, check=True)
    assert piped.stdout.decode() == one.out


def test_an_openai_log_is_scored_as_it_is(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    log = {
        "model": "shopbot",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Is the green one in stock?"},
            {"role": "assistant", "content": "Yes, two of them."},
        ],
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(log) + "\n")
    (tmp_path / "log.json").write_text(json.dumps([log], indent=2))
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(json.dumps(log).encode()))
    for name in ("log.jsonl", "log.json", "log.jsonl.gz"):
        done = ran("score", name, "-m", "length")
        assert done.status == 0, done.err
        assert "shopbot" in done.out
        assert f"{name}: read as openai; left out: nothing" in done.err
    del log["model"]
    log["messages"].append({"role": "assistant", "content": ""})  # type: ignore[union-attr]
    (tmp_path / "nameless.jsonl").write_text(json.dumps(log) + "\n")
    done = ran("score", "nameless.jsonl", "-m", "length")
    assert "assistant" in done.out
    assert "left out: empty assistant messages (1)" in done.err


MISTAKES = [
    (["scroe"], "no command is called 'scroe'; did you mean 'score'"),
    (["score"], "Missing argument 'FILE...'"),
    (["score", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
    (["score", "."], "holds no shards; shards are files that end in .jsonl"),
    (["score", str(CHATS), "-m", "blue"], "no metric is called 'blue'; did you mean 'bleu'"),
    (["score", str(CHATS), "--metrc", "bleu"], "No such option"),
    (["score", str(CHATS), "--processes", "0"], "--processes"),
    (["score", "dataset:nothing"], "nothing"),
    (["reproduce", "scarce-overlpa"], "did you mean 'scarce-overlap'"),
    (["import", "opnai", str(CHATS)], "opnai"),
    (["list", "metrcs"], "metrcs"),
]


@pytest.mark.parametrize(("argv", "said"), MISTAKES, ids=[" ".join(a)[:30] for a, _ in MISTAKES])
def test_a_mistake_is_one_line_and_exit_status_2(ran, argv: list[str], said: str) -> None:  # type: ignore[no-untyped-def]
    done = ran(*argv)
    assert done.status == 2
    assert done.out == ""
    assert said in done.err
    assert done.err.startswith("rejoinder: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("what", ["metrics", "sources", "systems", "importers", "datasets", "reproductions"])
def test_what_there_is_can_be_listed(ran, what: str) -> None:  # type: ignore[no-untyped-def]
    done = ran("list", what, "--format", "json")
    assert done.status == 0, done.err
    assert len(json.loads(done.out)["rows"]) >= 1
    assert ran("list", what).status == 0


def test_the_list_of_metrics_says_what_each_needs(ran) -> None:  # type: ignore[no-untyped-def]
    rows = {row["metric"].split()[0]: row for row in json.loads(ran("list", "metrics", "--format", "json").out)["rows"]}
    assert set(rows) == set(rejoinder.metric.metric_names())
    assert rows["bleu"]["needs"] == "references"
    assert rows["bleu"]["better"] == "higher"
    assert rows["bleu"]["range"] == "0 to 1"
    assert "Papineni" in rows["bleu"]["citation"]


def test_the_cache_can_be_shown_and_cleared(ran, own_cache: Path) -> None:  # type: ignore[no-untyped-def]
    ran("score", CHATS, "-m", "length")
    assert "2 files" in ran("cache").out
    assert "cleared" in ran("cache", "--clear").out
    assert "0 files" in ran("cache").out


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m rejoinder list metrics | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env={**os.environ}, check=True)
    assert done.stdout == "Metrics\n"
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_messages_in_meta_do_not_make_a_chat_log(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lines = [
        {"item": "i", "system": "bot", "text": "Yes.", "meta": {"messages": [{"role": "user"}]}},
        {"id": "i", "context": ["Well?"]},
    ]
    (tmp_path / "ours.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = ran("score", "ours.jsonl", "-m", "length")
    assert done.status == 0, done.err
    assert "read as" not in done.err


def test_compare_trust_check_and_report_follow_a_run(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert ran("score", CHATS, "-m", "meteor", "-o", "run", "--report", "page.html").status == 0
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    compared = ran("compare", "run")
    assert "attentive is best, surely ahead of" in compared.out
    trusted = ran("trust", "run", "--aspect", "appropriate")
    assert "baseline: which system wrote it" in trusted.out
    assert "On 'appropriate', meteor agrees with people within systems" in trusted.out
    assert "on-topic" in ran("trust", "run", "--format", "json").out
    assert ran("check", "run", "--min", "meteor@attentive>=0.1").status == 0
    failed = ran("check", "run", "--min", "meteor@parrot>=0.9")
    assert failed.status == 1
    assert "FAIL  meteor of parrot is 0.0" in failed.out
    assert ran("report", "run").status == 0
    assert (tmp_path / "run.html").exists()
    for command in ("compare", "trust", "check", "report"):
        assert (
            "no such run folder" in ran(command, "nowhere", *(["--min", "bleu>=0"] if command == "check" else [])).err
        )


def test_nothing_is_drawn_when_the_error_stream_is_piped(ran) -> None:  # type: ignore[no-untyped-def]
    done = ran("score", CHATS, "-m", "length")
    assert "\x1b" not in done.err
    assert "%" not in done.err


def test_every_command_has_help(ran) -> None:  # type: ignore[no-untyped-def]
    listed = ran("--help").out
    for name in cli.program.list_commands(None):  # type: ignore[arg-type]
        assert name in listed
        shown = ran(name, "--help")
        assert shown.status == 0
        assert "Usage: rejoinder" in shown.out
    assert rejoinder.__version__ in ran("--version").out


def test_a_run_of_which_no_reply_has_a_score_says_why_and_fails(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lines = [{"kind": "item", "id": "i", "context": [{"text": "Are you there?"}]}]
    lines += [{"kind": "response", "id": f"r{n}", "item": "i", "system": "s", "text": "Yes."} for n in range(3)]
    chats = tmp_path / "logs" / "chats.jsonl"
    chats.parent.mkdir()
    chats.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = "rejoinder: none of 3 replies has a score under bleu (3 without references), chrf (3 without references)\n"
    for given in (chats, chats.parent):
        ended = ran("score", str(given), "-m", "bleu", "-m", "chrf", "-o", str(tmp_path / f"run-{given.stem}"))
        assert (ended.status, ended.err.endswith(said)) == (1, True), ended.err
    half = ran("score", str(chats), "-m", "bleu", "-m", "length", "-o", str(tmp_path / "half"))
    assert half.status == 0


STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f"


def on_a_terminal(folder: Path, *argv: str) -> str:
    """What a command sends to a terminal."""
    terminal, ours = os.openpty()
    command = [sys.executable, "-m", "rejoinder", *argv]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=ours, stderr=ours) as process:
        os.close(ours)
        seen = b""
        while True:
            try:
                more = os.read(terminal, 65536)
            except OSError:  # nobody writes any more
                break
            if not more:
                break
            seen += more
        process.wait()
    os.close(terminal)
    return seen.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
def test_names_and_file_names_never_steer_a_terminal(tmp_path: Path) -> None:
    name = f"bot{STEERING}"
    records: list[dict[str, object]] = [
        {"kind": "item", "id": f"i{n}{name}", "context": [{"text": f"Is it {n}?{name}"}], "references": [f"It is {n}."]}
        for n in range(6)
    ]
    for system in (name, "other"):
        for n in range(6):
            said = {"id": f"{system}{n}", "item": f"i{n}{name}", "system": system, "text": f"It is {n}, {system}."}
            records.append({"kind": "response", **said})
    data = tmp_path / f"{name}.jsonl"
    data.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    seen = on_a_terminal(tmp_path, "score", data.name, "-m", "bleu", "-m", "length", "-o", f"run{name}")
    assert "results: run" in seen
    assert r"bot\u001b]0;owned\u0007\u001b[2J\u009b31m\u007f" in seen
    for command in (["compare"], ["report", "--format", "csv", "-o", "-"], ["trust"], ["judge"], ["check"]):
        seen += on_a_terminal(tmp_path, *command, f"run{name}")
    for argv in (
        ["score", f"no{name}"],
        ["score", data.name, "-m", f"no{name}"],
        [f"no{name}"],
        ["score", f"--{name}"],
    ):
        seen += (failed := on_a_terminal(tmp_path, *argv))
        assert r"\u001b" in failed or r"\x1b" in failed
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", seen)
