"""Paraphrases: the embedded rewording, the prompted model, and that both depend on nothing but text and seed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rejoinder.augmentation import paraphrase as paraphrasing
from rejoinder.augmentation.paraphrase import BackTranslation, Prompted, Rewording, paraphrase, parse_paraphraser
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.substitution import _RUDE, _find_synonyms, apply_replacements, find_replacements
from rejoinder.errors import InputError, SpecError
from rejoinder.text.english import synonyms
from rejoinder.text.english.markers import replace_marker
from rejoinder.text.english.word_order import list_reorderings

TEXTS = [
    "I will buy a big car because the old one is broken .",
    "You're right. I will start a new job tomorrow.",
    "Really ?",
    "yes, please.",
]


def test_five_paraphrases_a_reference_each_with_its_origin() -> None:
    for text, found in zip(TEXTS, paraphrase(TEXTS), strict=True):
        assert 2 <= len(found) <= 5
        assert len({one.text for one in found}) == len(found)
        assert all(one == Proposal(one.text, "paraphrase", None, text) for one in found)
        assert text not in {one.text for one in found}
    assert [len(found) for found in paraphrase(TEXTS[:2])] == [5, 5]
    assert [len(found) for found in paraphrase(TEXTS[:2], count=2)] == [2, 2]


def test_a_paraphrase_depends_on_text_and_seed_alone() -> None:
    first = paraphrase(TEXTS)
    assert paraphrase(TEXTS[::-1])[::-1] == first
    assert [paraphrase([text])[0] for text in TEXTS] == first
    assert paraphrase(TEXTS, "rewording(seed=1)") != first


def test_an_empty_reference_has_no_paraphrases() -> None:
    assert paraphrase(["", "  ", "?"])[:2] == [[], []]
    assert paraphrase([]) == []
    with pytest.raises(InputError, match="at least 1, not 0"):
        paraphrase(TEXTS, count=0)


def test_rewording_loads_no_torch() -> None:
    code = "import sys; from rejoinder.augmentation.paraphrase import paraphrase; paraphrase(['I am glad to help.'])"
    code += "; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_replacements_are_synonyms_of_wordnet_in_their_place() -> None:
    text = "Shall we buy a big car ?"
    (found,) = find_replacements([text], 0.0)
    words = {(text[one.start : one.end].lower(), one.instead.lower()) for one in found}
    assert ("big", "large") in words
    assert all(synonyms.find_word_meanings(word) & synonyms.find_word_meanings(other) for word, other in words)
    (near,) = find_replacements([text], 0.9)
    assert set(near) < set(found)
    assert find_replacements([text], 1.1) == [[]]


def test_words_keep_their_capitals_and_function_words_stay() -> None:
    (found,) = find_replacements(["Big cars . The one that you have"], -1.0)
    assert {one.instead for one in found} >= {"Large"}
    assert all(one.end <= 8 for one in found)


def test_nothing_rude_is_proposed() -> None:
    words = list(synonyms._load_table().synsets)[::5]
    assert not {other for word in words for other in _find_synonyms(word)} & _RUDE
    assert "fuck" not in _find_synonyms("know")


def test_replacing_goes_from_the_end() -> None:
    text = "a big big car"
    (found,) = find_replacements([text], -1.0)
    large = [one for one in found if one.instead == "large"]
    assert apply_replacements(text, large) == "a large large car"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("I like it because it is fun .", "Because it is fun , I like it ."),
        ("We go home because it rains.", "Because it rains, we go home."),
        ("If it rains, we stay home.", "We stay home if it rains."),
        ("Close the door, please.", "Please, close the door."),
        ("Please, close the door.", "Close the door, please."),
        ("I like this old cat . You have a nice dog .", "You have a nice dog . I like this old cat ."),
    ],
)
def test_clauses_and_sentences_change_places(text: str, other: str) -> None:
    assert other in list_reorderings(text)


@pytest.mark.parametrize("text", ["", "Yes.", "Really ? Why ?", "I see, but if you go, and he stays, what then?"])
def test_what_has_no_other_order_stays(text: str) -> None:
    assert list_reorderings(text) == []


def test_another_opening_is_of_its_kind() -> None:
    made = {replace_marker(random.Random(seed), "Yes , I do .") for seed in range(20)}
    assert made == {"Yeah , I do .", "Yes , indeed , I do .", "Right , I do ."}
    assert {replace_marker(random.Random(seed), "Well, it is late.") for seed in range(40)} >= {
        "It is late.",
        "So, it is late.",
    }
    assert all(replace_marker(random.Random(seed), "Are you ok?").endswith("are you ok?") for seed in range(5))


def test_methods_are_found_by_their_spec() -> None:
    assert parse_paraphraser("rewording(similarity=0.8)") == Rewording(similarity=0.8)
    assert parse_paraphraser("prompted(seed=3)") == Prompted(seed=3)
    assert parse_paraphraser("back_translation(there='a', back='b')") == BackTranslation("a", "b")
    with pytest.raises(SpecError, match="did you mean 'rewording'"):
        parse_paraphraser("reword")
    assert parse_paraphraser("back_translation").there == "opus-mt-fr/en-fr"
    with pytest.raises(SpecError, match="similarity must be"):
        parse_paraphraser("rewording(similarity=2.0)")


def test_the_embedded_language_model_is_asked_and_seeded(own_cache: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import tiny_language_model

    tiny_language_model.install(own_cache)
    texts = ["the cat sat on the mat", ""]
    first, none = paraphrase(texts, "prompted", count=2)
    assert 1 <= len(first) <= 2
    assert none == []
    assert {(one.source, one.origin) for one in first} == {("paraphrase", texts[0])}
    assert paraphrase([texts[0]], "prompted", count=2)[0] == first
    assert paraphrase(texts, "prompted(seed=1)", count=2)[0] != first


def test_what_a_model_says_around_its_paraphrase_is_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(
        [
            'Sure! "The train is quick." Is that ok?',
            "the train is fast",
            "",
            "so " * 40,
            "It goes fast.",
            "It goes fast.",
        ]
    )

    class Model:
        def reply_ids(self, text: str) -> tuple[int, ...]:
            return tuple(range(len(text.split())))

        def generate(self, prompts: Sequence[Any], *_: Any, **__: Any) -> list[str]:
            return [next(said) for _ in prompts]

    monkeypatch.setattr("rejoinder.models.language_model.model.open_language_model", lambda name: Model())
    (found,) = paraphrase(["The train is fast"], Prompted(), count=3)
    assert [one.text for one in found] == ["The train is quick.", "It goes fast."]
    assert paraphrasing._strip_quotes("plain") == "plain"
