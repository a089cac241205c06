"""Systems against each other: a judge is asked, in both orders, which of two replies to the same item is better.

By a rubric of whole dialogues, two dialogues are compared. Two equal ones are a tie, and nothing is asked about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, TypeAlias

from rejoinder.data.collection import Collection, collect
from rejoinder.data.inputs import read
from rejoinder.engines.spending import RESUME_HINT, SpendingLimit, check_budget, ledger_path, limit_spending
from rejoinder.errors import BudgetError
from rejoinder.files import sha256_of_bytes
from rejoinder.judges.answer_summary import price_answers, summarise_answers
from rejoinder.judges.arena_pairs import (
    Drawn,
    PairChoice,
    are_equal,
    count_shared_contexts,
    draw_pairs,
    explain_no_pairs,
    is_by_person,
    join_comparisons,
)
from rejoinder.judges.arena_result import Arena
from rejoinder.judges.embedded import EmbeddedJudge
from rejoinder.judges.endpoint import RemoteJudge
from rejoinder.judges.factory import EMBEDDED, open_judge
from rejoinder.judges.material import build_choice_request
from rejoinder.judges.pairs import ComparedPair, PairComparison, ResponsePair
from rejoinder.judges.rubric import ALIASES
from rejoinder.scoring.cost import CostEstimate, RequestTally
from rejoinder.scoring.reader import load_data
from rejoinder.stats.arrays import check_at_least
from rejoinder.table import format_count
from rejoinder.types import Record

ArenaData: TypeAlias = Collection | Iterable[Record] | Sequence[str | Path] | str | Path
Log: TypeAlias = Callable[[str], None]
Progress: TypeAlias = Callable[[int, int], None]
_CHUNK = {True: 16, False: 512}  # pairs per call: of the embedded judge, of one at an endpoint
_SAME = PairComparison("tie", "tie", "tie", 0.0)


def arena(
    data: ArenaData,
    judge: str = EMBEDDED,
    *,
    rubric: str = "default",
    n: int = 100,
    systems: Sequence[str] = (),
    only_rated: bool = False,
    seed: int = 0,
    budget: float | None = None,
    log: Log | None = None,
    progress: Progress | None = None,
) -> Arena:
    """Which system a judge prefers, from its choices between replies to the same items, each asked in both orders.

    - ``data``: a run folder, a file with replies of two or more systems, several files (``NAME=FILE`` names the system
      of one), ``dataset:NAME``, a collection, or records.
    - ``judge``: ``embedded``, or the endpoint's name for a model.
    - ``rubric``: the name of a rubric, or a file; by one of whole dialogues, dialogues of the same name are compared.
    - ``n``: on how many items every two systems are compared, or all that both replied to if they are fewer.
    - ``systems``: only these systems; by default all.
    - ``only_rated``: whether only replies that people compared are compared.
    - ``seed``: the seed of the sample and of the resamples.
    - ``budget``: the most that the requests may cost, in the currency of the prices (docs/judge.md); it stops before it
      is passed, with all answers stored.
    - ``log``: called with a line: how many pairs and requests there are, before any is sent; it may raise.
    - ``progress``: called with the number of pairs done and the total.

    Answers are stored as they arrive: the same call again sends only what was not answered.

    >>> import rejoinder
    >>> found = rejoinder.arena("chats.jsonl", "embedded", n=2, systems=["attentive", "parrot"])
    >>> print(found.table())
    """
    check_budget(budget, "local")
    asked = open_judge(judge, rubric)
    records, name = _read_data(data)
    pairs, left_out = _draw(records, name, asked, PairChoice(n, systems, only_rated, seed))
    requests = _build_requests(asked, pairs)
    tally = _tally(asked, requests)
    if log is not None:
        log(_describe_requests(asked, judge, len(pairs), len(tally.seen) - tally.answered))
    with limit_spending(_limit(tally, budget)):
        comparisons = _compare(asked, pairs, requests, progress)
    whole = asked.rubric.unit == "dialogue"
    return Arena(
        judge,
        ALIASES.get(rubric, PurePath(rubric).stem),
        asked.rubric.digest[:12],
        tuple(join_comparisons(pairs, comparisons, asked.rubric)),
        left_out,
        () if whole else tuple(filter(is_by_person, records.preferences)),
        seed,
        asked.rubric.unit,
        count_shared_contexts(pairs) if whole else 0,
        *_summarise(asked, requests, tally.answered),
    )


def estimate_arena_cost(
    data: ArenaData,
    judge: str,
    *,
    rubric: str = "default",
    n: int = 100,
    systems: Sequence[str] = (),
    only_rated: bool = False,
    seed: int = 0,
) -> CostEstimate:
    """Estimate what ``arena`` with the same arguments will send and what it will cost; nothing is sent.

    - ``data``: what ``arena`` takes.
    - ``judge``: the endpoint's name for a model; the embedded one costs nothing.
    - ``rubric``: the name of a rubric, or a file.
    - ``n``: on how many items every two systems are compared.
    - ``systems``: only these systems.
    - ``only_rated``: whether only replies that people compared are compared.
    - ``seed``: the seed of the sample.

    >>> import rejoinder
    >>> systems = ["attentive", "parrot"]
    >>> rejoinder.judges.arena.estimate_arena_cost("chats.jsonl", "gpt-4o-mini", n=2, systems=systems).to_send
    4
    """
    asked = open_judge(judge, rubric)
    records, name = _read_data(data)
    pairs, _ = _draw(records, name, asked, PairChoice(n, systems, only_rated, seed))
    if isinstance(asked, EmbeddedJudge):
        return CostEstimate(judge, 0, 0, 0, 0, 0.0, 0.0, price="the embedded judge sends no requests")
    return _tally(asked, _build_requests(asked, pairs)).estimate_cost()


def _draw(
    records: Collection, name: str, judge: EmbeddedJudge | RemoteJudge, choice: PairChoice
) -> tuple[list[Drawn], Mapping[str, int]]:
    check_at_least(choice.n, 1, "n")
    pairs, left_out = draw_pairs(records, judge.rubric, choice)
    if not pairs:
        raise explain_no_pairs(name, judge.rubric, left_out, choice.only_rated)
    return pairs, left_out


def _read_data(data: ArenaData) -> tuple[Collection, str]:
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


def _build_requests(judge: EmbeddedJudge | RemoteJudge, pairs: Sequence[Drawn]) -> list[ResponsePair]:
    """What is asked, about all pairs that are not equal."""
    return [build_choice_request(judge.rubric, *pair) for pair in pairs if not are_equal(*pair, judge.rubric)]


def _tally(judge: EmbeddedJudge | RemoteJudge, requests: Sequence[ResponsePair]) -> RequestTally:
    tally = RequestTally(judge)
    if isinstance(judge, RemoteJudge):
        for preview in judge.preview_pairs(requests):
            tally.add(preview, is_stored=False)
    return tally


def _limit(tally: RequestTally, budget: float | None) -> SpendingLimit | None:
    """The limit of this arena: the same requests again count what was paid before."""
    if budget is None:
        return None
    identity = sha256_of_bytes(b"arena" + b"".join(sorted(tally.seen)))
    return SpendingLimit(budget, str(ledger_path(identity)))


def _compare(
    judge: EmbeddedJudge | RemoteJudge,
    pairs: Sequence[Drawn],
    requests: Sequence[ResponsePair],
    progress: Progress | None,
) -> list[PairComparison]:
    """The judge's choices; equal replies are a tie."""
    answers: list[PairComparison] = []
    chunk = _CHUNK[isinstance(judge, EmbeddedJudge)]
    for start in range(0, len(requests), chunk):
        if progress is not None:
            progress(start, len(requests))
        try:
            answers += judge.compare(requests[start : start + chunk])
        except BudgetError as error:
            tally = _tally(judge, requests)
            now = f"{tally.answered:,} of {len(tally.seen):,} requests are answered"
            raise BudgetError(str(error).replace(RESUME_HINT, f"{now}; {RESUME_HINT}")) from None
    if progress is not None:
        progress(len(requests), len(requests))
    found = iter(answers)
    return [_SAME if are_equal(*pair, judge.rubric) else next(found) for pair in pairs]


