"""What holds for every importer, and the command that runs them."""

from __future__ import annotations

import dataclasses
import gzip
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from importing import chat, imported, save

from rejoinder.cli.import_ import command
from rejoinder.data.collection import read_files
from rejoinder.data.importer import FLAGS
from rejoinder.data.importers import ImportOptions, ImportTally, importer, importer_names
from rejoinder.data.importers._ids import content_digest
from rejoinder.data.inputs import import_
from rejoinder.errors import InputError, SpecError

NAMES = importer_names()
DOCS = Path(__file__).parent.parent / "docs" / "importing.md"


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    """The command's exit status, output and error stream; errors of the user's are raised."""
    result = CliRunner().invoke(command, arguments, input=stdin, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def test_the_importers_that_were_promised_are_there() -> None:
    promised = (
        "openai anthropic chatgpt claude langfuse langsmith otel "
        "csv tsv parquet jsonl huggingface parlai convokit dailydialog dstc10"
    )
    assert set(promised.split()) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_importer_keeps_the_contract(name: str) -> None:
    found = importer(name)
    assert found.SUMMARY
    assert "\n" not in found.SUMMARY
    assert found.TAKES.issubset(field.name for field in dataclasses.fields(ImportOptions))


def test_every_option_has_a_flag_of_the_command() -> None:
    flags = {flag for option in command.params for flag in option.opts}
    assert set(FLAGS) == {field.name for field in dataclasses.fields(ImportOptions)} - {"unnamed", "file"}
    assert set(FLAGS.values()) <= flags


@pytest.mark.parametrize("name", NAMES)
def test_every_importer_is_documented_with_its_options(name: str) -> None:
    section = DOCS.read_text(encoding="utf-8").partition(f"\n## `{name}`")[2].partition("\n## ")[0]
    assert section, f"docs/importing.md has no section on {name}"
    takes = importer(name).TAKES
    assert {flag for option, flag in FLAGS.items() if option in takes} <= set(section.replace("`", " ").split())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [b"", b"\n", b"\x00\xff\xfe", b"\x1f\x8b\x08\x00", b"{", b"[[", b"42"])
def test_what_is_no_input_is_told_in_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "x.txt"
    file.write_bytes(content)
    for path in (file, tmp_path / "folder", tmp_path / "nothing"):
        with pytest.raises(InputError) as caught:
            list(import_(name, path))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["openai", "csv", "tsv", "jsonl", "dailydialog", "parlai", "dstc10"])
def test_a_gzip_file_that_ends_too_early_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"context,response\n" * 100)[:14])
    with pytest.raises(InputError, match="gzip"):
        list(import_(name, path))


