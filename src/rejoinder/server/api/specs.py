"""Which metrics and systems may be asked for over HTTP: those that read no file, ask nobody and run no foreign code.

A spec that names a folder, a file, a program or an address could make the server read or run what only its owner
should; so free texts in a spec must name a model of the catalog or another metric. The owner of the server can allow
single specs beside (``rejoinder serve --allow SPEC``).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import typing
from typing import Any, TypeVar

from rejoinder import spec as specs
from rejoinder.errors import RejoinderError, SpecError, brief, nearest
from rejoinder.metric import Metric, metric_class, metric_names, parse
from rejoinder.models.catalog.entries import MODELS
from rejoinder.systems import System, parse_system, system_class, system_names

NESTED = frozenset({"metric", "reference", "spec"})
MODEL_NAMES = frozenset({"model", "encoder", "vectors"})
WORDS = frozenset({"sources"})
LARGEST = 1_000_000.0
_MAX_REMEMBERED = 512
Made = TypeVar("Made")


class Offer:
    """What this server computes; ``allowed`` are specs, as typed, that its owner lets through."""

    def __init__(self, allowed: typing.Iterable[str] = ()) -> None:
        self._allowed = frozenset(text.strip() for text in allowed)
        self.metric = functools.lru_cache(_MAX_REMEMBERED)(self._metric)
        self.system = functools.lru_cache(_MAX_REMEMBERED)(self._system)

    @property
    def metrics(self) -> list[str]:
        """Every metric that can be asked for by name."""
        return [*metric_names(), *sorted(text for text in self._allowed if _is_metric(text))]

    @property
    def systems(self) -> list[str]:
        """Every kind of system that can be asked for."""
        return [name for name in system_names() if system_class(name).over_http]

    def _metric(self, text: str) -> Metric:
        if text.strip() in self._allowed:
            return parse(text)
        _check_metric(text)
        return _build_value(text, parse)

    def _system(self, text: str) -> System:
        if text.strip() in self._allowed:
            return parse_system(text)
        typed = specs.parse_spec(text, "system")
        if typed.name in self.systems:
            _check_parameters(typed, system_class(typed.name))
        elif typed.name in metric_names():
            _check_metric(text)
        else:
            known = [*self.systems, *metric_names()]
            raise SpecError(f"this server offers no system or metric {brief(typed.name)}; {nearest(typed.name, known)}")
        return _build_value(text, parse_system)


def is_large(value: Metric | System) -> bool:
    """Whether a metric or a system, or a metric inside it, asks a large model."""
    nested = (getattr(value, name, None) for name in NESTED)
    return value.large or any(isinstance(spec, str) and is_large(parse(spec)) for spec in nested)


def _build_value(text: str, how: typing.Callable[[str], Made]) -> Made:
    """The value of a spec; whatever its constructor stumbles over is the spec's fault."""
    try:
        return how(text)
    except RejoinderError:
        raise
    except Exception as error:
        raise SpecError(f"{brief(text)} cannot be made ({type(error).__name__}: {brief(str(error), 120)})") from None


def _is_metric(text: str) -> bool:
    try:
        parse(text)
    except RejoinderError:
        return False
    return True


def _check_metric(text: str) -> None:
    typed = specs.parse_spec(text, "metric")
    if typed.name not in metric_names():
        raise SpecError(f"this server offers no metric {brief(typed.name)}; {nearest(typed.name, metric_names())}")
    _check_parameters(typed, metric_class(typed.name))


def _check_parameters(typed: specs.Spec, cls: type) -> None:
    hints = typing.get_type_hints(cls)
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    for name, value in typed.arguments.items():
        if name not in defaults or value == defaults[name]:
            continue  # what is unknown, the constructor names
        if isinstance(value, int | float) and not (math.isfinite(value) and abs(value) <= LARGEST):
            raise SpecError(f"{typed.name}: {name} is {brief(value)}; over HTTP it must be at most {LARGEST:,.0f}")
        if isinstance(value, str) and _is_free(hints.get(name)):
            _check_text(typed.name, name, value, name in getattr(cls, "endpoint_parameters", ()))


def _is_free(hint: Any) -> bool:
    """Whether a parameter takes any text, not one of some words."""
    return hint is str or str in typing.get_args(hint)


def _check_text(owner: str, name: str, value: str, asks_endpoint: bool) -> None:
    if asks_endpoint:
        raise SpecError(
            f"{owner}: {name}={value!r} asks its owner's endpoint, which is not done over HTTP; leave {name} out; the "
            "owner of the server can allow a spec with --allow"
        )
    if name in NESTED:
        _check_metric(value)
    elif name in MODEL_NAMES:
        if value not in MODELS:
            raise SpecError(f"{owner}: {name} must be a model of the catalog over HTTP; {nearest(value, MODELS)}")
    elif name not in WORDS:
        raise SpecError(
            f"{owner}: {name} cannot be chosen over HTTP, since it names a file, a program or an address; the owner "
            "of the server can allow a spec with --allow"
        )
