"""What a metric is.

A metric is a *value*: a frozen dataclass whose fields are its parameters, so that two metrics with the same parameters
are equal and ``parse(str(metric)) == metric``. There are two kinds with one contract:

- ``Metric`` scores each pair by itself: write ``score``.
- ``SetMetric`` needs the whole set (a percentile, a vocabulary): write ``statistic``, which is computed per pair and
  cached, and ``settle``, which turns all statistics into scores.

A score of NaN means that there is none (no references, an empty reply). It is stored, counted and shown, and never
silently becomes 0.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from rejoinder import lab
from rejoinder import spec as specs
from rejoinder.errors import SpecError, nearest
from rejoinder.registry import Registry, is_user_file, list_classes
from rejoinder.types import Pair
from rejoinder.user_function import Function, UserFunction, wrap_function

if typing.TYPE_CHECKING:
    from rejoinder.entry_points import EntryPoint

Statistic: TypeAlias = Any  # anything that JSON can hold: it is written to the score cache
NAN = math.nan
FIELDS = frozenset({"context", "references", "future", "situation"})  # of an item
PARTS = FIELDS | {"system_prompt", "documents", "tool_calls", "earlier_turns"}  # see data/parts.py
Unit: TypeAlias = Literal["reply", "dialogue"]
Languages: TypeAlias = Literal["any", "spaces", "English", "model"]


@dataclasses.dataclass(frozen=True)
class Metric:
    """A number for how good a response is; subclasses are frozen dataclasses in one file each.

    ``needs``, ``reads``, ``whole_dialogues`` and ``range`` belong to the class; where a parameter decides them,
    ``__post_init__`` sets them on the instance.
    """

    # Which parts of the item the score depends on, besides the response's text: a subset of PARTS. Cache keys use it.
    needs: ClassVar[frozenset[str]] = frozenset()
    # Parts that it also reads where an item has them.
    reads: ClassVar[frozenset[str]] = frozenset()
    # For which languages it is made: any, those that put spaces between words, English, or those of the model or the
    # vectors that a parameter names.
    languages: ClassVar[Languages] = "any"
    # Whether a score is of a whole dialogue, which is scored once, at its system's last reply, and not of each reply.
    whole_dialogues: ClassVar[bool] = False
    # The smallest and the largest possible score (infinite if there is no bound).
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    # Whether a larger score means a better reply; None for a descriptive number such as a length.
    higher_is_better: ClassVar[bool | None] = True
    # Who proposed it, in one line.
    citation: ClassVar[str] = ""
    # Increased whenever the same input may give a different score.
    version: ClassVar[int] = 1
    # How many decimals are the same on every machine; None if the score is exact.
    decimals: ClassVar[int | None] = None
    # Whether it is used by default, and in which order: ("references", 1) is the first for data with references,
    # ("no references", 1) for data without, ("context", 1) for data with contexts. None: only when it is named.
    default_for: ClassVar[tuple[Literal["context", "references", "no references"], int] | None] = None
    # Whether it runs a language model or another large network, which takes seconds: a server computes it separately.
    large: ClassVar[bool] = False
    # Whether its network is so large that one process should have it, with all cores, instead of one per core.
    one_process: ClassVar[bool] = False
    # Whether several threads may score with it at once.
    thread_safe: ClassVar[bool] = False
    # Whether it is a plain rule that a reply follows or breaks, not an estimate of how good the reply is.
    is_rule: ClassVar[bool] = False
    # Parameters that, unless left at their default, send texts to an endpoint at the cost of its owner.
    endpoint_parameters: ClassVar[frozenset[str]] = frozenset()
    # Parameters that the metric no longer has, and what to write instead.
    replaced_parameters: ClassVar[Mapping[str, str]] = {}

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return one score per pair, in order."""
        raise NotImplementedError

    def match(self, pairs: Sequence[Pair]) -> list[int | None]:
        """Return the index of the reference that each response matched best (None without references).

        The best is the first reference that gives the highest score on its own.
        """
        single_pairs = [
            dataclasses.replace(pair, item=dataclasses.replace(pair.item, references=(reference,)))
            for pair in pairs
            for reference in pair.item.references
        ]
        scores = iter(self.score(single_pairs)) if "references" in self.needs else iter(())
        best_indices: list[int | None] = []
        for pair in pairs:
            pair_scores = [next(scores, NAN) for _ in pair.item.references]
            known_scores = [value for value in pair_scores if not math.isnan(value)]
            best_indices.append(pair_scores.index(max(known_scores)) if known_scores else None)
        return best_indices

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a text too long for the metric to read in full; they are counted and reported."""
        return [False] * len(pairs)

    def trace(self, pairs: Sequence[Pair]) -> Iterator[list[dict[str, Any]]]:
        """Yield, for each pair, JSON objects that explain its score (a judge's raw answers) and that a run stores."""
        yield from ()

    def summarise_traces(self, records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return what a run's ``run.json`` says about the traces of all its pairs; nothing by default."""
        return {}

    def details(self) -> dict[str, str]:
        """Return what else determines the score: versions of libraries, digests of models, sources of word lists."""
        return {}

    def __str__(self) -> str:
        return spec_of(self)


@dataclasses.dataclass(frozen=True)
class Row:
    """One response of a set, with the statistic that ``settle`` reads."""

    response: str
    item: str
    system: str
    statistic: Statistic


class Rows(Protocol):
    """All rows of a set, in the order of the file; can be iterated over any number of times."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Row]: ...


@dataclasses.dataclass(frozen=True)
class SetMetric(Metric):
    """A metric whose score depends on the other responses of the set."""

    def statistic(self, pairs: Sequence[Pair]) -> list[Statistic]:
        """Return one JSON value per pair: everything that ``settle`` needs from it."""
        raise NotImplementedError

    def settle(self, rows: Rows) -> list[float]:
        """Return one score per row, in order."""
        raise NotImplementedError

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the scores of ``pairs``, treated as the whole set."""
        statistics = self.statistic(pairs)
        return self.settle(
            [Row(p.response.id, p.item.id, p.response.system, s) for p, s in zip(pairs, statistics, strict=True)]
        )


@dataclasses.dataclass(frozen=True)
class FunctionMetric(Metric):
    """A plain function of the user's as a metric; each function has a class of its own."""

    function: ClassVar[UserFunction]
    in_file: ClassVar[bool] = False  # whether other processes can load it by its spec

    citation = "a function of the user's"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return what the function returns for each pair."""
        return [self.function.call(pair) for pair in pairs]

    def details(self) -> dict[str, str]:
        """Return the digest of the function's source; where it came from a file, the signature has the file's."""
        return {} if self.in_file else {"function": self.function.digest}


def metric_of_function(function: Function, name: str | None = None) -> Metric:
    """Return a function as a metric of this process; ``name`` replaces what it is called."""
    wrapped = wrap_function(function, name)
    if wrapped.name in METRICS:
        raise SpecError(f"a metric of rejoinder is called {wrapped.name!r} too; rename your function")
    return _make_function_class(wrapped, wrapped.name, getattr(function, "__module__", None) or "__main__")()


def check_shareable(metric: Metric) -> None:
    """Raise where a metric exists in this process only, so that no other process can compute it."""
    if isinstance(metric, FunctionMetric) and not metric.in_file:
        raise SpecError(
            f"the metric {metric} is a function of this program, which other processes cannot load; use one process, "
            f"or put it into a file and name it as './mine.py:{metric.function.name}'"
        )


def _make_function_class(function: UserFunction, name: str, module: str, in_file: bool = False) -> type[Metric]:
    attributes = {
        "__doc__": f"The function {function.name}.",
        "__module__": module,
        "function": function,
        "in_file": in_file,
        "range": function.range,
        "higher_is_better": function.higher_is_better,
    }
    cls: type[Metric] = dataclasses.dataclass(frozen=True)(type(function.name, (FunctionMetric,), attributes))
    _names[cls] = name
    return cls


_names: dict[type[Metric], str] = {}  # names of classes that differ from the names of their modules
_function_classes: dict[tuple[str, str], type[Metric]] = {}  # of functions in users' files, by spec and digest
_digests: dict[type[Metric], str] = {}  # digests of users' metric files, as they were when loaded


def metric_names() -> list[str]:
    """Return the names of all metrics: those of the package and those from entry points.

    >>> import rejoinder
    >>> "bleu" in rejoinder.metric.metric_names()
    True
    """
    return METRICS.names()


def metric_class(name: str) -> type[Metric]:
    """Return the class of a metric, given its name or a path such as ``./mine.py`` or ``./mine.py:Mine``."""
    return METRICS.load(name)


def parse(spec: str) -> Metric:
    """Return the metric that a spec such as ``bleu(n=2)`` describes.

    - ``spec``: a name with optional parameters, or the path of your own metric file.

    >>> import rejoinder
    >>> str(rejoinder.parse("bleu(n=2)"))
    'bleu(n=2)'
    """
    parsed = specs.parse_spec(spec, "metric")
    return specs.construct(metric_class(parsed.name), parsed)


def parse_stored(spec: str) -> Metric:
    """Return the metric of a spec that was read from a file, such as the ``run.json`` of a run folder.

    Such a file may come from anybody, so its specs name metrics of the package and of installed plug-ins only: the path
    of a Python file, also of a metric inside another, is an error and is not run. Only what a user types is.

    >>> from rejoinder.metric import parse_stored
    >>> str(parse_stored("bleu(n=2)"))
    'bleu(n=2)'
    """
    if names_user_file(spec):
        raise SpecError(
            f"{spec!r} names a Python file, and a spec that was read from a file runs no code; "
            "type the spec yourself to run it"
        )
    return parse(spec)


def names_user_file(spec: str) -> bool:
    """Whether a spec names a user's Python file, as its metric or anywhere in its parameters."""
    parsed = specs.parse_spec(spec, "metric")
    return is_user_file(parsed.name) or _mentions_user_file(list(parsed.arguments.values()))


def _mentions_user_file(value: Any) -> bool:
    if isinstance(value, dict):
        return _mentions_user_file([*value, *value.values()])
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_mentions_user_file, value))
    try:
        return isinstance(value, str) and names_user_file(value)
    except SpecError:  # it is no spec, so no metric can be parsed from it
        return False


