"""What works for which language is said in the docs, and by commands where it matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.metric import Languages, metric_class, metric_names, parse
from rejoinder.scoring.flags import describe_languages
from rejoinder.table import to_markdown
from rejoinder.text.language import note_other_languages
from tools.languages import language_table

ROOT = Path(__file__).parent.parent
GERMAN = [
    "Gehen Sie hier geradeaus und dann an der Ampel links, es ist nicht weit.",
    "Ich weiß es leider auch nicht, fragen Sie bitte jemand anderen.",
    "Vielen Dank, das ist wirklich sehr freundlich von Ihnen gewesen.",
]
ENGLISH = ["I do not know, but you could ask somebody else.", "Thank you, that is very kind of you."]


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_says_for_which_languages_it_is_made(name: str) -> None:
    assert metric_class(name).languages in get_args(Languages)


def test_the_languages_page_is_what_the_metrics_say() -> None:
    assert to_markdown(language_table()) in (ROOT / "docs" / "languages.md").read_text("utf-8"), "run: make docs"


def test_a_restricted_metric_is_for_the_languages_of_the_other() -> None:
    assert parse("with_references(metric='meteor')").languages == "English"
    assert parse("with_references(metric='chrf')").languages == "any"


def test_scores_of_german_replies_name_the_metrics_made_for_english() -> None:
    notes = rejoinder.score(GERMAN, references=GERMAN, metrics=["meteor", "rouge_l", "chrf"]).notes()
    said = next(note for note in notes if note.startswith("Languages"))
    assert "meteor: made for English" in said
    assert "rouge_l: for languages with spaces" in said
    assert "chrf" not in said


def test_scores_of_english_replies_do_not_speak_of_languages() -> None:
    notes = rejoinder.score(ENGLISH, references=ENGLISH, metrics=["meteor"]).notes()
    assert not any(note.startswith("Languages") for note in notes)


def test_metrics_for_any_language_need_no_note() -> None:
    assert describe_languages({"chrf": "any", "length": None}) == []
    assert describe_languages({"./no_longer_there.py": None}) == []


def test_a_few_odd_texts_need_no_note() -> None:
    assert note_other_languages([*ENGLISH * 10, GERMAN[0]], "it is English") == []
    assert note_other_languages([], "it is English") == []
    assert note_other_languages(GERMAN, "it is English") == [
        "3 of 3 replies do not look English; it is English (docs/languages.md)."
    ]


def test_an_explained_german_reply_says_that_the_metric_is_english() -> None:
    found = rejoinder.explain(metric="aptness(model='bi')", context=["Wo ist der Bahnhof?"], reply=GERMAN[0])
    assert any("made for English" in note for note in found.notes)


def test_attacks_on_german_replies_say_that_their_edits_are_english(tmp_path: Path) -> None:
    file = tmp_path / "dialogues.jsonl"
    turns = [{"speaker": "AB"[at % 2], "text": text} for at, text in enumerate(GERMAN)]
    file.write_text("".join(json.dumps({"kind": "dialogue", "id": f"d{n}", "turns": turns}) + "\n" for n in range(3)))
    found = CliRunner().invoke(program, ["attack", str(file), "-m", "length"])
    assert found.exit_code == 0, found.output
    assert "generic replies, synonyms and contractions are English" in " ".join(found.output.split())
