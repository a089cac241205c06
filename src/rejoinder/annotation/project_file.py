"""A project file: TOML in, a checked ``Project`` out; a key that nothing knows is an error that names the nearest."""

from __future__ import annotations

import importlib
import math
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from rejoinder.annotation.form import FORMS, LABELS, Form, make_scale
from rejoinder.annotation.project import NOTICE, Aspect, Check, Exercise, Project
from rejoinder.annotation.redaction import KINDS
from rejoinder.annotation.store import is_url
from rejoinder.annotation.unit import FormName, Option
from rejoinder.errors import InputError, brief, nearest


class TomlTable:
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

    def tables(self, key: str, keys: Collection[str]) -> list[TomlTable]:
        """A list of tables."""
        found = self._found.get(key, [])
        if not isinstance(found, list):
            raise self.wrong(key, f"a list of tables ([[{key}]])")
        return [TomlTable(one, f"{self.place}, {key} {n}", keys) for n, one in enumerate(found, start=1)]


ASPECT_KEYS = ("name", "question", "low", "high", "words", "anchors")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


def read_labels(table: TomlTable, form: Form) -> tuple[str, ...]:
    """The error labels of a project, where its form has any."""
    if form.asks != "labels":
        if "labels" in table:
            raise InputError(f"{table.place}: 'labels' belongs to the form 'errors' only")
        return ()
    labels = table.texts("labels", LABELS, 60)
    if len(set(labels)) != len(labels) or "none" in labels or not labels or any("\n" in label for label in labels):
        raise table.wrong("labels", "different texts on one line each ('none' is always offered)")
    return labels


def read_aspects(table: TomlTable, form: Form) -> tuple[Aspect, ...]:
    """The aspects of a project, or its form's own where it names none."""
    given = table.tables("aspects", ASPECT_KEYS)
    if not given:
        return form.aspects
    if form.asks in ("labels", "verdict"):
        raise InputError(f"{table.place}: the form {table.raw('form')!r} asks one thing only; leave out 'aspects'")
    aspects = tuple(_read_aspect(one, form) for one in given)
    if len({a.name for a in aspects}) != len(aspects):
        raise InputError(f"{table.place}: two aspects have the same name")
    return aspects


def _read_aspect(table: TomlTable, form: Form) -> Aspect:
    name = table.text("name")
    if not _NAME.fullmatch(name) or name == "comment":
        raise table.wrong("name", "a letter and then letters, digits, hyphens or underscores (and not 'comment')")
    question = table.text("question", longest=1000)
    if form.asks == "options":
        return Aspect(name, question, _read_options(table))
    if extra := [key for key in ("low", "high", "words", "anchors") if key in table]:
        raise InputError(f"{table.place}: {extra[0]!r} has no meaning here, since this form has no scale")
    return Aspect(name, question)


def _read_options(table: TomlTable) -> tuple[Option, ...]:
    words = table.texts("words", longest=60)
    low = table.whole("low", 0 if words else 1, -100, 100)
    high = low + len(words) - 1 if words else table.whole("high", 5, -100, 100)
    if words and "high" in table:
        raise InputError(f"{table.place}: with 'words' leave out 'high', since there are as many values as words")
    if not low < high or high - low > 100 or len(set(words)) != len(words):
        raise InputError(f"{table.place}: the scale needs at least two different values, the lower one as 'low'")
    anchors = table.raw("anchors", {})
    levels = {str(n): n for n in range(low, high + 1)}
    if not isinstance(anchors, dict) or any(k not in levels or not isinstance(v, str) for k, v in anchors.items()):
        raise table.wrong("anchors", f"texts under numbers from {low} to {high}")
    meant = {levels[key]: text for key, text in anchors.items()}
    if not words:
        return make_scale(low, high, meant)
    return tuple(Option(low + i, word, meant.get(low + i, "")) for i, word in enumerate(words))


_TEXT_KEYS = ("context", "reply", "replies", "goal", "situation", "note")
CHECK_KEYS = ("of", *_TEXT_KEYS, "answer", "explanation")


def read_exercise(table: TomlTable, form: Form) -> Exercise:
    """The exercise of a project, empty where it has none."""
    if "exercise" not in table:
        return Exercise()
    own = TomlTable(table.raw("exercise"), f"{table.place}, exercise", ("questions", "needed", "attempts"))
    questions = tuple(read_check(one, form, "") for one in own.tables("questions", CHECK_KEYS))
    if not questions:
        raise InputError(f"{own.place}: needs [[exercise.questions]]")
    needed = own.whole("needed", len(questions), 0, len(questions))
    return Exercise(questions, needed, own.whole("attempts", 2, 1, 100))


