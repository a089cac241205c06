"""The pairs of an arena: which replies, or whole dialogues, of two systems a judge compares.

Every two systems are compared on the same number of items, spread over dialogues; by a rubric of whole dialogues, on
dialogues of the same name, each as it was at its system's last reply. They come in an order that depends only on the
seed, so a larger number asks about the same ones and more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from rejoinder.data.collection import Collection
from rejoinder.data.parts import PART_NAMES, read_part
from rejoinder.errors import InputError, SpecError
from rejoinder.judges.material import join_dialogue
from rejoinder.judges.pairs import ComparedPair, PairComparison
from rejoinder.judges.prompt import format_turns
from rejoinder.judges.rubric import Rubric
from rejoinder.scoring.texts import AGGREGATE, JUDGE
from rejoinder.seeded import stable_shuffle
from rejoinder.types import Item, Pair, Preference, Response

Drawn: TypeAlias = tuple[Pair, Pair]
_FURTHER = "a further reply of a system to one item"


@dataclass(frozen=True)
class PairChoice:
    """Which pairs are drawn: of how many items, of which systems, and whether only those that people compared."""

    n: int
    systems: Sequence[str] = ()
    only_rated: bool = False
    seed: int = 0


def draw_pairs(data: Collection, rubric: Rubric, choice: PairChoice) -> tuple[list[Drawn], Counter[str]]:
    """The pairs of replies, or of dialogues, to compare, and how many were left out for which reason.

    Of a system with several replies to an item, the first counts.
    """
    if rubric.unit == "dialogue" and choice.only_rated:
        raise SpecError(
            "people's preferences are between replies, and this rubric compares whole dialogues; leave --people out"
        )
    left_out: Counter[str] = Counter()
    replies = _sort_replies(data, rubric, left_out)
    _check_systems(data, choice.systems)
    names = sorted({system for by_system in replies.values() for system in by_system})
    chosen = [name for name in names if not choice.systems or name in choice.systems]
    rated = {frozenset((p.first, p.second)) for p in data.preferences if is_by_person(p)}
    order = _order_items(replies, rubric, choice.seed)
    drawn: list[tuple[int, Drawn]] = []
    for a, b in combinations(chosen, 2):
        shared = [(place, replies[key]) for place, key in enumerate(order) if a in replies[key] and b in replies[key]]
        both = [(place, (by_system[a], by_system[b])) for place, by_system in shared]
        if choice.only_rated:
            both = [one for one in both if frozenset(pair.response.id for pair in one[1]) in rated]
        drawn += both[: choice.n]
    drawn.sort(key=lambda one: one[0])  # item by item: what is answered when a command is stopped is balanced too
    return [pair for _, pair in drawn], left_out


def is_by_person(preference: Preference) -> bool:
    """Whether a preference is neither a judge's nor computed from others."""
    return not preference.rater.startswith((AGGREGATE, JUDGE))


def _check_systems(data: Collection, systems: Sequence[str]) -> None:
    known = sorted({response.system for response in data.responses.values()})
    for system in systems:
        if system not in known:
            raise SpecError(f"no reply is by the system {system!r}; the systems are: {', '.join(known) or 'none'}")


def _sort_replies(data: Collection, rubric: Rubric, left_out: Counter[str]) -> dict[str, dict[str, Pair]]:
    """The reply of each system to each item, or its last one in each dialogue, that can be judged."""
    replies: dict[str, dict[str, Pair]] = {}
    for pair in data.pairs():
        if rubric.unit == "dialogue" and not pair.is_last:
            continue
        key = pair.item.id if rubric.unit == "reply" else _name_cluster(pair.item)
        if reason := _explain_unjudged(pair, rubric):
            left_out[reason] += 1
        elif pair.response.system in replies.setdefault(key, {}):
            left_out[_FURTHER] += 1
        else:
            replies[key][pair.response.system] = pair
    return replies


def _explain_unjudged(pair: Pair, rubric: Rubric) -> str | None:
    if not pair.response.text.strip():
        return "blank"
    if not any(turn.text.strip() for turn in pair.item.context):
        return "without a context"
    missing = next((part for part in rubric.needs if not read_part(pair, part)), None)
    return None if missing is None else f"without {PART_NAMES.get(missing, missing)}"


def _order_items(replies: Mapping[str, Mapping[str, Pair]], rubric: Rubric, seed: int) -> list[str]:
    """The items (or dialogues) in a random order that takes one from each dialogue before the second from any."""
    nth: Counter[str] = Counter()
    ranked = []
    for place, key in enumerate(stable_shuffle(list(replies), "arena", seed)):
        dialogues = {key} if rubric.unit == "dialogue" else {_name_cluster(p.item) for p in replies[key].values()}
        dialogue = min(dialogues, default=key)
        ranked.append((nth[dialogue], place, key))
        nth[dialogue] += 1
    return [key for *_, key in sorted(ranked)]


def _name_cluster(item: Item) -> str:
    return f"item {item.id}" if item.dialogue is None else f"dialogue {item.dialogue}"


def are_equal(first: Pair, second: Pair, rubric: Rubric) -> bool:
    """Whether two replies, or two dialogues, say the same, so that there is nothing to ask."""
    return _words(first, rubric) == _words(second, rubric)


def _words(pair: Pair, rubric: Rubric) -> list[str]:
    if rubric.unit == "reply":
        return pair.response.text.split()
    return [word for turn in join_dialogue(pair) for word in (*turn.text.split(), "\n")]


def join_comparisons(
    pairs: Sequence[Drawn], comparisons: Sequence[PairComparison], rubric: Rubric
) -> Iterator[ComparedPair]:
    """The pairs with what was chosen; a whole dialogue becomes one response, in which each line is a turn."""
    for (first, second), comparison in zip(pairs, comparisons, strict=True):
        if rubric.unit == "reply":
            yield ComparedPair(first.item, first.response, second.response, comparison)
        else:
            name = first.item.id if first.item.dialogue is None else first.item.dialogue
            item = Item(name, (), dialogue=first.item.dialogue)
            yield ComparedPair(item, _write_dialogue(first, name), _write_dialogue(second, name), comparison)


def _write_dialogue(pair: Pair, item: str) -> Response:
    lines = [f"{turn['speaker']}: {' '.join(turn['text'].split())}" for turn in format_turns(join_dialogue(pair))]
    return replace(pair.response, item=item, text="\n".join(lines))


def count_shared_contexts(pairs: Sequence[Drawn]) -> int:
    """In how many pairs of dialogues both systems answered one stored context with earlier replies in it."""
    return sum(first.item.id == second.item.id and len(first.item.context) > 1 for first, second in pairs)


def explain_no_pairs(name: str, rubric: Rubric, left_out: Counter[str], only_rated: bool) -> InputError:
    """The error where there is nothing to compare."""
    if only_rated:
        return InputError(
            f"{name}: people compared no two replies of different systems to one item; compare without --people"
        )
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
    why = f" ({reasons})" if reasons else ""
    what = "no item has replies of two systems that can be judged"
    if rubric.unit == "dialogue":
        what = "no dialogue has replies of two systems that can be judged (their items need the same 'dialogue')"
    remedy = "name the files of both systems: rejoinder arena FIRST=FILE SECOND=FILE"
    if any(reason not in ("blank", _FURTHER) for reason in left_out):
        remedy = "add what is missing, or use another rubric (rejoinder list rubrics shows what each needs)"
    return InputError(f"{name}: {what}{why}; {remedy}")
