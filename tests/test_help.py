"""What the help texts name is there: commands, options, files' endings, specs and published sets."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from rejoinder.cli import _help, program
from rejoinder.data.datasets import datasets_under
from rejoinder.metric import parse
from rejoinder.selection.settings import SelectionSettings
from rejoinder.situation.settings import SituationSettings

CONTEXT = click.Context(program, info_name="rejoinder")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def commands(group: click.Group = program, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command that can be typed, with its words."""
    for name in group.list_commands(CONTEXT):
        found = group.get_command(CONTEXT, name)
        assert found is not None
        yield " ".join((*path, name)), found
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))


COMMANDS = dict(commands())


def help_of(name: str) -> str:
    """The help of a command as it is printed, on one line."""
    done = CliRunner().invoke(program, [*name.split(), "--help"], prog_name="rejoinder", terminal_width=1000)
    assert done.exit_code == 0
    return " ".join(done.stdout.split())


def named(text: str) -> set[str]:
    """The commands that a text names after the program's own name."""
    found = set()
    for words in re.findall(r"\brejoinder ((?:[a-z][a-z-]*[ .,;:)`]?)+)", text.replace("Usage: rejoinder", "")):
        first, *rest = re.split(r"[ .,;:)`]+", words.strip())
        command = COMMANDS.get(first)
        found.add(f"{first} {rest[0]}" if isinstance(command, click.Group) and rest and rest[0] else first)
    return found


def params_of(*names: str) -> list[click.Parameter]:
    """Every option and argument of some commands."""
    return [one for name in names for one in COMMANDS[name].params]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_help_text_names_is_there(name: str) -> None:
    text = help_of(name)
    others = named(text)
    assert others <= COMMANDS.keys()
    assert set(OPTION.findall(text)) - {"--help"} <= {
        word for one in params_of(name, *others) for word in (*one.opts, *one.secondary_opts)
    }
    for option in re.findall(r"(--[a-z-]+) [A-Z]{3,}", COMMANDS[name].help or ""):
        assert any(option in one.opts and not getattr(one, "is_flag", False) for one in params_of(name, *others))
    for dataset in re.findall(r"dataset:([a-z0-9_]+(?:/[a-z0-9_]+)*)", text):
        assert dataset == "knowledge" or datasets_under(dataset)  # files of another kind, see docs/augmenting.md


@pytest.mark.parametrize(("name", "settings"), [("build", SelectionSettings), ("situate build", SituationSettings)])
def test_every_setting_with_a_help_text_is_an_option_with_the_same_default(name: str, settings: Any) -> None:
    options = {one.name: one for one in params_of(name) if isinstance(one, click.Option)}
    for field in dataclasses.fields(settings):
        if "help" in field.metadata:
            assert options[field.name].help == field.metadata["help"]
            assert options[field.name].get_default(CONTEXT) == field.default


@pytest.mark.parametrize("name", [name for name, one in COMMANDS.items() if isinstance(one, click.Group)])
def test_the_short_help_of_a_group_lists_commands_of_it(name: str) -> None:
    group = COMMANDS[name]
    assert isinstance(group, click.Group)
    _, colon, listed = group.get_short_help_str(200).partition(": ")
    if colon:
        assert set(listed.split(", ")) <= set(group.list_commands(CONTEXT))


def test_the_program_and_every_command_say_what_they_do() -> None:
    assert all(command.get_short_help_str() for command in COMMANDS.values())


def test_every_command_is_in_a_group_and_says_what_it_does() -> None:
    entries = _help.list_entries()
    assert {entry.name for entry in entries} == set(program.list_commands(CONTEXT))
    assert {entry.group for entry in entries} == set(_help.GROUPS)
    places = sorted(entry.common for entry in entries if entry.common is not None)
    assert places == list(range(1, len(places) + 1))
    for entry in entries:
        assert entry.summary
        assert not entry.summary.endswith("..."), f"the summary of {entry.name} is too long"


