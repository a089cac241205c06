"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import click

if TYPE_CHECKING:
    from dataclasses import Field

    from rejoinder.engines.base import Engine

table_format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "html", "latex", "csv", "json"]),
    default="text",
    show_default=True,
    help="The format of printed tables.",
)
_ENDING_NAMES = {
    ".csv": "CSV", ".tsv": "TSV", ".xlsx": "a spreadsheet", ".parquet": "Parquet", ".json": "one JSON value",
    ".jsonl": "JSONL", ".txt": "plain text", ".md": "Markdown", ".html": "HTML", ".tex": "LaTeX", ".toml": "TOML",
    ".svg": "an SVG image", ".png": "a PNG image", ".pdf": "PDF", ".npy": "vectors",
}  # fmt: skip


class OutputPath(click.Path):
    """The name of a file or folder to write, whose ending must not be that of another format."""

    def __init__(self, content: str, *endings: str, path_type: type[Any] | None = None) -> None:
        super().__init__(path_type=path_type)
        self.content, self.endings = content, endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name; it is an error if its ending is that of another format."""
        self.check(str(value), param, ctx)
        return super().convert(value, param, ctx)

    def check(self, name: str, param: click.Parameter | None = None, ctx: click.Context | None = None) -> None:
        """Raise an error if a name has the ending of another format."""
        ending = PurePath(name.removesuffix(".gz")).suffix.lower()
        if ending in _ENDING_NAMES and ending not in self.endings:
            advice = f"end the name in {' or '.join(self.endings)}" if self.endings else f"leave out {ending}"
            self.fail(
                f"{name}: {ending} means {_ENDING_NAMES[ending]}, but the output is {self.content}; {advice}",
                param,
                ctx,
            )


def records_output(path_type: type[Any] | None = None) -> OutputPath:
    """A JSONL file: records, or other objects, one per line."""
    return OutputPath("JSONL", ".jsonl", path_type=path_type)


def run_output(path_type: type[Any] | None = None) -> OutputPath:
    """The folder of a run."""
    return OutputPath("a folder", path_type=path_type)


page_output = OutputPath("an HTML page", ".html", path_type=Path)
sheet_output = OutputPath("CSV", ".csv")
project_output = OutputPath("a project in TOML", ".toml")
source_argument = click.argument("source", metavar="FILE")
without_option = click.option(
    "--without", multiple=True, metavar="RATER", help="Leave out this rater; may be repeated."
)
by_option = click.option(
    "--by",
    metavar="NAME",
    help="Also means per slice of the replies: meta.KEY (of the response or its item), turns, length, ...",
)


def ignore_signatures_option(run: str) -> Callable[[Any], Any]:
    """An option for comparing with another run although a metric's signatures differ."""
    return click.option(
        "--ignore-signatures",
        is_flag=True,
        help=f"With {run}: compare although a metric's signatures differ (other weights, version or parameters).",
    )


def settings_options(settings: type[Any], *names: str) -> Callable[[Any], Any]:
    """Add an option for each of these fields of a settings dataclass, by default for all that have a help text.

    The option has the field's name, type and default. The field's metadata has ``help``, the bounds of a number
    (``least``, or ``above``, and ``most``), and perhaps a ``metavar``.
    """
    from dataclasses import fields

    hints = get_type_hints(settings)
    named = {one.name: one for one in fields(settings) if "help" in one.metadata}

    def add_options(command: Any) -> Any:
        for name in reversed(names or tuple(named)):
            command = _settings_option(named[name], hints[name])(command)
        return command

    return add_options


def _settings_option(setting: Field[Any], hint: Any) -> Callable[[Any], Any]:
    about = setting.metadata
    attributes = {name: about[name] for name in ("help", "metavar") if name in about}
    least, most = about.get("least", about.get("above")), about.get("most")
    is_shown = setting.default is not None and hint is not bool
    attributes |= {"default": setting.default, "show_default": is_shown, "is_flag": hint is bool}
    if get_origin(hint) is Literal:
        attributes["type"] = click.Choice(get_args(hint))
    elif hint is float:
        attributes["type"] = click.FloatRange(least, most, min_open="above" in about)
    elif hint in (int, int | None):
        attributes["type"] = click.IntRange(least, most)
    return click.option(f"--{setting.name.replace('_', '-')}", **attributes)


seed_option = click.option("--seed", default=0, show_default=True, help="The seed for resampling and sampling.")


VERBOSE = "rejoinder.verbose"  # where a command remembers that it was typed with -v
verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, value: context.meta.update({VERBOSE: value}),
    help="Also print what it cost: seconds and bytes per thousand rows.",
)