def _describe_requests(asked: EmbeddedJudge | RemoteJudge, judge: str, pairs: int, requests: int) -> str:
    things = "dialogues" if asked.rubric.unit == "dialogue" else "replies"
    sent = "no request" if isinstance(asked, EmbeddedJudge) else f"{format_count(requests, 'request')} to {judge}"
    return f"{format_count(pairs, 'pair')} of {things}, {sent}"


def _summarise(
    judge: EmbeddedJudge | RemoteJudge, requests: Sequence[ResponsePair], answered: int
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """The counts of the answers, and what they cost; none for the embedded judge."""
    if isinstance(judge, EmbeddedJudge):
        return {}, None
    summary = summarise_answers(judge.trace_pairs(requests))
    return summary, {**price_answers(summary, judge.model), "answered_before": answered}


def read_stored_pairs(judge: RemoteJudge, data: Collection, most: int, seed: int = 0) -> list[ComparedPair]:
    """The pairs that a judge has compared before, in both orders; nothing is sent."""
    if not judge.has_answers:
        return []
    pairs = draw_pairs(data, judge.rubric, PairChoice(len(data.items) or 1, seed=seed))[0][:most]
    pairs = [pair for pair in pairs if not are_equal(*pair, judge.rubric)]
    comparisons = judge.stored_comparisons(_build_requests(judge, pairs))
    return [
        pair
        for pair in join_comparisons(pairs, comparisons, judge.rubric)
        if pair.comparison.forward is not None and pair.comparison.backward is not None
    ]
