"""The reference of the commands, read off their own help texts."""

from __future__ import annotations

import re

import click

from rejoinder.cli import program
from tools.docsite.page import Page


def command_pages() -> list[Page]:
    """A page of all commands, then one for each."""
    context = click.Context(program, info_name="rejoinder")
    found = {name: program.get_command(context, name) for name in program.list_commands(context)}
    pages = []
    for name, command in found.items():
        assert command is not None  # list_commands names what there is
        text = f"# `rejoinder {name}`\n\n" + "\n".join(_described(command, f"rejoinder {name}"))
        pages.append(Page(f"site/commands/{name}", f"commands/{name}.html", text, f"{name}", made=True))
    rows = [f"| `rejoinder {name}` | {_cell(c.get_short_help_str(200))} |" for name, c in found.items() if c]
    text = "\n".join(
        ["# Commands", "", "Every command says the same with `--help`.", "", "| | |", "|---|---|", *rows, ""]
    )
    return [Page("site/commands", "commands/index.html", text, "All commands", made=True), *pages]


def _described(command: click.Command, path: str, level: int = 2) -> list[str]:
    parent = click.Context(click.Command(path.rpartition(" ")[0]), info_name=path.rpartition(" ")[0])
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = ["```text", f"{path} {usage}", "```", "", _prose(command.help or ""), ""]
    given = [param for param in command.get_params(context) if param.name != "help"]
    records = [record for param in given if (record := param.get_help_record(context)) and record[1]]
    if records:
        lines += ["| option | what it does |", "|---|---|"]
        lines += [f"| `{_cell(option)}` | {_cell(said)} |" for option, said in records]
        lines += [""]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                lines += [f"{'#' * level} `{path} {name}`", "", *_described(inner, f"{path} {name}", level + 1)]
    return lines


def _prose(text: str) -> str:
    """A help text as Markdown: what click must not wrap becomes a block of its own."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    shown = []
    for paragraph in paragraphs:
        if paragraph.lstrip().startswith("\b"):
            kept = paragraph.lstrip().removeprefix("\b").strip("\n")
            shown.append(f"```text\n{kept}\n```")
        else:
            shown.append(" ".join(_escaped(paragraph).split()))
    return "\n\n".join(shown)


def _escaped(text: str) -> str:
    """Signs that mean something in Markdown as they are, but for what stands between backticks."""
    parts = text.split("`")
    return "`".join(re.sub(r"([\\*_\[\]<])", r"\\\1", part) if at % 2 == 0 else part for at, part in enumerate(parts))


def _cell(text: str) -> str:
    flat = " ".join(text.split())
    return flat.replace("|", "\\|")
