"""What a metric is.

A metric is a *value*: a frozen dataclass whose fields are its parameters, so that two metrics with the same parameters
are equal and ``parse(str(metric)) == metric``. There are two kinds with one contract:

- ``Metric`` scores each pair by itself: write ``score``.
- ``SetMetric`` needs the whole set (a percentile, a vocabulary): write ``statistic``, which is computed per pair and
  cached, and ``settle``, which turns all statistics into scores.

A score of NaN means "cannot be said" (no references, an empty reply); it is kept, counted and shown, never a silent 0.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import typing
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from rejoinder import spec as specs
from rejoinder.errors import SpecError, nearest
from rejoinder.registry import Registry, list_classes
from rejoinder.types import Pair
from rejoinder.user_file import load_user_file

if typing.TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Statistic: TypeAlias = Any  # anything that JSON can hold: it is written to the score cache
NAN = math.nan
PARTS = frozenset({"context", "references", "future", "situation"})


@dataclasses.dataclass(frozen=True)
class Metric:
    """A number for how good a response is; subclasses are frozen dataclasses in one file each.

    ``needs`` and ``range`` belong to the class; where a parameter decides them, ``__post_init__`` sets them on the
    instance.
    """

    # What of the item the score depends on, beside the response's text: a subset of PARTS. The cache goes by it.
    needs: ClassVar[frozenset[str]] = frozenset()
    # The smallest and the largest possible score (infinite where there is no bound).
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    # Whether a larger score means a better reply; None for a descriptive number such as a length.
    higher_is_better: ClassVar[bool | None] = True
    # Who proposed it, in one line.
    citation: ClassVar[str] = ""
    # Raised whenever the same input may give another number.
    version: ClassVar[int] = 1
    # Decimals that are the same on every machine; None where the number is exact.
    decimals: ClassVar[int | None] = None
    # Whether it is used where no metric is named, and in which order: ("references", 1) is the first for data with
    # references, ("no references", 1) for data without, ("context", 1) for data with contexts. None: only by name.
    default_for: ClassVar[tuple[Literal["context", "references", "no references"], int] | None] = None
    # Whether it asks a language model or another large network, which takes seconds: a server keeps it apart.
    large: ClassVar[bool] = False
    # Whether several threads may score with it at once.
    thread_safe: ClassVar[bool] = False
    # Parameters that send texts to an endpoint, at its owner's cost, unless they have their default.
    endpoint_parameters: ClassVar[frozenset[str]] = frozenset()

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """One score a pair, in order."""
        raise NotImplementedError

    def match(self, pairs: Sequence[Pair]) -> list[int | None]:
        """Which reference of each item the response matched best (None without references).

        The best is the first of those that give the highest score alone.
        """
        alone = [
            Pair(dataclasses.replace(pair.item, references=(reference,)), pair.response)
            for pair in pairs
            for reference in pair.item.references
        ]
        scores = iter(self.score(alone)) if "references" in self.needs else iter(())
        matched: list[int | None] = []
        for pair in pairs:
            of_pair = [next(scores, NAN) for _ in pair.item.references]
            known = [value for value in of_pair if not math.isnan(value)]
            matched.append(of_pair.index(max(known)) if known else None)
        return matched

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Which pairs hold a text that is too long for the metric to read whole; it is counted and said."""
        return [False] * len(pairs)

    def trace(self, pairs: Sequence[Pair]) -> Iterator[list[dict[str, Any]]]:
        """What a run keeps of how scores came about (a judge's raw answers): JSON objects for each pair, or nothing."""
        yield from ()

    def details(self) -> dict[str, str]:
        """What else decides the number: versions of libraries, digests of models, sources of word lists."""
        return {}

    def __str__(self) -> str:
        return spec_of(self)


@dataclasses.dataclass(frozen=True)
class Row:
    """One response of a set that is being settled."""

    response: str
    item: str
    system: str
    statistic: Statistic


