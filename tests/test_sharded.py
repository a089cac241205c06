"""Runs over shards: the same means as one file gives, each shard once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rejoinder.cli.score import command
from rejoinder.data.shards.conversations import conversation_digest, find_contradiction, item_digests, save_digests
from rejoinder.data.shards.files import fetch_local, is_sharded, shards_of
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError, RunError, SpecError
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.run import Plan, run
from rejoinder.scoring.sharded.run import _bounded_estimate, score_shards
from rejoinder.table import Estimate

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
METRICS = ("length", "bleu", "chrf")


def conversation(record: dict[str, Any], of_item: dict[str, str]) -> str:
    return str(record.get("dialogue") or of_item.get(record.get("item", ""), record.get("item") or record.get("id")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example chats in three files, a conversation never in two; ratings stay out."""
    records = [json.loads(line) for line in CHATS.read_text().splitlines()]
    items = {r["id"]: str(r.get("dialogue") or r["id"]) for r in records if "context" in r}
    kept = [r for r in records if "context" in r or ("system" in r and "text" in r)]
    names = sorted(set(items.values()))
    place = {name: n % 3 for n, name in enumerate(names)}
    target = tmp_path_factory.mktemp("shards")
    (target / "deep").mkdir()
    files = [target / "a.jsonl", target / "b.jsonl", target / "deep" / "c.jsonl"]
    for n, path in enumerate(files):
        mine = [r for r in kept if place[items[r["id"] if "context" in r else r["item"]]] == n]
        path.write_text("".join(json.dumps(r) + "\n" for r in mine))
    (target / "notes.txt").write_text("not a shard")
    return target


@pytest.mark.parametrize("workers", [1, 2])
def test_shards_give_the_means_of_the_whole(folder: Path, tmp_path: Path, workers: int) -> None:
    shards = shards_of(str(folder))
    assert [shard.name for shard in shards] == ["a.jsonl", "b.jsonl", "deep/c.jsonl"]
    found = score_shards(shards, Plan.of(METRICS), tmp_path / "run", LocalEngine(workers))
    whole = run([shard.where for shard in shards], Plan.of(METRICS), tmp_path / "whole", cache=False).scores
    for system in whole.systems:
        for spec in METRICS:
            estimate = found.sums[system][spec].interval()
            wanted = whole.mean(spec, system)
            assert estimate.value == pytest.approx(wanted.value, rel=1e-12)
            assert estimate.high - estimate.low == pytest.approx(wanted.high - wanted.low, rel=1e-9)
    assert sum(one["responses"] for one in found.shards) == len(whole)


def test_a_shard_is_scored_once_and_the_rest_when_it_is_there(folder: Path, tmp_path: Path) -> None:
    shards = shards_of(str(folder))
    plan, target = Plan.of(["length"]), tmp_path / "run"
    first = score_shards(shards[:2], plan, target, LocalEngine(1))
    assert [one["fresh"] for one in first.shards] == [True, True]
    again = score_shards(shards, plan, target, LocalEngine(1))
    assert [one["fresh"] for one in again.shards] == [False, False, True]
    about = (target / "sharded.json").read_bytes()
    score_shards(shards, plan, target, LocalEngine(2))
    assert (target / "sharded.json").read_bytes() == about


def test_the_command_takes_folders_and_patterns(folder: Path, tmp_path: Path) -> None:
    for given, n in ((str(folder), 3), (str(folder / "*.jsonl"), 2)):
        out = tmp_path / str(n)
        done = CliRunner().invoke(command, [given, "-m", "length", "--processes", "1", "-v", "-o", str(out)])
        assert done.exit_code == 0, done.output
        assert f"in {n} shards" in done.output
        assert "bytes per thousand" in done.output
        assert (out / "sharded.json").is_file()


def test_what_cannot_be_put_together_is_said(folder: Path, tmp_path: Path) -> None:
    shards = shards_of(str(folder))
    with pytest.raises(SpecError, match="is computed over the whole set"):
        score_shards(shards, Plan.of(["self_bleu"]), tmp_path, LocalEngine(1))
    with pytest.raises(SpecError, match="name the metrics"):
        score_shards(shards, Plan.of([]), tmp_path, LocalEngine(1))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no shards"):
        shards_of(str(tmp_path / "empty"))


