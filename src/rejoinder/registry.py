"""A folder as a registry: a module in it is something that users can name; nothing else needs to be written down."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Generic, TypeVar

from rejoinder.entry_points import EntryPoint, find_entry_points
from rejoinder.errors import SpecError, nearest
from rejoinder.lab import explain_absence

T = TypeVar("T")


class Registry(Generic[T]):
    """What the modules of a package offer by name, and entry points and users' files where these are read too.

    - ``package``: the folder; a leading underscore keeps a module out of it.
    - ``kind``: what one of them is, in errors.
    - ``from_module``: what a module offers.
    - ``typed``: turns a module's name into what users type.
    - ``packages``: list folders only, not modules.
    - ``from_entry_point``: what an entry point of another distribution offers; their group is called like the package.
    - ``from_file``: what ``./mine.py`` or ``./mine.py:NAME`` offers.
    - ``in_lab``: names that come with rejoinder-lab, for the error where it is not installed.
    """

    def __init__(
        self,
        package: str,
        kind: str,
        from_module: Callable[[ModuleType], T],
        *,
        typed: Callable[[str], str] = str,
        packages: bool = False,
        from_entry_point: Callable[[EntryPoint], T] | None = None,
        from_file: Callable[[str], T] | None = None,
        in_lab: frozenset[str] = frozenset(),
    ) -> None:
        self._package, self._kind, self._packages = package, kind, packages
        self._from_module, self._typed = from_module, typed
        self._from_entry_point, self._from_file = from_entry_point, from_file
        self._in_lab = in_lab
        self._listed: tuple[tuple[Any, ...], dict[str, str]] = ((), {})

    def packaged_names(self) -> list[str]:
        """The names of what comes with rejoinder, sorted."""
        return sorted(self._modules())

    def names(self) -> list[str]:
        """Every name that can be typed, sorted; those of entry points too."""
        return sorted({*self._modules(), *(entry.name for entry in self.entry_points())})

    def __contains__(self, name: str) -> bool:
        return name in self._modules() or any(entry.name == name for entry in self.entry_points())

    def load(self, name: str) -> T:
        """Return what has the name that a user typed; a SpecError names the nearest one where there is none."""
        if self._from_file is not None and is_user_file(name):
            return self._from_file(name)
        if (module := self._modules().get(name)) is not None:
            return self._from_module(importlib.import_module(f"{self._package}.{module}"))
        for entry in self.entry_points():
            if entry.name == name and self._from_entry_point is not None:
                return self._from_entry_point(entry)
        if name in self._in_lab:
            raise SpecError(explain_absence(f"the {self._kind} {name!r}"))
        raise SpecError(f"no {self._kind} is called {name!r}; {nearest(name, self.names())}")

    def find_file(self, name: str) -> str:
        """Return the file of the module behind a name, without importing it."""
        module = self._modules().get(name)
        path = f"{self._package}.{module}" if module else next(e.module for e in self.entry_points() if e.name == name)
        spec = find_spec(path)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(name)
        return spec.origin

    def entry_points(self) -> list[EntryPoint]:
        """The entry points of the package's group, by name; none where the registry does not read them."""
        if self._from_entry_point is None:
            return []
        return find_entry_points(self._package)

    def _modules(self) -> dict[str, str]:
        """The module behind each name of the folder, which is listed again only when it changes."""
        folder = importlib.import_module(self._package).__path__
        state = tuple((path, os.stat(path).st_mtime_ns if os.path.isdir(path) else None) for path in folder)
        if self._listed[0] != state:
            modules = {
                self._typed(name): name
                for path in folder
                for name, is_package in _list_modules(path)
                if (is_package if self._packages else not name.startswith("_"))
            }
            self._listed = (state, modules)
        return self._listed[1]


def _list_modules(path: str) -> list[tuple[str, bool]]:
    """The name of every module in a folder, and whether it is a package.

    ``pkgutil.iter_modules`` does the same, also in a zip file, but imports ``inspect``, which takes as long as Python
    takes to start.
    """
    if not os.path.isdir(path):
        return [(module.name, module.ispkg) for module in pkgutil.iter_modules([path])]
    with os.scandir(path) as entries:
        found = [(entry.name, os.path.isfile(os.path.join(entry.path, "__init__.py"))) for entry in entries]
    packages = [(name, True) for name, is_package in found if is_package]
    return packages + [(name[:-3], False) for name, _ in found if name.endswith(".py") and name != "__init__.py"]


def is_user_file(name: str) -> bool:
    """Whether a name is the path of a user's Python file, ``./mine.py`` or ``./mine.py:NAME``."""
    return name.partition(":")[0].endswith(".py")


def with_dashes(module: str) -> str:
    """A module's name as it is typed on the command line: ``lm_eval`` is ``lm-eval``, ``import_`` is ``import``."""
    return module.rstrip("_").replace("_", "-")


def defined_class(base: type[T]) -> Callable[[ModuleType], type[T]]:
    """Return a function that finds the class derived from ``base`` which a module defines."""

    def find_class(module: ModuleType) -> type[T]:
        classes: dict[str, type[T]] = list_classes(module, base)
        if not classes:
            raise SpecError(f"{module.__name__} defines no {base.__name__}")
        return next(iter(classes.values()))

    return find_class


def list_classes(module: ModuleType, base: type[Any]) -> dict[str, Any]:
    """The classes derived from ``base`` that a module itself defines, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__
    }
