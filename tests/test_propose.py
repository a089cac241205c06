"""``rejoinder propose``: questions out of items, a corpus and a source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import rejoinder
from rejoinder.types import Dialogue, Item, Question, Turn


def test_every_item_gets_candidates_that_are_neither_its_context_nor_known(tmp_path: Path) -> None:
    said = [
        "Good morning.",
        "The kettle is on.",
        "Where is the cat?",
        "Under the stairs.",
        "It rained all night.",
        "Oh no.",
    ]
    dialogues = [
        Dialogue(f"d{i}", tuple(Turn(text, "AB"[j % 2]) for j, text in enumerate(said[i:] + said[:i])))
        for i in range(3)
    ]
    items = [Item("i1", (Turn("Where is the cat?", "A"),)), Item("i2", (Turn("Good morning.", "B"),))]
    rejoinder.write(dialogues, tmp_path / "corpus.jsonl")
    rejoinder.write(items, tmp_path / "items.jsonl")
    command = [sys.executable, "-m", "rejoinder", "propose", "items.jsonl", "--corpus", "corpus.jsonl", "-k", "2"]
    command += ["--source", "random", "-o", "out.jsonl"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 questions" in done.stderr
    for item, question in zip(items, rejoinder.stream(tmp_path / "out.jsonl"), strict=True):
        assert isinstance(question, Question)
        assert question.id == item.id
        assert len(question.candidates) == 2
        assert item.context[0].text not in [c.text for c in question.candidates]
        assert {c.source for c in question.candidates} == {"random"}
    wrong = subprocess.run([*command[:-3], "rndom"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "did you mean 'random'" in wrong.stderr