def name_of(cls: type[Metric]) -> str:
    """Return the name of a metric class as specs use it."""
    return _names.get(cls) or cls.__module__.rpartition(".")[2]


def is_packaged(metric: Metric) -> bool:
    """Whether a metric, and any metric that it wraps, is part of this package: what it reads is then known."""
    inner = getattr(metric, "metric", None)
    own = type(metric).__module__.startswith("rejoinder.metrics.")
    return own and (not isinstance(inner, str) or is_packaged(parse(inner)))


def spec_of(metric: Metric) -> str:
    """Return the spec of a metric: its name and the parameters that differ from their defaults."""
    return specs.format_spec(name_of(type(metric)), metric)


def signature(metric: Metric, reference_sources: typing.Iterable[str] = ()) -> str:
    """Return everything that determines a metric's scores, in one string.

    - ``metric``: the metric.
    - ``reference_sources``: where the references come from.

    >>> import rejoinder
    >>> rejoinder.signature(rejoinder.parse("length")).startswith("length|")
    True
    """
    parts, details = [name_of(type(metric))], metric.details()
    # A detail stands for the parameter of its name: the digest of the weights, whatever chose them.
    parts += [
        f"{f.name}:{_format_value(getattr(metric, f.name))}"
        for f in dataclasses.fields(metric)
        if f.name not in details
    ]
    parts += [f"{key}:{value}" for key, value in sorted(details.items())]
    if "references" in metric.needs | metric.reads and (sources := sorted(set(reference_sources))):
        parts.append("references:" + "+".join(sources))
    parts.append(f"version:{metric.version}")
    if type(metric) in _digests:
        parts.append(f"file:{_digests[type(metric)]}")
    return "|".join(parts)


