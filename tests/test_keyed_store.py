"""The keyed stores find what was stored by earlier versions, and write the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.augmentation.store import Adaptation, AdaptationStore, TextLikelihood
from rejoinder.engines.base import WorkerSpec
from rejoinder.engines.caching import CachingEngine, compute_here
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import RunError
from rejoinder.judges.answer_store import AnswerStore, StoredAnswer
from rejoinder.keyed_store import FileStore
from rejoinder.scoring.cache import ScoreStore, score_address

# What the four stores wrote before they had a class in common.
SCORES = "5917efcc943b71e1694c/abc", b'\xcb6T\xe7c\x9aQ\x10\xd4\x88\x92\xa2\xd9\xfa\x98\xf8[1.5,null,"x"]'
RESULT = (
    "be/f47af5435aa2006acd91ab8607f82990f1cff0eac0eaaec1990dcef81ea1e2",
    b'\xe9i\xd1\xf7\xb4\xf3N,\xa90\xbbY\xbcP\xfd\x02{"sum":3}',
)
ADAPTATIONS = (
    b'{"key":"k1","text":"x","rounds":1,"before":[-1.0,-2.0],"after":null}\n'
    b'\n{"key":"k2","text":null,"rounds":0,"before":null,"after":null}\n'
    b'{"key":"k3","text":"z","rounds":2,"before":null,"after":null}\n'
)
ANSWERS = (
    b'{"key":"q1","outcome":"answered","status":200,"body":"{\\"a\\":\\"\xc3\xa9\\"}","seconds":0.5}\n'
    b'{"key":"q1","outcome":"refused","status":500,"body":"","seconds":1.0}\n'
)


def write_file(root: Path, entry: tuple[str, bytes]) -> None:
    path, raw = entry
    (root / path).parent.mkdir(parents=True)
    (root / path).write_bytes(raw)


def test_scores_that_were_cached_before_are_found(tmp_path: Path) -> None:
    write_file(tmp_path / "old", SCORES)
    where = score_address("length|version:1", "abc")
    assert ScoreStore(tmp_path / "old").get(where) == [1.5, None, "x"]
    ScoreStore(tmp_path / "new").put(where, [1.5, None, "x"])
    assert (tmp_path / "new" / SCORES[0]).read_bytes() == SCORES[1]


def test_results_of_an_engine_that_were_cached_before_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejoinder, "__version__", "0.1.0")
    write_file(tmp_path / "old", RESULT)
    work = WorkerSpec("a:b", ("x",))
    (old,) = CachingEngine(LocalEngine(1), tmp_path / "old").compute(work, [["task", 1]])  # there is no module a
    assert old.value == {"sum": 3}

    class Sum:
        def compute(self, task: Any) -> Any:
            return {"sum": 3}

        def close(self) -> None:
            pytest.fail("the engine did not open it")

    list(compute_here(CachingEngine(LocalEngine(1), tmp_path / "new"), Sum()).compute(work, [["task", 1]]))
    assert (tmp_path / "new" / RESULT[0]).read_bytes() == RESULT[1]


def test_adaptations_that_were_stored_before_are_found(tmp_path: Path) -> None:
    first, second, third = Adaptation("x", 1, TextLikelihood(-1.0, -2.0)), Adaptation(None), Adaptation("z", 2)
    (tmp_path / "old.jsonl").write_bytes(ADAPTATIONS)
    old = AdaptationStore(tmp_path / "old.jsonl")
    assert [old.get(key) for key in ("k1", "k2", "k3", "k4")] == [first, second, third, None]
    new = AdaptationStore(tmp_path / "new.jsonl")
    new.put([("k1", first)])
    new.put([("k2", second), ("k3", third)])
    assert new.path.read_bytes() == ADAPTATIONS
    old.put([("k1", third)])
    assert AdaptationStore(old.path).get("k1") == old.get("k1") == third


def test_answers_that_were_stored_before_are_found(tmp_path: Path) -> None:
    answers = [StoredAnswer("q1", "answered", 200, '{"a":"é"}', 0.5), StoredAnswer("q1", "refused", 500, "", 1.0)]
    (tmp_path / "old.jsonl").write_bytes(ANSWERS)
    old = AnswerStore(tmp_path / "old.jsonl")
    old.refresh()
    assert old.get_all("q1") == answers
    new = AnswerStore(tmp_path / "new.jsonl")
    with new.claim():
        for answer in answers:
            new.add(answer)
    assert new.path.read_bytes().replace(b',"style":""', b"") == ANSWERS


def test_a_folder_that_cannot_be_written_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FileStore(tmp_path / "file", "scores")
    with pytest.raises(RunError, match=r"file: scores cannot be stored there \(Not a directory\); free some space"):
        store.put("a/b", b"x")
    assert store.get("a/b") is None
