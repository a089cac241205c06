"""Tables under other names than ours: CSV, TSV, JSON, Parquet and saved datasets."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from importing import imported, save

import rejoinder
from rejoinder.data.importers import ImportOptions, ImportTally
from rejoinder.data.inputs import import_
from rejoinder.data.tables.columns import nearest_column
from rejoinder.errors import InputError, MissingExtraError, SpecError
from rejoinder.types import Item, Rating, Reference, Turn

LONG = (
    "q,prompt,bot,said,good,score\n1,Hello!,a,Hi.,Good day.,4\n1,Hello!,b,Yo.,Good day.,\n2,Bye!,a,So long.,Bye.,3.5\n"
)
FIELDS = {"item": "q", "context": "prompt", "system": "bot", "response": "said", "reference": "good"}


def csv_of(tmp_path: Path, text: str) -> Path:
    return save(tmp_path / "t.csv", text)


def parquet_of(tmp_path: Path, columns: dict[str, list[str]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_a_row_a_reply_joins_rows_of_one_item(tmp_path: Path) -> None:
    tally = ImportTally()
    found = imported("csv", csv_of(tmp_path, LONG), tally, fields={**FIELDS, "rating:overall": "score"})
    assert found.items["1"].context == (Turn("Hello!"),)
    assert found.items["1"].references == (Reference("Good day."),)
    assert {name: r.text for name, r in found.responses.items()} == {"1/a": "Hi.", "1/b": "Yo.", "2/a": "So long."}
    assert found.ratings == [Rating("unnamed:1", "overall", 4.0, "1/a"), Rating("unnamed:1", "overall", 3.5, "2/a")]
    assert tally.left_out == {"empty ratings": 1}
    assert not tally.unused


def test_columns_with_our_names_are_found_by_themselves(tmp_path: Path) -> None:
    found = imported("csv", csv_of(tmp_path, "context,response,system\nHello!,Hi.,a\n"))
    assert [(r.system, r.text) for r in found.responses.values()] == [("a", "Hi.")]


def test_a_name_without_a_column_keeps_one_from_being_found(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "id,context,response,system\n1,Hello!,Hi.,a\n2,Hello!,Yo.,b\n")
    assert len(imported("csv", path).items) == 2
    assert len(imported("csv", path, fields={"id": ""}).items) == 1


def test_rows_without_an_id_join_by_context_and_references(tmp_path: Path) -> None:
    text = (
        "context,reference,system,response\nHello!,Hi,a,x\nHello!,Hi,b,x\nHello!,Yo,a,x\nHello!,Hi,a,x\nHello!,Hi,a,z\n"
    )
    tally = ImportTally()
    found = imported("csv", csv_of(tmp_path, text), tally, repeats="same")
    assert [len([r for r in found.responses.values() if r.item == item]) for item in found.items] == [2, 1, 1]
    assert tally.left_out == {"rows that repeat another": 1}
    assert len({r.item for r in found.responses.values() if r.system == "a"}) == 3


def test_the_same_context_gets_the_same_id_in_every_file(tmp_path: Path) -> None:
    first = imported("csv", save(tmp_path / "a.csv", "context,response\nHello!,Hi.\n"), system="a")
    second = imported("csv", save(tmp_path / "b.csv", "response,context\nYo.,Hello!\n"), system="b")
    assert list(first.items) == list(second.items)


def test_a_wide_row_holds_the_replies_of_several_systems(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "context,gpt,llama,gpt_score\nHello!,Hi.,Yo.,3\n")
    fields = {"response:gpt-4": "gpt", "response:llama": "llama", "rating:fluency:gpt-4": "gpt_score"}
    found = imported("csv", path, fields=fields)
    (item,) = found.items
    assert {r.system: r.text for r in found.responses.values()} == {"gpt-4": "Hi.", "llama": "Yo."}
    assert found.ratings == [Rating("unnamed:1", "fluency", 3.0, f"{item}/gpt-4")]


def test_a_rating_in_a_wide_row_must_say_whose_reply(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "context,gpt,llama,score\nHello!,Hi.,Yo.,3\n")
    with pytest.raises(SpecError, match="write rating:x:gpt or rating:x:llama"):
        imported("csv", path, fields={"response:gpt": "gpt", "response:llama": "llama", "rating:x": "score"})


def test_several_columns_of_one_aspect_are_several_raters(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "context,response,ann,bob\nHello!,Hi.,3,4\n")
    fields = [("rating:overall", "ann"), ("rating:overall", "bob")]
    assert [(r.rater, r.value) for r in imported("csv", path, system="x", fields=fields).ratings] == [
        ("ann", 3.0),
        ("bob", 4.0),
    ]
    with pytest.raises(InputError, match="the same rater already gave this rating"):
        imported("csv", path, system="x", fields=fields, rater="ann")


def test_a_column_or_an_option_names_the_rater(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "context,response,who,score\nHello!,Hi.,ann,3\n")
    by_column = imported("csv", path, system="x", fields={"rating:overall": "score", "rater": "who"})
    by_option = imported("csv", path, system="x", fields={"rating:overall": "score"}, rater="eve")
    assert [by_column.ratings[0].rater, by_option.ratings[0].rater] == ["ann", "eve"]


@pytest.mark.parametrize("more", [{}, {"item": "q"}])
def test_a_row_a_rating_gives_the_reply_once(tmp_path: Path, more: dict[str, str]) -> None:
    text = "q,context,response,who,score\n1,Hello!,Hi.,ann,3\n1,Hello!,Hi.,bob,4\n"
    fields = {"rating:overall": "score", "rater": "who", **more}
    tally = ImportTally()
    found = imported("csv", csv_of(tmp_path, text), tally, system="x", fields=fields)
    assert (len(found.items), len(found.responses)) == (1, 1)
    assert [(r.rater, r.value) for r in found.ratings] == [("ann", 3.0), ("bob", 4.0)]
    assert not tally.left_out


def test_a_context_is_one_turn_unless_a_separator_is_given(tmp_path: Path) -> None:
    path = csv_of(tmp_path, 'context,response\n"Hello!\nHow are you?",Fine.\n')
    (whole,) = imported("csv", path, system="x").items.values()
    (split,) = imported("csv", path, system="x", separator="\\n").items.values()
    assert whole.context == (Turn("Hello!\nHow are you?"),)
    assert split.context == (Turn("Hello!"), Turn("How are you?"))


def test_several_columns_are_the_turns_of_a_context_in_the_order_given(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "second,first,response\nHow are you?,Hello!,Fine.\n,Bye!,Bye.\n")
    found = imported("csv", path, system="x", fields=[("context", "first"), ("context", "second")])
    assert [[t.text for t in i.context] for i in found.items.values()] == [["Hello!", "How are you?"], ["Bye!"]]


def test_a_blank_line_within_a_quoted_cell_stays(tmp_path: Path) -> None:
    path = csv_of(tmp_path, 'context,response\n\n"a\n  \n\nb",c\n')
    (item,) = imported("csv", path, system="x").items.values()
    assert item.context == (Turn("a\n  \n\nb"),)


@pytest.mark.parametrize(("empty", "texts"), [("keep", ["Hi.", ""]), ("drop", ["Hi."])])
def test_an_empty_reply_is_kept_or_dropped_when_asked(tmp_path: Path, empty: str, texts: list[str]) -> None:
    path = csv_of(tmp_path, "context,response\nHello!,Hi.\nBye!, \n")
    tally = ImportTally()
    found = imported("csv", path, tally, system="x", empty=empty)
    assert [r.text for r in found.responses.values()] == texts
    assert tally.left_out["empty replies"] == (empty == "drop")


def test_a_byte_order_mark_and_spaces_in_the_header_are_no_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfcontext, response\r\nHello!,Hi.\r\n")
    assert len(imported("csv", path, system="x").responses) == 1


def test_a_cell_may_be_longer_than_what_pythons_reader_allows_by_itself(tmp_path: Path) -> None:
    path = csv_of(tmp_path, f"context,response\nHello!,{'x' * 200_000}\n")
    (response,) = imported("csv", path, system="x").responses.values()
    assert len(response.text) == 200_000


def test_a_folder_of_tables_is_one_table(tmp_path: Path) -> None:
    save(tmp_path / "t" / "1.csv", "context,response,system\nHello!,Hi.,a\n")
    path = tmp_path / "t" / "2.csv.gz"
    path.write_bytes(gzip.compress(b"context,response,system\nHello!,Yo.,b\n"))
    found = imported("csv", tmp_path / "t")
    assert (len(found.items), len(found.responses)) == (1, 2)


def test_tsv_keeps_quotes_when_told_to(tmp_path: Path) -> None:
    path = save(tmp_path / "t.tsv", 'context\tresponse\n"Hello" he said\tHi.\n')
    with pytest.raises(InputError, match=r"t\.tsv line 2: cannot be read as a row .*--no-quotes"):
        imported("tsv", path, system="x")
    (item,) = imported("tsv", path, system="x", quotes=False).items.values()
    assert item.context == (Turn('"Hello" he said'),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"t\.csv: is empty"),
        ("\n\n", r"t\.csv: has no rows"),
        ("context,response\n", "nothing in it could be imported"),
        ("context,response\na\n", r"line 2: has 1 cells but the header has 2"),
        ("context,response\na,b\n\na,b,c\n", r"line 4: has 3 cells but the header has 2"),
        ('context,response\n"a,b\n', r"line 2: cannot be read as a row \(unexpected end of data\)"),
        ("context,context,response\na,b,c\n", "2 columns could hold the context: context, context.1"),
        ("said,response\na,b\n", r"line 2: no column holds the context \(found: 'said, response'\); .*context=COLUMN"),
        ("a,b\na,b\n", "no column holds the context or the reply"),
        ("context,response\n ,b\n", r"line 2: the context in 'context' is empty"),
        ("context,response\na,\n", r"line 2: the reply in 'response' is empty; .*--empty drop"),
        ("context,response\na,b\0\n", "line 2: has a NUL byte"),
        ("id,context,response\n,a,b\n", "line 2: 'id' is empty; it must hold the id"),
        ("id,context,response\n1,a,b\n1,c,b\n", r"line 3: item '1' has a different context .* than in .*t\.csv line 2"),
        ("id,context,response\n1,a,b\n1,a,c\n", "line 3: response id '1/x' was already used in .*t.csv line 2"),
    ],
)
def test_a_bad_table_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        imported("csv", csv_of(tmp_path, text), system="x")
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"context,response\na,caf\xe9 \x81\n")
    with pytest.raises(InputError, match=r"neither UTF-8 nor UTF-16 nor cp1252 after line 0 \(found 0x81\)"):
        imported("csv", path, system="x")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"response": "sayd"}, r"t\.csv: has no column 'sayd'; did you mean 'said'\?"),
        ({"respons": "said"}, r"--field respons= is not one of our fields; did you mean 'response'"),
        ({"response": "said", "text": "good"}, "both 'said' and 'good' are named as the reply"),
        (
            {"response": "said", "rating:x": "good"},
            "line 2: 'good' holds 'Good day.'; a rating must be a number, a word",
        ),
        ([("system", "bot"), ("system", "q")], "--field system= is given twice"),
        ({"rating:": "score"}, "is not one of our fields"),
    ],
)
def test_a_wrong_field_is_told(tmp_path: Path, fields: Any, said: str) -> None:
    pairs = fields.items() if isinstance(fields, dict) else fields
    with pytest.raises((InputError, SpecError), match=said):
        imported("csv", csv_of(tmp_path, LONG), fields=[("item", "q"), ("context", "prompt"), *pairs], system="x")


def test_a_system_must_be_said_somewhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the system that replied is unknown; .*: rejoinder import .* --system NAME"):
        imported("csv", csv_of(tmp_path, "context,response\na,b\n"))


def test_json_lines_of_ours_are_read_under_other_names(tmp_path: Path) -> None:
    lines = [
        {"kind": "item", "id": "q1", "context": ["Hi", {"speaker": "B", "text": "Yes?"}], "references": ["Hm"]},
        {"item": "q1", "system": "a", "reply": "Hi there"},
        {"response": "q1/a", "rater": "r", "aspect": "overall", "value": 3},
        {"id": "d", "turns": ["a", "b"], "corpus": "mine"},
        {"item": "q1", "first": "q1/a", "second": "q1/a", "rater": "x", "choice": "tie"},
        {"id": "k", "context": ["a"], "candidates": [{"text": "b", "grade": 1}]},
    ]
    found = imported("jsonl", save(tmp_path / "l.jsonl", lines), fields={"text": "reply"})
    assert found.responses["q1/a"].text == "Hi there"
    assert all(n == 1 for n in found.counts().values())
    assert found.items["q1"].context == (Turn("Hi"), Turn("Yes?", "B"))


def test_responses_alone_may_point_at_items_of_another_file(tmp_path: Path) -> None:
    path = save(tmp_path / "l.jsonl", [{"item": "q1", "system": "a", "reply": "Hi", "id": "r7"}])
    (response,) = import_("jsonl", path, ImportOptions(fields=(("text", "reply"),)))
    assert response.id == "r7"  # type: ignore[union-attr]


def test_nested_keys_are_reached_with_dots(tmp_path: Path) -> None:
    row = {"q": {"text": "Hello!"}, "out": [{"say": "Hi."}], "a.b": "m", "seen": {"refs": ["x", "", "y"]}}
    fields = {"context": "q.text", "response": "out.0.say", "system": "a.b", "reference": "seen.refs"}
    tally = ImportTally()
    found = imported("jsonl", save(tmp_path / "l.json", [row]), tally, fields=fields)
    (item,) = found.items.values()
    assert (item.context, item.references) == ((Turn("Hello!"),), (Reference("x"), Reference("y")))
    assert tally.left_out == {"empty references": 1}
    assert not tally.unused


def test_a_list_of_messages_may_be_a_context(tmp_path: Path) -> None:
    row = {"history": [{"role": "user", "content": "a"}, {"role": "bot", "content": "b"}], "response": "c"}
    (item,) = imported(
        "jsonl", save(tmp_path / "l.json", [row]), system="x", fields={"context": "history"}, last_turn="keep"
    ).items.values()
    assert item.context == (Turn("a", "user"), Turn("b", "bot"))


def test_a_list_of_values_holds_ratings_of_people_without_names(tmp_path: Path) -> None:
    row = {"context": "a", "response": "b", "scores": [3, None, 5]}
    found = imported("jsonl", save(tmp_path / "l.json", [row]), system="x", fields={"rating:q": "scores"})
    assert [(r.rater, r.value) for r in found.ratings] == [("unnamed:1", 3.0), ("unnamed:2", 5.0)]


def test_a_key_that_no_entry_has_is_told_at_the_end(tmp_path: Path) -> None:
    path = save(tmp_path / "l.jsonl", [{"context": "a", "response": "b", "refs": ["c"]}])
    with pytest.raises(InputError, match=r"no entry has the key 'ref'; did you mean 'refs'"):
        imported("jsonl", path, system="x", fields={"reference": "ref"})


def test_dialogues_come_from_a_column_of_turns(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "talk,name\na|b|c,first\n")
    found = imported("csv", path, fields={"turns": "talk", "id": "name"}, separator="|")
    assert [t.text for t in found.dialogues["first"].turns] == ["a", "b", "c"]


def test_an_item_that_comes_twice_without_a_reply_is_one_item(tmp_path: Path) -> None:
    tally = ImportTally()
    found = imported("csv", csv_of(tmp_path, LONG), tally, fields={"item": "q", "context": "prompt"})
    assert list(found.items) == ["1", "2"]
    assert tally.left_out == {"rows that repeat another": 1}


def test_items_without_replies_come_from_contexts_and_references(tmp_path: Path) -> None:
    tally = ImportTally()
    found = imported("csv", csv_of(tmp_path, "context,reference,note\na,b,n\n"), tally)
    (item,) = found.items.values()
    assert item.references == (Reference("b"),)
    assert (item.meta, tally.unused) == ({"note": "n"}, set())


@pytest.mark.parametrize("text", ["[1, 2", "nonsense", '{"a": 1}\n{"a": \n', "[[[[", "[" * 100_000, "[]", "[3]", '"x"'])
def test_json_that_is_none_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        imported("jsonl", path, system="x")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


ROWS = [
    {"context": ["Hello!", "Hi."], "said": "Bye.", "bot": "a", "score": 1.5, "skip": 1},
    {"context": ["What?"], "said": "That.", "bot": "b", "score": float("nan"), "skip": 2},
]
ARROW_FIELDS = {"response": "said", "system": "bot", "rating:overall": "score"}


def test_parquet_is_read_by_columns_and_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    tally = ImportTally()
    found = imported("parquet", path, tally, fields=ARROW_FIELDS)
    assert [[t.text for t in i.context] for i in found.items.values()] == [["Hello!", "Hi."], ["What?"]]
    assert [(r.value, r.rater) for r in found.ratings] == [(1.5, "unnamed:1")]
    assert [r.meta for r in found.responses.values()] == [{"skip": row["skip"]} for row in ROWS]
    assert tally.left_out == {"empty ratings": 1}


def test_a_bad_row_of_parquet_is_named(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(
        pyarrow.Table.from_pylist([*ROWS, {"context": [], "said": "x", "bot": "a", "score": 1.0}]), path
    )
    with pytest.raises(InputError, match=r"t\.parquet row 3: the context in 'context' is empty"):
        imported("parquet", path, fields=ARROW_FIELDS)
    with pytest.raises(InputError, match=r"t\.parquet: has no column 'sad'; did you mean 'said'"):
        imported("parquet", path, fields={"response": "sad"})


def test_what_is_not_parquet_is_told(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = save(tmp_path / "t.parquet", "PAR1 but not really")
    with pytest.raises(InputError, match=r"t\.parquet: cannot be read as Arrow or Parquet"):
        imported("parquet", path, fields=ARROW_FIELDS)


def saved_dataset(folder: Path, rows: list[dict[str, Any]], features: dict[str, Any] | None = None) -> Path:
    """A dataset as ``save_to_disk`` of datasets 5.2 lays it out: Arrow streams and two JSON files."""
    pyarrow = pytest.importorskip("pyarrow")
    folder.mkdir(parents=True)
    names = []
    for number, row in enumerate(rows):
        name = f"data-{number:05}-of-{len(rows):05}.arrow"
        table = pyarrow.Table.from_pylist([row])
        with pyarrow.OSFile(str(folder / name), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        names.append({"filename": name})
    save(folder / "state.json", {"_data_files": names, "_fingerprint": "0", "_split": None})
    save(folder / "dataset_info.json", {"features": features or {}})
    return folder


def test_a_saved_dataset_is_read_shard_by_shard(tmp_path: Path) -> None:
    found = imported("huggingface", saved_dataset(tmp_path / "d", ROWS), fields=ARROW_FIELDS)
    assert [r.system for r in found.responses.values()] == ["a", "b"]


def test_class_labels_become_their_names(tmp_path: Path) -> None:
    rows = [{"context": "a", "said": "b", "bot": 1}]
    features = {"bot": {"_type": "ClassLabel", "names": ["gpt", "llama"]}}
    folder = saved_dataset(tmp_path / "d", rows, features)
    found = imported("huggingface", folder, fields={"response": "said", "system": "bot"})
    assert [r.system for r in found.responses.values()] == ["llama"]


def test_a_split_is_chosen_where_there_are_several(tmp_path: Path) -> None:
    both = tmp_path / "both"
    for split, row in zip(("train", "test"), ROWS, strict=True):
        saved_dataset(both / split, [row])
    save(both / "dataset_dict.json", {"splits": ["train", "test"]})
    choice = r"holds the splits train, test; choose one: rejoinder import huggingface .* --split test"
    with pytest.raises(InputError, match=choice):
        imported("huggingface", both, fields=ARROW_FIELDS)
    with pytest.raises(InputError, match="has no split 'tset'; did you mean 'test'"):
        imported("huggingface", both, fields=ARROW_FIELDS, split="tset")
    found = imported("huggingface", both, fields=ARROW_FIELDS, split="test")
    assert [r.system for r in found.responses.values()] == ["b"]


def test_a_folder_that_is_no_saved_dataset_is_told(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match=r"has no state\.json and no dataset_dict\.json"):
        imported("huggingface", tmp_path)
    folder = saved_dataset(tmp_path / "d", ROWS)
    state = json.loads((folder / "state.json").read_text())
    save(folder / "state.json", {**state, "_indices_data_files": [{"filename": "x"}]})
    with pytest.raises(InputError, match="flatten_indices"):
        imported("huggingface", folder, fields=ARROW_FIELDS)
    save(folder / "state.json", {"_data_files": [{"filename": "gone.arrow"}]})
    with pytest.raises(InputError, match=r"has no file 'gone\.arrow', though"):
        imported("huggingface", folder, fields=ARROW_FIELDS)


@pytest.mark.parametrize("name", ["parquet", "huggingface"])
def test_a_missing_extra_says_how_to_get_it(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rejoinder\[arrow\]"'):
        imported(name, save(tmp_path / "t.parquet", "x"))


def test_an_error_of_parquet_lists_every_column(tmp_path: Path) -> None:
    path = parquet_of(tmp_path, {"ticket_id": ["1"], "asked": ["Hi"], "said": ["Hello"]})
    with pytest.raises(InputError, match=r"no column holds the context or the reply \(found: 'ticket_id, asked, said"):
        imported("parquet", path)
    with pytest.raises(InputError, match=r"no column holds the context \(found: 'ticket_id, asked, said'\)"):
        imported("parquet", path, fields={"response": "said"}, system="x")
    tally = ImportTally()
    imported("parquet", path, tally, fields={"context": "asked", "response": "said"}, system="x")
    assert tally.columns["ticket_id"] == "meta.ticket_id"


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
def test_a_named_field_is_used_or_refused(tmp_path: Path, name: str) -> None:
    row = {"ticket": "t1", "asked": "Hi", "said": "Hello", "more": "Bye"}
    path = tmp_path / f"t.{name}"
    if name == "csv":
        save(path, ",".join(row) + "\n" + ",".join(row.values()) + "\n")
    elif name == "jsonl":
        save(path, [row])
    else:
        path = parquet_of(tmp_path, {key: [value] for key, value in row.items()})
    flat = {"context": "asked", "response": "said", "system": "more"}
    found = imported(name, path, fields={**flat, "dialogue": "ticket"})
    assert [item.dialogue for item in found.items.values()] == ["t1"]
    pointing = {"response": "said", "item": "asked"}
    for fields, said in [
        ({**pointing, "dialogue": "ticket"}, "dialogue=ticket"),
        ({**pointing, "reference": "more"}, "reference=more"),
        ({**flat, "split": "ticket"}, "split=ticket"),
        ({**flat, "rater": "ticket"}, "rater=ticket"),
        ({"context": "asked", "response:a": "said", "system": "more"}, "system=more"),
        ({"context": "asked", "system": "more"}, "system=more"),
    ]:
        with pytest.raises(SpecError, match=rf"--field {said} has no effect: the rows are read as .*; leave it out"):
            imported(name, path, fields=fields, system=None if "system" in fields else "x")


def test_a_column_of_names_of_dialogues_gives_the_id_of_a_dialogue(tmp_path: Path) -> None:
    row = {"ticket": "t1", "said": ["Hi", "Hello"]}
    found = imported("jsonl", save(tmp_path / "l.jsonl", [row]), fields={"turns": "said", "dialogue": "ticket"})
    assert list(found.dialogues) == ["t1"]
    with pytest.raises(SpecError, match="--field dialogue=ticket has no effect"):
        imported("jsonl", tmp_path / "l.jsonl", fields={"turns": "said", "dialogue": "ticket", "id": "ticket"})


def test_a_list_of_columns_in_an_error_has_at_most_300_characters() -> None:
    hint = nearest_column("nothing like them", [f"{letter * 50}{i}" for i, letter in enumerate("abcdefghij")])
    assert len(hint) == 300
    assert hint.endswith("…")


def test_each_system_of_a_wide_table_gets_its_own_ratings(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("context,a,b,good_a,good_b,fun_a\nHi.,Hello.,Yo.,1,2,3\n")
    names = ("response:A=a", "response:B=b", "rating:good:A=good_a", "rating:good:B=good_b", "rating:fun:A=fun_a")
    fields = (("context", "context"), *(tuple(name.split("=")) for name in names))
    records = list(import_("csv", path, ImportOptions(fields=fields)))  # type: ignore[arg-type]
    ratings = [(one.response, one.aspect, one.value) for one in records if isinstance(one, Rating)]
    item = next(one.id for one in records if isinstance(one, Item))
    assert sorted(ratings) == [(f"{item}/A", "fun", 3.0), (f"{item}/A", "good", 1.0), (f"{item}/B", "good", 2.0)]


@pytest.mark.parametrize(
    ("cell", "documents"),
    [
        ("The pool opens at nine.", ["The pool opens at nine."]),
        ('["At nine.", "Closed on Monday."]', ["At nine.", "Closed on Monday."]),
        ("['At nine.']", ["At nine."]),
        ('[{"title": "Hours", "text": "At nine."}]', [{"title": "Hours", "text": "At nine."}]),
        ("[sic] at nine", ["[sic] at nine"]),
        ("", None),
    ],
)
def test_documents_and_the_system_prompt_go_to_the_meta_of_the_reply(
    tmp_path: Path, cell: str, documents: list[Any] | None
) -> None:
    path = tmp_path / "rag.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "contexts", "answer", "system_prompt"])
        rows.writerow(["When?", cell, "At nine.", "Be brief."])
    data = rejoinder.read(str(path))
    (response,) = data.responses.values()
    expected = {"system_prompt": "Be brief."} | ({"documents": documents} if documents else {})
    assert response.meta == expected
    assert not next(iter(data.items.values())).meta
