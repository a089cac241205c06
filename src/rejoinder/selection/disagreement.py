"""Questions on which systems disagree most, and those that none or all get right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.selection.result import Selected


class Disputed(NamedTuple):
    """A question with who got it right, and whom each candidate convinced (a tie convinces by halves)."""

    place: int
    share: float
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    convinced: tuple[tuple[str, ...], ...]


class Agreement(NamedTuple):
    """How many questions all systems that answered got right, and none; ``none`` holds their places."""

    n: int
    all_right: int
    none: tuple[int, ...]


def disputed(selected: Selected, most: int = 10) -> list[Disputed]:
    """The questions whose points are nearest to half of the systems; of equal ones, those with more opinions first."""
    if len(selected.systems) < 2:
        return []
    each = (_disputed(selected, place) for place in range(len(selected.questions)))
    found = [one for one in each if one is not None]
    found.sort(key=lambda one: (-one.share * (1 - one.share), -sum(map(bool, one.convinced)), one.place))
    return found[:most]


def _disputed(selected: Selected, place: int) -> Disputed | None:
    points = {system: float(selected.points[system][place]) for system in selected.systems}
    known = {system: value for system, value in points.items() if value == value}
    if len(known) < 2 or not 0 < sum(known.values()) < len(known) or len(set(known.values())) == 1:
        return None
    convinced = tuple(
        tuple(system for system in known if candidate in selected.chosen[system][place])
        for candidate in range(len(selected.questions[place].candidates))
    )
    right = tuple(system for system, value in known.items() if value == 1)
    wrong = tuple(system for system, value in known.items() if value == 0)
    return Disputed(place, sum(known.values()) / len(known), right, wrong, convinced)


def agreement(selected: Selected) -> Agreement:
    """On how many questions all systems that answered were right, and on which none was."""
    table = np.stack(list(selected.points.values()))
    known = ~np.isnan(table)
    some = known.any(axis=0)
    all_right = some & (np.where(known, table, 1) == 1).all(axis=0)
    none = some & (np.where(known, table, 0) == 0).all(axis=0)
    return Agreement(int(some.sum()), int(all_right.sum()), tuple(np.flatnonzero(none).tolist()))
