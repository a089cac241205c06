"""The licences of all libraries that are installed with rejoinder, from their metadata, and of all models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rejoinder.models.catalog.entries import MODELS
from rejoinder.reports.installation import EXTRAS
from rejoinder.table import Cell, Table

# What metadata say in their own words, as SPDX identifiers.
_SPDX = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache-2.0 license": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "3-clause bsd": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "mit license": "MIT",
    "mit license (mit)": "MIT",
    "the mit license (mit)": "MIT",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl 2.0": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "psfl": "PSF-2.0",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
    "lgplv3": "LGPL-3.0-only",
    "the unlicense (unlicense)": "Unlicense",
}
# Of libraries whose metadata do not state it, and of those that the install for developers leaves out.
_UNSTATED = {
    "crowd-kit": "Apache-2.0",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "usearch": "Apache-2.0",
}


@dataclass(frozen=True)
class Component:
    """A library, its version (empty if it is not installed), its licence, and what needs it."""

    name: str
    version: str
    licence: str
    needed_by: tuple[str, ...]  # extras, or "base"
    requires: tuple[str, ...] = ()


def list_components() -> list[Component]:
    """Every library of the base install and of the extras for users, with all that they require in turn."""
    needed: dict[str, list[str]] = {}
    for extra in ("", *EXTRAS):
        for name in find_required("rejoinder", extra):
            needed.setdefault(name, []).append(extra or "base")
    return [_describe(name, tuple(extras)) for name, extras in sorted(needed.items())]


def read_licence(name: str) -> str:
    """The licence of a library as its metadata state it, as an SPDX identifier where it is known."""
    if name in _UNSTATED:
        return _UNSTATED[name]
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "not installed"
    classifiers = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or [] if one.startswith("License")]
    if about.get("License-Expression"):
        return about["License-Expression"]
    stated = (about.get("License") or "").strip()
    if not stated or "\n" in stated or len(stated) > 60:  # the whole text of a licence
        stated = " AND ".join(classifiers)
    return _SPDX.get(stated.lower(), stated) or "see its own files"


def library_table() -> Table:
    """Every library with its licence."""
    rows: list[list[Cell]] = [
        [component.name, component.licence, "base" if "base" in component.needed_by else ", ".join(component.needed_by)]
        for component in list_components()
    ]
    return Table("Libraries", ["library", "licence", "installed with"], rows)


def model_table() -> Table:
    """Every model of the catalog with its licence."""
    rows: list[list[Cell]] = [[model.name, model.licence, str(model.origin)] for model in MODELS.values()]
    return Table("Models", ["model", "licence", "from"], rows)


def find_required(root: str, extra: str = "") -> Iterator[str]:
    """The names of all libraries that a library requires with an extra, directly or not."""
    open_names, seen = [(root, extra)], set()
    while open_names:
        name, extra = open_names.pop()
        for requirement in _read_requirements(name, extra):
            required = canonicalize_name(requirement.name)
            for part in {"" if required != root else extra, *requirement.extras}:
                if (required, part) not in seen:
                    seen.add((required, part))
                    open_names.append((required, part))
    return iter(sorted({name for name, _ in seen} - {root}))


def _read_requirements(name: str, extra: str) -> Iterator[Requirement]:
    try:
        declared = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    for line in declared:
        requirement = Requirement(line)
        if requirement.marker is None:
            applies = not extra  # already counted with the library itself
        else:
            is_extra = re.search(r"\bextra\b", str(requirement.marker)) is not None
            applies = requirement.marker.evaluate({"extra": extra}) and is_extra == bool(extra)
        if applies:
            yield requirement


def _describe(name: str, needed_by: tuple[str, ...]) -> Component:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = ""
    requires = tuple(sorted({canonicalize_name(one.name) for one in _read_requirements(name, "")}))
    return Component(name, version, read_licence(name), needed_by, requires)
