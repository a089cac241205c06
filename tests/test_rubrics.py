"""The packaged rubrics, what each shows of an item, and that nothing of it can break out of the prompt."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_judge_prompt import ATTACKS, taken_apart

import rejoinder
from rejoinder.data.parts import read_part
from rejoinder.errors import InputError, SpecError
from rejoinder.judges.material import build_choice_request, build_rating_request
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.prompt import choice_messages, rating_messages
from rejoinder.judges.rubric import CARD, load_rubric, rubric_names
from rejoinder.metric import parse
from rejoinder.scoring.cache import pairs_digest
from rejoinder.types import Item, Pair, Reference, Response, Statement, Turn

NAMES = (
    "appropriate complete contradiction correct faithful follows_system_prompt goal_reached harmless helpful "
    "knowledge_kept refusal relevant tone"
).split()
CONTEXT = (Turn("Hello.", "user"), Turn("Hi, how can I help?", "assistant"), Turn("Is the pool open?", "user"))
RESPONSE = Response("r", "i", "s", "Yes, until nine.")


def full_pair(text: str = "x") -> Pair:
    """A pair whose item has every part, each with the text in it."""
    item = Item(
        "i",
        CONTEXT,
        (Reference(f"reference {text}"),),
        (Turn(f"future {text}", "user"),),
        (Statement(f"situation {text}"),),
        "d",
        meta={
            "system_prompt": f"prompt {text}",
            "documents": [f"document {text}", {"title": f"title {text}", "text": f"page {text}", "url": "u"}],
            "tool_calls": [{"name": f"tool {text}", "arguments": {f"key {text}": text}, "result": f"result {text}"}],
            "secret": f"secret {text}",
        },
    )
    return Pair(item, RESPONSE)


def shown(name: str, pair: Pair) -> dict[str, Any]:
    """What a judge reads of a pair under a rubric."""
    rubric = load_rubric(name)
    request = build_rating_request(rubric, pair)
    messages = rating_messages(rubric, request.context, request.reply, 0, request.shown)
    return taken_apart(messages[1]["content"])[1]


def test_the_rubrics_that_are_promised_are_there() -> None:
    assert rubric_names() == NAMES
    assert rejoinder.judges.rubric_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_rubric_has_an_anchor_for_every_point_both_texts_and_a_card(name: str) -> None:
    rubric = load_rubric(name)
    assert [level for level, _ in rubric.anchors] == list(rubric.levels)
    assert len({text for _, text in rubric.anchors}) == len(rubric.anchors)
    assert rubric.compare != rubric.rate
    assert "means nothing" in rubric.compare
    assert tuple(rubric.card) == CARD
    assert all(rubric.card.values())
    assert parse(f"judge(model='m', rubric='{name}')").needs >= set(rubric.needs)
    words = f"{rubric.rate} {rubric.compare}"
    for part, word in (("documents", "documents"), ("references", "references"), ("system_prompt", "system prompt")):
        if part in rubric.needs:
            assert word in words


def test_the_default_rubric_and_its_prompt_are_what_they_were() -> None:
    """The digests are those of version 0.16, in whose caches answers were paid for."""
    rubric = load_rubric("default")
    assert rubric == load_rubric("appropriate")
    assert rubric.digest == "a002b0ad20caeabc931f490a855b11c2f4307d923032ad57cb2a92209a481120"
    turns = (Turn("Be brief.", "system"), Turn("Is it far?"), Turn("A <b>mile</b>.", "B"))
    pair = Pair(
        Item("i", turns, (Reference("No."),), meta={"documents": ["It is near."]}), Response("r", "i", "s", "No.")
    )
    request = build_rating_request(rubric, pair)
    messages = rating_messages(rubric, request.context, request.reply, 1, request.shown)
    assert messages == rating_messages(rubric, turns, "No.", 1)
    assert hashlib.sha256(json.dumps(messages).encode()).hexdigest() == OLD_PROMPT
    choice = build_choice_request(rubric, pair, replace(pair, response=Response("q", "i", "t", "Yes.")))
    messages = choice_messages(rubric, choice.context, choice.first, choice.second, shown=choice.shown)
    assert hashlib.sha256(json.dumps(messages).encode()).hexdigest() == OLD_CHOICE


OLD_PROMPT = "616d1505524511e91f25faebe9313632d29e1c11a2006b5e9d9534a08e752333"
OLD_CHOICE = "295f7583096061306f132523f467db293941d08ff8d984a3bacb8ab778b5b7ce"


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_holds_what_the_rubric_names_and_nothing_else(name: str) -> None:
    rubric, data = load_rubric(name), shown(name, full_pair())
    parts = {part.replace("_", " ") for part in rubric.parts} - {"earlier turns"}
    own = {"reply"} if rubric.unit == "reply" else {"judged speaker"}
    assert data.keys() == parts | {"conversation"} | own
    everything = json.dumps(data)
    for part, word in (
        ("system prompt", "prompt x"),
        ("documents", "page x"),
        ("situation", "situation x"),
        ("tool calls", "result x"),
        ("references", "reference x"),
    ):
        assert (word in everything) == (part in parts)
    assert "secret" not in everything
    assert "future" not in everything


@pytest.mark.parametrize("text", ATTACKS)
@pytest.mark.parametrize("name", ["faithful", "correct", "helpful", "complete", "goal_reached"])
def test_no_part_can_break_out_of_its_line(name: str, text: str) -> None:
    rubric, pair = load_rubric(name), full_pair(text)
    pair = replace(pair, item=replace(pair.item, context=(*CONTEXT, Turn(text, text or None))), is_followed=True)
    request = build_rating_request(rubric, pair)
    system, user = rating_messages(rubric, request.context, request.reply, 0, request.shown)
    mark, data, rest = taken_apart(user["content"])
    assert user["content"].count(mark) == 2
    for part, expected in request.shown.items():
        assert data[part] == expected
    other = build_rating_request(rubric, full_pair())
    plain_system, plain_user = rating_messages(rubric, other.context, other.reply, 0, other.shown)
    assert rest == taken_apart(plain_user["content"])[2]
    assert system["content"].replace(mark, "") == re.sub("[0-9a-f]{24}", "", plain_system["content"])
    line = user["content"].split("\n")[1]
    assert not any(unicodedata.category(c)[0] == "C" or unicodedata.category(c) in ("Zl", "Zp") for c in line)
    assert "<" not in line


def test_what_a_response_has_of_its_own_goes_before_what_its_item_has() -> None:
    pair = full_pair()
    own = {"documents": "one text", "system_prompt": "Be a pirate.", "tool_calls": [{"name": "map"}]}
    data = shown("faithful", replace(pair, response=replace(RESPONSE, meta=own)))
    assert data["documents"] == [{"text": "one text"}]
    assert data["system prompt"] == "Be a pirate."
    assert [call["name"] for call in data["tool calls"]] == ["tool x", "map"]


def test_two_replies_share_what_is_the_same_and_have_the_rest_for_themselves() -> None:
    rubric, pair = load_rubric("faithful"), full_pair()
    other = replace(pair, response=Response("q", "i", "t", "No.", {"documents": ["another"]}))
    choice = build_choice_request(rubric, pair, other)
    assert "system prompt" in choice.shown
    assert choice.shown["documents of the second"] == [{"text": "another"}]
    swapped = choice.swap()
    assert swapped.shown["documents of the first"] == [{"text": "another"}]
    assert (swapped.first, swapped.second) == ("No.", RESPONSE.text)
    assert list(swapped.shown) == list(choice.shown)
    assert swapped.swap() == choice
    _, user = choice_messages(rubric, choice.context, choice.first, choice.second, shown=choice.shown)
    assert taken_apart(user["content"])[1]["documents of the second"] == [{"text": "another"}]


class First:
    """A judge that prefers what it is shown first, and remembers it."""

    def __init__(self, rubric: str) -> None:
        self.rubric = load_rubric(rubric)
        self.pairs: list[ResponsePair] = []

    def compare(self, pairs: Sequence[ResponsePair]) -> list[PairComparison]:
        self.pairs += pairs
        return [PairComparison.of_choices("first", "first") for _ in pairs]


def test_an_item_is_compared_with_all_that_the_rubric_names() -> None:
    judge, pair = First("faithful"), full_pair()
    other = Response("q", "i", "t", "No.", {"documents": ["another"]})
    assert rejoinder.judges.compare_pair(judge, pair.item, pair.response, other).choice == "first"
    assert judge.pairs == [build_choice_request(judge.rubric, pair, Pair(pair.item, other))]
    assert rejoinder.judges.compare_pair(judge, pair.item, "Yes.", "No.").choice == "first"
    with pytest.raises(InputError, match=r"the rubric needs documents \(meta.documents\), which item 'pair' lacks"):
        rejoinder.judges.compare_pair(judge, ["Well?"], "Yes.", "No.")
    plain = First("default")
    rejoinder.judges.compare_pair(plain, ["Well?"], "Yes.", "No.")
    assert plain.pairs == [ResponsePair((Turn("Well?"),), "Yes.", "No.", {})]


def test_a_pair_without_what_the_rubric_needs_is_not_asked_about() -> None:
    metric = parse("judge(model='m', rubric='faithful')")
    assert math.isnan(metric.score([Pair(Item("i", CONTEXT), RESPONSE)])[0])


def test_two_dialogues_are_shown_whole() -> None:
    rubric, pair = load_rubric("goal_reached"), full_pair()
    other = replace(pair, response=Response("q", "i", "t", "No."))
    choice = build_choice_request(rubric, pair, other)
    _, user = choice_messages(rubric, choice.context, choice.first, choice.second, shown=choice.shown)
    data = taken_apart(user["content"])[1]
    assert data["first conversation"][-1] == {"speaker": "assistant", "text": RESPONSE.text}
    assert data["second conversation"][-1] == {"speaker": "assistant", "text": "No."}
    assert data["judged speaker of the first"] == "assistant"
    assert "conversation" not in data


@pytest.mark.parametrize(
    ("context", "speaker"),
    [
        (CONTEXT, "assistant"),
        ((Turn("Hello.", "user"),), "assistant"),
        ((Turn("Hello.", "Ana"),), "replier"),
        ((Turn("Be kind.", "system"), Turn("Hello.", "user")), "assistant"),
        ((Turn("Hi!", "User"), Turn("Hello.", "System"), Turn("Well?", "User")), "System"),
        ((Turn("Hello."), Turn("Hi."), Turn("Well?")), "speaker 2"),
        ((Turn("a", "Ana"), Turn("b", "Bo"), Turn("c", "Cy"), Turn("d", "Ana")), "Cy"),
    ],
)
def test_the_judged_speaker_is_the_one_whose_turn_it_is(context: tuple[Turn, ...], speaker: str) -> None:
    data = shown("goal_reached", Pair(Item("i", context), RESPONSE))
    assert data["judged speaker"] == speaker
    assert data["conversation"][-1] == {"speaker": speaker, "text": RESPONSE.text}


def test_a_system_prompt_may_be_the_first_turn() -> None:
    in_context = Pair(Item("i", (Turn("Be kind.", "system"), *CONTEXT)), RESPONSE)
    assert read_part(in_context, "system_prompt") == "Be kind."
    assert shown("follows_system_prompt", in_context)["conversation"][0] == {"speaker": "system", "text": "Be kind."}
    assert not read_part(Pair(Item("i", CONTEXT), RESPONSE), "system_prompt")
    assert not read_part(Pair(Item("i", (Turn("Hi!", "System"), *CONTEXT)), RESPONSE), "system_prompt")


@pytest.mark.parametrize("documents", [3, [3], [{"title": "x"}], {"url": "x"}])
def test_documents_that_are_no_texts_are_an_error_that_names_the_item(documents: Any) -> None:
    pair = Pair(Item("pool-1", CONTEXT, meta={"documents": documents}), RESPONSE)
    with pytest.raises(InputError, match=r"item 'pool-1': meta.documents is .*; it must be a list of texts"):
        read_part(pair, "documents")


@pytest.mark.parametrize("documents", [None, [], "", [" "], {"text": ""}])
def test_blank_documents_are_none(documents: Any) -> None:
    assert not read_part(Pair(Item("i", CONTEXT, meta={"documents": documents}), RESPONSE), "documents")


def test_scores_are_stored_under_what_the_rubric_reads_and_no_more() -> None:
    bare = Pair(Item("i", CONTEXT), RESPONSE)
    full = full_pair()
    appropriate, faithful = (parse(f"judge(model='m', rubric='{name}')") for name in ("appropriate", "faithful"))
    assert pairs_digest([bare], appropriate.needs, appropriate.reads) == pairs_digest([bare], {"context"})
    assert pairs_digest([full], appropriate.needs, appropriate.reads) != pairs_digest([full], {"context"})
    renamed = replace(full, item=replace(full.item, meta={**full.item.meta, "secret": "y"}))
    changed = replace(full, item=replace(full.item, meta={**full.item.meta, "documents": ["y"]}))
    digests = [pairs_digest([pair], faithful.needs, faithful.reads) for pair in (full, renamed, changed)]
    assert digests[0] == digests[1] != digests[2]


# A rubric of one's own

OWN = """
rate = "Is it short?"
shows = []
[scale]
low = 0
high = 3
[anchors]
0 = "long"
"""


def test_a_rubric_may_extend_another(tmp_path: Path) -> None:
    own, base = tmp_path / "strict.toml", load_rubric("faithful")
    own.write_text('extends = "faithful"\nrate = "Be strict: a detail counts as much as the main claim."\n')
    rubric = load_rubric(str(own))
    assert (rubric.needs, rubric.anchors, rubric.compare) == (base.needs, base.anchors, base.compare)
    assert rubric.rate.startswith("Be strict")
    assert not rubric.card
    assert rubric.digest not in (base.digest, hashlib.sha256(own.read_bytes()).hexdigest())
    (tmp_path / "wide.toml").write_text('extends = "strict.toml"\n[scale]\nlow = 0\nhigh = 9\n')
    wide = load_rubric(str(tmp_path / "wide.toml"))
    assert (wide.high, wide.anchors, wide.rate) == (9, (), rubric.rate)


def test_the_card_is_no_part_of_the_digest(tmp_path: Path) -> None:
    plain, described = tmp_path / "plain.toml", tmp_path / "described.toml"
    plain.write_text(OWN)
    described.write_text(OWN + '\n[card]\npurpose = "short replies"\n')
    assert load_rubric(str(plain)) == load_rubric(str(described))
    assert load_rubric(str(described)).card == {"purpose": "short replies"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OWN.replace("shows = []", 'shows = ["weather"]'), "shows must be a list of some of: system_prompt, documents"),
        (OWN.replace("shows = []", 'needs = "documents"'), "needs must be a list"),
        (OWN.replace("shows = []", 'unit = "day"'), "unit must be 'reply' or 'dialogue'"),
        (OWN.replace("shows = []", 'extends = "fathful"'), "did you mean 'faithful'"),
        (OWN.replace("shows = []", "extends = 3"), "extends must be the name or the path"),
        (OWN.replace("shows = []", 'extends = "own.toml"'), "extends must be the name or the path"),
        ('[card]\npurpose = "x"\n' + OWN.replace('rate = "Is it short?"\nshows = []', ""), "at the end of the file"),
        (OWN + "[card]\ncolour = 3\n", "card must hold texts under: purpose, tried_on, not_for"),
    ],
)
def test_a_rubric_that_cannot_be_used_says_why(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises((InputError, SpecError), match=said):
        load_rubric(str(path))


def test_the_list_of_rubrics_shows_the_cards() -> None:
    table = rejoinder.list_("rubrics")
    assert [str(row[0]).split(",")[0] for row in table.rows] == NAMES
    assert all(row[6] and row[7] for row in table.rows)


def test_the_docs_list_every_rubric() -> None:
    page = (Path(__file__).parent.parent / "docs" / "judge.md").read_text(encoding="utf-8")
    for name in NAMES:
        rubric = load_rubric(name)
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert f"| {rubric.unit} |" in row
