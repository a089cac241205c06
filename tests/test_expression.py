"""Conditions on replies: what they select, what they refuse, and that nothing typed is ever run."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.scoring.expression import select_rows
from rejoinder.scoring.fields import ReplyFields
from rejoinder.scoring.result import MetricFacts, Scores
from rejoinder.types import Dialogue, Item, Rating, Record, Response, Turn

META: list[dict[str, Any]] = [
    {"topic": "refund", "price": 3, "tags": ["a", "b"], "user": {"tier": "gold"}, "user-id": "u1", "ok": True},
    {"topic": "delivery", "price": "12", "tags": ["b"], "user": {"tier": "free"}, "ok": False},
    {"topic": "it's odd", "price": 7.5, "flat.key": 1, "deep": {"x": {}}},
    {},
]


@pytest.fixture
def fields() -> ReplyFields:
    items: list[Record] = [
        Item(f"i{i}", (Turn("Well?"),) * (i + 1), dialogue="d" if i < 2 else None, meta={"lang": "en"} if i else {})
        for i in range(4)
    ]
    said = ["One.", "One two.", "One two three.", "One two three four."]
    systems = ["bot", "bot", "old bot", "and"]
    replies = [Response(f"r{i}", f"i{i}", systems[i], said[i], META[i]) for i in range(4)]
    ratings: list[Record] = [Rating("p", "fit to context", 2.0, "r0"), Rating("p", "apt", 5.0, "r1")]
    data = rejoinder.data.collect([Dialogue("d", (Turn("Hi."),), meta={"channel": "web"}), *items, *replies, *ratings])
    base = rejoinder.score(data, "length")
    values = {"m": np.array([0.1, 0.3, math.nan, -0.5]), "bleu(n=2)": np.array([1.0, 0.5, 0.25, 0.0])}
    facts = {spec: MetricFacts(spec, (-9.0, 9.0), True, frozenset()) for spec in values}
    where = base.responses, base.items, base.systems, base.system_codes, base.dialogues
    return ReplyFields(Scores(facts, values, *where, base.dialogue_codes, base.clusters, data=data))


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("m<0.3", "03"), ("m <= .3", "013"), ("m=0.1", "0"), ("m==1e-1", "0"), ("m != 0.1", "13"), ("m<>0.1", "13"),
        ("m<-0.1", "3"), ("m > +0.2", "1"), ("0.2 < m", "1"), ("0 < m < 0.2", "0"), ("m = none", "2"),
        ("m != none", "013"), ("not m < 0.3", "12"), ("NOT(m<0.3)", "12"), ("m<0.2 and m>0", "0"),
        ("m>0.2 or m<0", "13"), ("m>0.2 or m<0 and length=1", "1"), ("(m>0.2 or m<0) and length>2", "3"),
        ("not not m<0.3", "03"), ("bleu(n=2)>=0.5", "01"), ("bleu(n=2)>m", "013"), ("m<bleu(n=2)", "013"),
        ("length >= 3", "23"), ("turns=2", "1"), ('system="bot"', "01"), ("system='old bot'", "2"),
        ("system=bot", "01"), ("system!=bot", "23"), ('system="and"', "3"), ("dialogue=d", "01"),
        ("dialogue=none", "23"),
        ("item=i3", "3"), ('response = "r2"', "2"), ("meta.topic=refund", "0"), ('meta.topic="it\'s odd"', "2"),
        (r"meta.topic='it\'s odd'", "2"), ("meta.topic != refund", "12"), ("meta.topic=none", "3"),
        ("meta.price>5", "12"), ("meta.price=12", "1"), ('meta.price="3"', "0"), ("meta.tags=b", "01"),
        ("meta.tags!=a", "1"), ("meta.user.tier=gold", "0"), ("meta.user-id=u1", "0"), ("meta.flat.key=1", "2"),
        ("meta.ok=true", "0"), ("meta.ok=false", "1"), ("meta.ok=TRUE", "0"), ("meta.lang=en", "123"),
        ("meta.channel=web", "01"), ("`rating:fit to context`<3", "0"), ("rating:apt=5", "1"),
        ("rating:apt=none", "023"),
        ("meta.topic < 'e'", "1"), ("meta.deep < 3", ""), ("meta.topic < 3", ""), ("item=response", ""),
    ],
)  # fmt: skip
def test_a_condition_selects(condition: str, rows: str, fields: ReplyFields) -> None:
    assert "".join(map(str, np.flatnonzero(select_rows(condition, fields)))) == rows


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("", "the condition is empty"),
        ("   ", "the condition is empty"),
        ("m", "a comparison (= != < <= > >=) is expected at the end"),
        ("m<", "a name, a number or a quoted text is expected at the end"),
        ("m<0.3 and", "expected at the end"),
        ("m<0.3 system=bot", "'and' or 'or' is expected before 'system=bot'"),
        ("(m<0.3", "a closing bracket is expected at the end"),
        ("m<0.3)", "expected before ')'"),
        ("m<'x", 'cannot be read from "\'x" on'),
        ("m & 3", "cannot be read from '& 3' on"),
        ("1<2", "two values is the same for all replies"),
        ("m='low'", "m is a number, but it is compared with the text 'low'"),
        ("m<none", "none can only be compared with = and !="),
        ("mm<0.3", "'mm' is not known"),
        ("meta.topics=refund", "no reply has meta.topics; did you mean 'topic'?"),
        ("rating<3", "rated in several aspects; write one of rating:fit to context, rating:apt"),
        ("rating:nothing<3", "nobody rated replies in the aspect 'nothing'"),
        ("__import__('os').system('true')=0", "cannot be read from"),
        ("(" * 400 + "m<1" + ")" * 400, "nested more than 50 levels deep"),
        ("not " * 400 + "m<1", "nested more than 50 levels deep"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(condition: str, problem: str, fields: ReplyFields) -> None:
    with pytest.raises(RejoinderError) as caught:
        select_rows(condition, fields)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_name_that_looks_like_a_file_is_never_run(fields: ReplyFields, tmp_path: Path) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for name in (f"{evil}:X", "evil.py:X", f"./{evil.name}"):
        with pytest.raises(InputError, match="is not known"):
            select_rows(f"`{name}` < 1", fields)
    assert not (tmp_path / "ran").exists()


def test_every_text_is_read_or_refused(fields: ReplyFields) -> None:
    random = np.random.default_rng(4)
    parts = [
        "m",
        "<",
        "0.3",
        "and",
        "or",
        "not",
        "(",
        ")",
        '"x"',
        "=",
        "none",
        "meta.topic",
        "`",
        "\\",
        "é",
        "system",
        "-",
    ]
    for _ in range(3000):
        words = " ".join(random.choice(parts, random.integers(1, 9)))
        with contextlib.suppress(SpecError, InputError):
            assert select_rows(words, fields).shape == (4,)
