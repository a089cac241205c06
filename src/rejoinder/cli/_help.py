"""``rejoinder --help``: the commands in groups, by what a person wants to do.

A command's file defines what is shown of it: ``GROUP`` (one of the groups below), the summary (``short_help``), and
``COMMON`` (its place) if it is among the most used commands, which the first screen describes.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import NamedTuple

import click

from rejoinder.registry import Registry, with_dashes

SCORING = "Score and compare"
PEOPLE = "People"
TEST_SETS = "Test sets and ranking"
MODELS_AND_DATA = "Models and data"
SERVING = "Serving and help"
GROUPS = (SCORING, PEOPLE, TEST_SETS, MODELS_AND_DATA, SERVING)

_REGISTRY: Registry[ModuleType] = Registry("rejoinder.cli", "command", lambda module: module, typed=with_dashes)


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
    """Import the module of a command; None if there is no such command."""
    return _REGISTRY.load(name) if name in _REGISTRY else None


def list_entries() -> list[CommandEntry]:
    """Return all commands, group by group."""
    entries = []
    for name in command_names():
        module = command_module(name)
        summary = module.command.get_short_help_str(70) if module else ""
        entries.append(CommandEntry(name, getattr(module, "GROUP", ""), summary, getattr(module, "COMMON", None)))
    return sorted(
        entries, key=lambda entry: (_group_position(entry.group), entry.common or len(entries) + 1, entry.name)
    )


def write_first_screen(formatter: click.HelpFormatter, summary: str) -> None:
    """Write the help of the program: the most used commands with summaries, the others by name, in 24 lines."""
    entries = list_entries()
    formatter.write_usage("rejoinder", "[--version] [-h | --help] COMMAND [ARGUMENTS]...")
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(summary)
    with formatter.section("Most used commands"):
        common = sorted((entry.common, entry.name, entry.summary) for entry in entries if entry.common is not None)
        formatter.write_dl([(name, summary) for _, name, summary in common])
    with formatter.section("All commands"):
        formatter.write_dl([(group, ", ".join(_group_command_names(entries, group))) for group in GROUPS])
    formatter.write_paragraph()
    formatter.write_text("More: rejoinder help --all (every command), rejoinder COMMAND --help (one).")


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
