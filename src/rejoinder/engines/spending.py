"""A limit on what requests may cost: stops before the sum of what was paid and what may still be paid passes it.

The ledger of a limit is a file: one line for the most that a request may cost, before it is sent, and one for what it
did cost. Only one process at a time sends under a limit. A request that was lost with its process counts at its most.
"""

from __future__ import annotations

import contextlib
import math
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson

from rejoinder.errors import BudgetError, RunError, SpecError
from rejoinder.keyed_store import MOVE_CACHE, lock_file
from rejoinder.paths import cache_home

RESUME_HINT = "every answer so far is stored: run the same command with a larger --budget to continue"
_ROUNDING = 1 + 1e-9  # sums of the same costs in another order differ in their last digits
_TICK = 0.2  # seconds between two checks whether the sender was stopped


class SpendingLimit(NamedTuple):
    """The most that requests may cost together, and the file that says what they have cost so far."""

    amount: float
    ledger: str


_limits = threading.local()  # of the thread that computes


def check_budget(amount: float | None, engine: str) -> None:
    """Raise where a budget is not an amount of money, or processes do not share its ledger."""
    if amount is not None and not 0 < amount < 1e9:
        raise SpecError(f"the budget must be a number above 0, not {amount}; write e.g. --budget 5")
    if amount is not None and engine == "ray":
        raise SpecError("a budget holds for the processes of one machine; leave --engine ray or --budget out")


def ledger_path(identity: str) -> Path:
    """The ledger of a run; it is beside the answers that were paid."""
    return cache_home() / "judge" / "spent" / f"{identity}.jsonl"


@contextlib.contextmanager
def limit_spending(limit: SpendingLimit | None) -> Iterator[None]:
    """Limit what requests of this thread cost inside the block; without a limit, an outer one still holds."""
    before = get_spending_limit()
    _limits.current = before if limit is None else limit
    try:
        yield
    finally:
        _limits.current = before


def get_spending_limit() -> SpendingLimit | None:
    """Return the limit that holds now."""
    limit: SpendingLimit | None = getattr(_limits, "current", None)
    return limit


class Ledger:
    """What was paid under a limit, and what the requests in flight may cost at most; used by several threads."""

    def __init__(self, limit: SpendingLimit) -> None:
        self._limit = limit
        self._changed = threading.Condition()
        self._spent = 0.0
        self._in_flight: dict[str, float] = {}
        self._file: BinaryIO | None = None

    @property
    def spent(self) -> float:
        """What was paid so far."""
        return self._spent

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """The right to spend, for one process at a time."""
        path = Path(self._limit.ledger)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a+b") as self._file:
                lock_file(self._file)
                self._spent, self._in_flight = _sum_entries(self._file), {}
                yield
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror}); {MOVE_CACHE}") from None
        finally:
            self._file = None

    def reserve(self, most: float, is_stopped: Callable[[], bool]) -> str | None:
        """Reserve the most that a request may cost, and return its id; None if the sender was stopped.

        Where it does not fit, wait for requests in flight, which mostly cost less than was reserved; raise where none
        is left.
        """
        with self._changed:
            while not is_stopped():
                if self._spent + sum(self._in_flight.values()) + most <= self._limit.amount * _ROUNDING:
                    reservation = uuid.uuid4().hex
                    self._in_flight[reservation] = most
                    self._write(reservation, most)
                    return reservation
                if not self._in_flight:
                    raise BudgetError(
                        f"the budget of {format_money(self._limit.amount)} does not allow another request: "
                        f"{format_money(self._spent)} was paid, and the next one may cost up to {format_money(most)}; "
                        + RESUME_HINT
                    )
                self._changed.wait(_TICK)
        return None

    def settle(self, reservation: str, cost: float | None = None) -> None:
        """Replace what was reserved by what it cost; without a cost, the most counts."""
        with self._changed:
            most = self._in_flight.pop(reservation)
            paid = most if cost is None else cost
            self._spent += paid
            self._write(reservation, paid)
            self._changed.notify_all()

    def _write(self, reservation: str, cost: float) -> None:
        if self._file is not None:
            self._file.write(orjson.dumps([reservation, cost], option=orjson.OPT_APPEND_NEWLINE))
            self._file.flush()


def _sum_entries(file: BinaryIO) -> float:
    """What was spent before, by this process or others: of each reservation the last entry counts."""
    costs: dict[str, float] = {}
    file.seek(0)
    for line in file:
        with contextlib.suppress(ValueError, TypeError):  # half a line that a crash left
            reservation, cost = orjson.loads(line)
            costs[str(reservation)] = float(cost)
    return math.fsum(costs.values())


def format_money(amount: float) -> str:
    """An amount with two decimals, or as many as a small one needs."""
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{amount:.4f}" if amount >= 0.001 else f"{amount:.2g}"
