"""Systems against each other: a judge is asked, in both orders, which of two replies to the same item is better.

Every two systems are compared on the same number of items, spread over dialogues. The items come in an order that
depends only on the seed, so a larger number asks about the same ones and more. Two equal replies are a tie, and nothing
is asked about them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path, PurePath
from typing import TypeAlias

from rejoinder.data.collection import Collection, collect
from rejoinder.data.inputs import read
from rejoinder.data.parts import PART_NAMES, read_part
from rejoinder.errors import InputError, SpecError
from rejoinder.judges.arena_result import Arena
from rejoinder.judges.embedded import EmbeddedJudge
from rejoinder.judges.endpoint import RemoteJudge
from rejoinder.judges.factory import EMBEDDED, open_judge
from rejoinder.judges.material import build_choice_request
from rejoinder.judges.pairs import ComparedPair, PairComparison
from rejoinder.judges.rubric import ALIASES, Rubric
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.texts import AGGREGATE, JUDGE
from rejoinder.seeded import stable_shuffle
from rejoinder.stats.arrays import check_at_least
from rejoinder.types import Pair, Record, Response

Announce: TypeAlias = Callable[[int, int], None]
Progress: TypeAlias = Callable[[int, int], None]
Drawn: TypeAlias = tuple[Pair, Pair]
_CHUNK = {True: 16, False: 512}  # pairs per call: of the embedded judge, of one at an endpoint
_SAME = PairComparison("tie", "tie", "tie", 0.0)


def arena(
    data: Collection | Iterable[Record] | Sequence[str | Path] | str | Path,
    judge: str = EMBEDDED,
    *,
    rubric: str = "default",
    n: int = 100,
    systems: Sequence[str] = (),
    only_rated: bool = False,
    seed: int = 0,
    announce: Announce | None = None,
    progress: Progress | None = None,
) -> Arena:
    """Which system a judge prefers, from its choices between replies to the same items, each asked in both orders.

    - ``data``: a run folder, a file with replies of two or more systems, several files (``NAME=FILE`` names the system
      of one), ``dataset:NAME``, a collection, or records.
    - ``judge``: ``embedded``, or the endpoint's name for a model.
    - ``rubric``: the name of a rubric, or a file.
    - ``n``: on how many items every two systems are compared, or all that both replied to if they are fewer.
    - ``systems``: only these systems; by default all.
    - ``only_rated``: whether only replies that people compared are compared.
    - ``seed``: the seed of the sample and of the resamples.
    - ``announce``: called with the number of pairs and the number of requests before any is sent; it may raise.
    - ``progress``: called with the number of pairs done and the total.

    Answers are stored as they arrive: the same call again sends only what was not answered.

    >>> import rejoinder
    >>> found = rejoinder.arena("chats.jsonl", "embedded", n=2, systems=["attentive", "parrot"])
    >>> print(found.table())
    """
    check_at_least(n, 1, "n")
    asked = open_judge(judge, rubric)
    records, name = _read_data(data)
    pairs, left_out = draw_pairs(records, asked.rubric, n=n, systems=systems, only_rated=only_rated, seed=seed)
    if not pairs:
        raise InputError(_explain_no_pairs(name, left_out, only_rated))
    comparisons = _compare(asked, pairs, announce, progress)
    people = [p for p in records.preferences if not p.rater.startswith((AGGREGATE, JUDGE))]
    return Arena(
        judge,
        ALIASES.get(rubric, PurePath(rubric).stem),
        asked.rubric.digest[:12],
        tuple(
            ComparedPair(first.item, first.response, second.response, comparison)
            for (first, second), comparison in zip(pairs, comparisons, strict=True)
        ),
        left_out,
        tuple(people),
        seed,
    )


def _read_data(
    data: Collection | Iterable[Record] | Sequence[str | Path] | str | Path,
) -> tuple[Collection, str]:
    """The records, and how errors call them."""
    if isinstance(data, Collection):
        return data, "the data"
    given = [data] if isinstance(data, str | Path) else list(data)
    names = [one for one in given if isinstance(one, str | Path)]
    if not names:
        return collect(one for one in given if not isinstance(one, str | Path)), "the data"
    joined = ", ".join(map(str, names))
    if len(names) == 1 and Path(names[0]).is_dir():
        return load_data(names[0]), joined
    return read(*names, allow_empty=True), joined


def draw_pairs(
    data: Collection,
    rubric: Rubric,
    *,
    n: int,
    systems: Sequence[str] = (),
    only_rated: bool = False,
    seed: int = 0,
) -> tuple[list[Drawn], Counter[str]]:
    """The pairs of replies to compare, and how many were left out for which reason.

    Of a system with several replies to an item, the first counts.
    """
    if rubric.unit == "dialogue":
        raise SpecError("this rubric rates whole dialogues, but two replies are compared here; use a rubric of replies")
    left_out: Counter[str] = Counter()
    replies = _sort_replies(data, rubric, left_out)
    names = sorted({system for by_system in replies.values() for system in by_system})
    for system in systems:
        if system not in {response.system for response in data.responses.values()}:
            known = ", ".join(sorted({response.system for response in data.responses.values()})) or "none"
            raise SpecError(f"no reply is by the system {system!r}; the systems are: {known}")
    chosen = [name for name in names if not systems or name in systems]
    rated = {frozenset((p.first, p.second)) for p in data.preferences if not p.rater.startswith((AGGREGATE, JUDGE))}
    order = _order_items(data, list(replies), seed)
    drawn: list[tuple[int, Drawn]] = []
    for a, b in combinations(chosen, 2):
        shared = [
            (place, replies[item]) for place, item in enumerate(order) if a in replies[item] and b in replies[item]
        ]
        both = [(place, (by_system[a], by_system[b])) for place, by_system in shared]
        if only_rated:
            both = [one for one in both if frozenset(pair.response.id for pair in one[1]) in rated]
        drawn += both[:n]
    drawn.sort(key=lambda one: one[0])  # item by item: what is answered when a command is stopped is balanced too
    return [pair for _, pair in drawn], left_out


def _sort_replies(data: Collection, rubric: Rubric, left_out: Counter[str]) -> dict[str, dict[str, Pair]]:
    """The reply of each system to each item that can be judged."""
    replies: dict[str, dict[str, Pair]] = {}
    for response in data.responses.values():
        pair = Pair(data.items[response.item], response)
        if reason := _explain_unjudged(pair, rubric):
            left_out[reason] += 1
        elif response.system in replies.setdefault(response.item, {}):
            left_out["a further reply of a system to one item"] += 1
        else:
            replies[response.item][response.system] = pair
    return replies


def _explain_unjudged(pair: Pair, rubric: Rubric) -> str | None:
    if not pair.response.text.strip():
        return "blank"
    if not any(turn.text.strip() for turn in pair.item.context):
        return "without a context"
    missing = next((part for part in rubric.needs if not read_part(pair, part)), None)
    return None if missing is None else f"without {PART_NAMES.get(missing, missing)}"


def _order_items(data: Collection, items: Sequence[str], seed: int) -> list[str]:
    """The items in a random order that takes one from each dialogue before the second from any."""
    nth: Counter[str] = Counter()
    ranked = []
    for place, item in enumerate(stable_shuffle(items, "arena", seed)):
        dialogue = data.items[item].dialogue
        key = f"item {item}" if dialogue is None else f"dialogue {dialogue}"
        ranked.append((nth[key], place, item))
        nth[key] += 1
    return [item for *_, item in sorted(ranked)]


def _compare(
    judge: EmbeddedJudge | RemoteJudge, pairs: Sequence[Drawn], announce: Announce | None, progress: Progress | None
) -> list[PairComparison]:
    """The judge's choices; equal replies are a tie."""
    places = [i for i, pair in enumerate(pairs) if not _are_equal(pair[0].response, pair[1].response)]
    requests = [build_choice_request(judge.rubric, *pairs[i]) for i in places]
    if announce is not None:
        announce(len(pairs), judge.count_requests(pairs=requests) if isinstance(judge, RemoteJudge) else 0)
    comparisons = [_SAME] * len(pairs)
    chunk = _CHUNK[isinstance(judge, EmbeddedJudge)]
    for start in range(0, len(places), chunk):
        if progress is not None:
            progress(start, len(places))
        answers = judge.compare(requests[start : start + chunk])
        for i, comparison in zip(places[start : start + chunk], answers, strict=True):
            comparisons[i] = comparison
    if progress is not None:
        progress(len(places), len(places))
    return comparisons


