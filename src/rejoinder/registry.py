"""The folder is the registry: a metric is a module of ``rejoinder.metrics``, an entry point, or a user's file.

A spec is one string, ``name`` or ``name(parameter=value, ...)``; ``parse(str(metric)) == metric``.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import typing
from types import ModuleType
from typing import Any

from rejoinder import spec as specs
from rejoinder.contract import Metric
from rejoinder.errors import SpecError, nearest
from rejoinder.folder import modules
from rejoinder.user_file import load_user_file

ENTRY_POINT_GROUP = "rejoinder.metrics"
_names: dict[type[Metric], str] = {}  # the name under which a class was found, where it is not its module's
_digests: dict[type[Metric], str] = {}  # of the files of users' metrics, as they were when they were run


def metric_names() -> list[str]:
    """Every metric that can be typed by name: the package's own and those of entry points."""
    return sorted({*modules("rejoinder.metrics"), *(e.name for e in _entry_points())})


def metric_class(name: str) -> type[Metric]:
    """The class behind a metric's name, or behind a path such as ``./mine.py`` or ``./mine.py:Mine``."""
    if name.partition(":")[0].endswith(".py"):
        return _from_file(name)
    if name in modules("rejoinder.metrics"):
        return _only_metric(importlib.import_module(f"rejoinder.metrics.{name}"), name, None)
    for entry in _entry_points():
        if entry.name == name:
            found = entry.load()
            if not (inspect.isclass(found) and issubclass(found, Metric)):
                raise SpecError(f"the entry point {name!r} of {entry.value} is not a Metric")
            _names[found] = name
            return found
    raise SpecError(f"no metric is called {name!r}; {nearest(name, metric_names())}")


def parse(spec: str) -> Metric:
    """The metric that a spec such as ``bleu(n=2)`` names."""
    typed = specs.read(spec, "metric")
    return specs.construct(metric_class(typed.name), typed)


def name_of(cls: type[Metric]) -> str:
    """The name that a metric's class goes by in a spec."""
    return _names.get(cls) or cls.__module__.rpartition(".")[2]


def is_packaged(metric: Metric) -> bool:
    """Whether a metric, and the one that it may be made of, is ours: what it reads of a pair is then known."""
    inner = getattr(metric, "metric", None)
    own = type(metric).__module__.startswith("rejoinder.metrics.")
    return own and (not isinstance(inner, str) or is_packaged(parse(inner)))


def spec_of(metric: Metric) -> str:
    """The spec of a metric: its name and the parameters that differ from their defaults."""
    return specs.write(name_of(type(metric)), metric)


def signature(metric: Metric, reference_sources: typing.Iterable[str] = ()) -> str:
    """Everything that decides a metric's number, in one string."""
    parts = [name_of(type(metric))]
    parts += [f"{f.name}:{_short(getattr(metric, f.name))}" for f in dataclasses.fields(metric)]
    parts += [f"{key}:{value}" for key, value in sorted(metric.details().items())]
    if "references" in metric.needs and (sources := sorted(set(reference_sources))):
        parts.append("references:" + "+".join(sources))
    parts.append(f"version:{metric.version}")
    if type(metric) in _digests:
        parts.append(f"file:{_digests[type(metric)]}")
    return "|".join(parts)


def _entry_points() -> list[Any]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda e: e.name)


def _only_metric(module: ModuleType, name: str, wanted: str | None) -> type[Metric]:
    """The one metric that a module defines (or the one that was asked for)."""
    defined = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Metric) and value.__module__ == module.__name__
    }
    if wanted is not None:
        if wanted not in defined:
            raise SpecError(f"{name} has no metric {wanted!r}; {nearest(wanted, defined)}")
        return defined[wanted]
    public = [cls for key, cls in defined.items() if not key.startswith("_")]
    if len(public) != 1:
        found = ", ".join(sorted(c.__name__ for c in public)) or "none"
        raise SpecError(f"{name} must define one rejoinder.Metric (found: {found}); say which with {name}:CLASS")
    return public[0]


def _from_file(name: str) -> type[Metric]:
    file, _, wanted = name.partition(":")
    loaded = load_user_file(file, "metric")
    cls = _only_metric(loaded.module, file, wanted or None)
    if not dataclasses.is_dataclass(cls) or "__dataclass_fields__" not in vars(cls):
        raise SpecError(f"{name}: {cls.__name__} must be decorated with @dataclass(frozen=True)")
    _names[cls], _digests[cls] = name, loaded.digest
    return cls


def _short(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
