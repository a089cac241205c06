"""File shapes that people have: each goes straight into ``score``, and exactly one importer claims it."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.data.collection import Collection
from rejoinder.data.detection import list_claims, sample_file
from rejoinder.errors import RejoinderError

SHAPES = Path(__file__).parent / "shapes"
DOCS = Path(__file__).parent.parent / "docs" / "importing.md"
_ROW = re.compile(r"^\| [^|]+ \| `([^`|]+)` \| `(\w+)` \|", re.MULTILINE)
# What files that belong to another, or are in our schema, are not recognised as.
UNCLAIMED = {"own.jsonl", "contexts.txt", "replies.txt", "references.txt"}


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
    return rejoinder.read(locate(name), options=rejoinder.ImportOptions(**options))  # type: ignore[arg-type]


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
     "array.json", "rows.jsonl", "rows.parquet", "sheet.xlsx"],
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
    assert data.imported[0].endswith("prompt -> context, system = cp1252 (not in the file)")


def test_a_sheet_is_chosen_by_its_name() -> None:
    assert [r.text for r in read("sheet.xlsx", sheet="Notes").responses.values()] == ["It is."]
    assert [rating.value for rating in read("sheet.xlsx").ratings] == [1, 2, 3, 4]
    with pytest.raises(RejoinderError, match="has no sheet 'Nots'; did you mean 'Notes'"):
        read("sheet.xlsx", sheet="Nots")


def test_a_spreadsheet_without_its_library_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(RejoinderError, match=r'sheet.xlsx: .* needs openpyxl; .*: pip install "rejoinder\[xlsx\]"'):
        rejoinder.read(SHAPES / "sheet.xlsx")


def test_thumbs_are_ratings_and_a_reply_may_have_several() -> None:
    data = read("thumbs.csv")
    assert [(r.rater, r.aspect, r.value) for r in data.ratings] == [
        ("user", "thumbs", 1.0), ("user", "thumbs", 0.0), ("user-2", "thumbs", 0.0)
    ]  # fmt: skip
    assert len(data.responses) == 2


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
    "turns.jsonl": ('{"history": ["Hi."], "question": "You?", "answer": "Me."}\n', "2 columns could hold the context"),
    "gold.csv": ("question,answer,prediction\nHi.,Yes.,No.\n", "2 columns could hold the response"),
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
    Path(name).write_text(text, encoding="utf-8")
    Path("CONTEXTS").write_text("Hi.\nYou?\n", encoding="utf-8")
    source = f"v1={name}" if name == "mixed.jsonl" else name
    with pytest.raises(RejoinderError) as caught:
        rejoinder.read(source)
    problem = str(caught.value)
    assert said in problem
    assert "\n" not in problem
    found = re.search(r"rejoinder ((?:score|import) .*)$", problem)
    assert found, problem
    command = shlex.split(found[1])
    done = CliRunner().invoke(program, [*command, *(["-m", "length"] if command[0] == "score" else [])])
    assert done.exit_code == 0, (problem, done.output, done.exception)


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
