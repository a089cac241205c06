"""What the tokens of a model cost: the environment's prices, else the user's table, else the packaged one."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.errors import InputError
from rejoinder.judges.completion import TokenUsage
from rejoinder.judges.provider import LOCAL_PORTS
from rejoinder.judges.settings import read_token_prices
from rejoinder.paths import config_home

PACKAGED = Path(__file__).parent / "prices.toml"
INPUT_PRICE, OUTPUT_PRICE = "REJOINDER_JUDGE_INPUT_PRICE", "REJOINDER_JUDGE_OUTPUT_PRICE"
_GENERAL = ("as_of", "currency")  # the keys of a table of prices that are not models
_DATE = re.compile(r"[-@:](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest|preview)$")


class TokenPrice(NamedTuple):
    """The price of a million tokens, its currency, and where it was found."""

    input: float
    output: float
    currency: str
    source: str

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """What some tokens cost."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6

    def cost_of(self, usage: TokenUsage) -> float | None:
        """What an answer cost; None where its tokens are not known."""
        return None if usage.input is None or usage.output is None else self.cost(usage.input, usage.output)

    def describe(self) -> str:
        """The price in words."""
        currency = f" {self.currency}" if self.currency else ""
        return f"{self.input:g} and {self.output:g}{currency} per million input and output tokens, by {self.source}"


class PriceEntry(NamedTuple):
    """One line of a table of prices."""

    pattern: str
    price: TokenPrice


def user_prices_path() -> Path:
    """Where the user's own table of prices is, or may be written."""
    return config_home() / "prices.toml"


def find_price(model: str) -> TokenPrice | None:
    """The price of a model; None where no table has it."""
    if (prices := read_token_prices()) is not None:
        return TokenPrice(*prices, "", INPUT_PRICE.removesuffix("INPUT_PRICE") + "..._PRICE")
    for entries in (_read_user_prices(), read_prices(PACKAGED)):
        fitting = [entry for entry in entries if _fits(entry.pattern, model)]
        if fitting:
            return max(fitting, key=lambda entry: len(entry.pattern.replace("*", ""))).price
    return None


def list_prices() -> list[PriceEntry]:
    """Every entry of the user's table and of the packaged one, without those that the user's replace."""
    own = _read_user_prices()
    replaced = {entry.pattern for entry in own}
    return [*own, *(entry for entry in read_prices(PACKAGED) if entry.pattern not in replaced)]


def explain_missing_price(model: str) -> str:
    """What to do where a model has no price."""
    return (
        f"no price is known for {model}: set {INPUT_PRICE} and {OUTPUT_PRICE} to its prices per million tokens "
        f"(0 for a server of your own), or add it to {user_prices_path()}"
    )


def _fits(pattern: str, model: str) -> bool:
    """Whether a pattern fits a model's name, with or without the provider in front and the date behind."""
    if model.partition("/")[0] in LOCAL_PORTS:  # a server on this machine may have a model of a provider's name
        return fnmatchcase(model, pattern)
    names = {model, model.rpartition("/")[2]}
    names |= {_DATE.sub("", name) for name in names}
    return any(fnmatchcase(name, pattern) for name in names)


def _read_user_prices() -> tuple[PriceEntry, ...]:
    path = user_prices_path()
    return read_prices(path) if path.is_file() else ()


def read_prices(path: Path) -> tuple[PriceEntry, ...]:
    """The entries of a table of prices."""
    try:
        return _parse_prices(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


@functools.lru_cache(maxsize=8)
def _parse_prices(path: Path, changed: int) -> tuple[PriceEntry, ...]:
    try:
        table: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not a table of prices ({error}); see docs/judge.md") from None
    source = "the packaged table" if path == PACKAGED else str(path)
    as_of = f" of {table['as_of']}" if "as_of" in table else ""
    entries = []
    for name, prices in table.items():
        if name in _GENERAL:
            continue
        numbers: list[Any] = [prices.get(key) for key in ("input", "output")] if isinstance(prices, dict) else []
        valid = [isinstance(n, int | float) and not isinstance(n, bool) and 0 <= n < 1e6 for n in numbers]
        if valid != [True, True]:
            raise InputError(
                f'{path}: {name} has no valid prices; write ["{name}"] and below it input = 0.15 and output = 0.60, '
                "per million tokens"
            )
        price = TokenPrice(float(numbers[0]), float(numbers[1]), str(table.get("currency", "")), source + as_of)
        entries.append(PriceEntry(name, price))
    return tuple(entries)
