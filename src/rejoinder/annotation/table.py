"""One table of a project file: every key is known, every value has its type, or one sentence says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from rejoinder.errors import InputError, brief, nearest


class Table:
    """A TOML table with the keys that may be in it; ``place`` begins every error."""

    def __init__(self, found: Any, place: str, keys: Collection[str]) -> None:
        self.place = place
        if not isinstance(found, Mapping):
            raise InputError(f"{place}: expected a table, found {brief(found)}")
        self._found = dict(found)
        if unknown := sorted(k for k in self._found if k not in keys):
            raise InputError(f"{place}: no key {brief(unknown[0])} belongs here; {nearest(unknown[0], keys)}")

    def __contains__(self, key: str) -> bool:
        return key in self._found

    def wrong(self, key: str, wanted: str) -> InputError:
        """The error for a key whose value is not what is wanted."""
        return InputError(f"{self.place}: {key!r} must be {wanted}; found {brief(self._found.get(key))}")

    def raw(self, key: str, default: Any = None) -> Any:
        """The value as it stands."""
        return self._found.get(key, default)

    def text(self, key: str, default: str | None = None, longest: int = 20000) -> str:
        """A text; needed where there is no default."""
        found = self._found.get(key, default)
        if found is None:
            raise InputError(f"{self.place}: needs {key!r}")
        if not isinstance(found, str) or len(found) > longest or (default is None and not found.strip()):
            raise self.wrong(key, f"a text of at most {longest:,} characters")
        return found.strip()

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number between two others."""
        found = self._found.get(key, default)
        if type(found) is not int or not low <= found <= high:
            raise self.wrong(key, f"a whole number from {low} to {high}")
        return found

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number between two others."""
        found = self._found.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            raise self.wrong(key, "a number")
        if not low <= found <= high:
            raise self.wrong(key, f"a number from {low:g} to {high:g}")
        return float(found)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        found = self._found.get(key, default)
        if not isinstance(found, bool):
            raise self.wrong(key, "true or false")
        return found

    def texts(self, key: str, default: tuple[str, ...] = (), longest: int = 20000) -> tuple[str, ...]:
        """A list of texts, or one text for a list of one."""
        found = self._found.get(key)
        if found is None:
            return default
        found = [found] if isinstance(found, str) else found
        if not isinstance(found, list) or not all(isinstance(t, str) and t.strip() for t in found):
            raise self.wrong(key, "a list of texts")
        if any(len(t) > longest for t in found):
            raise self.wrong(key, f"a list of texts of at most {longest:,} characters")
        return tuple(t.strip() for t in found)

    def tables(self, key: str, keys: Collection[str]) -> list[Table]:
        """A list of tables."""
        found = self._found.get(key, [])
        if not isinstance(found, list):
            raise self.wrong(key, f"a list of tables ([[{key}]])")
        return [Table(one, f"{self.place}, {key} {n}", keys) for n, one in enumerate(found, start=1)]
