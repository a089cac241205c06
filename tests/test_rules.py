"""Plain rules as metrics: what a reply must contain, match, avoid, be no longer than, be written in."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.json_schema import check_schema
from rejoinder.metric import metric_class, metric_names

PERSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"Address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}], "default": None},
        "address": {"$ref": "#/$defs/Address"},
        "kind": {"const": "person"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def score(spec: str, *replies: str) -> list[float]:
    found: list[float] = rejoinder.score(list(replies), spec)[str(rejoinder.parse(spec))].tolist()
    return found


def test_every_rule_is_listed_cited_and_between_0_and_1() -> None:
    rules = [name for name in metric_names() if metric_class(name).is_rule]
    assert rules == ["contains", "forbidden_words", "json_schema", "language", "max_words", "regex"]
    assert all(metric_class(name).range == (0.0, 1.0) and metric_class(name).higher_is_better for name in rules)


def test_contains_finds_parts_of_words_and_accents_in_both_spellings() -> None:
    assert score("contains(text='café')", "A cafe\u0301!", "Cafés", "a CAFÉ") == [1, 0, 0]
    assert score("contains(text='CAFÉ', ignore_case=True)", "cafe\u0301s", "coffee") == [1, 0]
    assert score("contains(text='STRASSE', ignore_case=True)", "Am Ende der Straße.") == [1]
    with pytest.raises(rejoinder.RejoinderError, match="text is empty"):
        rejoinder.parse("contains(text='')")


def test_max_words_counts_as_length_does() -> None:
    assert score("max_words(n=3)", "One, two; three!", "one two three four", "??", "雨が降る") == [1, 0, 1, 0]
    for wrong in ("0", "-1", "2.5", "'3'"):
        with pytest.raises(rejoinder.RejoinderError, match="n must be"):
            rejoinder.parse(f"max_words(n={wrong})")


def test_a_pattern_is_typed_with_or_without_r() -> None:
    assert score(r"regex(pattern=r'^\d{4}$')", "1984", "in 1984") == [1, 0]
    assert score(r"regex(pattern='\d{4}')", "in 1984") == [1]  # Python would warn of '\d'
    assert score("regex(pattern='yes', ignore_case=True)", "YES") == [1]
    assert score(r"regex(pattern=r'\p{Lu}{3}')", "the ÄÖÜ") == [1]


def test_a_word_boundary_that_became_a_backspace_is_an_error() -> None:
    with pytest.raises(rejoinder.RejoinderError, match="raw string"):
        rejoinder.parse(r"regex(pattern='\bno\b')")
    assert score(r"regex(pattern=r'\bno\b')", "no way", "nowhere") == [1, 0]


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "a{2,1}"])
def test_what_is_no_regular_expression_is_an_error_in_one_sentence(pattern: str) -> None:
    with pytest.raises(rejoinder.RejoinderError, match="is not a regular expression"):
        rejoinder.parse(f"regex(pattern={pattern!r})")


def test_a_pattern_that_would_never_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.text.pattern.SECONDS", 0.2)
    with pytest.raises(rejoinder.RejoinderError, match=r"takes more than 0\.2 seconds on the text 'aaaa"):
        score("regex(pattern=r'^(a|a|aa)+$')", "a" * 60 + "b")


def test_forbidden_words_are_whole_words_in_any_case() -> None:
    spec = "forbidden_words(words='refund, as an AI, C++, guarantee*')"
    clean = ["A refunded ticket.", "As an aid, C is fine.", "I assure you."]
    assert score(spec, *clean) == [1, 1, 1]
    assert score(spec, "REFUND!", "As  an\nAI, I", "(c++)", "It is guaranteed.") == [0, 0, 0, 0]
    assert score('forbidden_words(words="can\'t")', "I can’t.", "I cannot.") == [0, 1]
    assert score("forbidden_words(words='退款')", "我们不能退款。", "好的。") == [0, 1]


def test_a_list_of_forbidden_words_is_read_from_a_file_and_is_part_of_the_signature(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(b"\xef\xbb\xbf# never say\r\nrefund\r\n\r\ncheap*\r\n")
    spec = f"forbidden_words(path={str(file)!r})"
    assert score(spec, "A refund?", "Cheaper.", "Never say never.") == [0, 0, 1]
    before = rejoinder.signature(rejoinder.parse(spec))
    file.write_text("other\n", encoding="utf-8")
    assert rejoinder.signature(rejoinder.parse(spec)) != before
    file.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(rejoinder.RejoinderError, match="has no words"):
        score(spec, "Yes.")
    file.write_bytes(b"caf\xe9\n")
    with pytest.raises(rejoinder.RejoinderError, match="not UTF-8"):
        score(spec, "Yes.")
    file.unlink()
    with pytest.raises(rejoinder.RejoinderError, match="No such file"):
        score(spec, "Yes.")
    with pytest.raises(rejoinder.RejoinderError, match="either words or path"):
        rejoinder.parse("forbidden_words")


@pytest.mark.parametrize(
    ("reply", "fits"),
    [
        ('{"name": "Ada"}', 1),
        ('```json\n{"name": "Ada", "age": 36}\n```', 1),
        ('```\n{"name": "Ada", "age": null}\n```\n', 1),
        ('  {"name": "Ada", "address": {"city": "Turin"}, "kind": "person"} ', 1),
        ('Here it is:\n```json\n{"name": "Ada"}\n```', 0),
        ('{"name": ""}', 0),
        ('{"name": "Ada", "age": 0}', 0),
        ('{"name": "Ada", "age": true}', 0),
        ('{"name": "Ada", "address": {}}', 0),
        ('{"name": "Ada", "other": 1}', 0),
        ('{"name": "Ada"', 0),
        ('{"name": NaN}', 0),
        ("Ada", 0),
        ("[]", 0),
    ],
)
def test_a_reply_fits_a_schema_or_does_not(tmp_path: Path, reply: str, fits: float) -> None:
    (tmp_path / "person.json").write_text(json.dumps(PERSON), encoding="utf-8")
    assert score(f"json_schema(path={str(tmp_path / 'person.json')!r})", reply) == [fits]


def test_a_block_anywhere_counts_where_that_is_wanted() -> None:
    wordy = 'Of course!\n\n```json\n{"a": 1}\n```\nAnything else?'
    assert score("json_schema", wordy, "5", '"text"', "no") == [0, 1, 1, 0]
    assert score("json_schema(anywhere=True)", wordy, "{}", "```json\nno\n```") == [1, 1, 0]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"allOf": [{"minimum": 2}, {"maximum": 4}]}, [2, 4, "x"], [1, 5]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5], [3, 1.5]),
        ({"not": {"type": "string"}}, [1], ["a"]),
        ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "null"}}, ["ab", None], ["a", 1]),
        ({"const": 1}, [1, 1.0], [True, "1"]),
        ({"enum": [0, [1]]}, [0, [1]], [False, [True]]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1], []], [[1], ["a", "b"]]),
        ({"contains": {"const": 3}, "maxContains": 1}, [[1, 3]], [[1], [3, 3], []]),
        ({"uniqueItems": True}, [[1, True, "1"]], [[1, 1.0]]),
        ({"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": False}, [{"n1": 1}], [{"m": 1}]),
        ({"additionalProperties": {"type": "integer"}, "maxProperties": 1}, [{"a": 1}], [{"a": "x"}, {"a": 1, "b": 2}]),
        ({"propertyNames": {"maxLength": 1}}, [{"a": 1}], [{"ab": 1}]),
        ({"dependentRequired": {"a": ["b"]}}, [{"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({"multipleOf": 0.01}, [0.07, 19.99], [0.075]),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "null"}}}, [None], [0]),
        ({"properties": {"a": {"$ref": "#"}}, "required": ["v"]}, [{"v": 1, "a": {"v": 2}}], [{"v": 1, "a": {}}]),
        (False, [], [1]),
    ],
)  # fmt: skip
def test_the_keywords_mean_what_the_standard_says(tmp_path: Path, schema: Any, good: list[Any], bad: list[Any]) -> None:
    (tmp_path / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    spec = f"json_schema(path={str(tmp_path / 's.json')!r})"
    assert score(spec, *map(json.dumps, [*good, *bad])) == [1.0] * len(good) + [0.0] * len(bad)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "strnig"}, "did you mean"),
        ({"items": [{"type": "string"}]}, "must be an object"),
        ({"$ref": "#/$defs/None"}, "not in it"),
        ({"$ref": "https://example.com/other.json"}, "not in it"),
        ({"$ref": "#"}, "refers to itself"),
        ({"minimum": 1, "exclusiveMinimum": True}, "must be a number"),
        ({"unevaluatedProperties": False}, "not known here"),
        ({"pattern": "("}, "not a regular expression"),
        (["a"], "must be an object"),
    ],
)
def test_a_schema_that_cannot_be_used_is_an_error_and_no_score(tmp_path: Path, schema: Any, said: str) -> None:
    problem = check_schema(schema)
    assert problem is not None
    assert said in problem
    (tmp_path / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    with pytest.raises(rejoinder.RejoinderError, match=r"s\.json: "):
        score(f"json_schema(path={str(tmp_path / 's.json')!r})", "{}")


def test_a_reply_of_endless_brackets_has_no_score(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"items": {"$ref": "#"}}', encoding="utf-8")
    deep = "[" * 900 + "]" * 900
    found = score(f"json_schema(path={str(tmp_path / 's.json')!r})", deep, "[[]]")
    assert found[1] == 1
    assert math.isnan(found[0]) or found[0] == 1


@pytest.mark.parametrize(
    ("code", "reply", "said"),
    [
        ("en", "I can't do that right now.", 1),
        ("en", "Das geht leider gerade nicht.", 0),
        ("en", "明日は雨が降るでしょう。", 0),
        ("de", "Das geht leider gerade nicht.", 1),
        ("de", "I can't do that right now.", 0),
        ("ja", "明日は雨が降るでしょう。", 1),
        ("nb", "Jeg vet ikke, men jeg skal finne det ut for deg nå.", 1),
        ("nb", "Jeg vet ikke hvor toget går fra i dag.", None),
        ("en", "```\nfür x in liste: drucke(x)\n```\nThis prints every element of the list.", 1),
        ("en", "Yes please.", None),
        ("en", "Ja, bitte.", None),
        ("en", "ok", None),
        ("de", "Zwei Worte", None),
        ("en", "https://example.com/eine/seite/auf/deutsch", None),
        ("en", "Oslo, Bergen, Trondheim, Stavanger", None),
        ("en", "12 + 30 = 42", None),
    ],
)
def test_a_language_is_told_only_where_it_can_be(code: str, reply: str, said: float | None) -> None:
    found = score(f"language(code={code!r})", reply)[0]
    assert math.isnan(found) if said is None else found == said


def test_an_unknown_language_is_an_error() -> None:
    with pytest.raises(rejoinder.RejoinderError, match="code 'en-US' is not known"):
        rejoinder.parse("language(code='en-US')")


def test_rules_run_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chats = Path(__file__).parents[1] / "examples" / "chats.jsonl"
    specs = ["contains(text='train')", r"regex(pattern='\d+')", "max_words(n=12)", "language"]
    words = [word for spec in specs for word in ("-m", spec)]
    done = CliRunner().invoke(program, ["score", str(chats), *words, "-o", "run", "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert r"regex(pattern='\\d+')" in done.output
    done = CliRunner().invoke(program, ["compare", "run", "-m", r"regex(pattern='\d+')"])
    assert done.exit_code == 0, done.output
