"""``rejoinder --help``: the commands in groups, by what a person wants to do.

A command's file defines what is shown of it: ``GROUP`` (one of the groups below), the summary (``short_help``), and
``COMMON`` (its place) if it is among the most used commands, which the first screen describes. The help reads these
from the text of the file: importing every command would take longer than Python itself takes to start.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from rejoinder.lab import COMMANDS
from rejoinder.registry import Registry, with_dashes

if TYPE_CHECKING:
    import click

MAX_WIDTH = 110  # of what is printed, in columns
SUMMARY = "Measure how good a chatbot's replies are. Start with: rejoinder score FILE"
SCORING = "Score and compare"
PEOPLE = "People"
TEST_SETS = "Test sets and ranking"
MODELS_AND_DATA = "Models and data"
SERVING = "Serving and help"
GROUPS = (SCORING, PEOPLE, TEST_SETS, MODELS_AND_DATA, SERVING)

# How a command's file writes them; one that writes them otherwise is imported instead.
_GROUP = re.compile(r"^GROUP = _help\.([A-Z_]+)$", re.MULTILINE)
_COMMON = re.compile(r"^COMMON = (\d+)$", re.MULTILINE)
_SUMMARY = re.compile(r'^@click\.(?:command|group)\((?:"([a-z]+)")?[^"\n]*short_help="([^"\\]+)"', re.MULTILINE)

_REGISTRY: Registry[ModuleType] = Registry(
    "rejoinder.cli",
    "command",
    lambda module: module,
    typed=with_dashes,
    from_entry_point=lambda entry: entry.load(),
    in_lab=COMMANDS,
)


class CommandEntry(NamedTuple):
    """What the help shows of a command."""

    name: str
    group: str
    summary: str
    common: int | None  # the place among the most used commands


def command_names() -> list[str]:
    """Return the name of every command, as it is typed."""
    return _REGISTRY.names()


def command_module(name: str) -> ModuleType | None:
    """Import the module of a command, ours or that of a plug-in; None if there is no such command."""
    return _REGISTRY.load(name) if name in _REGISTRY else None


def list_entries() -> list[CommandEntry]:
    """Return all commands, group by group."""
    entries = [_read_entry(name) or _import_entry(name) for name in command_names()]
    return sorted(
        entries, key=lambda entry: (_group_position(entry.group), entry.common or len(entries) + 1, entry.name)
    )


def _read_entry(name: str) -> CommandEntry | None:
    """Read what the help shows of a command from the text of its file; None where the text does not show it."""
    try:
        with open(_REGISTRY.find_file(name), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return None
    group, common = _GROUP.search(text), _COMMON.search(text)
    summaries = {typed or name: summary for typed, summary in _SUMMARY.findall(text)}
    if group is None or group[1] not in globals() or name not in summaries:
        return None
    return CommandEntry(name, globals()[group[1]], summaries[name], int(common[1]) if common else None)


def _import_entry(name: str) -> CommandEntry:
    module = command_module(name)
    summary = module.command.get_short_help_str(70) if module else ""
    return CommandEntry(name, getattr(module, "GROUP", ""), summary, getattr(module, "COMMON", None))


def first_screen(width: int | None = None) -> str:
    """Return the help of the program: the most used commands with summaries, the others by name, in 24 lines.

    It is as wide as the terminal unless ``width`` says otherwise, and written without click, which takes longer to
    import than everything else here.
    """
    entries = list_entries()
    width = width or max(min(shutil.get_terminal_size().columns, MAX_WIDTH) - 2, 50)
    common = sorted((entry.common, entry.name, entry.summary) for entry in entries if entry.common is not None)
    groups = [(group, ", ".join(_group_command_names(entries, group))) for group in GROUPS]
    return "\n".join(
        [
            *_wrap("[--version] [-h | --help] COMMAND [ARGUMENTS]...", width, "Usage: rejoinder "),
            "",
            *_wrap(SUMMARY, width, "  "),
            "\nMost used commands:",
            *_write_definitions([(name, summary) for _, name, summary in common], width),
            "\nAll commands:",
            *_write_definitions(groups, width),
            "",
            *_wrap("More: rejoinder help --all (every command), rejoinder COMMAND --help (one).", width),
            "",
        ]
    )


def _write_definitions(rows: list[tuple[str, str]], width: int) -> list[str]:
    """Two columns: what it is called, what it is."""
    column = max(len(name) for name, _ in rows) + 4
    return [line for name, text in rows for line in _wrap(text, max(width, column + 10), f"  {name}".ljust(column))]


def _wrap(text: str, width: int, first: str = "") -> list[str]:
    """Break a text into lines, all of them indented by the width of what is before the first."""
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=" " * len(first))


def write_all_commands(formatter: click.HelpFormatter) -> None:
    """Write all commands with their summaries, group by group."""
    entries = list_entries()
    for group in GROUPS:
        with formatter.section(group):
            formatter.write_dl([(entry.name, entry.summary) for entry in entries if entry.group == group])


def _group_command_names(entries: Iterable[CommandEntry], group: str) -> list[str]:
    return sorted(entry.name for entry in entries if entry.group == group)


def _group_position(group: str) -> int:
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)
