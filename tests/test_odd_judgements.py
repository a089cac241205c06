"""Judgements that nothing can be made of are refused in one sentence, or leave a result that says so."""

from __future__ import annotations

import pytest

import rejoinder
from rejoinder.comparison.judgements import sort_judgements
from rejoinder.comparison.preferences import rank_by_preference
from rejoinder.comparison.rating_power import pilot_from_records, pilot_from_scores
from rejoinder.comparison.trust import trust
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.stats.rating_matrix import rating_matrix
from rejoinder.types import Choice, Item, Preference, Rating, Record, Response, Turn


def replies(items: int = 3, dialogue: str | None = None) -> list[Record]:
    """Two replies of system a and one of b to each item."""
    found: list[Record] = []
    for i in range(items):
        found.append(Item(f"i{i}", (Turn("What now?"),), dialogue=dialogue))
        found += [Response(f"i{i}/{name}", f"i{i}", name[0], f"word {name}") for name in ("a", "a2", "b")]
    return found


def rated(values: dict[str, float]) -> list[Record]:
    return [Rating("ann", "apt", value, response) for response, value in values.items()]


def preference(item: str, first: str, second: str, choice: Choice = "first") -> Preference:
    return Preference(item, first, second, "ann", choice, "apt")


HUGE = "rater ann gave i0/b the rating 1e\\+308, which is too large for a mean; keep ratings within 1e\\+150"


def test_ratings_without_a_finite_square_are_refused() -> None:
    given = [*replies(), *rated({"i0/a": -3.0, "i0/b": 1e308, "i1/a": 2.0, "i1/b": -1e308})]
    data = Collection()
    for record in given:
        data.add(record)
    with pytest.raises(InputError, match=HUGE):
        trust(rejoinder.score(data, "length"), data)
    with pytest.raises(InputError, match=HUGE):
        sort_judgements(given)
    with pytest.raises(InputError, match=HUGE):
        pilot_from_records(given)
    assert rating_matrix(["u"], ["r"], [1e150]).values.tolist() == [[1e150]]


def test_a_pilot_of_one_item_or_one_dialogue_is_refused() -> None:
    one = [*replies(), *rated({"i0/a": 3.0, "i0/b": 4.0})]
    with pytest.raises(InputError, match=r"one item with judgements of both a and b; .* give the standard"):
        pilot_from_records(one)
    with pytest.raises(InputError, match="the pilot has one item"):
        pilot_from_records([*replies(), preference("i0", "i0/a", "i0/b")])
    with pytest.raises(InputError, match="the pilot has one item"):
        pilot_from_scores(rejoinder.score(rejoinder.data.collect(replies(1)), "length"), "length")
    together = [*replies(2, "d"), *rated({"i0/a": 3.0, "i0/b": 4.0, "i1/a": 3.0, "i1/b": 5.0})]
    with pytest.raises(InputError, match="all 2 items of the pilot come from one dialogue"):
        pilot_from_records(together)


def test_preferences_within_one_system_rank_nobody_and_say_so() -> None:
    given = [*replies(), *(preference(f"i{i}", f"i{i}/a", f"i{i}/a2") for i in range(3))]
    (found,) = rank_by_preference(given)
    told = "apt: all preferences are between two replies of one system, so they do not rank systems."
    assert found.sentence() == told
    assert found.table().rows == []
    assert "Left out: 3 preferences between two replies of one system." in found.table().notes


def test_strengths_vary_by_dialogue() -> None:
    choices: list[Choice] = ["first", "first", "second", "first", "second", "first"]
    said = [preference(f"i{i}", f"i{i}/a", f"i{i}/b", choice) for i, choice in enumerate(choices)]
    (alone,), (together,) = (rank_by_preference([*replies(6, dialogue), *said]) for dialogue in (None, "d"))
    assert alone.ranking.n_clusters == 6
    assert together.ranking.n_clusters == 1
    assert together.ranking.reason == "no interval: fewer than 2 clusters"
    assert "95% interval over items" in alone.table().notes[0]
    assert "95% interval over dialogues" in together.table().notes[0]


@pytest.mark.parametrize(
    ("item", "first", "second", "said"),
    [
        ("i0", "i0/a", "i0/a", "a preference by 'ann' compares the response 'i0/a' with itself; name two responses"),
        (
            "i0",
            "i0/a",
            "i1/b",
            "compares 'i0/a' and 'i1/b', replies to the items 'i0' and 'i1'; compare replies to one",
        ),
        ("i1", "i0/a", "i0/b", "names the item 'i1', but 'i0/a' and 'i0/b' reply to 'i0'; correct its item"),
    ],
)
def test_a_preference_is_between_two_replies_to_its_item(item: str, first: str, second: str, said: str) -> None:
    given = [*replies(), preference(item, first, second)]
    with pytest.raises(InputError, match=said):
        rank_by_preference(given)
    with pytest.raises(InputError, match=said):
        pilot_from_records(given)


def test_a_reply_compared_with_itself_is_refused_without_the_replies_too() -> None:
    with pytest.raises(InputError, match="compares the response 'x' with itself"):
        sort_judgements([preference("i", "x", "x")])
