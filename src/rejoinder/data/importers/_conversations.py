"""Rows of one conversation that hold one turn and its reply each: read as one dialogue if the user asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rejoinder.data.importer import ImportOptions
from rejoinder.data.importers._rows import ForeignRow
from rejoinder.data.tables.columns import suggest_score
from rejoinder.errors import InputError

_Key = tuple[str, str, str]


class Conversations:
    """The rows of each conversation so far; each system has a conversation of its own, and so has each rater."""

    def __init__(self, options: ImportOptions) -> None:
        self._chain, self._repeats = options.chain, options.repeats
        self._before: dict[_Key, tuple[tuple[str, str], dict[str, Any]]] = {}  # the last row of each
        self._turns: dict[_Key, list[dict[str, str]]] = {}
        self._last: dict[_Key, int] = {}
        self._is_of_single_turns = True
        self._later_rows = self._chained = 0

    def extend(self, item: dict[str, Any], reply: Mapping[str, str], row: ForeignRow) -> dict[str, Any]:
        """Return the item of a reply; if rows are chained, its context starts with the earlier rows."""
        if "context" not in item or item.get("dialogue") is None:
            return item
        context = item["context"]
        rater = row.text(row.layout.single["rater"]) if row.layout.has_rater else None
        rater = rater and rater.strip()
        key = (item["dialogue"], reply["system"], rater or "")
        if not self._chain:
            self._is_of_single_turns &= len(context) == 1
            content = hash(tuple(turn["text"] for turn in context))
            self._later_rows += self._last.setdefault(key, content) != content
            return item
        if len(context) != 1:
            raise InputError(
                f"{row.place}: the context has {len(context)} turns, but --chain is for rows that hold one turn and "
                "its reply; leave --chain out"
            )
        words = (context[0]["text"], reply["text"])
        said, before = self._before.get(key, (None, item))
        if said == words and self._is_same_row(item, before, row):
            return before
        earlier = self._turns.get(key, [])
        turns = [*earlier, *context]
        self._chained += bool(earlier)
        self._turns[key] = [*turns, {"text": reply["text"]}] if reply["text"] else turns
        chained = {**item, "context": turns}
        self._before[key] = words, chained
        return chained

    def _is_same_row(self, item: Mapping[str, Any], before: Mapping[str, Any], row: ForeignRow) -> bool:
        """Whether a row with the words of the one before it is that row again, or the next turn; raise if unclear."""
        if "id" in item or self._repeats is not None:
            return item["id"] == before["id"] if "id" in item else self._repeats == "same"
        raise InputError(
            f"{row.place}: has the turn and the reply of the row before it, and no column has an id; if it is that row "
            f"again, read them with: {suggest_score(row.place, '--chain --repeats same')}; if the same was said twice, "
            f"with: {suggest_score(row.place, '--chain --repeats apart')}"
        )

    def describe(self) -> list[str]:
        """Return what a reader must know about conversations of several rows."""
        if self._chained:
            return [f"{self._chained:,} rows continue the conversation of earlier rows"]
        if not self._later_rows or not self._is_of_single_turns:
            return []
        one = self._later_rows == 1
        return [
            f"{self._later_rows:,} {'row belongs' if one else 'rows belong'} to a conversation with earlier rows and "
            f"{'is' if one else 'are'} read without them (--chain reads the rows of a conversation as one dialogue)"
        ]
