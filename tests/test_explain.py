"""Explanations: what is left out, what it does to the score, and how it is shown."""

from __future__ import annotations

import itertools
import json
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import InputError, SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.probes.explanation import ContextPart, Explanation
from rejoinder.probes.explanation_view import explanation_table, explanation_to_json, render_lines, render_plain
from rejoinder.probes.occlusion import explain_pair, make_pair
from rejoinder.probes.segments import (
    MAX_PIECES,
    remove_piece,
    sentence_pieces,
    split_reply_pieces,
    split_sentence_or_clause_pieces,
    split_word_pieces,
)
from rejoinder.table import FORMATS
from rejoinder.types import Pair
from tests.test_cli import CHATS, ran

__all__ = ["ran"]


@dataclass(frozen=True)
class Weighed(Metric):
    """A sum of known weights: words of the reply, and words that the context shares with it."""

    needs = frozenset({"context"})
    range = (-100.0, 100.0)
    calls: ClassVar[list[int]] = []
    weights: ClassVar[dict[str, float]] = {"good": 2.0, "bad": -1.0, "awful": -3.0}

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        self.calls.append(len(pairs))
        return [self._one(pair) for pair in pairs]

    def _one(self, pair: Pair) -> float:
        reply = pair.response.text.lower().strip(".!?").split()
        said = {word.strip(".,!?") for turn in pair.item.context for word in turn.text.lower().split()}
        of_reply = sum(self.weights.get(word, 0.0) for word in reply)
        return of_reply + 10.0 * sum(word in said for word in set(reply) - set(self.weights))


@dataclass(frozen=True)
class Together(Weighed):
    """Words of which either costs all that both cost: without one of them nothing is won."""

    def _one(self, pair: Pair) -> float:
        return -4.0 if {"very", "odd"} & set(pair.response.text.split()) else 0.0


@dataclass(frozen=True)
class Fault(Weighed):
    """A metric in which less is better."""

    higher_is_better = False


@dataclass(frozen=True)
class Silent(Weighed):
    """A metric that never knows."""

    def _one(self, pair: Pair) -> float:
        return NAN


@dataclass(frozen=True)
class Needy(Weighed):
    needs = frozenset({"context", "situation"})


# Pieces


def pieces(text: str) -> list[str]:
    return [piece.text for piece in split_word_pieces(text)]


def test_punctuation_goes_with_the_word_before_it() -> None:
    assert pieces("Well , yes ! I do ?") == ["Well ,", "yes !", "I", "do ?"]
    assert pieces("- one two") == ["- one", "two"]
    assert pieces("?!") == ["?!"]
    assert pieces("😀 ok") == ["😀", "ok"]
    assert pieces(" \n ") == []


def test_text_without_spaces_is_taken_sign_by_sign() -> None:
    assert pieces("我很好，谢谢。") == ["我", "很", "好，", "谢", "谢。"]
    assert pieces("カメラを買う。") == ["カメラ", "を", "買", "う。"]
    assert pieces("ดีครับ") == ["ดี", "ค", "รั", "บ"]  # a vowel sign stays with its letter
    assert pieces("नमस्ते दुनिया") == ["नमस्ते", "दुनिया"]


def test_what_is_left_has_no_double_space() -> None:
    text = "One, two  three."
    assert [remove_piece(text, piece) for piece in split_word_pieces(text)] == [
        "two  three.",
        "One, three.",
        "One, two",
    ]


def test_a_sentence_is_cut_into_clauses_only_where_it_is_alone() -> None:
    assert [p.text for p in split_sentence_or_clause_pieces("Is it open? I need milk, and bread.")] == [
        "Is it open?",
        "I need milk, and bread.",
    ]
    assert [p.text for p in split_sentence_or_clause_pieces("I need milk, and bread.")] == [
        "I need milk,",
        "and bread.",
    ]
    assert split_sentence_or_clause_pieces("I need milk.") == []


def test_a_long_reply_is_cut_by_sentence_and_one_without_sentences_by_stretches() -> None:
    assert split_reply_pieces("word " * MAX_PIECES)[0] == "word"
    unit, found = split_reply_pieces("one two three. " * 30)
    assert (unit, len(found)) == ("sentence", 30)
    unit, found = split_reply_pieces("one two three. " * 300)
    assert unit == "sentence"
    assert len(found) <= MAX_PIECES
    unit, found = split_reply_pieces("word " * 500)
    assert unit == "stretch"
    assert len(found) <= MAX_PIECES