def test_a_folder_keeps_what_it_was_made_for_and_nothing_counts_twice(folder: Path, tmp_path: Path) -> None:
    shards = shards_of(str(folder))
    score_shards(shards, Plan.of(["length"]), tmp_path / "run", LocalEngine(1))
    with pytest.raises(RunError, match="holds another run"):
        score_shards(shards, Plan.of(["chrf"]), tmp_path / "run", LocalEngine(1))
    copies = tmp_path / "copies"
    copies.mkdir()
    for name in ("a.jsonl", "again.jsonl"):
        (copies / name).write_bytes((folder / "a.jsonl").read_bytes())
    with pytest.raises(InputError, match=r"a\.jsonl and again\.jsonl have the same content"):
        score_shards(shards_of(str(copies)), Plan.of(["length"]), tmp_path / "twice", LocalEngine(1))


def test_one_file_is_no_shards(folder: Path) -> None:
    assert not is_sharded(str(folder / "a.jsonl"))
    assert not is_sharded("dataset:sugar/0/test")
    assert not is_sharded("nothing.jsonl")
    assert is_sharded(str(folder))
    assert is_sharded("s3://bucket/logs")


def test_an_address_of_files_is_read_through_pyarrow(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    shards = shards_of(folder.as_uri())
    assert [shard.name for shard in shards] == ["a.jsonl", "b.jsonl", "deep/c.jsonl"]
    with fetch_local(shards[2]) as path:
        assert path.read_bytes() == (folder / "deep" / "c.jsonl").read_bytes()
    assert not path.exists()
    with pytest.raises(InputError, match="is not the address"):
        shards_of("nowhere://x")


def test_a_conversation_in_two_shards_is_told(folder: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for name in ("a", "b"):
        lines = [
            {"id": f"i{name}", "context": ["x"], "dialogue": "lunch"},
            {"item": f"i{name}", "system": "soupbot", "text": f"reply {name}"},
        ]
        (parts / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = r"the shards a\.jsonl and b\.jsonl both have replies of 'soupbot' in the conversation 'lunch'"
    with pytest.raises(InputError, match=said):
        score_shards(shards_of(str(parts)), Plan.of(["length"]), tmp_path / "run", LocalEngine(1))
    assert not (tmp_path / "run" / "sharded.json").exists()


def shard(path: Path, system: str, *items: dict[str, Any]) -> Path:
    """A shard in which one system answers some items."""
    path.parent.mkdir(exist_ok=True)
    lines = [line for one in items for line in (one, {"item": one["id"], "system": system, "text": f"{system}!"})]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("metric", ["length", "bleu"])
@pytest.mark.parametrize(
    "other", [{"context": ["Bye?"]}, {"references": ["So."]}, {"dialogue": "d"}, {"future": ["Then."]}]
)
def test_one_id_for_different_items_in_two_shards_is_told(tmp_path: Path, metric: str, other: dict[str, Any]) -> None:
    same = {"id": "i1", "context": ["Hi."], "references": ["Hello."]}
    shard(tmp_path / "in" / "a.jsonl", "ann", same, {**same, "id": "i2"})
    shard(tmp_path / "in" / "b.jsonl", "bob", {**same, "id": "i0"}, {**same, "id": "i2", **other})
    said = r"the shards a\.jsonl and b\.jsonl both have an item 'i2', with another context, other references or another"
    for _ in range(2):  # the second time both shards were scored already
        with pytest.raises(InputError, match=said):
            score_shards(shards_of(str(tmp_path / "in")), Plan.of([metric]), tmp_path / "run", LocalEngine(1))
    assert not (tmp_path / "run" / "sharded.json").exists()


@pytest.mark.parametrize("metric", ["length", "bleu"])
def test_the_same_item_may_stand_in_several_shards_of_whatever_form(tmp_path: Path, metric: str) -> None:
    pytest.importorskip("pyarrow")
    from rejoinder.data.reader import stream
    from rejoinder.data.shards.pack import write_record_file

    same = {
        "id": "i1",
        "context": ["Hi."],
        "references": ["Hello.", {"text": "Hey.", "source": "bm25"}],
        "future": ["A"],
    }
    shard(tmp_path / "in" / "a.jsonl", "ann", {**same, "meta": {"from": "a"}})
    shard(tmp_path / "in" / "b.jsonl", "bob", {**same, "id": "i0"}, same)
    written = shard(tmp_path / "c.jsonl", "cid", same)
    write_record_file(stream(written), str(tmp_path / "in" / "c.parquet"))
    found = score_shards(shards_of(str(tmp_path / "in")), Plan.of([metric]), tmp_path / "run", LocalEngine(1))
    assert sum(one["responses"] for one in found.shards) == 4
    shard(written, "cid", {**same, "references": ["Something else."]})
    write_record_file(stream(written), str(tmp_path / "in" / "c.parquet"))
    again = [shards_of(str(tmp_path / "in")), Plan.of([metric]), tmp_path / "again", LocalEngine(1)]
    if metric == "length":  # references are not read
        assert sum(one["responses"] for one in score_shards(*again).shards) == 4
        return
    with pytest.raises(InputError, match=r"c\.parquet both have an item 'i1'"):
        score_shards(*again)


def test_a_run_over_shards_that_share_an_item_is_read_back(tmp_path: Path) -> None:
    same = {"id": "i1", "context": ["Hi."]}
    shard(tmp_path / "in" / "a.jsonl", "ann", same)
    shard(tmp_path / "in" / "b.jsonl", "bob", {**same, "id": "i0"}, same)
    score_shards(shards_of(str(tmp_path / "in")), Plan.of(["length"]), tmp_path / "run", LocalEngine(1))
    found = load_data(tmp_path / "run")
    assert sorted(found.items) == ["i0", "i1"]
    assert sorted(found.responses) == ["i0/bob", "i1/ann", "i1/bob"]


def test_shards_of_one_name_are_told_apart(tmp_path: Path) -> None:
    same = {"id": "i1", "context": ["Hi."]}
    for folder in "ab":
        shard(tmp_path / folder / "x.jsonl", "ann", same)
    both = [*shards_of(str(tmp_path / "a")), *shards_of(str(tmp_path / "b"))]
    with pytest.raises(InputError, match=r"a/x\.jsonl and .*b/x\.jsonl have the same content; remove one of them"):
        score_shards(both, Plan.of(["length"]), tmp_path / "run", LocalEngine(1))
    shard(tmp_path / "b" / "x.jsonl", "bob", {**same, "context": ["Ho."]})
    both = [*shards_of(str(tmp_path / "a")), *shards_of(str(tmp_path / "b"))]
    with pytest.raises(InputError, match=r"a/x\.jsonl and .*b/x\.jsonl both have an item 'i1'"):
        score_shards(both, Plan.of(["length"]), tmp_path / "run", LocalEngine(1))


def test_shards_that_were_scored_before_items_were_compared_are_summed_up_again(tmp_path: Path) -> None:
    for name, context in (("a", "Hi."), ("b", "Ho.")):
        shard(tmp_path / "in" / f"{name}.jsonl", name, {"id": f"i{name}", "context": [context]})
    ask = shards_of(str(tmp_path / "in")), Plan.of(["length"]), tmp_path / "run", LocalEngine(1)
    score_shards(*ask)
    for path in (tmp_path / "run" / "shards").glob("*/shard.json"):
        told = json.loads(path.read_text())
        del told["items"]
        path.write_text(json.dumps(told))
        path.with_name("items.npy").unlink()
    assert sum(one["responses"] for one in score_shards(*ask).shards) == 2
    assert len(list((tmp_path / "run" / "shards").glob("*/items.npy"))) == 2


@pytest.mark.parametrize("at_once", [1, 3, 1_000])
def test_contradictions_are_found_a_stretch_at_a_time(tmp_path: Path, at_once: int) -> None:
    def saved(name: str, number: int, is_whole: bool = True, **more: Any) -> Path:
        items = [{"id": f"i{n}", "context": [f"c{n}"], **(more if n == 7 else {})} for n in range(number)]
        save_digests(item_digests(items, frozenset({"future"}), is_whole), tmp_path / name)
        return tmp_path / name

    plain, longer = saved("plain", 20), saved("longer", 30)
    part, other = saved("part", 20, is_whole=False), saved("other", 20, future=["x"])
    assert find_contradiction([plain, longer, part], at_once) is None
    assert find_contradiction([other, part], at_once) is None
    assert find_contradiction([plain, part, other], at_once) == (0, 2, conversation_digest("i7"))
    assert find_contradiction([part, saved("changed", 8, references=["y"])], at_once) == (
        0,
        1,
        conversation_digest("i7"),
    )
    assert find_contradiction([saved("none", 0), plain], at_once) is None


def test_a_shard_of_nothing_stops_nothing_and_is_counted(folder: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "a.jsonl").write_bytes((folder / "a.jsonl").read_bytes())
    (parts / "empty.jsonl").write_bytes(b"")
    (parts / "empty-too.jsonl").write_bytes(b"\n")
    (parts / "items.jsonl").write_text('{"id": "i", "context": ["x"]}\n')
    found = score_shards(shards_of(str(parts)), Plan.of(["length"]), tmp_path / "run", LocalEngine(1))
    assert [one["responses"] > 0 for one in found.shards] == [True, False, False, False]
    assert "3 of 4 shards hold no responses." in found.table().notes
    only = [shard for shard in shards_of(str(parts)) if shard.name != "a.jsonl"]
    with pytest.raises(InputError, match="the shards hold no responses"):
        score_shards(only, Plan.of(["length"]), tmp_path / "none", LocalEngine(1))


@pytest.mark.parametrize("damage", ["half a gzip file", "half a Parquet file"])
def test_a_half_written_shard_stops_the_run_with_its_name(folder: Path, tmp_path: Path, damage: str) -> None:
    pytest.importorskip("pyarrow")
    from rejoinder.data.reader import stream
    from rejoinder.data.shards.pack import write_record_file

    parts = tmp_path / "parts"
    parts.mkdir()
    name = "b.jsonl.gz" if "gzip" in damage else "b.parquet"
    write_record_file(stream(folder / "b.jsonl"), str(parts / name))
    (parts / name).write_bytes((parts / name).read_bytes()[:-200])
    with pytest.raises(InputError, match=name):
        score_shards(shards_of(str(parts)), Plan.of(["length"]), tmp_path / "run", LocalEngine(1))


def test_parquet_shards_give_the_scores_of_jsonl_and_a_table(folder: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    from rejoinder.data.reader import stream
    from rejoinder.data.shards.pack import write_record_file

    parts = tmp_path / "parts"
    parts.mkdir()
    for shard in shards_of(str(folder)):
        write_record_file(stream(shard.where), str(parts / f"{Path(shard.name).stem}.parquet"))
    plan = Plan.of(METRICS)
    wanted = score_shards(shards_of(str(folder)), plan, tmp_path / "jsonl", LocalEngine(1))
    found = score_shards(shards_of(str(parts)), plan, tmp_path / "parquet", LocalEngine(1), table=True)
    assert found.sums == wanted.sums
    for one, other in zip(found.shards, wanted.shards, strict=True):
        mine = tmp_path / "parquet" / "shards" / one["address"]
        lines = (mine / "scores.jsonl").read_bytes()
        assert lines == (tmp_path / "jsonl" / "shards" / other["address"] / "scores.jsonl").read_bytes()
        rows = parquet.read_table(mine / "scores.parquet").to_pylist()
        first = json.loads(lines.splitlines()[0])
        assert rows[0] == {
            **{key: first.get(key) for key in ("response", "item", "system", "dialogue")},
            **first["scores"],
            "flags": first.get("flags", []),
        }
        # None of the metrics reads the context: it was not read.
        assert '"context":[]' in (mine / "data.jsonl").read_text()
    context = score_shards(shards_of(str(parts)), Plan.of(["context_overlap"]), tmp_path / "context", LocalEngine(1))
    plain = score_shards(shards_of(str(folder)), Plan.of(["context_overlap"]), tmp_path / "plain", LocalEngine(1))
    assert context.sums == plain.sums


def test_the_interval_of_a_run_over_shards_stays_in_the_range_of_the_metric() -> None:
    assert _bounded_estimate("bleu", 0.5, -0.1, 1.2) == Estimate(0.5, 0.0, 1.0)