def test_what_the_help_reads_from_the_text_of_a_command_is_what_its_module_defines() -> None:
    for name in program.list_commands(CONTEXT):
        assert _help._read_entry(name) == _help._import_entry(name)


@pytest.mark.parametrize(("columns", "width"), [(40, 50), (60, 58), (80, 78), (130, 108)])
def test_the_first_screen_is_as_wide_as_the_terminal(columns: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = _help.first_screen()
    assert max(map(len, shown.splitlines())) <= width
    assert shown == CliRunner().invoke(program, ["--help"], prog_name="rejoinder", terminal_width=width).output


@pytest.mark.parametrize("words", [["--help"], ["help"], []])
def test_the_first_screen_of_help_fits_a_terminal_and_names_every_command(words: list[str]) -> None:
    shown = CliRunner().invoke(program, words, prog_name="rejoinder", terminal_width=80).output
    lines = shown.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert set(program.list_commands(CONTEXT)) <= set(re.findall(r"[a-z]+", shown))
    assert lines[5].split()[0] == "score"


def test_help_describes_every_command_or_one() -> None:
    described = CliRunner().invoke(program, ["help", "--all"], prog_name="rejoinder", terminal_width=80)
    for entry in _help.list_entries():
        assert re.search(rf"^  {entry.name} +{re.escape(entry.summary)}$", described.output, re.MULTILINE)
    for name in ("score", "index build"):
        one = CliRunner().invoke(program, ["help", *name.split()], prog_name="rejoinder")
        assert one.output == CliRunner().invoke(program, [*name.split(), "--help"], prog_name="rejoinder").output
    for words, message in (
        (["scroe"], "no command is called 'scroe'; did you mean 'score'"),
        (["score", "more"], "rejoinder score has no commands of its own; leave out 'more'"),
        (["score", "--all"], "--all describes every command"),
    ):
        refused = CliRunner().invoke(program, ["help", *words], prog_name="rejoinder")
        assert refused.exit_code == 2
        assert message in refused.output


# What these write into: the terminal, the cache, a folder that is named by an argument.
NO_OUTPUT = set("agreement cache check compare doctor estimate explain help power serve trust".split()) | {
    "data get", "data show", "index add", "index check", "index search", "models get", "models list", "models path",
    "shards catalogue", "shards check",
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n, c in COMMANDS.items() if not isinstance(c, click.Group)])
def test_every_command_that_writes_has_the_same_output_option(name: str) -> None:
    options = [one for one in COMMANDS[name].params if "--output" in one.opts]
    if name in NO_OUTPUT or name.startswith("list "):
        assert not options
        return
    (option,) = options
    assert (option.name, option.opts) == ("output", ["-o", "--output"])


