"""What the docs show: every block of code on every page, the commands in it, and the options of a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from rejoinder.cli import program
from tools.docsite.needs import commands, is_shell

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")])


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it shows, its text."""

    language: str
    name: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The commands that it shows, none where it is no shell block."""
        return commands(self.text) if is_shell(self.language, self.text) else []

    @property
    def output(self) -> list[str]:
        """What it shows of a command's output: the lines after a prompt."""
        lines = re.sub(r"\\\n\s*", "", self.text).splitlines()
        if not any(line.startswith("$ ") for line in lines):
            return []
        return [line.rstrip() for line in lines if line.strip() and not line.startswith("$ ")]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page in their order."""
    for info, text in re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        language, _, name = info.partition(" ")
        said = re.search(r"# (\w+\.toml)", text) if language == "toml" else None
        yield Block(language, name.strip() or (said[1] if said else ""), text)


def words(command: str) -> list[str]:
    """A command line as a shell cuts it, without its comment."""
    return shlex.split(command, comments=True)


def unknown_options(command: str) -> list[str]:
    """Options of a shown rejoinder command that it does not have; brackets of a synopsis are looked into."""
    typed = words(re.sub(r"[\[\]]|\.\.\.", " ", command) if re.search(r" \[-", command) else command)[1:]
    found: click.Command = program
    while isinstance(found, click.Group) and typed:
        inner = found.get_command(click.Context(found), typed[0])
        if inner is None:
            break
        found, typed = inner, typed[1:]
    known = {option for param in found.params for option in [*param.opts, *param.secondary_opts]} | {"-h", "--help"}
    return [word for word in typed if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known]


def is_synopsis(command: str) -> bool:
    """Whether a line shows what may be typed rather than something that is typed."""
    return " [-" in command
