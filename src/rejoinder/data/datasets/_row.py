"""One object of a published file, read field by field; every error names the file, the row and the field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rejoinder.errors import InputError, brief


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a published file, and where it stands; its fields are asked for by what they must be."""

    fields: Mapping[str, Any]
    place: str

    def text(self, key: str) -> str:
        """A string that is not blank, as it stands."""
        found = self.fields.get(key)
        if not isinstance(found, str) or not found or found.isspace():
            raise self.wrong(key, "a text that is not empty")
        return found

    def string(self, key: str) -> str:
        """A string that may be empty."""
        found = self.fields.get(key)
        if not isinstance(found, str):
            raise self.wrong(key, "a string")
        return found

    def whole(self, key: str) -> int:
        """A whole number, not negative."""
        found = self.fields.get(key)
        if type(found) is not int or found < 0:
            raise self.wrong(key, "a whole number")
        return found

    def number(self, key: str) -> float:
        """A finite number, or one written as a string."""
        found = self.fields.get(key)
        try:
            if isinstance(found, bool) or not isinstance(found, int | float | str):
                raise ValueError
            value = float(found)
        except ValueError:
            raise self.wrong(key, "a number") from None
        if not math.isfinite(value):
            raise self.wrong(key, "a number")
        return value

    def values(self, key: str) -> list[Any]:
        """A list of anything."""
        found = self.fields.get(key)
        if not isinstance(found, list):
            raise self.wrong(key, "a list")
        return found

    def texts(self, key: str) -> list[str]:
        """A list of strings that are not blank, at least one."""
        found = self.strings(key)
        if not found or any(not s or s.isspace() for s in found):
            raise self.wrong(key, "a list of texts that are not empty")
        return found

    def strings(self, key: str) -> list[str]:
        """A list of strings, some of which may be blank."""
        found = self.values(key)
        if not all(isinstance(s, str) for s in found):
            raise self.wrong(key, "a list of strings")
        return found

    def wholes(self, key: str) -> list[int]:
        """A list of whole numbers."""
        found = self.values(key)
        if not all(type(n) is int for n in found):
            raise self.wrong(key, "a list of whole numbers")
        return found

    def row(self, key: str) -> Row:
        """An object inside this one."""
        found = self.fields.get(key)
        if not isinstance(found, dict):
            raise self.wrong(key, "an object")
        return Row(found, self.place)

    def rows(self, key: str) -> list[Row]:
        """A list of objects inside this one."""
        found = self.values(key)
        if not all(isinstance(o, dict) for o in found):
            raise self.wrong(key, "a list of objects")
        return [Row(o, self.place) for o in found]

    def wrong(self, key: str, expected: str) -> InputError:
        """The error that says what a field holds instead."""
        shown = f"found {brief(self.fields[key])}" if key in self.fields else "it is missing"
        return InputError(f"{self.place}: {brief(key)} must be {expected}, {shown}")
