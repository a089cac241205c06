"""Which metrics and systems are offered over HTTP: those that read no files, ask no other service and run no user code.

A spec that names a folder, a file, a program or an address could make the server read or run what only its owner
should; so free texts in a spec must name a model of the catalog or another metric. The owner of the server can allow
single specs in addition (``rejoinder serve --allow SPEC``).
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
WORDS = frozenset({"sources", "text", "words", "code"})
LARGEST = 1_000_000.0
_MAX_REMEMBERED = 512
Value = TypeVar("Value")


class ServedSpecs:
    """What this server computes; ``allowed`` are specs, as typed, that its owner permits."""

    def __init__(self, allowed: typing.Iterable[str] = ()) -> None:
        self._allowed = frozenset(text.strip() for text in allowed)
        self.metric = functools.lru_cache(_MAX_REMEMBERED)(self._metric)
        self.system = functools.lru_cache(_MAX_REMEMBERED)(self._system)

    @property
    def metrics(self) -> list[str]:
        """Every metric that is offered by name."""
        return [*metric_names(), *sorted(text for text in self._allowed if _is_metric(text))]

    @property
    def systems(self) -> list[str]:
        """Every kind of system that is offered."""
        return [name for name in system_names() if system_class(name).over_http]

    def _metric(self, text: str) -> Metric:
        if text.strip() in self._allowed:
            return parse(text)
        _check_metric(text)
        return _build_value(text, parse)

    def _system(self, text: str) -> System:
        if text.strip() in self._allowed:
            return parse_system(text)
        spec = specs.parse_spec(text, "system")
        if spec.name in self.systems:
            _check_parameters(spec, system_class(spec.name))
        elif spec.name in metric_names():
            _check_metric(text)
        else:
            known = [*self.systems, *metric_names()]
            raise SpecError(f"this server offers no system or metric {brief(spec.name)}; {nearest(spec.name, known)}")
        return _build_value(text, parse_system)


def is_large(value: Metric | System) -> bool:
    """Whether a metric or a system, or a metric inside it, uses a large model."""
    nested = (getattr(value, name, None) for name in NESTED)
    return value.large or any(isinstance(spec, str) and is_large(parse(spec)) for spec in nested)


def is_large_spec(text: str) -> bool:
    """Whether a metric that is offered uses a large model; one offered by its name has its default parameters."""
    return is_large(parse(text)) if "(" in text else metric_class(text).large


def _build_value(text: str, parser: typing.Callable[[str], Value]) -> Value:
    """Build the value of a spec; whatever its constructor raises is an error of the spec."""
    try:
        return parser(text)
    except RejoinderError:
        raise
    except Exception as error:
        raise SpecError(
            f"{brief(text)} could not be created ({type(error).__name__}: {brief(str(error), 120)})"
        ) from None


def _is_metric(text: str) -> bool:
    try:
        parse(text)
    except RejoinderError:
        return False
    return True


def _check_metric(text: str) -> None:
    spec = specs.parse_spec(text, "metric")
    if spec.name not in metric_names():
        raise SpecError(f"this server offers no metric {brief(spec.name)}; {nearest(spec.name, metric_names())}")
    _check_parameters(spec, metric_class(spec.name))


def _check_parameters(spec: specs.Spec, cls: type) -> None:
    hints = typing.get_type_hints(cls)
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    for name, value in spec.arguments.items():
        if name not in defaults or value == defaults[name]:
            continue  # the constructor reports unknown names
        if isinstance(value, int | float) and not (math.isfinite(value) and abs(value) <= LARGEST):
            raise SpecError(f"{spec.name}: {name} is {brief(value)}; over HTTP it must be at most {LARGEST:,.0f}")
        if isinstance(value, str) and _is_free(hints.get(name)):
            _check_text(spec.name, name, value, name in getattr(cls, "endpoint_parameters", ()))


def _is_free(hint: Any) -> bool:
    """Whether a parameter takes any text, not only certain words."""
    return hint is str or str in typing.get_args(hint)


def _check_text(owner: str, name: str, value: str, asks_endpoint: bool) -> None:
    if asks_endpoint:
        raise SpecError(
            f"{owner}: {name}={value!r} uses the owner's endpoint, which is not offered here; leave {name} out; the "
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
