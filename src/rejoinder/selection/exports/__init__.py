"""Test sets for other evaluation programs, one file per program; the folder is the registry.

A module has ``SUMMARY`` and ``files(questions, settings)``: the files to write, by name, with their content.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.data.inputs import read
from rejoinder.errors import InputError, RunError, SpecError, nearest
from rejoinder.files import atomic_write
from rejoinder.registry import Registry, with_dashes
from rejoinder.selection.result import check_questions
from rejoinder.types import Question

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ExportSettings:
    """The settings of an export: the task's name, and what ends a turn when turns are joined into one text."""

    name: str
    turn_end: str = "\n"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or keyword.iskeyword(self.name):
            raise InputError(
                f"a task cannot be called {self.name!r}; use a letter, then letters, digits and underscores, but not a "
                "keyword of Python"
            )
        if not self.turn_end:
            raise InputError("turn_end must not be empty; leave it out for a line break")

    def text(self, text: str) -> str:
        """Return a turn or a candidate as the export writes it; on one line if white space ends a turn."""
        return " ".join(text.split()) if self.turn_end.isspace() else text.strip()


_REGISTRY: Registry[Callable[[Sequence[Question], ExportSettings], Mapping[str, bytes]]] = Registry(
    __name__, "program", lambda module: module.files, typed=with_dashes
)


def list_export_names() -> list[str]:
    """Return the names of the programs that a test set can be exported to."""
    return _REGISTRY.names()


def check_program(name: str) -> None:
    """Raise an error if there is no export for a program of that name."""
    if name not in list_export_names():
        raise SpecError(f"there is no export for {name!r}; {nearest(name, list_export_names())}")


def make_task_name(source: str) -> str:
    """Make a task's name from the name of a file or a published set."""
    base = source.removeprefix("dataset:").removesuffix(".gz").removesuffix(".jsonl")
    task_name = re.sub(r"[^A-Za-z0-9]+", "_", base.replace("/", "_") if ":" in source else Path(base).name).strip("_")
    return task_name if _NAME.fullmatch(task_name) and not keyword.iskeyword(task_name) else f"set_{task_name}"


def export(
    testset: Sequence[Question] | str | Path, to: str, folder: str | Path, settings: ExportSettings | None = None
) -> list[Path]:
    """Write a test set for another program, and return the paths of the files.

    - ``testset``: questions, their file, or ``dataset:NAME``.
    - ``to``: the program: ``lm-eval`` or ``inspect``.
    - ``folder``: the folder to write to.
    - ``settings``: the task's name, and what ends a turn; by default, the task is named after the file.

    >>> import rejoinder
    >>> [path.name for path in rejoinder.export("testset.jsonl", "lm-eval", "task")]
    ['testset.yaml', 'testset.jsonl', 'testset_data.py']
    """
    check_program(to)
    settings = settings or ExportSettings(
        make_task_name(str(testset)) if isinstance(testset, str | Path) else "testset"
    )
    questions = list(read(testset).questions.values()) if isinstance(testset, str | Path) else testset
    folder = Path(folder)
    check_questions(questions, settings.name)
    contents = _REGISTRY.load(to)(questions, settings)
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: is a file; choose a folder to write to")
    for name, content in contents.items():
        with atomic_write(folder / name) as file:
            file.write(content)
    return [folder / name for name in contents]
