"""What a system under test is: given a context and candidates, it scores each candidate.

A system is a *value* like a metric: a frozen dataclass whose fields are its parameters, one file each in this folder,
with ``parse_system(str(system)) == system``. It gets whole questions, so that it can also read the situation; it must
never use a candidate's grade, source, labels or place in the list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from rejoinder import lab
from rejoinder import spec as specs
from rejoinder.entry_points import EntryPoint
from rejoinder.errors import SpecError, nearest
from rejoinder.metric import metric_names
from rejoinder.registry import Registry, defined_class
from rejoinder.types import Candidate, Question, Turn

# Short forms of specs: PREFIX:NAME means SYSTEM(FIELD='NAME').
PREFIXES = {
    "hf": ("causal", "model"),
    "seq2seq": ("seq2seq", "model"),
    "generator": ("generator", "folder"),
}


@dataclasses.dataclass(frozen=True)
class System:
    """A system that chooses among candidates; subclasses are frozen dataclasses in one file each."""

    # The paper that proposed it, in one line.
    citation: ClassVar[str] = ""
    # Increased whenever the same question may get different scores.
    version: ClassVar[int] = 1
    # How many decimals are the same on every machine; None if scores are exact.
    decimals: ClassVar[int | None] = None
    # Whether a question's scores do not depend on the other questions: then they can be asked in batches.
    alone: ClassVar[bool] = False
    # Whether it runs a language model, which takes seconds: a server gives it a queue of its own.
    large: ClassVar[bool] = False
    # Whether a server offers it over HTTP; not if it calls an endpoint, reads a folder or runs a program.
    over_http: ClassVar[bool] = True

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate, in the order of each question; higher is better, NaN means no score."""
        raise NotImplementedError

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        """Return the places of the statements that were read for each candidate; None if the system does not say."""
        return None

    def details(self) -> dict[str, str]:
        """Return what else decides the scores: versions of libraries, digests of models."""
        return {}

    def answer(self, context: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """Return the scores of candidates after a context, both given as plain texts."""
        turns = tuple(Turn(text) for text in context)
        return self.score([Question("asked", turns, tuple(Candidate(text) for text in candidates))])[0]

    def __str__(self) -> str:
        return specs.format_spec(_name_of(type(self)), self)


_names: dict[type[System], str] = {}  # of systems that come by entry points


def _name_of(cls: type[System]) -> str:
    """The name that users type: that of the entry point, else that of the file."""
    return _names.get(cls, cls.__module__.rpartition(".")[2])


def _load_entry_point(entry: EntryPoint) -> type[System]:
    cls = entry.load()
    if not (isinstance(cls, type) and issubclass(cls, System)):
        raise SpecError(f"the entry point {entry.name!r} of {entry.value} is not a System")
    _names[cls] = entry.name
    return cls


_REGISTRY = Registry(
    "rejoinder.systems", "system", defined_class(System), from_entry_point=_load_entry_point, in_lab=lab.SYSTEMS
)


def system_names() -> list[str]:
    """Return the names of all kinds of system."""
    return _REGISTRY.names()


def system_class(name: str) -> type[System]:
    """Return the class behind a system's name."""
    return _REGISTRY.load(name)


def parse_system(text: str) -> System:
    """Return the system of a spec, of ``hf:NAME``, of a metric's spec, or of ``./mine.py:function``.

    - ``text``: the spec, as typed for ``rejoinder select --system``.

    >>> import rejoinder
    >>> system = rejoinder.systems.parse_system("tfidf")
    >>> len(system.answer(["Is the museum open?"], ["The museum opens at ten.", "I like soup."]))
    2
    """
    prefix, colon, rest = text.strip().partition(":")
    if colon and prefix in PREFIXES and "(" not in prefix:
        name, field = PREFIXES[prefix]
        return specs.construct(system_class(name), specs.Spec(name, {field: rest.strip()}))
    if text.strip().partition("(")[0].partition(":")[0].endswith(".py"):
        return specs.construct(system_class("function"), specs.Spec("function", {"path": text.strip()}))
    typed = specs.parse_spec(text, "system")
    if typed.name in system_names() or typed.name in lab.SYSTEMS:
        return specs.construct(system_class(typed.name), typed)
    if typed.name in metric_names():
        return specs.construct(system_class("metric"), specs.Spec("metric", {"spec": text.strip()}))
    known = [*system_names(), *metric_names()]
    raise SpecError(f"there is no system or metric {typed.name!r}; {nearest(typed.name, known)}")


def system_signature(system: System) -> str:
    """Return everything that decides a system's scores, in one string.

    - ``system``: the system.

    >>> import rejoinder
    >>> rejoinder.systems.system_signature(rejoinder.systems.parse_system("tfidf")).startswith("tfidf|")
    True
    """
    parts = [_name_of(type(system))]
    parts += [f"{f.name}:{getattr(system, f.name)}" for f in dataclasses.fields(system)]
    parts += [f"{key}:{value}" for key, value in sorted(system.details().items())]
    return "|".join([*parts, f"version:{system.version}"])