class Rows(Protocol):
    """All rows of a set, in the order of the file; can be gone through any number of times."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Row]: ...


@dataclasses.dataclass(frozen=True)
class SetMetric(Metric):
    """A metric whose score depends on the other responses of the set."""

    def statistic(self, pairs: Sequence[Pair]) -> list[Statistic]:
        """One JSON value a pair: all that ``settle`` will need of it."""
        raise NotImplementedError

    def settle(self, rows: Rows) -> list[float]:
        """One score a row, in order."""
        raise NotImplementedError

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """The scores of ``pairs`` taken as the whole set."""
        statistics = self.statistic(pairs)
        return self.settle(
            [Row(p.response.id, p.item.id, p.response.system, s) for p, s in zip(pairs, statistics, strict=True)]
        )


_names: dict[type[Metric], str] = {}  # the name under which a class was found, where it is not its module's
_digests: dict[type[Metric], str] = {}  # of the files of users' metrics, as they were when they were run


def metric_names() -> list[str]:
    """Every metric that can be typed by name: the package's own and those of entry points.

    >>> import rejoinder
    >>> "bleu" in rejoinder.metric_names()
    True
    """
    return METRICS.names()


def metric_class(name: str) -> type[Metric]:
    """The class behind a metric's name, or behind a path such as ``./mine.py`` or ``./mine.py:Mine``."""
    return METRICS.load(name)


def parse(spec: str) -> Metric:
    """The metric that a spec such as ``bleu(n=2)`` names.

    - ``spec``: a name with parameters, or the file of a metric of your own.

    >>> import rejoinder
    >>> str(rejoinder.parse("bleu(n=2)"))
    'bleu(n=2)'
    """
    typed = specs.parse_spec(spec, "metric")
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
    return specs.format_spec(name_of(type(metric)), metric)


def signature(metric: Metric, reference_sources: typing.Iterable[str] = ()) -> str:
    """Everything that decides a metric's number, in one string.

    - ``metric``: the metric.
    - ``reference_sources``: where the references come from.

    >>> import rejoinder
    >>> rejoinder.signature(rejoinder.parse("length")).startswith("length|")
    True
    """
    parts = [name_of(type(metric))]
    parts += [f"{f.name}:{_format_value(getattr(metric, f.name))}" for f in dataclasses.fields(metric)]
    parts += [f"{key}:{value}" for key, value in sorted(metric.details().items())]
    if "references" in metric.needs and (sources := sorted(set(reference_sources))):
        parts.append("references:" + "+".join(sources))
    parts.append(f"version:{metric.version}")
    if type(metric) in _digests:
        parts.append(f"file:{_digests[type(metric)]}")
    return "|".join(parts)


def _find_metric_class(module: ModuleType, name: str, wanted: str | None = None) -> type[Metric]:
    """The one metric that a module defines (or the one that was asked for)."""
    defined: dict[str, type[Metric]] = list_classes(module, Metric)
    if wanted is not None:
        if wanted not in defined:
            raise SpecError(f"{name} has no metric {wanted!r}; {nearest(wanted, defined)}")
        return defined[wanted]
    public = [cls for key, cls in defined.items() if not key.startswith("_")]
    if len(public) != 1:
        found = ", ".join(sorted(c.__name__ for c in public)) or "none"
        raise SpecError(f"{name} must define one rejoinder.Metric (found: {found}); say which with {name}:CLASS")
    return public[0]


def _load_metric_file(name: str) -> type[Metric]:
    file, _, wanted = name.partition(":")
    loaded = load_user_file(file, "metric")
    cls = _find_metric_class(loaded.module, file, wanted or None)
    if not dataclasses.is_dataclass(cls) or "__dataclass_fields__" not in vars(cls):
        raise SpecError(f"{name}: {cls.__name__} must be decorated with @dataclass(frozen=True)")
    _names[cls], _digests[cls] = name, loaded.digest
    return cls


def _load_entry_point(entry: EntryPoint) -> type[Metric]:
    cls = entry.load()
    if not (inspect.isclass(cls) and issubclass(cls, Metric)):
        raise SpecError(f"the entry point {entry.name!r} of {entry.value} is not a Metric")
    _names[cls] = entry.name
    return cls


METRICS: Registry[type[Metric]] = Registry(
    "rejoinder.metrics",
    "metric",
    lambda module: _find_metric_class(module, module.__name__.rpartition(".")[2]),
    from_entry_point=_load_entry_point,
    from_file=_load_metric_file,
)


def _format_value(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