def read_check(table: TomlTable, form: Form, needs: str, own: bool = False) -> Check:
    """One question; ``needs`` names the key that it cannot do without, ``own`` says that it must have its own texts."""
    of = table.text("of", "", 1000) or None
    payload: dict[str, Any] = {key: table.raw(key) for key in _TEXT_KEYS if key in table}
    if own and of:
        raise InputError(f"{table.place}: an attention check has texts of its own; a known answer is [[gold]]")
    if (of is None) == ("context" not in payload):
        raise InputError(f"{table.place}: needs either 'of' (an id in the data) or a 'context' of its own")
    if of and payload.keys() - {"note"}:
        raise InputError(f"{table.place}: with 'of' the texts come from the data; leave out {min(payload)!r}")
    answer = table.raw("answer", {})
    if not isinstance(answer, dict) or (needs and not answer):
        raise table.wrong("answer", "a table of aspects with the accepted values, as { appropriate = [4, 5] }")
    if answer and form.asks in ("texts", "lines"):
        raise InputError(f"{table.place}: a text that is to be written has no one right answer; leave out 'answer'")
    return Check(answer, of, payload or None, table.text("explanation", "", 2000), table.place)


_KEYS = ({f.name for f in fields(Project)} | {"checks"}) - {"path", "checks_every", "stop_after"}
_MAX_COUNT = 1_000_000


def read_project(path: str | Path) -> Project:
    """The project that a file describes; paths in it are meant from the file's folder."""
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the project file cannot be read ({error.strerror})") from None
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        found = toml.loads(raw.decode("utf-8-sig"))
    except ValueError as error:  # of the encoding or the syntax
        raise InputError(f"{path.name}: is no TOML ({error}); docs/annotating.md shows what it holds") from None
    return _parse_project(TomlTable(found, path.name, _KEYS), path)


def _parse_project(table: TomlTable, path: Path) -> Project:
    form_name = _read_form_name(table)
    form = FORMS[form_name]
    name = table.text("name", path.stem, 64)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        raise table.wrong("name", "letters, digits, points, hyphens and underscores, 64 at most")
    if not (data := table.texts("data")):
        raise InputError(f"{table.place}: needs 'data': the files that hold what is to be judged")
    aspects = read_aspects(table, form)
    checks = TomlTable(table.raw("checks", {}), f"{table.place}, checks", ("every", "stop_after"))
    return Project(
        name=name,
        title=table.text("title", name, 200),
        form=form_name,
        data=tuple(_resolve_path(path, one) for one in data),
        database=_resolve_database(table.text("database", f"{name}.sqlite"), path),
        aspects=aspects,
        instructions=table.text("instructions", ""),
        notice=table.text("notice", NOTICE),
        contact=table.text("contact", "", 500),
        completion=table.text("completion", "", 500),
        raters_per_unit=table.whole("raters_per_unit", form.raters_per_unit, 1, 1000),
        units_per_rater=table.whole("units_per_rater", 0, 0, _MAX_COUNT),
        replies_per_unit=_read_replies_per_unit(table, form),
        pairs_per_item=table.whole("pairs_per_item", 0, 0, 1000),
        seed=table.whole("seed", 0, 0, 2**63 - 1),
        block=table.whole("block", 0, 0, _MAX_COUNT),
        minimum_seconds=table.number("minimum_seconds", 0.0, 0.0, 3600.0),
        lease_minutes=table.number("lease_minutes", 30.0, 0.01, 60 * 24 * 7),
        redact=_read_redact(table),
        labels=read_labels(table, form),
        ties=table.flag("ties", True),
        comments=table.flag("comments", False),
        longest_text=table.whole("longest_text", 2000, 1, 20000),
        checks_every=checks.whole("every", 10, 1, _MAX_COUNT),
        stop_after=checks.whole("stop_after", 0, 0, _MAX_COUNT),
        gold=tuple(read_check(one, form, "answer") for one in table.tables("gold", CHECK_KEYS)),
        attention=tuple(read_check(one, form, "answer", own=True) for one in table.tables("attention", CHECK_KEYS)),
        exercise=read_exercise(table, form),
        path=path,
    )


def _read_form_name(table: TomlTable) -> FormName:
    name = table.text("form")
    for known in get_args(FormName):
        if name == known:
            return known  # type: ignore[no-any-return]
    raise InputError(f"{table.place}: no form is called {brief(name)}; {nearest(name, FORMS)}")


def _resolve_path(path: Path, given: str) -> str:
    return given if given.startswith("dataset:") or Path(given).is_absolute() else str(path.parent / given)


def _resolve_database(given: str, path: Path) -> str:
    file = given.removeprefix("sqlite:///")
    return file if is_url(file) else _resolve_path(path, file)


def _read_replies_per_unit(table: TomlTable, form: Form) -> int:
    if "replies_per_unit" in table and form.shows in ("items", "pairs"):
        raise InputError(f"{table.place}: 'replies_per_unit' has no meaning for the form {table.raw('form')!r}")
    return table.whole("replies_per_unit", form.replies_per_unit, 0, 50)


def _read_redact(table: TomlTable) -> frozenset[str]:
    found = table.raw("redact", False)
    if isinstance(found, bool):
        return frozenset(KINDS) if found else frozenset()
    kinds = table.texts("redact")
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(f"{table.place}: nothing called {brief(kind)} is redacted; {nearest(kind, KINDS)}")
    return frozenset(kinds)
