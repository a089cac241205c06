"""A Python function of the user's as a rule for replies: what it takes, what it is called, and its digest."""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from rejoinder.errors import SpecError
from rejoinder.types import Pair

UNKNOWN = "unknown"
Function: TypeAlias = Callable[..., Any]
_FORMS = "write it as function(context, reply) -> number, or as function(reply) or function(pair)"
# What a parameter gets, by its name.
_ARGUMENTS: Mapping[str, Callable[[Pair], Any]] = {
    "context": lambda pair: [turn.text for turn in pair.item.context],
    "reply": lambda pair: pair.response.text,
    "response": lambda pair: pair.response.text,
    "references": lambda pair: [reference.text for reference in pair.item.references],
    "pair": lambda pair: pair,
}


class UserFunction(NamedTuple):
    """A function that can be called with a pair; ``digest`` is that of its source, or "unknown"."""

    name: str
    digest: str
    call: Callable[[Pair], float]
    range: tuple[float, float]
    higher_is_better: bool | None


def wrap_function(function: Function, name: str | None = None) -> UserFunction:
    """Return a function as a rule: its parameters decide what it is called with.

    - ``function``: ``function(context, reply)`` with the texts of the turns, or any of the parameters ``context``,
      ``reply``, ``references`` and ``pair`` by name. It returns a number, true or false, or None where there is none.
    - ``name``: what to call it; by default, what it is called.

    The function's attributes ``range`` and ``higher_is_better``, where it has them, are those of the metric.
    """
    called = name or name_function(function)
    arguments = _choose_arguments(function, called)

    def call(pair: Pair) -> float:
        value = function(*(make(pair) for make in arguments))
        if inspect.isawaitable(value):
            getattr(value, "close", lambda: None)()
            raise SpecError(f"the metric {called} is an async function; write one that returns a number")
        if value is None:
            return math.nan
        return float(value) if type(value).__name__ in ("bool", "bool_") else value  # NumPy's too

    low, high = getattr(function, "range", (-math.inf, math.inf))
    return UserFunction(
        called, digest_function(function), call, (float(low), float(high)), getattr(function, "higher_is_better", True)
    )


def name_function(function: Function) -> str:
    """Return what a function is called; one without a name is a ``lambda``."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return "lambda" if name == "<lambda>" else str(name)


def digest_function(function: Function) -> str:
    """Return the digest of a function's source; "unknown" where there is none, or where it does not say everything.

    The source does not say what is in a closure, a partial or an object. Other functions that it calls are not covered.
    """
    if not inspect.isfunction(function) or function.__closure__:
        return UNKNOWN
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError, SyntaxError, IndexError):
        return UNKNOWN
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def _choose_arguments(function: Function, called: str) -> list[Callable[[Pair], Any]]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        raise SpecError(f"the metric {called} does not say what parameters it takes; {_FORMS}") from None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    wanted = [p for p in positional if p.default is p.empty]
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        raise SpecError(f"the metric {called} has a parameter that only has a name; {_FORMS}")
    if wanted and all(p.name in _ARGUMENTS for p in wanted):
        return [_ARGUMENTS[p.name] for p in wanted]
    if len(wanted) == 2:
        return [_ARGUMENTS["context"], _ARGUMENTS["reply"]]
    if len(wanted) == 1:
        hint = getattr(wanted[0].annotation, "__name__", str(wanted[0].annotation)).rpartition(".")[2]
        if hint in ("str", "Pair"):
            return [_ARGUMENTS["reply" if hint == "str" else "pair"]]
    names = ", ".join(p.name for p in wanted) or "none"
    raise SpecError(f"the metric {called} has the parameters {names}; {_FORMS}")
