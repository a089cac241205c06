"""The weights in the package: their cards, data that allow commercial use, and the same scores on any machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.models.aptness.model import AptnessModel
from rejoinder.models.aptness_card import check_aptness_files, read_aptness_card
from rejoinder.models.card import write_model_card
from rejoinder.models.comet.model import COMET_LORA
from rejoinder.models.idk.model import IdkCard, read_idk_card, write_idk_card
from rejoinder.models.language_model.lora_folder import read_lora_card
from rejoinder.models.ranker.card import read_ranker_card
from rejoinder.models.ranker.model import open_ranker
from rejoinder.models.speaker.model import read_scorer_card
from rejoinder.models.statements.model import STATEMENTS_LORA
from rejoinder.types import Candidate, Question, Statement, Turn

ROOT = Path(rejoinder.__file__).parent / "models" / "weights"
EXPECTED = [0.982621, 0.007372, 0.165435]
FOLDERS = sorted(path for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__")
# Licences of data that allow commercial use, as the cards write them.
COMMERCIAL = {
    *("Apache-2.0", "BSD-3-Clause", "CC BY 4.0", "CC BY-SA 4.0", "CDLA-Sharing 1.0", "MIT", "public domain"),
    *("public domain, CC0", "public domain in the US, CC0"),
}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_model_has_a_card_and_data_that_allow_commercial_use(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "must not be used for" in card or "Not for decisions about people" in card
    (path,) = folder.glob("*.json") if folder.name != "aptness" else [folder / "aptness.json"]
    about = json.loads(path.read_text(encoding="utf-8"))["about"]
    assert about["licence"] == "CC-BY-SA-4.0"
    if folder.name == "idk":
        assert about["data"]["corpus"] == "chitchat"  # MIT
    elif folder.name == "ranker":
        assert about["base"] == "aptness (CC-BY-SA-4.0)"
        assert about["train"] == ["dataset:sugar/0/train"]  # CC BY-SA 4.0
    elif folder.name not in ("comet", "statements"):  # whose cards say what they were trained on in words
        assert set(about["data"].values()) <= COMMERCIAL


READERS: dict[str, Callable[[Path], Any]] = {
    "aptness.json": read_aptness_card,
    "comet.json": lambda folder: read_lora_card(folder, COMET_LORA),
    "idk.json": read_idk_card,
    "ranker.json": read_ranker_card,
    "scorer.json": read_scorer_card,
    "statements.json": lambda folder: read_lora_card(folder, STATEMENTS_LORA),
}
# All but the research set's aptness, which is from before there were windows and would get a key about them.
CARDS = [path for path in sorted(ROOT.parents[3].glob("*/**/weights/**/*.json")) if path.name in READERS]
CARDS = [path for path in CARDS if path.parts[-3:-1] != ("research", "aptness")]


@pytest.mark.parametrize("path", CARDS, ids=lambda path: f"{path.parts[-3]}/{path.parts[-2]}")
def test_a_card_that_is_read_and_written_again_is_the_same(path: Path, tmp_path: Path) -> None:
    card = READERS[path.name](path.parent)
    if isinstance(card, IdkCard):
        write_idk_card(tmp_path, card)
    else:
        write_model_card(tmp_path / path.name, card)
    assert to_lines(tmp_path / path.name) == to_lines(path)


def to_lines(path: Path) -> list[str]:
    """The lines of a card; its numbers as Python writes them, since versions of orjson differ in 5e-05 and 0.00005."""
    text = path.read_text(encoding="utf-8").rstrip("\n")  # the oldest cards do not end in a new line
    return re.sub(r"\d+\.\d+(e-?\d+)?|\de-?\d+", lambda number: repr(float(number[0])), text).split("\n")


def test_the_files_of_the_networks_are_those_of_the_card() -> None:
    card = read_aptness_card(ROOT / "aptness")
    check_aptness_files(ROOT / "aptness", card, *card.files)
    assert card.limits.context_tokens == card.limits.reply_tokens == 256
    assert card.limits.windows


def test_the_networks_give_the_same_scores_everywhere() -> None:
    model = AptnessModel(ROOT / "aptness")
    context = ["Is the bakery open on Sunday?"]
    replies = ["Yes, from eight to noon.", "My shoes are blue.", "Is the bakery open on Sunday?"]
    scores = model.probabilities([context] * 3, replies)
    assert scores == pytest.approx(EXPECTED, abs=1e-4)
    assert scores[0] > 0.8 > 0.2 > max(scores[1:])
    assert model.probabilities([context], replies[:1]) == pytest.approx(scores[:1], abs=1e-5)


def test_the_ranker_of_the_set_reads_the_words_of_its_aptness() -> None:
    request = (Turn("I am so hungry.", "user"),)
    statements = ("There is a pot of soup in the kitchen.", "The user owns a bicycle.")
    candidates = (Candidate("Shall I warm up the soup for you?"), Candidate("Shall I pump up the tyres?"))
    question = Question("q", request, candidates, situation=tuple(map(Statement, statements)))
    (ranked,) = open_ranker().rank([question])
    assert ranked.scores[0] > ranked.scores[1]
    assert open_ranker().card.about["recipe"]["layers"] == 8
