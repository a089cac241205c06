"""docs/coming_from.md: the numbers that it calls the same are the same, and what it names on our side exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sacrebleu

import rejoinder

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "coming_from.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOOLS = ["sacrebleu", "evaluate", "DeepEval", "Inspect", "promptfoo", "mt-metrics-eval"]


def lines_of(name: str) -> list[str]:
    """The lines of a file that the page shows."""
    found = re.search(rf"^```text {re.escape(name)}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].splitlines()


REPLIES, REFERENCES = lines_of("replies.txt"), lines_of("references.txt")


@pytest.mark.parametrize(
    ("spec", "sentence_score"),
    [
        ("bleu(lowercase=False)", lambda reply, texts: sacrebleu.sentence_bleu(reply, texts).score),
        ("chrf", lambda reply, texts: sacrebleu.sentence_chrf(reply, texts).score),
        ("chrf(word_order=2)", lambda reply, texts: sacrebleu.sentence_chrf(reply, texts, word_order=2).score),
    ],
)
def test_the_scores_per_reply_are_those_of_sacrebleu(spec: str, sentence_score: object) -> None:
    assert callable(sentence_score)
    ours = rejoinder.score(REPLIES, spec, references=[[line] for line in REFERENCES])
    (values,) = ours.values.values()
    theirs = [sentence_score(reply, [text]) / 100 for reply, text in zip(REPLIES, REFERENCES, strict=True)]
    assert values.tolist() == pytest.approx(theirs, abs=1e-4)
    assert f"`{spec}`" in PAGE or f'"{spec}"' in PAGE


def test_the_rubrics_and_functions_that_the_page_names_exist() -> None:
    row = next(line for line in PAGE.splitlines() if "the rubrics `" in line)
    assert set(re.findall(r"`(\w+)`", row.rpartition("the rubrics")[2])) <= set(rejoinder.judges.rubric_names())
    for name in re.findall(r"`rejoinder\.(\w+)\(", PAGE):
        assert name in rejoinder.__all__


def test_the_specs_of_our_side_can_be_typed() -> None:
    ours = [line.split(" | ", 1)[1] for line in PAGE.splitlines() if line.startswith("| ") and " | " in line]
    specs = re.findall(r"(?:-m \"|`)((?:bleu|chrf|rouge_l|bertscore)\([^)]*\))", "\n".join(ours))
    assert len(specs) >= 6
    for spec in specs:
        rejoinder.parse(spec)


def test_both_tables_say_what_each_tool_does_better() -> None:
    section = README.split("\n## How it compares\n")[1].split("\n## ")[0]
    better = PAGE.split("\n## What they do better\n")[1]
    for text in (section, better):
        rows = re.findall(r"^\| (?:HF )?([\w-]+) \| ([^|]{20,}) \| ([^|]{20,}) \|$", text, re.MULTILINE)
        assert [row[0] for row in rows if row[0] != "tool"] == TOOLS
