"""Shards and runs in an object store: an S3-compatible server on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from object_store import Store, store
from tiny_shards import placed, talk

from rejoinder import cli
from rejoinder.cli import program
from rejoinder.data.remote import RemoteFolder, join_address, redact_address, split_address
from rejoinder.data.shards.files import fetch_local, shards_of
from rejoinder.data.shards.pack import pack_records
from rejoinder.data.writer import write
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError
from rejoinder.scoring.run import Plan
from rejoinder.scoring.sharded.run import score_shards
from rejoinder.types import Item, Response, Turn

pytest.importorskip("pyarrow")
PLAN = Plan.of(["bleu", "length"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with store(tmp_path_factory.mktemp("server")) as found:
        yield found


def run(*typed: str) -> Result:
    return CliRunner().invoke(program, list(typed))


def test_addresses_keep_their_settings_and_hide_their_secrets() -> None:
    where = "s3://KEY:SECRET@bucket/logs?region=x"
    assert join_address(where, "a/b.jsonl") == "s3://KEY:SECRET@bucket/logs/a/b.jsonl?region=x"
    assert split_address(join_address(where, "b.jsonl")) == (where, "b.jsonl")
    assert redact_address(where) == "s3://bucket/logs"
    assert redact_address("s3://bucket/logs@v1/a.jsonl") == "s3://bucket/logs@v1/a.jsonl"


@pytest.mark.parametrize("secret", ["zqa/zqb", "zqa?zqb", "zqa@zqb", "zqa zqb", "zqa#zqb", "zqa%zzzqb", "zqa:q/zqb"])
@pytest.mark.parametrize("command", ["score", "shards check", "compare", "import openai", "report"])
def test_no_message_shows_a_secret_however_it_is_written(
    secret: str, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["rejoinder", *command.split(), f"s3://KEY:{secret}@bucket/logs"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    told = capsys.readouterr()
    assert stop.value.code == 2
    for piece in ("zqa", "zqb", "KEY"):
        assert piece not in told.out + told.err


def test_shards_are_written_once_and_read_back(server: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    plain = RemoteFolder.send

    def watched(self: RemoteFolder, source: Path, name: str) -> None:
        sent.append(name)
        plain(self, source, name)

    monkeypatch.setattr(RemoteFolder, "send", watched)
    here = pack_records(placed(talk()), str(tmp_path), size=20)
    there = pack_records(placed(talk()), server.address("packed"), size=20)
    assert there == here
    assert sent == [entry.name for entry in here.entries]
    server.remove(f"packed/{sent[2]}")
    pack_records(placed(talk()), server.address("packed"), size=20)
    assert sent[6:] == [sent[2]]
    shards = shards_of(server.address("packed"))
    assert [shard.sha256 for shard in shards] == [entry.sha256 for entry in here.entries]
    with fetch_local(shards[1]) as path:
        assert path.read_bytes() == (tmp_path / shards[1].name).read_bytes()
    alone = shards_of(server.address(f"packed/{shards[1].name}"))
    assert alone == [shards[1]]


def test_names_may_hold_anything(server: Store, tmp_path: Path) -> None:
    folder = tmp_path / "my logs" / "50%"
    folder.mkdir(parents=True)
    write([Item("i", (Turn("x"),)), Response("r", "i", "s", "y")], folder / "a b#c?.jsonl")
    RemoteFolder(server.address("odd")).send(folder / "a b#c?.jsonl", "my logs/50%/a b#c?.jsonl")
    for where in (tmp_path.as_uri(), server.address("odd")):
        (shard,) = shards_of(where)
        assert shard.name == "my logs/50%/a b#c?.jsonl"
        with fetch_local(shard) as path:
            assert path.read_bytes() == (folder / "a b#c?.jsonl").read_bytes()
        assert score_shards([shard], PLAN, tmp_path / "run", LocalEngine(1)).shards[0]["responses"] == 1


def test_a_run_in_a_bucket_is_that_of_a_folder_and_goes_on(server: Store, tmp_path: Path) -> None:
    pack_records(placed(talk()), server.address("data"), size=20)
    pack_records(placed(talk()), str(tmp_path / "data"), size=20)
    wanted = score_shards(shards_of(str(tmp_path / "data")), PLAN, tmp_path / "run", LocalEngine(1))
    shards, where = shards_of(server.address("data")), server.address("runs/x")
    found = score_shards(shards, PLAN, where, LocalEngine(2), table=True)
    assert found.sums == wanted.sums
    assert [one["fresh"] for one in found.shards] == [True] * 6
    files = server.files("runs/x")
    assert sum(name.endswith("shard.json") for name in files) == 6
    assert sum(name.endswith("scores.parquet") for name in files) == 6
    assert [one["fresh"] for one in score_shards(shards, PLAN, where, LocalEngine(1)).shards] == [False] * 6
    assert server.files("runs/x") == files
    server.remove(f"runs/x/shards/{found.shards[4]['address']}/shard.json")
    again = score_shards(shards, PLAN, where, LocalEngine(1))
    assert [one["fresh"] for one in again.shards] == [False] * 4 + [True] + [False]
    assert again.sums == wanted.sums


def test_what_was_scored_before_the_store_went_away_is_not_scored_again(
    server: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack_records(placed(talk()), server.address("gone/data"), size=20)
    shards, where = shards_of(server.address("gone/data")), server.address("gone/run")
    plain, sent = RemoteFolder.send, [0]

    def failing(self: RemoteFolder, source: Path, name: str) -> None:
        sent[0] += 1
        if sent[0] > 17:  # two shards of eight files each, and one file more
            raise InputError("the store went away")
        plain(self, source, name)

    monkeypatch.setattr(RemoteFolder, "send", failing)
    with pytest.raises(InputError, match="went away"):
        score_shards(shards, PLAN, where, LocalEngine(1))
    monkeypatch.setattr(RemoteFolder, "send", plain)
    found = score_shards(shards, PLAN, where, LocalEngine(1))
    assert [one["fresh"] for one in found.shards] == [False] * 2 + [True] * 4


def test_the_commands_take_addresses(server: Store, tmp_path: Path) -> None:
    pack_records(placed(talk()), str(tmp_path), size=20)
    data, out = server.address("cli/data"), server.address("cli/run")
    done = run("shards", "write", str(tmp_path), "-o", data, "--form", "jsonl.gz", "--records", "20")
    assert done.exit_code == 0, done.output
    assert "s3://talks/cli/data: 6 shards" in done.output
    for verb in ("catalogue", "check"):
        assert run("shards", verb, data, "--processes", "1").exit_code == 0
    done = run("score", data, "-m", "length", "-o", out, "--processes", "1")
    assert done.exit_code == 0, done.output
    assert "results: s3://talks/cli/run" in done.output
    assert "SECRET" not in done.output
    done = run("score", data, "-m", "bleu", "-o", out, "--processes", "1")
    assert "s3://talks/cli/run: holds another run" in str(done.exception)


def wrong(server: Store, what: str) -> tuple[str, ...]:
    data = server.address("wrong/data")
    return {
        "no bucket to read": ("score", server.address("x", "nowhere"), "-m", "length"),
        "no bucket to write": ("score", data, "-m", "length", "-o", server.address("x", "nowhere")),
        "no bucket for shards": ("shards", "write", data, "-o", server.address("x", "nowhere")),
        "nothing there": ("score", server.address("wrong/nothing"), "-m", "length"),
        "no server": ("score", server.address("x", port=9), "-m", "length"),
    }[what]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("no bucket to read", "s3://nowhere/x: cannot be listed (there is no such bucket"),
        ("no bucket to write", "s3://nowhere/x: there is no such bucket"),
        ("no bucket for shards", "s3://nowhere/x: there is no such bucket"),
        ("nothing there", "s3://talks/wrong/nothing: cannot be listed (nothing was found there"),
        ("no server", "s3://talks/x: cannot be listed (no server answers at this address"),
    ],
)
def test_what_is_wrong_is_one_sentence(server: Store, what: str, said: str) -> None:
    pack_records(placed(talk(2)), server.address("wrong/data"), size=20)
    done = run(*wrong(server, what))
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)


def test_a_server_that_lets_nobody_in_is_told(server: Store) -> None:
    server.ask("moto-api/reset-auth", b"0")
    try:
        done: Any = run("score", server.address("data"), "-m", "length")
    finally:
        server.ask("moto-api/reset-auth", b"Infinity")
    assert isinstance(done.exception, InputError)
    assert "AWS_ACCESS_KEY_ID" in str(done.exception), done.exception
