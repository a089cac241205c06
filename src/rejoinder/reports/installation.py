"""The libraries that rejoinder declares, which of them are installed, and which commands need the optional ones."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata

# The optional groups of libraries, and what needs them; those for developers are left out.
EXTRAS = {
    "ann": "index build --approximate",
    "arrow": "Parquet files, object stores, import huggingface",
    "crowd": "aggregate with GLAD and other models of crowd-kit",
    "pandas": "scores.to_pandas()",
    "polars": "scores.to_polars()",
    "postgres": "annotate with a PostgreSQL database",
    "ray": "--engine ray",
    "torch": "train, models export, language models, models from a hub",
    "web": "serve, annotate",
    "xlsx": "spreadsheets (.xlsx)",
}
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<parts>[^\]]*)\])?\s*(?:>=(?P<least>[\w.]+))?")
_EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")
_BELOW = re.compile(r"python_version < ['\"]3\.(\d+)['\"]")


@dataclass(frozen=True)
class Library:
    """A library that rejoinder uses: the least version, and the installed one (None if there is none)."""

    name: str
    least: str
    installed: str | None

    @property
    def is_usable(self) -> bool:
        """Whether it is installed in a version that is new enough."""
        return self.installed is not None and _version_key(self.installed) >= _version_key(self.least)


@dataclass(frozen=True)
class Extra:
    """An optional group of libraries, and what needs it; the empty name stands for the base install."""

    name: str
    purpose: str
    libraries: tuple[Library, ...]

    @property
    def missing(self) -> list[str]:
        """The libraries that are not installed, or too old."""
        return [library.name for library in self.libraries if not library.is_usable]


def list_libraries(extra: str = "") -> tuple[Library, ...]:
    """The libraries of an extra, or of the base install; none where rejoinder itself was not installed by pip."""
    try:
        declared = metadata.requires("rejoinder") or []
    except metadata.PackageNotFoundError:
        declared = []
    return tuple(sorted(_read_requirements(declared, extra), key=lambda library: library.name))


def list_extras() -> tuple[Extra, ...]:
    """The base install, then every optional group."""
    base = Extra("", "every command", list_libraries())
    return (base, *(Extra(name, purpose, list_libraries(name)) for name, purpose in EXTRAS.items()))


def _read_requirements(declared: list[str], extra: str) -> Iterable[Library]:
    for line in declared:
        requirement, _, marker = line.partition(";")
        of_extra = _EXTRA.search(marker)
        below = _BELOW.search(marker)
        match = _REQUIREMENT.match(requirement.strip())
        if (of_extra.group(1) if of_extra else "") != extra or match is None:
            continue
        if below and sys.version_info >= (3, int(below.group(1))):
            continue
        if match["name"] == "rejoinder":
            for part in match["parts"].split(","):
                yield from _read_requirements(declared, part.strip())
        else:
            yield Library(match["name"], match["least"] or "0", find_version(match["name"]))


def find_version(name: str) -> str | None:
    """The installed version of a library; None if there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _version_key(version: str) -> tuple[int, ...]:
    """The numbers of a release, for comparison: those before the first part that is not a number."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in numbers.group().split(".")) if numbers else ()