def test_an_unknown_importer_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no importer is called 'openay'; did you mean 'openai'"):
        import_("openay", tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_an_importer_does_not_take_is_refused(tmp_path: Path, name: str) -> None:
    more = ("items", "drop", "test", ";", False, 3, "Sheet1", ("bot",), "requests.jsonl", "same", True, "keep", "drop")
    given = ImportOptions("x", (("text", "y"),), "|", "r", *more)
    for field in dataclasses.fields(ImportOptions):
        if field.name in FLAGS and field.name not in importer(name).TAKES:
            with pytest.raises(SpecError, match=f"does not take {FLAGS[field.name]}; it takes --"):
                import_(name, tmp_path, ImportOptions(**{field.name: getattr(given, field.name)}))


@pytest.mark.parametrize("options", [ImportOptions(max_turns=0), ImportOptions(system=""), ImportOptions(system=" ")])
def test_an_option_that_makes_no_sense_is_refused(tmp_path: Path, options: ImportOptions) -> None:
    with pytest.raises(SpecError):
        import_("openai", tmp_path, options)


def test_the_command_writes_what_can_be_read_and_tells_what_it_left_out(tmp_path: Path) -> None:
    log = chat("Hello!", "Hi.", "", "What?", model="parrot", id="c")
    path, out = save(tmp_path / "log.json", log), tmp_path / "out.jsonl.gz"
    status, output, told = run("openai", str(path), "-o", str(out))
    assert (status, output) == (0, "")
    assert told.splitlines() == [
        "openai: 2 items, 2 responses",
        "systems: parrot (2)",
        "left out: empty user messages (1)",
    ]
    assert list(read_files([out]).responses) == ["c/1/parrot", "c/2/parrot"]


def test_the_command_writes_to_standard_output_and_reads_standard_input() -> None:
    status, output, told = run("csv", "-", "--system", "x", stdin="context,response,note,index\nHello!,Hi.,n,1\n")
    assert status == 0
    assert [line.split('"')[3] for line in output.splitlines()] == ["item", "response"]
    assert told.splitlines()[-1] == "not used: index"


def test_nothing_is_written_when_an_import_fails(tmp_path: Path) -> None:
    path, out = save(tmp_path / "t.csv", "context,response\na,b\nc,\n"), tmp_path / "out.jsonl"
    with pytest.raises(InputError, match="line 3"):
        run("csv", str(path), "-o", str(out), "--system", "x")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv"]


def test_the_same_import_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", "context,response\na,b\na,c\nd,e\n")
    outputs = {run("csv", str(path), "--system", "x")[1] for _ in range(2)}
    assert len(outputs) == 1


def test_a_field_must_be_written_as_a_pair(tmp_path: Path) -> None:
    status, _, told = run("csv", str(tmp_path), "--field", "text")
    assert status == 2
    assert "'text' must be written KEY=COLUMN" in told


def test_the_help_names_every_format() -> None:
    _, output, _ = run("--help")
    assert all(f"  {name}" in output for name in NAMES)


def test_every_option_of_the_command_reaches_the_library(tmp_path: Path) -> None:
    path = save(tmp_path / "t.csv", 'c;s;x\na|b|"c";S;4\n')
    options = ["--delimiter", ";", "--no-quotes", "--separator", "|", "--max-turns", "1", "--rater", "ann"]
    fields = ["--field", "context=c", "--field", "response=s", "--field", "rating:fun=x", "--empty", "drop"]
    _, output, _ = run("csv", str(path), "--system", "z", *options, *fields)
    assert '"context":[{"text":"\\"c\\""}]' in output
    assert '"truncated":true' in output
    assert '"rater":"ann","aspect":"fun","value":4.0' in output


def test_a_tally_names_only_so_many(tmp_path: Path) -> None:
    header = ",".join(f"n{i:02}" for i in range(20))
    path = save(tmp_path / "t.csv", f"context,response,{header}\na,b,{',' * 19}\n")
    tally = ImportTally()
    imported("csv", path, tally, system="x")
    assert tally.summary("csv").endswith("n10, n11 and 8 more")


def examples() -> list[tuple[str, str, dict[str, str]]]:
    """Every command of the page with what it tells, and the files that its section shows."""
    found = []
    for section in DOCS.read_text(encoding="utf-8").split("\n## "):
        blocks = re.findall(r"```(\w+) ?(\S*)\n(.*?)```", section, re.DOTALL)
        files = {name: text.replace("<TAB>", "\t") for _, name, text in blocks if name}
        for kind, _, text in blocks:
            if kind == "console":
                line, _, told = text.partition("\n")
                found.append((line.removeprefix("$ rejoinder import "), told, files))
    return found


@pytest.mark.parametrize(("line", "told", "files"), examples(), ids=[line.split()[1] for line, _, _ in examples()])
def test_the_examples_of_the_page_are_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, told: str, files: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    assert run(*shlex.split(line)) == (0, "", told)


def test_the_page_shows_an_example_for_every_format_that_is_text() -> None:
    shown = {line.split()[0] for line, _, _ in examples()}
    assert shown == set(NAMES) - {"parquet", "huggingface", "xlsx"}


def test_the_digest_of_a_content_has_16_bytes() -> None:
    assert len(content_digest("Hello.", "Hi.")) == 16
