"""Choosing among proposals: nothing twice, nothing unapt, nobody takes everything, different things first."""

from __future__ import annotations

from typing import ClassVar

import pytest

from rejoinder.augmentation.filter import choose_references, filter_proposals
from rejoinder.augmentation.proposal import Proposal
from rejoinder.errors import SpecError
from rejoinder.types import Item, Reference, Turn

ITEM = Item("i", (Turn("Shall we go out?"),), (Reference("Yes, to the park."),))


def found(*texts: str, source: str = "retrieval") -> list[Proposal]:
    return [Proposal(text, source) for text in texts]


def test_what_is_known_or_empty_is_not_chosen() -> None:
    proposals = found("yes to THE park!", "Shall we go out?", "", "…", "No.", "no", "Never.")
    assert [p.text for p in choose_references(ITEM, proposals, 9)] == ["…", "No.", "Never."]
    sifted = filter_proposals([ITEM], [proposals])[0]
    assert (len(sifted.remaining), sifted.known, sifted.unapt) == (3, 4, 0)


def test_of_equal_texts_the_first_stays_with_its_source() -> None:
    proposals = [*found("No.", source="commonsense/atomic"), *found("no!")]
    assert choose_references(ITEM, proposals, 2) == [Proposal("No.", "commonsense/atomic")]


def test_the_kinds_of_source_take_turns_so_that_none_takes_everything() -> None:
    many = found(*(f"number {word} is retrieved" for word in "one two three four five six".split()))
    few = found("I feel glad.", source="commonsense/atomic") + found("I will go.", source="commonsense/comet")
    sources = [p.source.partition("/")[0] for p in choose_references(ITEM, [*many, *few], 6)]
    assert sources == ["retrieval", "commonsense", "retrieval", "commonsense", "retrieval", "retrieval"]


def test_the_first_of_a_choice_are_the_choice_of_fewer() -> None:
    proposals = found("a b c", "a b d", "x y", "a b c e", "z") + found("q", "r s", source="paraphrase")
    whole = choose_references(ITEM, proposals, 7)
    assert len(whole) == 7
    for k in range(8):
        assert choose_references(ITEM, proposals, k) == whole[:k]


def test_a_text_unlike_the_chosen_ones_comes_before_a_better_placed_copy() -> None:
    """By hand: likeness is 2 * common / all over words and pairs of words.

    "the cat sat here" comes first (goodness 1, like nothing). Then "the cat sat there" has goodness 2/3 and shares 3
    words and 2 pairs of 7 and 7: 10/14; "a dog" has 1/3 and shares nothing: 1/3 - 0 > 2/3 - 10/14 (both halved).
    """
    proposals = found("the cat sat here", "the cat sat there", "a dog")
    assert [p.text for p in choose_references(ITEM, proposals, 3)] == ["the cat sat here", "a dog", "the cat sat there"]


def test_what_is_like_a_reference_comes_later() -> None:
    proposals = found("Yes, to the park now.", "I am tired.")
    assert [p.text for p in choose_references(ITEM, proposals, 2)] == ["I am tired.", "Yes, to the park now."]


class Fixed:
    """Aptness by length: longer is apter; without a context nothing can be said."""

    read: ClassVar[list[str]] = []

    def probabilities(self, contexts: list[list[str]], replies: list[str], model: str = "both") -> object:
        import numpy as np

        if model == "both":
            self.read.extend(replies)
        return np.array([len(r) / 100 if c else np.nan for c, r in zip(contexts, replies, strict=True)])


def test_what_is_less_apt_than_asked_is_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.models.aptness.model.open_aptness", Fixed)
    proposals = found("x" * 10, "x" * 30, "x" * 50)
    assert [len(p.text) for p in choose_references(ITEM, proposals, 3, least_aptness=0.3)] == [30, 50]
    bare = Item("bare", ())
    sifted = filter_proposals([ITEM, bare], [proposals, proposals], 0.4)
    assert [(len(one.remaining), one.unapt) for one in sifted] == [(1, 2), (3, 0)]


def test_a_text_that_the_bi_encoder_finds_hopeless_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.models.aptness.model.open_aptness", Fixed)
    monkeypatch.setattr(Fixed, "read", [])
    (one,) = filter_proposals([ITEM], [found("x" * 9, "x" * 11, "x" * 49, "x" * 50)], 0.5)
    assert [len(text) for text in Fixed.read] == [11, 49, 50]
    assert ([len(p.text) for p in one.remaining], one.unapt) == ([50], 3)


def test_numbers_out_of_range_are_errors() -> None:
    with pytest.raises(SpecError, match="from 0 to 1, not 2"):
        choose_references(ITEM, found("No."), 1, least_aptness=2)
    with pytest.raises(SpecError, match="at least 0, found -1"):
        choose_references(ITEM, found("No."), -1)
    assert choose_references(ITEM, [], 5) == []
