"""Checks over a whole input: no id occurs twice, and every id that is referred to exists."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.types import Dialogue, Item, Preference, Question, Rating, Record, Response

_LINE_BITS = 40
_PLACE_BITS = 64
_HASH = (1 << _PLACE_BITS) - 1
_OTHER_ITEM = ", with a different context or references; give it another id"
_UNIQUE = "; ids must be unique"
_SAME_FILE = "; name each file once"


_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))


def tidy_name(name: str) -> str:
    """Return a name in the one form that looks as it does: composed, with single spaces and none at its ends."""
    if name.isascii() and name == name.strip() and "  " not in name and not set(name) & set("\t\r\n\v\f"):
        return name
    return " ".join(unicodedata.normalize("NFC", name.translate(_INVISIBLE)).split())


def _hash_content(item: Item) -> int:
    """Return a hash of what an item asks; without references, what was said afterwards is a reply's and not its own."""
    return hash(item if item.references else replace(item, future=())) & _HASH


def _hash_course(item: Item) -> int:
    """Return hashes of the parts of an item that belong to one system: the turns after its reply, and its prompt."""
    return hash(item.future) & _HASH | (hash(item.meta.get("system_prompt") or "") & _HASH) << _PLACE_BITS


class IdChecker:
    """Remembers which ids occurred where and which were referred to, in any order.

    An item may be in several files, as long as it is the same in all of them, so that the replies of two systems that
    were imported separately can be read together. What followed a reply may differ (``RecordMerger``).
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._places: list[Place] = []
        self._seen: dict[str, dict[str, int]] = {"dialogue": {}, "item": {}, "response": {}, "question": {}}
        self._names: dict[str, set[str]] = {"system": set(), "rater": set()}
        self._looks: dict[tuple[str, str], str] = {}
        self._judgements: dict[tuple[str, ...], int] = {}
        self._unresolved: dict[str, dict[str, tuple[int, str]]] = {"item": {}, "response": {}}

    def add(self, record: Record, place: Place) -> bool:
        """Add a record; return False for an item that another file had already. Raise if an id occurs twice."""
        at = self._pack(place)
        match record:
            case Response():
                self._check_name("system", record.system, place)
                self._add("response", record.id, at, _duplicate_hint(record))
                self._refer("item", record.item, at, "response")
            case Item():
                return self._add_item(record, at)
            case Dialogue():
                self._add("dialogue", record.id, at)
            case Question():
                self._add("question", record.id, at)
            case Rating():
                self._check_name("rater", record.rater, place)
                if record.response is not None:
                    self._refer("response", record.response, at, "rating")
                # A dialogue that several systems continued has a rating of each.
                about = str(record.meta.get("system") or "")
                target = ("r", record.response) if record.response is not None else ("d", record.dialogue or "", about)
                self._add_judgement((*target, record.rater, record.aspect), "rating", at)
            case Preference():
                self._refer("item", record.item, at, "preference")
                self._refer("response", record.first, at, "preference")
                self._refer("response", record.second, at, "preference")
                self._add_judgement(("p", record.first, record.second, record.rater, record.aspect), "preference", at)
        return True

    def matches(self, item: Item, place: Place) -> bool:
        """Whether no other file has another item with this id."""
        first = self._seen["item"].get(item.id)
        is_elsewhere = first is not None and (first & _HASH) >> _LINE_BITS != self._pack(place) >> _LINE_BITS
        return first is None or not is_elsewhere or first >> _PLACE_BITS & _HASH == _hash_content(item)

    def differs(self, item: Item) -> tuple[bool, bool]:
        """Whether another future, and another system prompt, came with the item of this id before."""
        first = self._seen["item"].get(item.id)
        difference = 0 if first is None else first >> 2 * _PLACE_BITS ^ _hash_course(item)
        return bool(difference & _HASH), bool(difference >> _PLACE_BITS)

    def has_item(self, name: str) -> bool:
        """Whether an item has this id."""
        return name in self._seen["item"]

    def close(self) -> None:
        """Raise if an id that was referred to never occurred."""
        missing = [(at, kind, by, name) for kind, names in self._unresolved.items() for name, (at, by) in names.items()]
        if not missing:
            return
        at, kind, by, name = min(missing)
        rest = len(missing) - 1
        more = f" (and {rest} more such id{'s' if rest > 1 else ''})" if rest else ""
        raise InputError(
            f"{self._place(at)}: {by} refers to an unknown {kind} {brief(name)}{more}; "
            f"add the {kind}'s line, or also name the file that has it"
        )

    def _check_name(self, kind: str, name: str, place: Place) -> None:
        """Raise if a name looks like another one: a table would show two systems that nobody can tell apart."""
        if name in self._names[kind]:
            return
        self._names[kind].add(name)
        other = self._looks.setdefault((kind, tidy_name(name)), name)
        if other != name:
            raise InputError(
                f"{place}: the {kind} {name!a} looks like {other!a}, but differs in spaces or in its Unicode form; "
                "write both in the same way"
            )

    def _add_item(self, item: Item, at: int) -> bool:
        # Hashes of the content go into the upper bits of the place: one number per item, so millions fit in memory.
        content = _hash_content(item)
        first = self._seen["item"].get(item.id)
        if first is None:
            self._seen["item"][item.id] = _hash_course(item) << 2 * _PLACE_BITS | content << _PLACE_BITS | at
            self._unresolved["item"].pop(item.id, None)
            return True
        where = first & _HASH
        elsewhere = where >> _LINE_BITS != at >> _LINE_BITS
        same = first >> _PLACE_BITS & _HASH == content
        # Twice at one place: one line of a log gave the item again, or the file was named twice.
        if same and (elsewhere or where == at):
            return False
        hint = _OTHER_ITEM if elsewhere else _UNIQUE
        raise InputError(f"{self._place(at)}: item id {brief(item.id)} was already used in {self._place(where)}{hint}")

    def _add(self, kind: str, name: str, at: int, hint: str = _UNIQUE) -> None:
        first = self._seen[kind].get(name)
        if first is not None:
            if first == at:
                hint = _SAME_FILE
            elif first >> _LINE_BITS == at >> _LINE_BITS:
                hint = "; give each response an 'id' of its own" if kind == "response" else _UNIQUE
            raise InputError(
                f"{self._place(at)}: {kind} id {brief(name)} was already used in {self._place(first)}{hint}"
            )
        self._seen[kind][name] = at
        if kind in self._unresolved:
            self._unresolved[kind].pop(name, None)

    def _refer(self, kind: str, name: str, at: int, by: str) -> None:
        if name not in self._seen[kind]:
            self._unresolved[kind].setdefault(name, (at, by))

    def _add_judgement(self, key: tuple[str, ...], what: str, at: int) -> None:
        first = self._judgements.get(key)
        if first is not None:
            hint = _SAME_FILE if first == at else "; keep one of the two"
            raise InputError(
                f"{self._place(at)}: the same rater already gave this {what} in {self._place(first)}{hint}"
            )
        self._judgements[key] = at

    def _pack(self, place: Place) -> int:
        number = self._files.setdefault(place.file, len(self._files))
        if number == len(self._places):
            self._places.append(place)
        return number << _LINE_BITS | place.line

    def _place(self, at: int) -> Place:
        return self._places[at >> _LINE_BITS]._replace(line=at & (1 << _LINE_BITS) - 1)


def _duplicate_hint(response: Response) -> str:
    """Return what to do about a duplicate id of a response; a default id is made from the item and the system."""
    if response.id == f"{response.item}/{response.system}":
        return (
            "; if these are two versions of a system, give each its own 'system' name (v1=FILE v2=FILE), else give "
            "each response an 'id' of its own"
        )
    return "; give each response an 'id' of its own"