@pytest.mark.parametrize("option", ["-o", "--output"])
def test_both_names_of_the_output_option_work(option: str, tmp_path: Path) -> None:
    chats = str(Path(__file__).parent.parent / "examples" / "chats.jsonl")
    done = CliRunner().invoke(program, ["score", chats, "-m", "length", option, str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run" / "run.json").exists()
    joined = f"{option}{'' if option == '-o' else '='}{tmp_path / 'run.html'}"
    assert CliRunner().invoke(program, ["report", str(tmp_path / "run"), joined]).exit_code == 0
    assert (tmp_path / "run.html").exists()
    missing = CliRunner().invoke(program, ["embed", chats])
    assert "Missing option '-o' / '--output'." in missing.output


def test_a_new_command_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rejoinder.cli

    (tmp_path / "shout.py").write_text(
        "import click\n"
        "from rejoinder.cli import _help\n"
        "GROUP = _help.SERVING\n"
        "@click.command(short_help='Shout a word')\n"
        "@click.argument('word')\n"
        "def command(word):\n"
        "    click.echo(word.upper())\n"
    )
    monkeypatch.setattr(rejoinder.cli, "__path__", [*rejoinder.cli.__path__, str(tmp_path)])
    assert CliRunner().invoke(program, ["shout", "hello"]).output == "HELLO\n"
    assert "help, serve, shout" in CliRunner().invoke(program, ["--help"]).output
    assert "shout   Shout a word" in CliRunner().invoke(program, ["help", "--all"]).output


def test_the_specs_that_help_texts_give_as_examples_can_be_typed() -> None:
    quoted = [spec for name in COMMANDS for spec in re.findall(r"-m \"?([a-z_]+(?:\([^)]*\))?)", help_of(name))]
    assert {"idk(folder='FOLDER')", "ssrem(folder='FOLDER')", "nup"} <= set(quoted)
    for spec in [*quoted, "bleu", "bleu(n=2)", "aptness(model='bi')"]:
        parse(spec)


def test_the_models_are_listed_by_a_command_of_that_name() -> None:
    for form in ("text", "json"):
        alone, by_name = (
            CliRunner().invoke(program, words)
            for words in (["models", "--format", form], ["models", "list", "--format", form])
        )
        assert by_name.exit_code == 0
        assert by_name.stdout == alone.stdout
        assert "minilm" in by_name.stdout


def test_the_ending_of_a_report_decides_its_form(tmp_path: Path) -> None:
    run = tmp_path / "run"
    chats = str(Path(__file__).parent.parent / "examples" / "chats.jsonl")
    assert CliRunner().invoke(program, ["score", chats, "-m", "length", "-o", str(run)]).exit_code == 0
    for ending, form in ((".csv", "csv"), (".md", "markdown"), (".json", "json"), (".html", "html")):
        file = tmp_path / f"report{ending}"
        assert CliRunner().invoke(program, ["report", str(run), "-o", str(file)]).exit_code == 0
        shown = CliRunner().invoke(program, ["report", str(run), "--format", form, "-o", "-"]).stdout
        assert file.read_text().strip() == shown.strip()


@pytest.mark.parametrize(
    "words", ["score F -m length -m bleu -o again --dialogues", "compare run", "trust run --resamples 100"]
)
def test_json_is_one_value_and_csv_tells_its_tables_apart(tmp_path: Path, words: str) -> None:
    chats = str(Path(__file__).parent.parent / "examples" / "chats.jsonl")
    names = {"F": chats, "run": str(tmp_path / "run"), "again": str(tmp_path / "again")}
    assert (
        CliRunner().invoke(program, ["score", chats, "-m", "length", "-m", "bleu", "-o", names["run"]]).exit_code == 0
    )
    given = [names.get(word, word) for word in words.split()]
    tables = json.loads(CliRunner().invoke(program, [*given, "--format", "json"]).stdout)
    assert len(tables) > 1
    titles = re.findall("^# (.+)$", CliRunner().invoke(program, [*given, "--format", "csv"]).stdout, re.M)
    assert titles == [table["title"] for table in tables]


@pytest.mark.parametrize(
    "words",
    [
        "score {f} -o x.csv", "score {f} --report x.json", "report {f} --format html -o x.csv", "judge {f} -o x.csv",
        "arena {f} -o x.csv",
        "import csv {f} -o x.csv", "aggregate {f} -o x.parquet", "propose {f} --corpus {f} --source bm25 -o x.csv",
        "augment {f} -o x.csv.gz", "augment {f} --review x.xlsx", "build x.csv --from {f} --repository {f}",
        "label {f} --suggest -o x.csv", "label {f} --for-people x.xlsx", "rank {f} --write x.csv",
        "select {f} -o x.json",
        "shards write {f} -o x.csv", "speakers {f} -o x.png", "attack {f} -o x.csv", "situate seeds {f} -o x.csv",
        "situate build {f} -o x.csv", "data write dailydialog -o x.csv", "next {f} -o x.html",
    ],
)  # fmt: skip
def test_a_name_that_ends_like_another_format_is_refused(tmp_path: Path, words: str) -> None:
    (tmp_path / "f.jsonl").write_text("")
    done = CliRunner().invoke(program, [word.format(f=tmp_path / "f.jsonl") for word in words.split()])
    assert done.exit_code == 2
    assert re.search(r"x\.\w+(\.gz)?: \.\w+ means .+, but the output is .+; ", done.output)