@given(st.text(max_size=80))
def test_pieces_lie_in_the_text_in_order_and_hold_all_of_it(text: str) -> None:
    for found in (split_word_pieces(text), sentence_pieces(text), split_sentence_or_clause_pieces(text)):
        assert all(text[p.start : p.end] == p.text and p.text for p in found)
        assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    covered = "".join(piece.text for piece in split_word_pieces(text))
    assert "".join(covered.split()) == "".join(text.split())


# Explanations


def test_each_word_is_worth_its_weight_and_all_variants_are_scored_in_one_call() -> None:
    Weighed.calls.clear()
    found = explain_pair(Weighed(), make_pair(["Any milk left?"], "good milk bad awful"))
    assert len(Weighed.calls) == 1
    assert found.score == 2 + 10 - 1 - 3
    assert [(span.text, span.worth) for span in found.words] == [("good", 2), ("milk", 10), ("bad", -1), ("awful", -3)]
    assert {(span.text, span.worth) for span in found.spans} == {
        ("good milk", 12),
        ("milk bad", 9),
        ("bad awful", -4),
        ("good milk bad", 11),
        ("milk bad awful", 6),
    }
    assert [span.text for span in found.costly()] == ["awful", "bad"]
    assert [span.text for span in found.earning()] == ["milk", "good"]
    assert [span.text for span in found.costly(1)] == ["awful"]


def test_words_that_cost_only_together_are_listed_together() -> None:
    found = explain_pair(Together(), make_pair(["Hm?"], "that is very odd indeed"))
    assert all(word.worth == 0 for word in found.words)
    assert {span.text for span in found.spans if span.worth == -4} == {"very odd", "is very odd", "very odd indeed"}
    assert [span.text for span in found.costly()] == ["very odd"]  # a third word adds nothing


def test_the_share_of_an_utterance_is_what_the_score_loses_without_it() -> None:
    found = explain_pair(Weighed(), make_pair(["Is there cheese?", "No. But milk, and bread."], "milk bread cheese"))
    whole = [part for part in found.context if not part.is_piece]
    assert [(p.utterance, p.without, p.alone, p.share) for p in whole] == [(0, 20, 10, 10), (1, 10, 20, 20)]
    cut = [(p.utterance, p.text, p.share, p.alone) for p in found.context if p.is_piece]
    assert cut == [(1, "No.", 0, 0), (1, "But milk, and bread.", 20, 20)]
    assert [part.text for part in found.answers()] == ["No. But milk, and bread.", "But milk, and bread."]


def test_one_utterance_cannot_be_left_out_but_its_sentences_can() -> None:
    found = explain_pair(Weighed(), make_pair(["Hello. Any milk?"], "milk"))
    assert math.isnan(found.context[0].share)
    assert found.context[0].alone == 10
    assert [part.text for part in found.answers()] == ["Hello. Any milk?", "Any milk?"]
    assert "The reply is a single word: nothing of it can be left out." in found.notes
    assert math.isnan(found.words[0].without)
    assert found.costly() == []


def test_where_no_utterance_is_needed_none_is_said_to_be_answered() -> None:
    found = explain_pair(Weighed(), make_pair(["Any milk?", "Milk, please."], "milk"))
    assert [part.share for part in found.context if not part.is_piece] == [0, 0]
    assert found.answers() == ()
    assert "No single utterance is needed" in render_plain(found)


def test_nothing_has_a_higher_share_than_what_the_reply_leans_on_most() -> None:
    """A part that scores well alone is not what the reply leans on where another is missed more."""

    def leaning(*parts: ContextPart) -> list[str]:
        found = Explanation("m", "m", "r", "s", "Yes.", 0.5, True, parts, "word", (), (), ())
        said = [segment.text for line in render_lines(found) for segment in line if "leans most" in segment.text]
        return [part.text for part in found.answers()] + said

    far = ContextPart(0, "far", 0.3048, 0.1, 0.1952)
    near = ContextPart(1, "near. and more.", 0.4627, 0.9, 0.0373)
    assert leaning(far, near) == ["far", "It leans most on “far”."]
    piece, other = (
        ContextPart(1, text, 0.4, 0.9, share, is_piece=True) for text, share in (("near.", 0.03), ("more.", 0.02))
    )
    most = ContextPart(1, "near. and more.", 0.2, 0.1, 0.3)
    assert leaning(far, most, piece, other) == ["near. and more.", "It leans most on “near. and more.”."]
    strong = ContextPart(1, "near.", 0.2, 0.1, 0.31, is_piece=True)
    assert leaning(far, near, strong, other) == ["near. and more.", "near.", "It leans most on “near.”."]


