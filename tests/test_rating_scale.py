"""The ends of the scale that people rated on."""

from __future__ import annotations

import pytest

from rejoinder.comparison.rating_scale import choose_scale, parse_scale
from rejoinder.errors import InputError


@pytest.mark.parametrize(
    ("ratings", "scale"),
    [((0, 1), (0, 1)), ((1, 1), (0, 1)), ((1, 5), (1, 5)), ((2, 3), (1, 5)), ((0, 3), (0, 4)), ((1.5, 6), (1, 7))],
)
def test_the_first_usual_scale_that_has_all_ratings(ratings: tuple[float, float], scale: tuple[float, float]) -> None:
    assert choose_scale(None, ratings) == scale


def test_the_scale_of_the_user_goes_first() -> None:
    assert choose_scale((1, 7), (2, 5)).name == "1 to 7"
    assert parse_scale("-1..1") == (-1, 1)
    assert parse_scale("0..1.5") == (0, 1.5)


@pytest.mark.parametrize(
    ("scale", "ratings", "words"),
    [
        ((1, 5), (1, 7), "the rating 7 lies outside the scale 1 to 5"),
        ((1, 5), (0, 5), "the rating 0 lies outside the scale 1 to 5"),
        ((5, 1), (1, 5), "from a lower to a higher"),
        ((1, float("inf")), (1, 5), "from a lower to a higher"),
        (None, (1, 1000), "not a usual scale; name its ends with --scale"),
    ],
)
def test_what_is_no_scale_of_the_ratings_is_one_line(
    scale: tuple[float, float] | None, ratings: tuple[float, float], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        choose_scale(scale, ratings)


@pytest.mark.parametrize("text", ["5", "1-5", "one..five", "..5"])
def test_what_is_no_scale_is_said(text: str) -> None:
    with pytest.raises(InputError, match=r"write its lowest and highest rating, such as 1\.\.5"):
        parse_scale(text)
