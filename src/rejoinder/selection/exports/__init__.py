"""Test sets for other evaluation programs, one file a program; the folder is the registry.

A module has ``SUMMARY`` and ``files(questions, settings)``: the files to write, by name, with their content.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.data.inputs import read
from rejoinder.errors import InputError, RunError, SpecError, nearest
from rejoinder.files import atomic_write
from rejoinder.registry import list_modules, load_module
from rejoinder.selection.result import check_questions
from rejoinder.types import Question

PACKAGE = "rejoinder.selection.exports"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ExportSettings:
    """What an export can be told: the task's name, and what ends a turn where turns become one text."""

    name: str
    turn_end: str = "\n"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or keyword.iskeyword(self.name):
            raise InputError(
                f"a task cannot be called {self.name!r}; take a letter, then letters, digits and underscores (and no "
                "word of Python's own)"
            )
        if not self.turn_end:
            raise InputError("what ends a turn cannot be nothing; leave it out for a line break")

    def text(self, text: str) -> str:
        """A turn or a candidate as it stands in the export; between white space it is one line."""
        return " ".join(text.split()) if self.turn_end.isspace() else text.strip()


def list_export_names() -> list[str]:
    """The programs that a test set can leave for."""
    return sorted(name.rstrip("_").replace("_", "-") for name in list_modules(PACKAGE))


def check_program(name: str) -> None:
    """Raise where a test set cannot leave for a program of that name."""
    if name not in list_export_names():
        raise SpecError(f"no program is called {name!r}; {nearest(name, list_export_names())}")


def make_task_name(source: str) -> str:
    """A task's name from the name of a file or a published set."""
    base = source.removeprefix("dataset:").removesuffix(".gz").removesuffix(".jsonl")
    task_name = re.sub(r"[^A-Za-z0-9]+", "_", base.replace("/", "_") if ":" in source else Path(base).name).strip("_")
    return task_name if _NAME.fullmatch(task_name) and not keyword.iskeyword(task_name) else f"set_{task_name}"


def export(
    testset: Sequence[Question] | str | Path, to: str, folder: str | Path, settings: ExportSettings | None = None
) -> list[Path]:
    """The files that a test set is written to for another program.

    - ``testset``: questions, their file, or ``dataset:NAME``.
    - ``to``: the program: ``lm-eval`` or ``inspect``.
    - ``folder``: the folder to write to.
    - ``settings``: the task's name, and what ends a turn; the name of the file where nothing is said.

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
    modules = {name.rstrip("_").replace("_", "-"): name for name in list_modules(PACKAGE)}
    contents: Mapping[str, bytes] = load_module(PACKAGE, modules.get(to, to), "export").files(questions, settings)
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: is a file; name a folder to write to")
    for name, content in contents.items():
        with atomic_write(folder / name) as file:
            file.write(content)
    return [folder / name for name in contents]
