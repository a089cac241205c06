"""Scores as tables of other libraries: the same rows, texts beside numbers, from memory and from a run folder."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.data.shards.files import shards_of
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError, MissingExtraError, RunError
from rejoinder.scoring.result import MetricFacts, Scores
from rejoinder.scoring.run import Plan
from rejoinder.scoring.sharded.run import score_shards
from rejoinder.types import Item, Rating, Record, Reference, Response, Turn

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"


def records() -> list[Record]:
    """Two items, one with a dialogue; a rating by two people, and one that was aggregated."""
    return [
        Item("a", (Turn("Is it open?", "Ann"), Turn("Which shop?\nThe small one?", "Bo")), (Reference("Yes."),)),
        Item("b", (Turn("Hello"),), (Reference("Hi."), Reference("Hello!")), dialogue="d"),
        Response("a/x", "a", "x", "It is, until six."),
        Response("b/x", "b", "x", "Good morning, 你好"),
        Response("b/y", "b", "y", "=1+1"),
        Rating("p", "apt", 1.0, "a/x"),
        Rating("q", "apt", 4.0, "a/x"),
        Rating("p", "apt", 1.0, "b/x"),
        Rating("aggregate:mean", "apt", 3.0, "b/x"),
        Rating("p", "whole", 2.0, dialogue="d"),
    ]


@pytest.fixture(params=["memory", "folder"])
def scores(request: pytest.FixtureRequest, tmp_path: Path) -> Scores:
    data = rejoinder.data.collect(records())
    if request.param == "memory":
        return rejoinder.score(data, ["length", "meteor"])
    rejoinder.write(data, tmp_path / "chats.jsonl")
    rejoinder.run([tmp_path / "chats.jsonl"], rejoinder.Plan.of(["length", "meteor"]), tmp_path / "run")
    return rejoinder.load(tmp_path / "run")


def test_a_data_frame_has_ids_texts_scores_and_ratings(scores: Scores) -> None:
    frame = scores.to_pandas()
    names = ["response", "item", "dialogue", "system", "context", "reply", "length", "meteor", "rating:apt"]
    assert list(frame.columns) == names
    assert frame["context"].tolist() == ["Ann: Is it open?\nBo: Which shop?\nThe small one?", "Hello", "Hello"]
    assert frame["reply"].tolist() == ["It is, until six.", "Good morning, 你好", "=1+1"]
    assert frame["dialogue"].isna().tolist() == [True, False, False]
    assert frame["system"].tolist() == ["x", "x", "y"]
    assert frame["length"].tolist() == scores["length"].tolist()
    assert frame["rating:apt"].tolist()[:2] == [2.5, 3.0]  # an aggregated rating stands for those it was made from
    assert np.isnan(frame["rating:apt"].tolist()[2])
    assert frame.groupby("system", observed=True)["length"].mean()["y"] == scores.mean("length", "y").value


def test_references_come_where_asked_and_texts_can_be_left_out(scores: Scores) -> None:
    assert scores.to_pandas(references=True)["references"].tolist() == [["Yes."], ["Hi.", "Hello!"], ["Hi.", "Hello!"]]
    bare = scores.to_pandas(texts=False)
    assert list(bare.columns) == ["response", "item", "dialogue", "system", "length", "meteor"]


def test_references_of_equal_number_stay_lists() -> None:
    data = rejoinder.from_lists(["Fine.", "Well."], [["How?"], ["And?"]], [["A", "B"], ["C", "D"]])
    assert rejoinder.score(data, "length").to_pandas(references=True)["references"].tolist() == [["A", "B"], ["C", "D"]]


def test_an_arrow_table_has_the_same_columns_and_null_for_missing(scores: Scores) -> None:
    pytest.importorskip("pyarrow")
    table, frame = scores.to_arrow(references=True), scores.to_pandas(references=True)
    assert table.column_names == list(frame.columns)
    assert table["reply"].to_pylist() == frame["reply"].tolist()
    assert table["references"].to_pylist()[1] == ["Hi.", "Hello!"]
    assert table["rating:apt"].null_count == 1
    assert table["dialogue"].to_pylist() == [None, "d", "d"]


def test_polars_gets_the_same_columns(scores: Scores) -> None:
    polars = pytest.importorskip("polars")
    frame = scores.to_polars(references=True)
    assert isinstance(frame, polars.DataFrame)
    assert frame["reply"].to_list() == scores.to_pandas()["reply"].tolist()
    assert frame["rating:apt"].null_count() == 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_said_with_the_command_that_installs_it(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(builtins, "__import__", refuse)
    scores = rejoinder.score(["Fine."], "length")
    with pytest.raises(
        MissingExtraError, match=rf'needs {library}; install it with: pip install "rejoinder\[{library}\]"'
    ):
        getattr(scores, f"to_{library}")()


def test_a_metric_called_like_a_column_keeps_both() -> None:
    base = rejoinder.score(rejoinder.data.collect(records()), "length")
    facts = {"reply": MetricFacts("reply", (0.0, 99.0), True, frozenset())}
    odd = Scores(
        facts, {"reply": base["length"]}, base.responses, base.items, base.systems, base.system_codes,
        base.dialogues, base.dialogue_codes, base.clusters, data=base.data,
    )  # fmt: skip
    frame = odd.to_pandas()
    assert frame["reply"].tolist()[0] == "It is, until six."
    assert frame["score:reply"].tolist() == base["length"].tolist()


def test_scores_without_their_data_say_so() -> None:
    base = rejoinder.score(["Fine."], "length")
    bare = Scores(
        base.facts, base.values, base.responses, base.items, base.systems, base.system_codes, base.dialogues,
        base.dialogue_codes, base.clusters,
    )  # fmt: skip
    assert len(bare.to_pandas(texts=False)) == 1
    with pytest.raises(InputError, match="came without their texts"):
        bare.to_pandas()


def test_a_run_whose_data_was_damaged_since_it_was_loaded_is_refused(tmp_path: Path) -> None:
    rejoinder.run([CHATS], rejoinder.Plan.of(["length"]), tmp_path / "run")
    scores = rejoinder.load(tmp_path / "run")
    (tmp_path / "run" / "data.jsonl").write_text('{"kind": "response"')
    with pytest.raises(RunError, match=r"data.jsonl: cannot be read"):
        scores.to_pandas()
    (tmp_path / "run" / "data.jsonl").write_text("")
    with pytest.raises(RunError, match="has no record"):
        scores.to_pandas()


def test_a_run_over_shards_is_one_table(tmp_path: Path) -> None:
    rejoinder.shards([CHATS], tmp_path / "shards", form="jsonl", records=60, gather=True)
    score_shards(shards_of(str(tmp_path / "shards")), Plan.of(["length"]), tmp_path / "run", LocalEngine(1))
    frame = rejoinder.load(tmp_path / "run").to_pandas()
    whole = rejoinder.score(CHATS, "length").to_pandas()
    assert sorted(frame["reply"]) == sorted(whole["reply"])


def test_a_subset_keeps_its_own_texts() -> None:
    scores = rejoinder.score(CHATS, ["length", "meteor"])
    part = scores.subset(scores["length"] < 4)
    assert 0 < len(part) < len(scores)
    assert (part.to_pandas()["length"] < 4).all()
    backwards = scores.subset(np.array([5, 2]))
    assert backwards.responses == [scores.responses[5], scores.responses[2]]
