"""File shapes that people have: each goes straight into ``score``, and exactly one importer claims it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import pickle
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.data.collection import Collection
from rejoinder.data.tables.detection import list_claims, sample_file
from rejoinder.errors import RejoinderError

SHAPES = Path(__file__).parent / "shapes"
DOCS = Path(__file__).parent.parent / "docs" / "importing.md"
_ROW = re.compile(r"^\| [^|]+ \| `([^`|]+)` \| `(\w+)` \|", re.MULTILINE)
# What files that belong to another, or are in our schema, are not recognised as.
UNCLAIMED = {"own.jsonl", "contexts.txt", "replies.txt", "references.txt"}
# Objects around rows, which are recognised once the rows are out of them.
UNCLAIMED |= {"wrapped.json", "pandas_split.json", "conversations.json"}


def documented() -> dict[str, str]:
    """Every input of the table in the docs, with the importer that reads it."""
    return dict(_ROW.findall(DOCS.read_text(encoding="utf-8")))


def require(name: str) -> None:
    """Skip where what reads the file is not installed."""
    for ending, module in ((".xlsx", "openpyxl"), (".parquet", "pyarrow")):
        if name.endswith(ending) and importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def locate(name: str) -> str:
    """The input with the folder of the shapes before each of its files."""
    if name.startswith("text:"):
        return "text:" + ",".join(str(SHAPES / part) for part in name.removeprefix("text:").split(","))
    return str(SHAPES / name)


def files_of(name: str) -> list[str]:
    """The files of an input: two that are scored together have a space between them."""
    return name.removeprefix("text:").replace(",", " ").split()


def read(name: str, **options: object) -> Collection:
    require(name)
    return rejoinder.read(locate(name), options=rejoinder.data.ImportOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", documented())
def test_every_shape_of_the_table_goes_straight_into_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    require(name)
    monkeypatch.chdir(tmp_path)
    inputs = [locate(part) for part in name.split()]
    done = CliRunner().invoke(program, ["score", *inputs, "-m", "length", "--processes", "1", "-o", "run"])
    assert done.exit_code == 0, done.output
    format_name = documented()[name]
    if format_name != "rejoinder":
        assert f": read as {format_name}" in done.stderr


def test_every_file_of_the_folder_is_in_the_table() -> None:
    shown = {part for name in documented() for part in files_of(name)}
    assert {path.name for path in SHAPES.iterdir()} <= shown
    assert len(documented()) >= 25


@pytest.mark.parametrize("path", sorted(SHAPES.iterdir()), ids=lambda path: path.name)
def test_exactly_one_importer_recognises_each_shape(path: Path) -> None:
    require(path.name)
    sample = sample_file(path, path.name)
    names = list_claims(sample)
    assert len(names) == (0 if path.name in UNCLAIMED else 1), names
    if names:
        assert names[0] in {format_name for name, format_name in documented().items() if path.name in files_of(name)}


@pytest.mark.parametrize(
    "name",
    ["comma.csv", "bom.csv", "utf16.csv", "semicolon.csv", "pipe.csv", "excel.csv", "tabs.tsv", "zipped.csv.gz",
     "array.json", "rows.jsonl", "rows.parquet", "sheet.xlsx", "utf16.jsonl", "utf16_plain.json", "wrapped.json",
     "pandas_columns.json", "pandas_split.json", "commas.jsonl", "titled.csv", "table.md"],
)  # fmt: skip
def test_a_table_holds_the_same_in_every_form(name: str) -> None:
    data, model = read(name), read("comma.csv")
    assert data.items == model.items
    assert data.responses == model.responses
    assert {response.system for response in data.responses.values()} == {"v1", "v2"}


def test_accents_of_cp1252_and_the_name_of_the_file() -> None:
    data = read("cp1252.csv")
    assert [r.text for r in data.responses.values()] == ["Juste à côté de l’église.", "Vierzig Cent – wie immer."]
    assert {r.system for r in data.responses.values()} == {"cp1252"}
    assert data.imported[0].endswith("prompt -> context, system = cp1252 (not in the file); left out: nothing")


def test_html_of_a_help_desk_becomes_text() -> None:
    data = read("help_desk.csv")
    assert [r.text for r in data.responses.values()] == [
        "It left this morning.\nLook here: tracking",
        "Yes – small loaves.",
    ]
    contexts = [[turn.text for turn in item.context] for item in data.items.values()]
    assert contexts == [["Where is my order?\nIt is number 12 & 13."], ["Do you have rye <1 kg?"]]
    assert "HTML tags removed from 3 texts of body" in data.imported[0]


def test_a_sheet_is_chosen_by_its_name() -> None:
    assert [r.text for r in read("sheet.xlsx", sheet="Notes").responses.values()] == ["It is."]
    assert [rating.value for rating in read("sheet.xlsx").ratings] == [1, 2, 3, 4]
    with pytest.raises(RejoinderError, match="has no sheet 'Nots'; did you mean 'Notes'"):
        read("sheet.xlsx", sheet="Nots")


def test_the_sheet_with_the_replies_is_found_behind_others(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")

    def save_book(name: str, **sheets: list[list[str]]) -> Path:
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    readme = [["Read me"], ["This book has answers."]]
    answers, survey = [["prompt", "answer"], ["Rye?", "Yes."]], [["Frage", "Antwort"], ["Brot?", "Ja."]]
    data = rejoinder.read(save_book("a.xlsx", Readme=readme, Data=answers, Notes=readme))
    assert [response.text for response in data.responses.values()] == ["Yes."]
    assert "sheet = Data; left out: other sheets: 'Readme, Notes' (2)" in data.imported[0], data.imported[0]
    both = save_book("b.xlsx", Readme=readme, May=answers, June=answers)
    with pytest.raises(RejoinderError, match=r"'Readme' is no table of replies, and several .* --sheet May"):
        rejoinder.read(both)
    named = save_book("c.xlsx", Readme=readme, Mai=survey, Answers=answers)
    fields = (("context", "Frage"), ("response", "Antwort"))
    options = rejoinder.data.ImportOptions(fields=fields)
    assert [response.text for response in rejoinder.read(named, options=options).responses.values()] == ["Ja."]
    only = save_book("d.xlsx", Readme=readme, Mai=survey)
    with pytest.raises(RejoinderError, match=r"this is the sheet 'Readme', --sheet reads another: 'Mai'"):
        rejoinder.read(only)


def test_a_spreadsheet_without_its_library_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(RejoinderError, match=r'sheet.xlsx: .* needs openpyxl; .*: pip install "rejoinder\[xlsx\]"'):
        rejoinder.read(SHAPES / "sheet.xlsx")


def test_thumbs_are_ratings_of_people_without_names() -> None:
    data = read("thumbs.csv")
    assert [(r.rater, r.aspect, r.value) for r in data.ratings] == [
        ("unnamed:1", "thumbs", 1.0), ("unnamed:1", "thumbs", 0.0), ("unnamed:1", "thumbs", 0.0)
    ]  # fmt: skip
    assert len(data.responses) == 3


def test_replies_may_have_references_and_no_context() -> None:
    data = read("quality.csv")
    assert [r.system for r in data.responses.values()] == ["1.2", "1.2"]
    assert [item.references[0].text for item in data.items.values()] == ["It opens at seven.", "Yes, we have rye."]


def test_messages_are_a_context_without_the_system_prompt() -> None:
    (item,) = read("history.jsonl").items.values()
    assert [turn.text for turn in item.context] == ["Hello!", "Good morning.", "One rye loaf, please."]
    assert item.meta == {"system_prompt": "You sell bread."}
    (item,) = read("exchanges.jsonl").items.values()
    assert [turn.text for turn in item.context][-1] == "Still warm."
    assert (item.dialogue, len(item.references)) == ("c1", 1)
    (item,) = read("cells.csv").items.values()
    assert [(turn.speaker, turn.text) for turn in item.context] == [("user", "Is the rye warm?")]


def test_preferences_are_two_responses_to_one_item() -> None:
    for name in ("preferences.jsonl", "preferences.csv"):
        data = read(name)
        assert data.counts() | {"dialogues": 0, "questions": 0, "ratings": 0} == data.counts()
        assert (len(data.items), len(data.responses), len(data.preferences)) == (2, 4, 2)
        first = data.preferences[0]
        assert first.choice == "first"
        assert data.responses[first.first].text == "The rye: a week in a cloth."
        assert data.responses[first.second].system == "rejected"
    for name in ("preference_chats.jsonl", "preference_output.jsonl"):
        (item,) = read(name).items.values()
        assert [turn.text for turn in item.context] == ["Which loaf keeps longest?"]
    data = read("transcripts.jsonl")
    assert [turn.text for turn in next(iter(data.items.values())).context] == [
        "Hello!",
        "Good morning.",
        "Is it fresh?",
    ]
    assert [response.text for response in data.responses.values()] == ["Still warm.", "Bread."]


def test_messages_in_rows_are_sorted_by_time_and_answered_by_the_bot() -> None:
    data = read("zendesk.csv")
    assert [(r.id, r.text) for r in data.responses.values()] == [
        ("7/1/Support Bot", "It left this morning."),
        ("7/3/Support Bot", "You are welcome."),
        ("8/1/Support Bot", "Yes; until noon."),
    ]
    (response,) = read("intercom.jsonl").responses.values()
    assert (response.system, response.text) == ("Crumb", "Within the city, yes.")
    data = read("chat_table.tsv")
    assert [r.text for r in data.responses.values()] == ["From three euros.", "Behind the house."]
    assert [r.text for r in read("zendesk.csv", bots=("ida",)).responses.values()] == ["Thanks!"]


def test_text_files_are_read_line_by_line() -> None:
    data = read("text:contexts.txt,replies.txt,references.txt")
    assert list(data.responses) == ["contexts-1/replies", "contexts-2/replies"]
    assert [item.references[0].text for item in data.items.values()] == ["It opens at seven.", "Yes, we have rye."]


def test_a_file_may_name_its_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old.csv", "new.csv"):
        Path(name).write_text(f"prompt,response\nHi.,{name}\n", encoding="utf-8")
    shutil.copy(SHAPES / "own.jsonl", "own.jsonl")
    Path("a=b.csv").write_text("prompt,response\nHi.,Hello.\n", encoding="utf-8")
    data = rejoinder.read("v1=old.csv", "v2=new.csv", "a=b.csv")
    assert [r.system for r in data.responses.values()] == ["v1", "v2", "a=b"]
    assert len(data.items) == 1
    data = rejoinder.read("v1=own.jsonl", "v2=own.jsonl")
    assert list(data.responses) == ["q1/v1", "q1/v2"]
    first = rejoinder.run(["v1=own.jsonl"], rejoinder.Plan.of(["length"]))
    second = rejoinder.run(["v2=own.jsonl"], rejoinder.Plan.of(["length"]))
    assert first.about["id"] != second.about["id"]
    assert first.about["inputs"][0]["options"] == {"system": "v1"}


# Wrong files: one sentence, and the command that it names works.

WRONG = {
    "two.csv": ("prompt,question,answer\nHi.,Hello.,Yes.\n", "2 columns could hold the context: prompt, question"),
    "rag.csv": ("question,context,answer\nHi.,Some text.,Yes.\n", "2 columns could hold the context"),
    "gold.csv": ("question,answer,prediction\nHi.,Yes.,No.\n", "2 columns could hold the reply"),
    "other.csv": ("said by user,said by bot\nHi.,Hello.\n", "no column holds the context or the reply"),
    "other.json": ('[{"u": "Hi.", "b": "Hello."}]', "no column holds the context or the reply"),
    "other.jsonl": ('{"u": "Hi.", "b": "Hello."}\n', "no column holds the context or the reply"),
    "half.tsv": ("u\treply\nHi.\tHello.\n", "no column holds the context"),
    "prompted.csv": (f"system,prompt,response\n{'You are kind. ' * 20},Hi.,Hello.\n", "is a prompt and not the name"),
    "desk.csv": ("ticket,author,text\n1,Ida,Hi.\n1,Ole,Hello.\n", "no author is a bot by its name"),
    "times.csv": ("ticket,role,text,time\n1,user,Hi.,soon\n1,bot,Hello.,later\n", "the time is 'soon'"),
    "days.csv": ("ticket,role,text,time\n1,user,Hi.,1/2/2026\n1,bot,Yes.,2/1/2026\n", "begin with the day or"),
    "empty.csv": ("prompt,response\nHi.,\nYou?,Me.\n", "is empty; remove it"),
    "quotes.tsv": ('prompt\tresponse\n"Hi" he said.\tHello.\n', "cannot be read as a row"),
    "notes.txt": ("Hello, you. Yes?\nFine.\n", "is plain text"),
    "single.csv": ("response\nHello.\nMe.\n", "has a single column"),
    "alone.csv": ("id,response\n1,Hello.\n", "no column holds the context"),
    "speakers.csv": ("user,bot\nHi.,Hello.\n", "no column holds the context or the reply"),
    "twice.csv": ("prompt,response,response\nHi.,Hello.,Ho.\n", "2 columns could hold the reply"),
    "alpaca.jsonl": ('{"instruction": "Greet.", "input": "", "output": "Hi."}\n', "2 columns could hold the context"),
    "lists.json": ('{"rows": [{"prompt": "Hi.", "response": "Yes."}], "people": [{"a": 1}]}', "holds 2 lists"),
    "pairs.json": ('[["Hi.", "Hello."]]', "its entries are not objects"),
    "prompts.yaml": ("- prompt: Hi.\n", "is neither a table nor JSON"),
    "ids.csv": ("id,prompt,response,model\n1,Hi.,Yes.,a\n1,Ho.,No.,b\n", "has a different context"),
    "cells.csv": ("prompt,response,model\nHi.,Hello.\n", "has 2 cells but the header has 3"),
    "named.csv": ("ticket,author,said,text\n1,Ida,Hi.,x\n1,Ole,Hello.,y\n", "no author is a bot by its name"),
    "titles.csv": ("prompt,response\n", "nothing in it could be imported"),
    "image.png": ("\x89PNG\r\n\x1a\n", "is an image"),
    "page.html": ("<!DOCTYPE html><p>Hi.", "is a web page"),
    "mixed.jsonl": (
        '{"id": "q", "context": ["Hi."]}\n'
        '{"item": "q", "system": "a", "text": "x"}\n{"item": "q", "system": "b", "text": "y"}\n',
        "several systems",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_told_the_command_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text, said = WRONG[name]
    Path(name).write_bytes(text.encode("latin-1" if name == "image.png" else "utf-8"))
    Path("CONTEXTS").write_text("Hi.\nYou?\n" + "Me?\n" * (name == "single.csv"), encoding="utf-8")
    source = f"v1={name}" if name == "mixed.jsonl" else name
    with pytest.raises(RejoinderError) as caught:
        rejoinder.read(source)
    problem = str(caught.value)
    assert said in problem
    assert "\n" not in problem
    run_suggestion(problem)


def run_suggestion(problem: str) -> None:
    """Run the command at the end of an error: one of ours, or one of the shell."""
    assert "\n" not in problem
    found = re.search(r".*: ((?:rejoinder (?:score|import|list)|sed|iconv|python3|sqlite3|tar|ls) .*)$", problem)
    assert found, problem
    if "COLUMN" in found[1]:
        return  # which column it is, only its owner knows
    if not found[1].startswith("rejoinder "):
        if shutil.which(found[1].split()[0]) is None:
            pytest.skip(f"{found[1].split()[0]} is not installed")
        done = subprocess.run(["bash", "-c", found[1].replace("python3", sys.executable)], capture_output=True)
        assert done.returncode == 0, (problem, done.stderr)
        return
    command = shlex.split(found[1])[1:]
    end = {"score": ["-m", "length", "--processes", "1"], "import": ["-o", "suggested.jsonl"]}
    more = [] if "-o" in command else end.get(command[0], [])
    result = CliRunner().invoke(program, [*command, *more])
    assert result.exit_code == 0, (problem, result.output, result.exception)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04conversations.json", "is a ZIP archive, .* unpack it with: python3 -m zipfile -e"),
        (b"%PDF-1.7\n", "is a PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "is a file of Office 97, such as .xls, .*; save it as .xlsx or .csv"),
        (b"<!DOCTYPE html><p>Hi.", "is a web page"),
        (b"SQLite format 3\x00", "is a SQLite database"),
    ],
)
def test_a_file_of_another_kind_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(content)
    with pytest.raises(RejoinderError, match=said) as caught:
        rejoinder.read(path)
    assert "\n" not in str(caught.value)


def test_a_table_with_a_column_per_system_is_told_how_to_name_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wide.csv").write_text("prompt,old bot,new\nHi.,Hello.,Hey.\n", encoding="utf-8")
    done = CliRunner().invoke(program, ["score", "wide.csv", "-m", "length", "--processes", "1"])
    assert "no responses to score" in str(done.exception)
    run_suggestion(str(done.exception))


def test_a_binary_file_is_told_a_command_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("export.zip", "w") as archive:
        archive.writestr("replies.csv", "prompt,response\nHi.,Hello.\n")
    with tarfile.open("export.tar.gz", "w:gz") as packed:
        packed.add("export.zip")
    with contextlib.closing(sqlite3.connect("chats.db")) as database:
        database.execute("CREATE TABLE messages (ticket, author, text)")
        database.execute("INSERT INTO messages VALUES (1, 'Ida', 'Hi.'), (1, 'Bot', 'Hello.')")
        database.commit()
    Path("data.bin").write_bytes(bytes(range(256)))
    for name, said in {
        "export.zip": "is a ZIP archive",
        "export.tar.gz": "is a TAR archive",
        "chats.db": "is a SQLite database, .* .'messages'. with: sqlite3",
        "data.bin": "is not text but something binary",
    }.items():
        with pytest.raises(RejoinderError, match=said) as caught:
            rejoinder.read(name)
        run_suggestion(str(caught.value))
    assert len(rejoinder.read("export").responses) == 1
    if Path("messages.csv").exists():
        assert [r.text for r in rejoinder.read("messages.csv").responses.values()] == ["Hello."]
    Path("frame.pkl").write_bytes(pickle.dumps([1]))
    with pytest.raises(RejoinderError, match=r"is a pickle of Python, .*pandas.read_pickle\('frame.pkl'\)"):
        rejoinder.read("frame.pkl")


@pytest.mark.parametrize(
    ("arguments", "name", "content"),
    [
        ([], "log.jsonl", b'{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}'),
        (["csv"], "bare.csv", b"prompt,response\nHi.,Hello.\n"),
        (["csv"], "hole.csv", b"prompt,response,model\nHi.,,a\nYou?,Me.,a\n"),
        (["dstc10"], "rated.json", b'[{"context": "User: Hi", "response": "Yes", "annotations": {"x": [1]}}]'),
        (["dailydialog"], "talk.txt", "Hé ! __eou__ Ho . __eou__\n".encode("cp1252")),
        (["dailydialog"], "talk16.txt", "Hi ! __eou__ Ho . __eou__\n".encode("utf-16")),
        (["messages"], "odd.csv", b"ticket,author,said\n1,Ida,Hi.\n1,Bot,Hello.\n"),
    ],
)
def test_an_import_that_fails_names_the_command_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], name: str, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    importer = arguments[0] if arguments else "openai"
    with pytest.raises(RejoinderError) as caught:
        list(rejoinder.import_(importer, name))
    run_suggestion(str(caught.value))


def test_json_in_other_encodings_is_read_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = '{"id": "q", "context": ["Hé?"]}\n{"item": "q", "system": "a", "text": "Hö."}\n'
    row = '{"prompt": "Hé?", "response": "Hö.", "model": "a"}\n'
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        Path("own.jsonl").write_bytes(own.encode(encoding))
        assert [r.text for r in rejoinder.read("own.jsonl").responses.values()] == ["Hö."]
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "cp1252", "utf-8-sig"):
        Path("rows.jsonl").write_bytes(row.encode(encoding))
        assert [r.text for r in rejoinder.read("rows.jsonl").responses.values()] == ["Hö."]
        Path("rows.csv").write_bytes("prompt,response\nHé?,Hö.\n".encode(encoding))
        assert [r.text for r in rejoinder.read("rows.csv").responses.values()] == ["Hö."]
    Path("own.jsonl").write_bytes(own.encode("cp1252"))
    with pytest.raises(RejoinderError, match=r"own\.jsonl line 1: not UTF-8") as caught:
        rejoinder.read("own.jsonl")
    run_suggestion(str(caught.value))
    assert len(rejoinder.read("own-utf8.jsonl").responses) == 1


def test_an_object_around_rows_is_read_in_memory_and_when_it_is_long(tmp_path: Path) -> None:
    rows = [{"prompt": f"Number {n}?", "response": "Yes. " * 20, "model": "a"} for n in range(4000)]
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"meta": {"n": 1}, "rows": rows}), encoding="utf-8")
    assert len(rejoinder.read(path).responses) == len(rejoinder.read({"n": 1, "rows": rows}).responses) == 4000
    chats = [{"messages": [{"role": r, "content": "Hi " * 300} for r in ("user", "assistant")]} for _ in range(300)]
    path.write_text(json.dumps({"conversations": chats}), encoding="utf-8")
    assert len(rejoinder.read(path).responses) == 300
    nested = {"results": {"results": rows[:2], "stats": {}}}
    path.write_text(json.dumps(nested), encoding="utf-8")
    assert rejoinder.read(path).imported[0].endswith("rows = the list results.results; left out: nothing")
    path.write_text(json.dumps({"a": rows[:1], "b": rows[:2]}), encoding="utf-8")
    assert len(rejoinder.read(path, options=rejoinder.data.ImportOptions(sheet="b")).responses) == 2
    with pytest.raises(RejoinderError, match="has no list 'c'"):
        rejoinder.read(path, options=rejoinder.data.ImportOptions(sheet="c"))


def test_a_folder_of_tables_is_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("replies/more").mkdir(parents=True)
    Path("replies/old.csv").write_text("prompt,response\nHi.,Hello.\n", encoding="utf-8")
    Path("replies/more/new.tsv").write_text("prompt\tresponse\nHi.\tHey.\n", encoding="utf-8")
    Path("replies/log.json").write_text('[{"prompt": "Hi.", "response": "Ho.", "model": "m"}]', encoding="utf-8")
    Path("replies/user.json").write_text('{"email": "ida@example.org"}', encoding="utf-8")
    Path("replies/notes.txt").write_text("Nothing.", encoding="utf-8")
    done = CliRunner().invoke(program, ["score", "replies", "-m", "length", "--processes", "1", "-o", "run"])
    assert done.exit_code == 0, done.output
    said = "replies: 3 files, each a system of that name unless its rows name one: log.json, more/new.tsv, old.csv"
    assert f"{said}; left out: notes.txt, user.json" in done.stderr
    data = rejoinder.read("replies")
    assert {r.system for r in data.responses.values()} == {"old", "more/new", "m"}
    assert len(data.items) == 1
    assert {r.system for r in rejoinder.read("replies/*.csv", "v2=replies/more").responses.values()} == {"old", "v2"}


def test_a_folder_of_another_kind_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tea").mkdir()
    line = '{"id": "u1", "conversation_id": "u1", "speaker": "ann", "reply-to": null, "text": "Tea?"}\n'
    Path("tea/utterances.jsonl").write_text(line, encoding="utf-8")
    Path("tea/corpus.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RejoinderError, match="is a folder for the importer convokit") as caught:
        rejoinder.read("tea")
    run_suggestion(str(caught.value))


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("agreement survey.csv --resamples 100", ""),
        ("aggregate survey.csv -o out.jsonl", ""),
        ("compare survey.csv -m rating:Note", ""),
        ("explain survey.csv -m length --response 1/a", "--field id=Nr"),
        ("shards write survey.csv -o out", ""),
    ],
)
def test_every_command_takes_the_options_about_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, options: str
) -> None:
    monkeypatch.chdir(tmp_path)
    header = "Nr,Frage,Antwort,Modell,Note,Wer"
    rows = [f"{n},Hi {n}.,Hello {n}.,{system},{n % 3 + 1},{who}" for n in (1, 2, 3) for system in "ab" for who in "xy"]
    Path("survey.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    fields = "context=Frage response=Antwort system=Modell rating:Note=Note rater=Wer"
    words = [*command.split(), *(word for field in fields.split() for word in ("--field", field)), *options.split()]
    done = CliRunner().invoke(program, words)
    assert done.exit_code == 0, (done.output, done.exception)


def test_options_about_inputs_without_a_file_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    done = CliRunner().invoke(program, ["compare", "run", "--sheet", "x"])
    assert done.exit_code != 0
    assert "say how to read a file in another format, and none is named" in str(done.exception) + done.output


def test_text_files_of_different_lengths_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hi.\nYou?\nBye.\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("Hello.\n\n\n\n", encoding="utf-8")
    with pytest.raises(RejoinderError, match=r"line 2: the reply is empty|the reply .* is empty"):
        rejoinder.read(f"text:{tmp_path}/a.txt,{tmp_path}/b.txt")
    (tmp_path / "b.txt").write_text("Hello.\nMe.\n\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("Hi.\nYou?\nBye.\nNow.\n", encoding="utf-8")
    with pytest.raises(RejoinderError, match=r"a.txt: has 4 lines but .*b.txt has 3, so line 4 has no counterpart"):
        rejoinder.read(f"text:{tmp_path}/a.txt,{tmp_path}/b.txt", allow_empty=True)
    with pytest.raises(RejoinderError, match="name two text files"):
        rejoinder.read("text:a.txt")


def test_import_finds_the_format_and_says_what_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, ["import", locate("rows.jsonl"), "-o", "out.jsonl"])
    assert done.exit_code == 0, done.output
    assert "columns: Question -> context, Answer -> response, bot -> system" in done.stderr
    assert len(rejoinder.read("out.jsonl").responses) == 4


def test_another_command_says_what_it_took_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program, ["shards", "write", locate("rows.jsonl"), "-o", "out"])
    assert "read as jsonl; Question -> context, Answer -> response, bot -> system" in done.stderr, done.output
