"""What scoring will cost before anything is sent: requests, tokens and money, by metric.

Tokens are estimated from characters. Where some requests were answered before, the estimate is corrected by the
endpoint's own counts of these.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from rejoinder.data.importers import ImportOptions
from rejoinder.data.inputs import Input, open_inputs
from rejoinder.engines.spending import format_money
from rejoinder.metric import parse
from rejoinder.paths import cache_home
from rejoinder.scoring.cache import ScoreStore
from rejoinder.scoring.compute import ScoreColumn, has_stored, missing_part
from rejoinder.scoring.index import DataFile, ResponseIndex, index_inputs
from rejoinder.table import Cell, Table
from rejoinder.types import Pair

_TYPICAL_OUTPUT = 60  # tokens of an answer: a score and a short reason; used where nothing was answered before


class RequestPreview(NamedTuple):
    """A request that a metric would send: its key, its estimated tokens, and what is known from stored answers."""

    key: str
    input_estimate: float
    is_answered: bool
    input_tokens: int | None = None  # of the last stored answer, as the endpoint counts them
    output_tokens: int | None = None


class RequestPrice(NamedTuple):
    """The price of a million tokens of a metric's model, and a sentence that says where it was found."""

    input: float
    output: float
    currency: str
    description: str


@runtime_checkable
class PricedMetric(Protocol):
    """A metric whose requests cost money."""

    def preview_requests(self, pairs: Sequence[Pair]) -> Iterator[RequestPreview]:
        """Yield the requests about some pairs; nothing is sent."""
        ...

    def request_price(self) -> RequestPrice | str:
        """Return the price of requests, or why it is not known."""
        ...

    def longest_output(self) -> int | None:
        """Return the most tokens of an answer; None where there is no limit."""
        ...

    def price_answers(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a run's answers cost, for its ``run.json``, from the summary of its traces."""
        ...


@dataclass(frozen=True)
class CostEstimate:
    """What one metric will cost: requests, of which some are answered already, and tokens and money of the others.

    ``most`` is the cost if every answer is as long as allowed; None where no price or no limit is known, and
    ``reason`` then says why. ``calibrated_on`` is the number of stored answers that corrected the estimate.
    """

    metric: str
    requests: int
    answered: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    most: float | None
    currency: str = ""
    price: str = ""
    reason: str = ""
    calibrated_on: int = 0

    @property
    def to_send(self) -> int:
        """The requests that will be sent."""
        return self.requests - self.answered


@dataclass
class RequestTally:
    """The requests of one metric, each once."""

    metric: Any  # a PricedMetric, or a judge
    seen: set[bytes] = field(default_factory=set)
    answered: int = 0
    estimate: float = 0.0  # of the input tokens of requests without an answer
    known_estimate: float = 0.0  # of those with an answer whose tokens are known
    known_input: int = 0
    known_output: int = 0
    n_known: int = 0

    def add(self, preview: RequestPreview, is_stored: bool) -> None:
        """Count a request; ``is_stored`` says that the score is stored, so that no answer is needed."""
        key = bytes.fromhex(preview.key)
        if key in self.seen:
            return
        self.seen.add(key)
        if preview.is_answered or is_stored:
            self.answered += 1
        else:
            self.estimate += preview.input_estimate
        if preview.input_tokens is not None and preview.output_tokens is not None:
            self.n_known += 1
            self.known_estimate += preview.input_estimate
            self.known_input += preview.input_tokens
            self.known_output += preview.output_tokens

    def estimate_cost(self) -> CostEstimate:
        """What the requests without an answer will cost."""
        to_send = len(self.seen) - self.answered
        correction = self.known_input / self.known_estimate if self.known_estimate else 1.0
        mean_output = self.known_output / self.n_known if self.n_known else _TYPICAL_OUTPUT
        longest = self.metric.longest_output()
        mean_output = mean_output if longest is None else min(mean_output, longest)
        tokens = self.estimate * correction, to_send * mean_output
        price = self.metric.request_price()
        counts = (str(self.metric), len(self.seen), self.answered, round(tokens[0]), round(tokens[1]))
        if isinstance(price, str):
            return CostEstimate(*counts, None, None, reason=price, calibrated_on=self.n_known)
        cost = (tokens[0] * price.input + tokens[1] * price.output) / 1e6
        most = None if longest is None else (tokens[0] * price.input + to_send * longest * price.output) / 1e6
        return CostEstimate(*counts, cost, most, price.currency, price.description, calibrated_on=self.n_known)


def estimate_cost(
    inputs: Sequence[Any],
    metrics: Sequence[str],
    *,
    options: ImportOptions | None = None,
    cache: bool = True,
    empty: Literal["error", "nan"] = "error",
) -> list[CostEstimate]:
    """Estimate what ``run`` will send to endpoints and what it will cost; nothing is sent.

    - ``inputs``: what ``run`` takes.
    - ``metrics``: specs; metrics that send no requests are left out.
    - ``options``: how to read inputs in other formats than ours.
    - ``cache``: whether ``run`` will read the score cache.
    - ``empty``: how to treat an empty reply: as an error, or as NaN.

    >>> import rejoinder
    >>> rejoinder.scoring.estimate_cost(["chats.jsonl"], ["judge(model='gpt-4o-mini')"])[0].to_send
    24
    """
    sources = open_inputs(inputs, options)
    try:
        return estimate_cost_of_parts([sources], metrics, cache, empty == "nan")
    finally:
        for source in sources:
            source.close()


def estimate_cost_of_parts(
    parts: Iterable[Sequence[Input]], specs: Sequence[str], cache: bool = True, empty_is_nan: bool = False
) -> list[CostEstimate]:
    """Estimate the cost of inputs that are scored separately, in one sum per metric."""
    tallies = make_tallies(specs)
    store = cache_home() / "scores" if cache else None
    if tallies:
        for sources in parts:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "data.jsonl"
                tally_requests(tallies, path, index_inputs(sources, path, empty_is_nan), store)
    return [tally.estimate_cost() for tally in tallies]


def make_tallies(specs: Sequence[str]) -> list[RequestTally]:
    """A tally for each metric whose requests cost money."""
    metrics = [metric for metric in map(parse, specs) if isinstance(metric, PricedMetric)]
    return [RequestTally(metric) for metric in metrics if metric.request_price() != ""]


def tally_requests(tallies: Sequence[RequestTally], path: Path, index: ResponseIndex, store: Path | None) -> None:
    """Add the requests about every pair of a checked input to the tallies; ``store`` is the score cache."""
    scores = None if store is None else ScoreStore(store)
    data = DataFile(path)
    try:
        for chunk in index.chunks() if tallies else ():
            pairs = data.pairs(index.where(chunk))
            for tally in tallies:
                metric = tally.metric
                is_stored = scores is not None and has_stored(ScoreColumn("score", metric), pairs, scores)
                scorable = [pair for pair in pairs if missing_part(metric, pair) is None]
                for preview in metric.preview_requests(scorable):
                    tally.add(preview, is_stored)
    finally:
        data.close()


def describe_progress(specs: Sequence[str], path: Path, index: ResponseIndex, store: Path | None) -> str:
    """How many requests of a run are answered, in words."""
    tallies = make_tallies(specs)
    tally_requests(tallies, path, index, store)
    answered, requests = sum(one.answered for one in tallies), sum(len(one.seen) for one in tallies)
    return f"{answered:,} of {requests:,} requests are answered"


def cost_table(estimates: Sequence[CostEstimate]) -> Table:
    """One line per metric that sends requests."""
    rows: list[list[Cell]] = []
    if not estimates:
        notes = ["No metric here sends requests to an endpoint, so nothing has to be paid."]
    else:
        notes = ["An estimate; nothing was sent. Requests that were answered before cost nothing."]
    for one in estimates:
        money = [None if value is None else format_money(value) for value in (one.cost, one.most)]
        rows.append([one.metric, one.requests, one.answered, one.to_send, one.input_tokens, one.output_tokens, *money])
        if one.reason:
            notes.append(f"{one.metric}: {one.reason}.")
        else:
            notes.append(f"{one.metric}: {one.price}. Prices change: compare them with your provider's.")
        notes.append(
            f"{one.metric}: tokens are corrected by {one.calibrated_on:,} stored answers."
            if one.calibrated_on
            else f"{one.metric}: tokens are estimated from characters, and answers taken as {_TYPICAL_OUTPUT} tokens "
            "long: a model that thinks first writes many more."
        )
    if len(estimates) > 1 and all(one.cost is not None for one in estimates):
        notes.append(f"Together about {format_money(sum(one.cost or 0.0 for one in estimates))}.")
    heads = [
        "metric",
        "requests",
        "answered before",
        "to send",
        "input tokens",
        "output tokens",
        "cost",
        "with longest answers",
    ]
    return Table("Estimated cost", heads, rows, list(dict.fromkeys(notes)))
