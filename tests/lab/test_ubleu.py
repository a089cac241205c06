"""uBLEU: Delta-BLEU with the weights that a rater gives, BLEU where people wrote every reference."""

from __future__ import annotations

import pytest
from rejoinder_lab.metrics.ubleu import Ubleu

import rejoinder
from rejoinder.errors import SpecError
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.delta_bleu import DeltaBleu
from rejoinder.types import Item, Pair, Reference, Response, Turn

CONTEXT = (Turn("the train to the lake leaves at nine", "A"),)
RATER = "context_overlap"  # the share of a text's content words that the context has


def pair(reply: str, *references: Reference) -> Pair:
    return Pair(Item("i", CONTEXT, references), Response("r", "i", "s", reply))


def test_a_reference_by_machine_counts_as_much_as_the_rater_says() -> None:
    human, near, far = "at nine then", "the train leaves soon", "my cat sleeps"
    given = pair(
        "the train leaves at nine", Reference(human), Reference(near, "retrieval"), Reference(far, "retrieval")
    )
    [rated] = Ubleu(rater=RATER).rate_references([given])
    weights = [reference.score for reference in rated.item.references]
    assert weights == [None, pytest.approx(2 / 3), 0]  # train and leaves, but not soon
    expected = DeltaBleu(2, weight="probability", human=1, other=1).score([rated])
    assert Ubleu(rater=RATER).score([given]) == expected
    by_source = DeltaBleu(2, human=1, retrieval=2 / 3)
    assert by_source.score([pair(given.response.text, *given.item.references[:2])]) == pytest.approx(expected)


def test_it_is_bleu_where_people_wrote_every_reference() -> None:
    given = [pair("the train leaves at ten", Reference("the train leaves"), Reference("at ten", "human-edited"))]
    assert Ubleu().score(given) == pytest.approx(Bleu(2).score(given))


def test_a_rater_without_bounds_or_with_references_is_refused() -> None:
    for rater in ("length", "bleu", "norm_prob"):
        with pytest.raises(SpecError, match="rater must be"):
            Ubleu(rater=rater)


def test_the_signature_has_that_of_the_rater() -> None:
    assert "rater:context_overlap|turns:None" in rejoinder.signature(Ubleu(rater=RATER))
