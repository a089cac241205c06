"""What a system under test is: given a context and candidates, it says how much it likes each.

A system is a *value* like a metric: a frozen dataclass whose fields are its parameters, one file each in this folder,
with ``parse_system(str(system)) == system``. It answers whole questions, so that one can also read the situation; what
it must never look at is a candidate's grade, source, labels or place in the list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from rejoinder import spec as specs
from rejoinder.errors import SpecError, nearest
from rejoinder.metric import metric_names
from rejoinder.registry import list_modules, load_module
from rejoinder.types import Candidate, Question, Turn

PACKAGE = "rejoinder.systems"
# What may be typed instead of a spec: PREFIX:NAME is SYSTEM(FIELD='NAME').
PREFIXES = {
    "hf": ("causal", "model"),
    "seq2seq": ("seq2seq", "model"),
    "generator": ("generator", "folder"),
}


@dataclasses.dataclass(frozen=True)
class System:
    """Who chooses among candidates; subclasses are frozen dataclasses in one file each."""

    # Who proposed it, in one line.
    citation: ClassVar[str] = ""
    # Raised whenever the same question may get other scores.
    version: ClassVar[int] = 1
    # Decimals that are the same on every machine; None where the number is exact.
    decimals: ClassVar[int | None] = None
    # Whether a question gets the same scores whatever else is asked: then some can be asked at a time.
    alone: ClassVar[bool] = False
    # Whether it asks a language model, which takes seconds: a server keeps it apart.
    large: ClassVar[bool] = False
    # Whether a server offers it to whoever may ask; not where it asks an endpoint, reads a folder or runs a program.
    over_http: ClassVar[bool] = True

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """One score a candidate, in the order of each question; more is better, NaN where nothing can be said."""
        raise NotImplementedError

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        """The places of the statements that were read for each candidate; None where the system does not say."""
        return None

    def details(self) -> dict[str, str]:
        """What else decides the numbers: versions of libraries, digests of models."""
        return {}

    def answer(self, context: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """The scores of some candidates after a context, both as plain texts."""
        turns = tuple(Turn(text) for text in context)
        return self.score([Question("asked", turns, tuple(Candidate(text) for text in candidates))])[0]

    def __str__(self) -> str:
        return specs.format_spec(type(self).__module__.rpartition(".")[2], self)


def system_names() -> list[str]:
    """Every kind of system that can be typed by name."""
    return list_modules(PACKAGE)


def system_class(name: str) -> type[System]:
    """The class behind a system's name."""
    module = load_module(PACKAGE, name, "system")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, System) and value.__module__ == module.__name__:
            return value
    raise SpecError(f"{module.__name__} defines no System")


def parse_system(text: str) -> System:
    """The system that is meant by a spec, by ``hf:NAME``, by a metric's spec, or by ``./mine.py:function``.

    - ``text``: what is typed for ``--system``.

    >>> import rejoinder
    >>> system = rejoinder.parse_system("tfidf")
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
    if typed.name in system_names():
        return specs.construct(system_class(typed.name), typed)
    if typed.name in metric_names():
        return specs.construct(system_class("metric"), specs.Spec("metric", {"spec": text.strip()}))
    known = [*system_names(), *metric_names()]
    raise SpecError(f"no system or metric is called {typed.name!r}; {nearest(typed.name, known)}")


def system_signature(system: System) -> str:
    """Everything that decides a system's scores, in one string.

    - ``system``: the system.

    >>> import rejoinder
    >>> rejoinder.system_signature(rejoinder.parse_system("tfidf")).startswith("tfidf|")
    True
    """
    parts = [type(system).__module__.rpartition(".")[2]]
    parts += [f"{f.name}:{getattr(system, f.name)}" for f in dataclasses.fields(system)]
    parts += [f"{key}:{value}" for key, value in sorted(system.details().items())]
    return "|".join([*parts, f"version:{system.version}"])