def output_option(
    kind: click.ParamType[Any],
    description: str,
    *,
    metavar: str = "FILE",
    required: bool = False,
    default: str | Path | None = None,
    show_default: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``-o/--output``: where a command writes its result."""
    # A default of None would end the check for required.
    usual: dict[str, Any] = {} if default is None else {"default": default}
    return click.option(
        "-o",
        "--output",
        type=kind,
        metavar=metavar,
        required=required,
        show_default=show_default,
        help=description,
        **usual,
    )


def records_output_option(required: bool = True, metavar: str = "FILE") -> Callable[..., Callable[..., Any]]:
    """``-o/--output`` of a command that writes records: required, or else standard output."""
    usual = "" if required else " [standard output]"
    return output_option(
        records_output(),
        f'The JSONL file to write{usual}; "-" is standard output, *.gz is compressed.',
        metavar=metavar,
        required=required,
        default=None if required else "-",
    )


def folder_output_option(required: bool = True, usual: str = "") -> Callable[..., Callable[..., Any]]:
    """``-o/--output`` of a command that writes a new folder."""
    description = "The folder to write" + (f" [{usual}]." if usual else ".")
    return output_option(click.Path(path_type=Path), description, metavar="FOLDER", required=required)


def _parse_fields(ctx: click.Context, param: click.Parameter, options: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for pair in options:
        key, equals, column = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} must be written KEY=COLUMN, e.g. text=reply", ctx, param)
        pairs.append((key, column))
    return tuple(pairs)


_TABLE_OPTIONS = {
    "chain": click.option(
        "--chain",
        is_flag=True,
        help="Read the rows of a conversation, each one turn and its reply, as one dialogue in the order of the file.",
    ),
    "repeats": click.option(
        "--repeats",
        type=click.Choice(["same", "apart"]),
        help="What rows with the same context, system and reply are, where no column has an id or a rater: one reply "
        "(same), or replies of their own (apart).",
    ),
    "last_turn": click.option(
        "--last-turn",
        type=click.Choice(["drop", "keep"]),
        help="What to do with a bot's turn at the end of a context [drop it if it is the reply].",
    ),
    "markup": click.option(
        "--markup",
        type=click.Choice(["strip", "keep"]),
        default="strip",
        show_default=True,
        help="What to do with tags of chat templates, <think> blocks, and Human: and Assistant: in a text.",
    ),
    "bots": click.option(
        "--bot",
        "bots",
        multiple=True,
        metavar="NAME",
        help="An author whose messages are replies, if each row is a message [found by the name]; may be repeated.",
    ),
    "sheet": click.option(
        "--sheet", metavar="NAME", help="The sheet of a spreadsheet [the first], or the list in a JSON object."
    ),
    "separator": click.option(
        "--separator", metavar="TEXT", help=r"The text between the turns of a context in one cell, e.g. '\n'."
    ),
    "fields": click.option(
        "--field",
        "fields",
        multiple=True,
        callback=_parse_fields,
        metavar="KEY=COLUMN",
        help="The column or key of the file that holds KEY: context, reference, response (or response:SYSTEM), "
        "system, item, dialogue, rater, aspect or rating:ASPECT (ann,ben or rater_* for one column per rater) "
        "[found by its name]; may be repeated.",
    ),
    "system": click.option("--system", metavar="NAME", help="The system that wrote the replies [as the file says]."),
}


def table_options(command: Callable[..., Any], without: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Add the options that say how to read a file in another format: --system, --field, --separator and the like."""
    for name, option in _TABLE_OPTIONS.items():
        command = command if name in without else option(command)
    return command


def input_options(*without: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``table_options`` for the files that the arguments of a command name; the command itself does not see them.

    An option of the command that has the same name is named in ``without``.
    """

    def add_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run_with_options(**parameters: Any) -> Any:
            from rejoinder.data.importers import ImportOptions
            from rejoinder.data.inputs.options import use_input_options

            options = ImportOptions(**{name: parameters.pop(name) for name in _TABLE_OPTIONS if name not in without})
            if options == ImportOptions():
                return command(**parameters)
            arguments = [param for param in click.get_current_context().command.params if param.name in parameters]
            values = [parameters[str(one.name)] for one in arguments if isinstance(one, click.Argument)]
            names = [name for value in values for name in (value if isinstance(value, tuple) else (value,))]
            with use_input_options(options, [str(name) for name in names if name is not None]):
                return command(**parameters)

        return table_options(run_with_options, without)

    return add_options


def engine_options(usual: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --engine, --address, --processes and --verbose; ``usual`` describes the default number of processes."""

    def add_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            verbose_option,
            click.option("--processes", type=click.IntRange(min=1), help=f"How many processes or workers [{usual}]."),
            click.option(
                "--address",
                metavar="HOST:PORT",
                help="The address of a running Ray cluster [start one on this machine].",
            ),
            click.option(
                "--engine",
                type=click.Choice(["local", "ray"]),
                default="local",
                show_default=True,
                help="Where the work is done: processes on this machine, or a Ray cluster.",
            ),
        ):
            command = option(command)
        return command

    return add_options


def choose_engine(name: str, processes: int | None, address: str | None) -> Engine:
    """Open the engine; without --processes only this process, since models use all cores themselves."""
    from rejoinder.engines.factory import open_engine

    return open_engine(name, processes or (1 if name == "local" else None), address)