def read_stored_pairs(judge: RemoteJudge, data: Collection, most: int, seed: int = 0) -> list[ComparedPair]:
    """The pairs of replies that a judge has compared before, in both orders; nothing is sent."""
    if judge.rubric.unit == "dialogue" or not judge.has_answers:
        return []
    pairs = draw_pairs(data, judge.rubric, n=len(data.items) or 1, seed=seed)[0][:most]
    pairs = [pair for pair in pairs if not _are_equal(pair[0].response, pair[1].response)]
    comparisons = judge.stored_comparisons([build_choice_request(judge.rubric, *pair) for pair in pairs])
    return [
        ComparedPair(first.item, first.response, second.response, comparison)
        for (first, second), comparison in zip(pairs, comparisons, strict=True)
        if comparison.forward is not None and comparison.backward is not None
    ]


def _are_equal(first: Response, second: Response) -> bool:
    return first.text.split() == second.text.split()


def _explain_no_pairs(name: str, left_out: Counter[str], only_rated: bool) -> str:
    if only_rated:
        return f"{name}: people compared no two replies of different systems to one item; compare without --people"
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
    why = f" ({reasons})" if reasons else ""
    return (
        f"{name}: no item has replies of two systems that can be judged{why}; name the files of both systems: "
        "rejoinder arena FIRST=FILE SECOND=FILE"
    )
