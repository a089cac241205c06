"""A project file: TOML in, a checked ``Project`` out; an unknown key is an error that names the nearest known one."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from rejoinder.annotation.form import FORMS, LABELS, Form, make_scale
from rejoinder.annotation.project import NOTICE, Project, ProjectAspect, ProjectCheck, RaterExercise, is_url
from rejoinder.annotation.redaction import KINDS
from rejoinder.annotation.unit import AnswerOption, FormName
from rejoinder.errors import InputError, brief, nearest


class TomlTable:
    """A TOML table with the keys that it may have; every error starts with ``place``."""

    def __init__(self, values: Any, place: str, keys: Collection[str]) -> None:
        self.place = place
        if not isinstance(values, Mapping):
            raise InputError(f"{place}: expected a table, found {brief(values)}")
        self._values = dict(values)
        if unknown := sorted(k for k in self._values if k not in keys):
            raise InputError(f"{place}: unknown key {brief(unknown[0])}; {nearest(unknown[0], keys)}")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def wrong(self, key: str, expected: str) -> InputError:
        """Return the error for a key with a wrong value."""
        return InputError(f"{self.place}: {key!r} must be {expected}; found {brief(self._values.get(key))}")

    def raw(self, key: str, default: Any = None) -> Any:
        """Return the unchecked value."""
        return self._values.get(key, default)

    def text(self, key: str, default: str | None = None, longest: int = 20000) -> str:
        """Return a text; without a default it is required."""
        value = self._values.get(key, default)
        if value is None:
            raise InputError(f"{self.place}: needs {key!r}")
        if not isinstance(value, str) or len(value) > longest or (default is None and not value.strip()):
            raise self.wrong(key, f"a text of at most {longest:,} characters")
        return value.strip()

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        """Return a whole number between two others."""
        value = self._values.get(key, default)
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(key, f"a whole number from {low} to {high}")
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """Return a number between two others."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(key, "a number")
        if not low <= value <= high:
            raise self.wrong(key, f"a number from {low:g} to {high:g}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def texts(self, key: str, default: tuple[str, ...] = (), longest: int = 20000) -> tuple[str, ...]:
        """Return a list of texts; a single text counts as a list of one."""
        value = self._values.get(key)
        if value is None:
            return default
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(t, str) and t.strip() for t in value):
            raise self.wrong(key, "a list of texts")
        if any(len(t) > longest for t in value):
            raise self.wrong(key, f"a list of texts of at most {longest:,} characters")
        return tuple(t.strip() for t in value)

    def tables(self, key: str, keys: Collection[str]) -> list[TomlTable]:
        """Return a list of tables."""
        values = self._values.get(key, [])
        if not isinstance(values, list):
            raise self.wrong(key, f"a list of tables ([[{key}]])")
        return [TomlTable(one, f"{self.place}, {key} {n}", keys) for n, one in enumerate(values, start=1)]


ASPECT_KEYS = ("name", "question", "low", "high", "words", "anchors")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


def read_error_labels(table: TomlTable, form: Form) -> tuple[str, ...]:
    """Return the error labels of a project, empty if its form has none."""
    if form.asks != "labels":
        if "labels" in table:
            raise InputError(f"{table.place}: 'labels' is only for the form 'errors'; leave it out")
        return ()
    labels = table.texts("labels", LABELS, 60)
    if len(set(labels)) != len(labels) or "none" in labels or not labels or any("\n" in label for label in labels):
        raise table.wrong("labels", "a list of different texts without line breaks ('none' is always offered)")
    return labels


def read_aspects(table: TomlTable, form: Form) -> tuple[ProjectAspect, ...]:
    """Return the aspects of a project, or those of its form if it names none."""
    tables = table.tables("aspects", ASPECT_KEYS)
    if not tables:
        return form.aspects
    if form.asks in ("labels", "verdict"):
        raise InputError(f"{table.place}: the form {table.raw('form')!r} asks only one question; leave out 'aspects'")
    aspects = tuple(_read_aspect(aspect_table, form) for aspect_table in tables)
    if len({a.name for a in aspects}) != len(aspects):
        raise InputError(f"{table.place}: two aspects have the same name; rename one")
    return aspects


def _read_aspect(table: TomlTable, form: Form) -> ProjectAspect:
    name = table.text("name")
    if not _NAME.fullmatch(name) or name == "comment":
        raise table.wrong("name", "a letter followed by letters, digits, hyphens or underscores (and not 'comment')")
    question = table.text("question", longest=1000)
    if form.asks == "options":
        return ProjectAspect(name, question, _read_options(table))
    if extra := [key for key in ("low", "high", "words", "anchors") if key in table]:
        raise InputError(f"{table.place}: {extra[0]!r} does not apply, since this form has no scale; leave it out")
    return ProjectAspect(name, question)


