from __future__ import annotations

import math

import pytest

from rejoinder.errors import SpecError
from rejoinder.metric import parse
from rejoinder.metrics.context_overlap import ContextOverlap
from rejoinder.metrics.length import Length
from rejoinder.types import Item, Pair, Response, Turn


def pair(reply: str, *context: str) -> Pair:
    return Pair(Item("i", tuple(map(Turn, context))), Response("r", "i", "s", reply))


def test_length_counts_words_without_punctuation() -> None:
    found = Length().score([pair("Well, I don't know ..."), pair("?!"), pair("你好"), pair(" ")])
    assert found[:3] == [4.0, 0.0, 2.0]
    assert math.isnan(found[3])


def test_length_counts_characters_without_the_space_around() -> None:
    found = Length(unit="characters").score([pair(" hi there\n"), pair("你好"), pair("\t")])
    assert found[:2] == [8.0, 2.0]
    assert math.isnan(found[2])


def test_context_overlap_is_the_share_of_content_words_said_before() -> None:
    # Content words of the reply: trains, leave, nine, often; said before: trains, leave.
    found = ContextOverlap().score(
        [pair("The trains leave at nine, trains often do.", "When do trains run?", "They leave.")]
    )
    assert found == [0.5]


def test_context_overlap_can_look_at_the_last_turns_alone() -> None:
    given = [pair("Trains leave.", "When do trains run?", "They leave.")]
    assert ContextOverlap().score(given) == [1.0]
    assert ContextOverlap(turns=1).score(given) == [0.5]
    assert ContextOverlap(turns=9).score(given) == [1.0]


def test_context_overlap_cannot_be_said_without_context_or_content_words() -> None:
    found = ContextOverlap().score([pair("Trains leave."), pair("Yes, I do.", "Do trains leave?"), pair(" ", "Hi")])
    assert all(math.isnan(v) for v in found)


def test_context_overlap_of_repeated_items_is_that_of_single_ones() -> None:
    one, two = Item("i", (Turn("cats and dogs"),)), Item("j", (Turn("birds"),))
    pairs = [
        Pair(item, Response("r", item.id, "s", text)) for item in (one, one, two) for text in ("cats", "birds fly")
    ]
    assert ContextOverlap().score(pairs) == [1.0, 0.0, 1.0, 0.0, 0.0, 0.5]


def test_turns_below_one_are_told() -> None:
    with pytest.raises(SpecError, match="context_overlap: turns must be 1 or more, not 0"):
        parse("context_overlap(turns=0)")


def test_baselines_say_that_more_is_not_better() -> None:
    assert Length.higher_is_better is None
    assert ContextOverlap.higher_is_better is None
