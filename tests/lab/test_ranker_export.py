"""An exported ranker is the trained one: its graphs against torch, whatever is asked beside, and broken folders."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_rankers

from rejoinder.errors import InputError

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from rejoinder_lab.training.ranker.chooser import chooser_tensors  # noqa: E402
from rejoinder_lab.training.ranker.steps import row_tensors  # noqa: E402

from rejoinder.models.ranker import card as ranker_card  # noqa: E402
from rejoinder.models.ranker.model import RankerModel, open_ranker, shipped_ranker_folder  # noqa: E402
from rejoinder.models.ranker.rows import candidate_row, situation_rows  # noqa: E402
from rejoinder.models.ranker.statement_choice import Floats  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any, Any]]:
    """A folder and the networks that it was written from."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("ranker") / "situated"
    yield folder, *tiny_rankers.written(folder)
    torch.set_num_threads(before)


@pytest.fixture
def copied(made: Any, tmp_path: Path) -> Path:
    shutil.copytree(made[0], tmp_path / "copy")
    return tmp_path / "copy"


def torch_says(model: RankerModel, reader: Any, chooser: Any) -> tuple[Floats, Floats]:
    """The scores and the odds of the questions, each of eleven statements, by the networks."""
    read = model._tokens(tiny_rankers.questions())
    used = model._used(read)
    card = model.card
    rows = [
        candidate_row([one.statements[place] for place in places[c]], one.request, candidate, card.marks, card.limits)
        for one, places in zip(read, used, strict=True)
        for c, candidate in enumerate(one.candidates)
    ]
    situations = [situation_rows(one.statements, one.request, card.marks, card.limits)[0] for one in read]
    with torch.no_grad():  # in float32, other than in training, which takes half of the digits where that is fast
        scores = reader(*row_tensors(rows, card.marks.padding, CPU)).numpy()
        odds = chooser(*chooser_tensors(situations, card.marks.padding, CPU)).numpy()
    return scores, odds.reshape(-1)


def test_the_graphs_say_what_the_networks_say(made: tuple[Path, Any, Any]) -> None:
    """The reader comes from int8 and is not rounded again; the chooser has a new head, which is (2% of the spread)."""
    folder, reader, chooser = made
    model = open_ranker(folder)
    scores, odds = torch_says(model, reader, chooser)
    found = np.concatenate([one.scores for one in model.rank(tiny_rankers.questions())])
    assert scores.std() > 0.1
    assert np.abs(found - scores).max() < 1e-3
    told = np.concatenate(model.odds(tiny_rankers.questions()))
    assert np.abs(told - odds).max() < 0.05 * odds.std()


def test_weights_that_were_trained_keep_their_order_in_int8(made: tuple[Path, Any, Any], tmp_path: Path) -> None:
    from scipy.stats import spearmanr

    from rejoinder.models.ranker.export import export_ranker

    folder, reader, chooser = made[0], *copy.deepcopy(made[1:])
    model = open_ranker(folder)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1)
        for network in (reader, chooser):
            network = network.trunk.encoder
            for weights in network.parameters():
                weights += 0.02 * weights.std().nan_to_num() * torch.randn_like(weights)
    card = model.card
    counts = np.fromfile(folder / ranker_card.COUNTS, "<f4")
    export_ranker(reader, chooser, counts, card.given, card.choice, card.limits, {}, tmp_path / "new")
    again = open_ranker(tmp_path / "new")
    scores, odds = torch_says(again, reader, chooser)
    found = np.concatenate([one.scores for one in again.rank(tiny_rankers.questions())])
    told = np.concatenate(again.odds(tiny_rankers.questions()))
    assert spearmanr(found, scores).statistic > 0.99
    assert spearmanr(told, odds).statistic > 0.99
    assert np.abs(found - scores).max() < 0.1 * scores.std()


def test_a_question_gets_the_same_alone_and_among_others(made: tuple[Path, Any, Any]) -> None:
    model = open_ranker(made[0])
    questions = tiny_rankers.questions()
    questions[3] = replace(questions[3], situation=questions[3].situation * 20)
    together = model.rank(questions)
    for question, among in zip(questions, together, strict=True):
        (alone,) = model.rank([question])
        assert alone.used == among.used
        assert alone.scores == pytest.approx(among.scores, abs=1e-4)
    assert model.used(questions) == [one.used for one in together]


def test_the_order_of_candidates_changes_nothing(made: tuple[Path, Any, Any]) -> None:
    model = open_ranker(made[0])
    questions = tiny_rankers.questions()
    turned = model.rank([replace(one, candidates=one.candidates[::-1]) for one in questions])
    for before, after in zip(model.rank(questions), turned, strict=True):
        assert after.used[::-1] == before.used
        assert after.scores[::-1] == pytest.approx(before.scores, abs=1e-4)


def test_three_statements_are_read_of_a_long_situation_and_all_of_a_short_one(made: tuple[Path, Any, Any]) -> None:
    model = open_ranker(made[0])
    (long, *_) = tiny_rankers.questions()
    (one, short) = model.rank([long, replace(long, situation=long.situation[:8])])
    assert [len(places) for places in one.used] == [3, 3, 3]
    assert all(list(places) == sorted(set(places)) for places in one.used)
    assert short.used == [tuple(range(8))] * 3


def test_the_same_networks_give_the_same_bytes(made: tuple[Path, Any, Any], tmp_path: Path) -> None:
    tiny_rankers.written(tmp_path / "again")
    assert ranker_card.read_ranker_card(tmp_path / "again") == ranker_card.read_ranker_card(made[0])


def test_no_ranker_is_an_error_that_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.models.weight_sets.WEIGHTS", tmp_path)
    with pytest.raises(InputError, match="no ranker comes with this version; train one with: rejoinder train ranker"):
        shipped_ranker_folder()
    with pytest.raises(InputError, match=r"cannot be read .* use a folder written by rejoinder train ranker"):
        open_ranker(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["reader.onnx", "chooser.onnx", "words.float32"])
def test_a_changed_or_missing_file_is_told(copied: Path, name: str) -> None:
    content = (copied / name).read_bytes()
    (copied / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match=f"{name}: does not match its card"):
        open_ranker(copied)
    (copied / name).unlink()
    with pytest.raises(InputError, match=f"{name}: cannot be read .* train again"):
        open_ranker(copied)


def change(folder: Path, **changed: Any) -> None:
    card = json.loads((folder / ranker_card.CARD_FILE).read_text())
    (folder / ranker_card.CARD_FILE).write_text(json.dumps({**card, **changed}))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"format": 2}, "is not the card of a ranker in format 1; use a folder written by rejoinder train ranker"),
        ({"words": "0" * 64}, "was trained with another version of aptness; train it again"),
        ({"kind": "listwise"}, "is not the card of a ranker in format 1"),
        ({"files": {}}, "it lacks the digest of chooser.onnx"),
        ({"files": None}, "a key is missing or wrong"),
        ({"marks": {"first": 1}}, "a key is missing or wrong"),
        ({"colour": "red"}, "a key is missing or wrong"),
    ],
)
def test_a_card_that_is_not_ours_is_told(copied: Path, changed: dict[str, Any], told: str) -> None:
    change(copied, **changed)
    with pytest.raises(InputError, match=told):
        open_ranker(copied)


def test_a_card_that_is_no_json_is_told(copied: Path) -> None:
    for content in (b"{", b"[1]", b"\xff"):
        (copied / ranker_card.CARD_FILE).write_bytes(content)
        with pytest.raises(InputError, match=r"is not JSON|is not the card of a ranker"):
            open_ranker(copied)