def test_in_a_metric_where_less_is_better_a_word_that_lowers_it_earns() -> None:
    found = explain_pair(Fault(), make_pair(["Hm?"], "good bad"))
    assert [(span.text, span.worth) for span in found.words] == [("good", -2), ("bad", 1)]


def test_a_blank_reply_and_an_empty_context_have_no_score_and_say_why() -> None:
    blank = explain_pair(Weighed(), make_pair(["Hm?"], "  "))
    assert math.isnan(blank.score)
    assert list(blank.notes) == ["No score: the reply is blank."]
    assert blank.words == ()
    bare = explain_pair(Weighed(), make_pair([], "good"))
    assert math.isnan(bare.score)
    assert "No score: there is no context." in bare.notes


def test_a_metric_that_never_knows_gives_dashes() -> None:
    found = explain_pair(Silent(), make_pair(["Hm?", "Well?"], "good bad"))
    assert math.isnan(found.score)
    assert found.answers() == ()
    assert found.costly() == found.earning() == []
    assert render_plain(found).startswith("test_explain: –")
    assert json.loads(explanation_to_json(found))["score"] is None


def test_a_metric_without_the_context_has_no_context_part() -> None:
    found = explain_pair("length", make_pair(["Hm?"], "one two"))
    assert found.context == ()
    assert "length does not look at the context." in found.notes
    assert [span.worth for span in found.words] == [1, 1]


def test_a_reply_repeated_is_explained_like_any_other() -> None:
    found = explain_pair("context_overlap", make_pair(["Any milk?"], "Milk. Milk. Milk."))
    assert [span.worth for span in found.words] == [0, 0, 0]
    assert found.score == 1.0


def test_equal_variants_are_scored_once() -> None:
    Weighed.calls.clear()
    explain_pair(Weighed(), make_pair(["Hm?"], "no no no"))
    # The whole; one word less (three times the same), two words less (twice the same), the context alone (the whole).
    # A blank reply and an empty context are not scored at all.
    assert Weighed.calls == [3]


