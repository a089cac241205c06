"""A project file: TOML in, a checked ``Project`` out; a key that nothing knows is an error that names the nearest."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

from rejoinder.annotation import check_file
from rejoinder.annotation.aspect_file import read_aspects, read_labels
from rejoinder.annotation.check_file import read_check, read_exercise
from rejoinder.annotation.form import FORMS, Form
from rejoinder.annotation.project import NOTICE, Project
from rejoinder.annotation.redaction import KINDS
from rejoinder.annotation.store import is_url
from rejoinder.annotation.table import Table
from rejoinder.annotation.unit import FormName
from rejoinder.errors import InputError, brief, nearest

_KEYS = ({f.name for f in fields(Project)} | {"checks"}) - {"path", "checks_every", "stop_after"}
_MOST = 1_000_000


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
    return _project(Table(found, path.name, _KEYS), path)


def _project(table: Table, path: Path) -> Project:
    form_name = _form_name(table)
    form = FORMS[form_name]
    name = table.text("name", path.stem, 64)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        raise table.wrong("name", "letters, digits, points, hyphens and underscores, 64 at most")
    if not (data := table.texts("data")):
        raise InputError(f"{table.place}: needs 'data': the files that hold what is to be judged")
    aspects = read_aspects(table, form)
    checks = Table(table.raw("checks", {}), f"{table.place}, checks", ("every", "stop_after"))
    return Project(
        name=name,
        title=table.text("title", name, 200),
        form=form_name,
        data=tuple(_from(path, one) for one in data),
        database=_database(table.text("database", f"{name}.sqlite"), path),
        aspects=aspects,
        instructions=table.text("instructions", ""),
        notice=table.text("notice", NOTICE),
        contact=table.text("contact", "", 500),
        completion=table.text("completion", "", 500),
        raters_per_unit=table.whole("raters_per_unit", form.raters_per_unit, 1, 1000),
        units_per_rater=table.whole("units_per_rater", 0, 0, _MOST),
        replies_per_unit=_replies_per_unit(table, form),
        pairs_per_item=table.whole("pairs_per_item", 0, 0, 1000),
        seed=table.whole("seed", 0, 0, 2**63 - 1),
        block=table.whole("block", 0, 0, _MOST),
        minimum_seconds=table.number("minimum_seconds", 0.0, 0.0, 3600.0),
        lease_minutes=table.number("lease_minutes", 30.0, 0.01, 60 * 24 * 7),
        redact=_redact(table),
        labels=read_labels(table, form),
        ties=table.flag("ties", True),
        comments=table.flag("comments", False),
        longest_text=table.whole("longest_text", 2000, 1, 20000),
        checks_every=checks.whole("every", 10, 1, _MOST),
        stop_after=checks.whole("stop_after", 0, 0, _MOST),
        gold=tuple(read_check(one, form, "answer") for one in table.tables("gold", check_file.KEYS)),
        attention=tuple(
            read_check(one, form, "answer", own=True) for one in table.tables("attention", check_file.KEYS)
        ),
        exercise=read_exercise(table, form),
        path=path,
    )


def _form_name(table: Table) -> FormName:
    name = table.text("form")
    for known in get_args(FormName):
        if name == known:
            return known  # type: ignore[no-any-return]
    raise InputError(f"{table.place}: no form is called {brief(name)}; {nearest(name, FORMS)}")


def _from(path: Path, given: str) -> str:
    return given if given.startswith("dataset:") or Path(given).is_absolute() else str(path.parent / given)


def _database(given: str, path: Path) -> str:
    file = given.removeprefix("sqlite:///")
    return file if is_url(file) else _from(path, file)


def _replies_per_unit(table: Table, form: Form) -> int:
    if "replies_per_unit" in table and form.shows in ("items", "pairs"):
        raise InputError(f"{table.place}: 'replies_per_unit' has no meaning for the form {table.raw('form')!r}")
    return table.whole("replies_per_unit", form.replies_per_unit, 0, 50)


def _redact(table: Table) -> frozenset[str]:
    found = table.raw("redact", False)
    if isinstance(found, bool):
        return frozenset(KINDS) if found else frozenset()
    kinds = table.texts("redact")
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(f"{table.place}: nothing called {brief(kind)} is redacted; {nearest(kind, KINDS)}")
    return frozenset(kinds)
