"""What requests to a judge may cost: the most before one is sent, and what it did cost once it is answered.

A token is at least one byte in every tokeniser of the providers here, so the bytes of a request, with what a provider
adds to it, are the most that its input can count; the most that its output can count is the limit that it is sent with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import orjson

from rejoinder.engines.spending import Ledger, get_spending_limit
from rejoinder.errors import BudgetError
from rejoinder.judges.answer_store import StoredAnswer
from rejoinder.judges.completion import parse_chat_completion
from rejoinder.judges.prices import TokenPrice, explain_missing_price, find_price
from rejoinder.judges.provider import LOCAL_PORTS
from rejoinder.judges.settings import EndpointSettings

_ADDED_TOKENS = 600  # by a provider: the chat format, and what makes a model call a tool
_LIMITS = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True)
class Budget:
    """A ledger, and the price of the model whose requests it limits."""

    ledger: Ledger
    price: TokenPrice

    def most_cost(self, body: bytes) -> float:
        """The most that a request may cost."""
        sent = orjson.loads(body)
        limit = next((sent[name] for name in _LIMITS if name in sent), None)
        if limit is None and self.price.output:
            raise BudgetError(
                "a budget needs a limit on the length of answers, and this request is sent without one; write e.g. "
                "judge(..., max_tokens=512) with a model that accepts it, or leave --budget out"
            )
        return self.price.cost(len(body) + _ADDED_TOKENS, limit or 0)


@contextlib.contextmanager
def claim_budget(settings: EndpointSettings, model: str) -> Iterator[Budget | None]:
    """The budget that holds for requests of this thread to a model, claimed; None where there is none."""
    limit = get_spending_limit()
    if limit is None:
        yield None
        return
    ledger = Ledger(limit)
    with ledger.claim():
        yield Budget(ledger, require_price(model, settings))


def require_price(model: str, settings: EndpointSettings | None = None) -> TokenPrice:
    """The price of a model; an error that says what to type where it is not known."""
    if settings is not None and settings.provider in LOCAL_PORTS:
        model = f"{settings.provider}/{settings.model}"
    price = find_price(model)
    if price is None:
        raise BudgetError(f"a budget needs prices, and {explain_missing_price(model)}")
    return price


@dataclass
class Charge:
    """What one request is charged: its most while it is in flight, then what it cost; nothing without a budget."""

    budget: Budget | None
    is_stopped: Callable[[], bool]
    _reservation: str | None = field(default=None, init=False)

    def reserve(self, body: bytes) -> bool:
        """Reserve the most that a request may cost; False if the sender was stopped meanwhile."""
        if self.budget is None:
            return True
        self._reservation = self.budget.ledger.reserve(self.budget.most_cost(body), self.is_stopped)
        return self._reservation is not None

    def cancel(self, *, maybe_paid: bool) -> None:
        """Settle a request without an answer: it cost nothing, or its most if the endpoint may have computed one."""
        self._settle(None if maybe_paid else 0.0)

    def settle(self, answer: StoredAnswer) -> None:
        """Settle an answered request; where the answer has no token counts, its most counts."""
        if self.budget is not None and answer.outcome != "refused":
            self._settle(self.budget.price.cost_of(parse_chat_completion(answer.body.encode()).usage))

    def _settle(self, cost: float | None) -> None:
        if self.budget is not None and self._reservation is not None:
            self.budget.ledger.settle(self._reservation, cost)
            self._reservation = None