def test_far_utterances_are_left_out_together() -> None:
    pair = make_pair([f"Utterance number {i}." for i in range(50)], "number")
    found = explain_pair(Weighed(), pair)
    first = found.context[0]
    assert (first.utterance, first.n_utterances) == (29, 30)
    assert len([p for p in found.context if not p.is_piece]) == 21
    assert any("50 utterances" in note for note in found.notes)
    assert "1-30" in render_plain(found)


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (Needy(), "needs the situation"),
        ("distinct", "is computed over the whole set"),
    ],
)
def test_a_metric_that_needs_more_is_refused_in_one_sentence(metric: Metric | str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        explain_pair(metric, make_pair(["Hm?"], "good"))


def test_a_metric_of_references_works_where_there_are_some() -> None:
    found = explain_pair("bleu(n=1, smoothing='none')", make_pair(["Hm?"], "yes it is", ["yes it is"]))
    assert found.score == pytest.approx(1.0)
    assert all(span.worth > 0 for span in found.words)
    with pytest.raises(InputError, match="needs references, and there are none"):
        explain_pair("bleu", make_pair(["Hm?"], "yes"))


@given(st.lists(st.text(min_size=1, max_size=20).filter(str.strip), max_size=4), st.text(max_size=60))
def test_any_text_can_be_explained_and_shown(context: list[str], reply: str) -> None:
    found = explain_pair("context_overlap", make_pair(context, reply))
    json.loads(explanation_to_json(found))
    render_plain(found)
    for form in FORMATS.values():
        form(explanation_table(found))


# How it is shown


def shown() -> Explanation:
    return explain_pair(Weighed(), make_pair(["Any milk left?"], "good milk bad awful"))


def test_plain_text_marks_what_earned_and_what_cost() -> None:
    found = render_plain(shown())
    assert "  good {+milk+} bad awful" in found  # the others are weak beside it
    assert "cost most: “awful” -3.0000, “bad” -1.0000" in found
    assert "earned most: “milk” +10.0000, “good” +2.0000" in found


def test_control_characters_do_not_reach_the_terminal() -> None:
    found = explain_pair(Weighed(), make_pair(["Hm \x1b[2J?"], "good \x1b[31mred\x07"))
    assert "\x1b" not in render_plain(found)
    assert "\x07" not in render_plain(found)


def test_the_terminal_view_is_shaded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from rejoinder.probes.explanation_view import print_explanation

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_explanation(shown())
    out = capsys.readouterr().out
    assert "\x1b[" in out
    assert "milk" in out


def test_json_has_everything() -> None:
    found = json.loads(explanation_to_json(shown()))
    assert found["score"] == 8
    assert [span["text"] for span in found["costly"]] == ["awful", "bad"]
    assert found["words"][1] == {"start": 5, "end": 9, "text": "milk", "without": -2.0, "worth": 10.0}
    assert found["context"][0]["share"] is None


def test_an_explanation_is_a_value() -> None:
    twice = [explain_pair(Weighed(), make_pair(["Any milk?", "Tea?"], "good milk")) for _ in range(2)]
    assert twice[0] == twice[1]
    with pytest.raises(AttributeError):
        shown().score = 1.0  # type: ignore[misc]


# The command


def test_the_command_explains_a_reply_of_a_file_and_a_typed_one(ran) -> None:  # type: ignore[no-untyped-def]
    done = ran("explain", CHATS, "--response", "trains-2/parrot", "-m", "context_overlap")
    assert done.status == 0, done.err
    assert "It leans most on “and I'm bringing my bike.”" in done.out
    assert "context_overlap|turns:None" in done.err
    typed = (
        "--context",
        "Any milk left?",
        "--context",
        "Or tea?",
        "--reply",
        "No milk today.",
        "-m",
        "context_overlap",
    )
    done = ran("explain", *typed, "--format", "json")
    assert json.loads(done.out)["answers"][0]["text"] == "Any milk left?"
    assert ran("explain", *typed, "--format", "csv").out.startswith("what,where,text,score without")
    assert ran("explain", *typed, "--format", "markdown").status == 0
    assert "the reply is blank" in ran("explain", "--context", "a", "--reply", " ", "-m", "context_overlap").out


MISTAKES = [
    ([], "give either FILE"),
    ([str(CHATS), "--reply", "x"], "give either FILE"),
    ([str(CHATS), "-m", "length"], "has 192 responses; choose one by its id"),
    ([str(CHATS), "--response", "trains-1/atentive", "-m", "length"], "did you mean 'trains-1/attentive'"),
    ([str(CHATS), "--context", "x", "--response", "trains-1/plain"], "--context goes with --reply"),
    (["--reply", "x", "--response", "y"], "--response names a reply of FILE"),
    (["--reply", "x", "-m", "distinct"], "is computed over the whole set"),
    (["--reply", "x", "-m", "meteor"], "needs references"),
    (["nowhere.jsonl", "--response", "x", "-m", "length"], "no such file"),
]


@pytest.mark.parametrize(("argv", "said"), MISTAKES, ids=[s[:25] for _, s in MISTAKES])
def test_a_mistake_is_one_line(ran, argv: list[str], said: str) -> None:  # type: ignore[no-untyped-def]
    done = ran("explain", *argv)
    assert done.status == 2
    assert done.out == ""
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_file_with_one_response_needs_no_name(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lines = [{"id": "i", "context": ["Any milk?"]}, {"item": "i", "system": "bot", "text": "No milk."}]
    (tmp_path / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ran("explain", "one.jsonl", "-m", "length").status == 0


def test_the_page_shows_what_the_command_prints(ran) -> None:  # type: ignore[no-untyped-def]
    page = (CHATS.parent.parent / "docs" / "explain.md").read_text()
    [(typed, printed)] = re.findall(r"^\$ rejoinder (explain .*?[^\\])\n(.*?)\n```", page, re.DOTALL | re.MULTILINE)
    assert ran(*shlex.split(typed.replace("\\\n", ""))).out.rstrip("\n") == printed
    exec(re.findall(r"```python\n(.*?)\n```", page, re.DOTALL)[0], {})