def _find_metric_class(module: ModuleType, name: str, wanted: str | None = None) -> type[Metric]:
    """Return the only metric class of a module, or the one called ``wanted``."""
    classes: dict[str, type[Metric]] = list_classes(module, Metric)
    if wanted is not None:
        if wanted not in classes:
            raise SpecError(f"{name} has no metric {wanted!r}; {nearest(wanted, classes)}")
        return classes[wanted]
    public = [cls for key, cls in classes.items() if not key.startswith("_")]
    if len(public) != 1:
        names = ", ".join(sorted(c.__name__ for c in public)) or "none"
        raise SpecError(f"{name} must define one rejoinder.Metric (found: {names}); choose one with {name}:CLASS")
    return public[0]


def _load_metric_file(name: str) -> type[Metric]:
    file, _, wanted = name.partition(":")
    from rejoinder.user_file import load_user_file

    user_file = load_user_file(file, "metric")
    function = getattr(user_file.module, wanted, None) if wanted else None
    if inspect.isfunction(function):
        cls = _function_classes.get((name, user_file.digest))
        if cls is None:
            cls = _make_function_class(wrap_function(function), name, user_file.module.__name__, in_file=True)
            _function_classes[name, user_file.digest], _digests[cls] = cls, user_file.digest
        return cls
    cls = _find_metric_class(user_file.module, file, wanted or None)
    if not dataclasses.is_dataclass(cls) or "__dataclass_fields__" not in vars(cls):
        raise SpecError(f"{name}: {cls.__name__} must be decorated with @dataclass(frozen=True)")
    _names[cls], _digests[cls] = name, user_file.digest
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
    in_lab=lab.METRICS,
)


def _format_value(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