def _read_options(table: TomlTable) -> tuple[AnswerOption, ...]:
    words = table.texts("words", longest=60)
    low = table.whole("low", 0 if words else 1, -100, 100)
    high = low + len(words) - 1 if words else table.whole("high", 5, -100, 100)
    if words and "high" in table:
        raise InputError(f"{table.place}: leave out 'high': with 'words' there are as many values as words")
    if not low < high or high - low > 100 or len(set(words)) != len(words):
        raise InputError(f"{table.place}: the scale needs at least two different values, with the lowest as 'low'")
    anchors = table.raw("anchors", {})
    levels = {str(n): n for n in range(low, high + 1)}
    if not isinstance(anchors, dict) or any(k not in levels or not isinstance(v, str) for k, v in anchors.items()):
        raise table.wrong("anchors", f"a table of texts by numbers from {low} to {high}")
    meanings = {levels[key]: text for key, text in anchors.items()}
    if not words:
        return make_scale(low, high, meanings)
    return tuple(AnswerOption(low + i, word, meanings.get(low + i, "")) for i, word in enumerate(words))


_TEXT_KEYS = ("context", "reply", "replies", "goal", "situation", "note")
CHECK_KEYS = ("of", *_TEXT_KEYS, "answer", "explanation")


def read_exercise(table: TomlTable, form: Form) -> RaterExercise:
    """Return the exercise of a project, empty if it has none."""
    if "exercise" not in table:
        return RaterExercise()
    own = TomlTable(table.raw("exercise"), f"{table.place}, exercise", ("questions", "needed", "attempts"))
    questions = tuple(read_check(one, form, "") for one in own.tables("questions", CHECK_KEYS))
    if not questions:
        raise InputError(f"{own.place}: needs [[exercise.questions]]")
    needed = own.whole("needed", len(questions), 0, len(questions))
    return RaterExercise(questions, needed, own.whole("attempts", 2, 1, 100))


def read_check(table: TomlTable, form: Form, needs: str, own: bool = False) -> ProjectCheck:
    """Return one check; ``needs`` names a key that is required, ``own`` means that it must have its own texts."""
    of = table.text("of", "", 1000) or None
    payload: dict[str, Any] = {key: table.raw(key) for key in _TEXT_KEYS if key in table}
    if own and of:
        raise InputError(f"{table.place}: an attention check has its own texts; for a unit of the data use [[gold]]")
    if (of is None) == ("context" not in payload):
        raise InputError(f"{table.place}: needs either 'of' (an id in the data) or a 'context' of its own")
    if of and payload.keys() - {"note"}:
        raise InputError(f"{table.place}: with 'of' the texts come from the data; leave out {min(payload)!r}")
    answer = table.raw("answer", {})
    if not isinstance(answer, dict) or (needs and not answer):
        raise table.wrong("answer", "a table of aspects with the accepted values, such as { appropriate = [4, 5] }")
    if answer and form.asks in ("texts", "lines"):
        raise InputError(
            f"{table.place}: this form asks for texts, which have no single right answer; leave out 'answer'"
        )
    return ProjectCheck(answer, of, payload or None, table.text("explanation", "", 2000), table.place)


_KEYS = ({f.name for f in fields(Project)} | {"checks"}) - {"path", "checks_every", "stop_after"}
_MAX_COUNT = 1_000_000


def read_project(path: str | Path) -> Project:
    """Read a project file; paths in it are relative to the file's folder."""
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the project file could not be read ({error.strerror})") from None
    try:
        values = tomllib.loads(raw.decode("utf-8-sig"))
    except ValueError as error:  # wrong encoding or syntax
        raise InputError(f"{path.name}: is not valid TOML ({error}); docs/annotating.md describes its keys") from None
    return _parse_project(TomlTable(values, path.name, _KEYS), path)


def _parse_project(table: TomlTable, path: Path) -> Project:
    form_name = _read_form_name(table)
    form = FORMS[form_name]
    name = table.text("name", path.stem, 64)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        raise table.wrong("name", "at most 64 letters, digits, points, hyphens and underscores")
    if not (data := table.texts("data")):
        raise InputError(f"{table.place}: needs 'data': the files to be judged")
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
        labels=read_error_labels(table, form),
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
    for form_name in get_args(FormName):
        if name == form_name:
            return form_name  # type: ignore[no-any-return]
    raise InputError(f"{table.place}: no form is called {brief(name)}; {nearest(name, FORMS)}")


def _resolve_path(path: Path, name: str) -> str:
    return name if name.startswith("dataset:") or Path(name).is_absolute() else str(path.parent / name)


def _resolve_database(database: str, path: Path) -> str:
    file = database.removeprefix("sqlite:///")
    return file if is_url(file) else _resolve_path(path, file)


def _read_replies_per_unit(table: TomlTable, form: Form) -> int:
    if "replies_per_unit" in table and form.shows in ("items", "pairs"):
        raise InputError(
            f"{table.place}: 'replies_per_unit' does not apply to the form {table.raw('form')!r}; leave it out"
        )
    return table.whole("replies_per_unit", form.replies_per_unit, 0, 50)


def _read_redact(table: TomlTable) -> frozenset[str]:
    value = table.raw("redact", False)
    if isinstance(value, bool):
        return frozenset(KINDS) if value else frozenset()
    kinds = table.texts("redact")
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(f"{table.place}: 'redact' has no kind {brief(kind)}; {nearest(kind, KINDS)}")
    return frozenset(kinds)
