"""The judge at an endpoint, against a server on loopback that speaks the protocol, misbehaves, stalls and lies."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from judge_server import Judge as Server
from judge_server import completion, cuts_short, drips, fails, forget_endpoints, hangs_up, says, scores, served, stalls

import rejoinder
from rejoinder.data.collection import from_lists
from rejoinder.errors import InputError, RunError, SpecError
from rejoinder.judges import (
    JudgeError,
    PairComparison,
    compare_pair,
    load_rubric,
    open_judge,
    order_consistency,
)
from rejoinder.judges.answer_store import AnswerStore, StoredAnswer
from rejoinder.judges.completion import TokenUsage, parse_chat_completion
from rejoinder.judges.consistency import compute_price, count_answers, measure_consistency
from rejoinder.judges.requests import _parse_retry_after
from rejoinder.judges.settings import EndpointSettings, read_endpoint_settings
from rejoinder.metric import parse, signature
from rejoinder.scoring import index
from rejoinder.types import Item, Pair, Response, Turn

KEY = "sk-secret-0123456789"
RUBRIC = load_rubric("default")
GOOD = '{"score": 4, "reason": "so"}'


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_endpoints(monkeypatch, hasty=True)  # the waits themselves are tested below
    monkeypatch.setenv("REJOINDER_JUDGE_KEY", KEY)


def reach(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
    return server


def pairs(n: int, context: str = "Is it raining?") -> list[Pair]:
    item = Item("i", (Turn(context, "A"),))
    return [Pair(item, Response(f"r{k}", "i", "s", f"Reply number {k}.")) for k in range(n)]


def judged(n: int = 1, spec: str = "judge(model='m')") -> list[float]:
    return parse(spec).score(pairs(n))


def chats(folder: Path, n: int) -> Path:
    """A file of replies to one item."""
    file = folder / "chats.jsonl"
    records: list[dict[str, Any]] = [{"kind": "item", "id": "i", "context": [{"text": "Well?"}]}]
    records += [
        {"kind": "response", "id": f"r{k}", "item": "i", "system": "s", "text": f"Reply {k}."} for k in range(n)
    ]
    file.write_text("\n".join(json.dumps(record) for record in records) + "\n")
    return file


# What is asked, and what comes back


def test_a_reply_gets_the_score_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(scores(4), scores(2)) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
        assert judged(2) == [4.0, 2.0]
        sent = server.sent[0]
        assert sent.keys() == {"model", "messages", "temperature", "max_tokens", "response_format"}
        assert (sent["model"], sent["temperature"]) == ("m", 0.0)
        assert [m["role"] for m in sent["messages"]] == ["system", "user"]
        assert "5: excellent" in sent["messages"][0]["content"]
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_options_are_sent_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(scores(4)) as server:
        reach(server, monkeypatch)
        judged(1, "judge(model='m', temperature=None, max_tokens=None, format='text')")
        assert server.sent[0].keys() == {"model", "messages"}


def test_a_blank_context_or_reply_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(scores(4)) as server:
        reach(server, monkeypatch)
        blank = Pair(Item("i", (Turn(" "),)), Response("r", "i", "s", "Yes."))
        empty = Pair(Item("i", (Turn("Well?"),)), Response("r", "i", "s", " \n"))
        found = parse("judge(model='m')").score([blank, empty])
        assert all(math.isnan(value) for value in found)
        assert not server.sent


def test_what_was_answered_is_never_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(scores(3)) as server:
        reach(server, monkeypatch)
        assert judged(20) == [3.0] * 20
        assert judged(25) == [3.0] * 25
        assert len(server.sent) == 25
        twice = pairs(3, "Another question?")
        parse("judge(model='m')").score([*twice, *twice])
        assert len(server.sent) == 28
        judged(20, "judge(model='n')")
        assert len(server.sent) == 48, "another model is another judge"


def test_repeats_are_asked_apart_and_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(scores(2), scores(3), scores(3)) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
        assert judged(1, "judge(model='m', repeats=3)") == [pytest.approx(8 / 3)]
        assert len({json.dumps(sent) for sent in server.sent}) == 3


def test_no_more_requests_are_in_flight_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(scores(4), delay=0.02) as server:
        reach(server, monkeypatch)
        judged(200)
        assert 16 < server.most_at_once <= 32
        monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "3")
        server.most_at_once = 0
        judged(30, "judge(model='n')")
        assert server.most_at_once == 3


# A server that misbehaves


@pytest.mark.parametrize(
    "content",
    [
        "A fine reply.",
        '{"score": true, "reason": "so"}',
        '{"score": 6, "reason": "so"}',
        '{"score": 4, "reason": "so", "score": 5}',
        "[" * 100_000,
        "",
        None,
        {"score": 4, "reason": "so"},
    ],
)
def test_an_answer_that_cannot_be_read_is_asked_for_once_more_then_missing(
    content: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(says(content)) as server:
        reach(server, monkeypatch)
        assert math.isnan(judged()[0])
        assert len(server.sent) == 2
        assert "could not be read" in server.sent[1]["messages"][-1]["content"]
        assert math.isnan(judged()[0])
        assert len(server.sent) == 2, "two answers were paid for; a third is not asked for"


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"null", b"{}", b'{"choices": []}', b'{"choices": [{"message": {}}]}', b"\xff\xfe"]
)
def test_a_body_that_is_no_completion_is_tried_again(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(lambda handler, _: handler.give(200, body), scores(5)) as server:
        reach(server, monkeypatch)
        assert judged() == [5.0]
        assert len(server.sent) == 2


@pytest.mark.parametrize("act", [fails(429), fails(500), fails(503), fails(408), hangs_up, cuts_short])
def test_what_passes_is_waited_for(act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(act, act, scores(5)) as server:
        reach(server, monkeypatch)
        assert judged() == [5.0]
        assert len(server.sent) == 3


@pytest.mark.parametrize("act", [stalls, drips])
def test_a_server_that_stalls_or_drips_is_left_after_the_timeout(act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(act, scores(5)) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_TIMEOUT", "0.3")
        begun = time.monotonic()
        assert judged() == [5.0]
        assert time.monotonic() - begun < 3


def test_an_endpoint_that_stays_busy_ends_the_run_and_keeps_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    monkeypatch.setenv("REJOINDER_JUDGE_RETRIES", "2")
    with served(scores(4), scores(4), fails(503)) as server:
        reach(server, monkeypatch)
        with pytest.raises(
            JudgeError, match=r"no answer in 3 tries \(last: HTTP 503 and says 'no'\); every answer so far is stored"
        ):
            judged(5)
        assert len(server.sent) == 5
    with served(scores(1)) as server:
        reach(server, monkeypatch)
        assert judged(5) == [4.0, 4.0, 1.0, 1.0, 1.0]
        assert len(server.sent) == 3


def test_pauses_grow_and_a_retry_after_is_honoured_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EndpointSettings, "__init__", EndpointSettings.__init__.__closure__[0].cell_contents)  # type: ignore[attr-defined]
    with served(fails(500), fails(500), scores(4)) as server:
        reach(server, monkeypatch)
        judged()
        first, second = server.times[1] - server.times[0], server.times[2] - server.times[1]
        assert 0.25 <= first < 0.7
        assert 0.5 <= second < 1.3
    with served(fails(429, Retry_After="1"), scores(4)) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "2")
        judged(6, "judge(model='n')")
        in_between = [t for t in server.times if 0.2 < t - server.times[0] < 0.95]
        assert not in_between, "the whole run waits, not only the request that was told so"


def test_a_retry_after_is_a_number_or_a_date() -> None:
    from datetime import datetime, timedelta
    from email.utils import format_datetime, formatdate

    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert _parse_retry_after("7") == 7.0
    assert 80 < _parse_retry_after(later) <= 90
    for nothing in (None, "", "soon", "-5", "nan", formatdate(0, usegmt=True)):
        assert _parse_retry_after(nothing) == 0.0


def test_an_endless_retry_after_is_an_error_and_no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(fails(429, Retry_After="999999999")) as server:
        reach(server, monkeypatch)
        with pytest.raises(JudgeError, match="asks to wait for 999,999,999 s"):
            judged()


@pytest.mark.parametrize(("status", "cure"), [(401, "REJOINDER_JUDGE_KEY"), (404, "REJOINDER_JUDGE_URL"), (301, "URL")])
def test_an_endpoint_that_will_never_answer_is_told_at_once(
    status: int, cure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({"error": {"message": f"wrong key {KEY}\nindeed"}}).encode()
    with served(fails(status, body, Location="http://127.0.0.1:9/")) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
        with pytest.raises(JudgeError, match=f"HTTP {status} and says .*{cure}") as told:
            judged(5)
        assert len(server.sent) == 1
        assert KEY not in str(told.value)
        assert server.url not in str(told.value)


def test_a_refused_request_has_no_score_but_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    with served(scores(4), fails(400), scores(4)) as server:
        reach(server, monkeypatch)
        found = judged(3)
        assert found[0] == found[2] == 4.0
        assert math.isnan(found[1])
        assert judged(3) == [4.0, 4.0, 4.0], "nothing was paid for a refusal: it is asked again"


def test_when_every_request_is_refused_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    body = b'{"error": {"message": "messages are not supported"}}'
    for n in (1, 50):
        with served(fails(400, body)) as server:
            reach(server, monkeypatch)
            with pytest.raises(JudgeError, match="refuses every request with HTTP 400 and says 'messages are not"):
                judged(n)
            assert len(server.sent) == min(n, 3) + 1, "the first was also sent without a format"


def test_workers_stop_by_themselves_when_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "8")
    slow = AnswerStore.add

    def add(store: AnswerStore, answer: StoredAnswer) -> None:
        time.sleep(0.2)  # whoever reads the answers is slow: the workers must not run ahead meanwhile
        slow(store, answer)

    monkeypatch.setattr(AnswerStore, "add", add)
    with served(fails(400)) as server:
        reach(server, monkeypatch)
        with pytest.raises(JudgeError, match="refuses every request"):
            judged(200)
        assert len(server.sent) == 4, "the third refusal, of which the first was tried without a format, too"


def test_a_score_cache_does_not_keep_a_refusal_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.scoring.run import Plan, run

    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    file, plan = chats(tmp_path, 3), Plan.of(["judge(model='m')"])

    def scored(name: str) -> list[float]:
        return list(run([file], plan, tmp_path / name).scores.values["judge(model='m')"])

    with served(scores(4), fails(400), scores(2)) as server:
        reach(server, monkeypatch)
        assert scored("first") == [4.0, pytest.approx(math.nan, nan_ok=True), 2.0]
        assert scored("second") == [4.0, 2.0, 2.0]
        assert len(server.sent) == 4, "only what was refused is asked again"
        monkeypatch.delenv("REJOINDER_JUDGE_URL")
        assert scored("third") == [4.0, 2.0, 2.0], "all is answered: no judge is needed"


def test_an_unreadable_answer_is_asked_for_again_only_with_more_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rejoinder.scoring.run import Plan, run

    file, plan = chats(tmp_path, 1), Plan.of(["judge(model='m')"])

    def scored(name: str) -> float:
        return float(run([file], plan, tmp_path / name).scores.values["judge(model='m')"][0])

    with served(says("hm"), says("hm"), scores(4)) as server:
        reach(server, monkeypatch)
        assert math.isnan(scored("first"))
        assert math.isnan(scored("second"))
        assert len(server.sent) == 2
        monkeypatch.setenv("REJOINDER_JUDGE_TRIES", "5")
        assert scored("third") == 4.0
        assert len(server.sent) == 3


def test_a_run_of_which_the_answers_were_deleted_is_not_paid_again(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rejoinder.scoring.run import Plan, run

    file, plan = chats(tmp_path, 2), Plan.of(["judge(model='m')"])
    with served(scores(4)) as server:
        reach(server, monkeypatch)
        run([file], plan, tmp_path / "first")
        for path in (own_cache / "judge").iterdir():
            path.unlink()
        assert list(run([file], plan, tmp_path / "second").scores.values["judge(model='m')"]) == [4.0, 4.0]
        assert len(server.sent) == 2


# A server that lies


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2}, TokenUsage(7, 2)),
        ({"prompt_tokens": -7, "completion_tokens": 2}, TokenUsage(None, 2)),
        ({"prompt_tokens": 7.5, "completion_tokens": "2"}, TokenUsage(None, None)),
        ({"prompt_tokens": True, "completion_tokens": 10**30}, TokenUsage(None, None)),
        ({}, TokenUsage(None, None)),
        ("many", TokenUsage(None, None)),
        ([], TokenUsage(None, None)),
    ],
)
def test_token_counts_that_make_no_sense_are_unknown(usage: Any, expected: TokenUsage) -> None:
    found = parse_chat_completion(completion(GOOD, usage))
    assert found.usage == expected
    assert found.content == GOOD


def test_a_key_that_the_endpoint_repeats_is_blacked_out(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(says(GOOD, note=f"you are {KEY}")) as server:
        reach(server, monkeypatch)
        judged()
        url = server.url
    kept = b"".join(path.read_bytes() for path in own_cache.rglob("*") if path.is_file())
    assert b"you are ***" in kept
    assert KEY.encode() not in kept
    assert url.encode() not in kept


@pytest.mark.parametrize("key", ["sk-a/b", 'sk"quoted"x', "sk\\back\\slash", "sk-<&>'x"])
def test_a_key_is_blacked_out_however_json_writes_it(
    key: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    escaped = json.dumps(key)[1:-1]
    forms = {escaped, escaped.replace("/", "\\/"), "".join(f"\\u{ord(c):04x}" for c in key)}
    forms |= {"".join(f"\\u{ord(c):04X}" for c in key), json.dumps(json.dumps(key))[1:-1]}
    note = "".join(f', "note{n}": "you are {form}!"' for n, form in enumerate(forms))
    body = completion(GOOD)[:-1] + note.encode() + b"}"
    echo = '{"error": {"message": "no ' + escaped.replace("/", "\\/") + '"}}'
    with served(lambda handler, _: handler.give(200, body)) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_KEY", key)
        judged()
    kept = b"".join(path.read_bytes() for path in own_cache.rglob("*.jsonl"))
    answer = json.loads(json.loads(kept.splitlines()[0])["body"])
    assert {answer[f"note{n}"].strip('"') for n in range(len(forms))} <= {"you are ***!", 'you are "***"!'}
    with served(fails(401, echo.encode())) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_KEY", key)
        with pytest.raises(JudgeError, match=r"no \*\*\*"):
            judged(2)


# Where the judge is


def test_without_an_endpoint_the_error_says_what_to_set() -> None:
    with pytest.raises(
        JudgeError, match=r"set OPENAI_API_KEY or .* set REJOINDER_JUDGE_URL .* or use judge\(model='embedded'\)"
    ):
        judged()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://", "http://me:secret@host/v1", "file:///x"])
def test_a_url_that_is_none_is_an_error_that_does_not_repeat_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_URL", url)
    with pytest.raises(JudgeError, match="the judge's URL must be") as told:
        judged()
    assert "secret" not in str(told.value)


def test_the_general_variables_serve_but_a_key_only_goes_with_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJOINDER_JUDGE_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://general/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-general")
    found = read_endpoint_settings("m")
    assert (found.url, found.key) == ("http://general/v1", "sk-general")
    monkeypatch.setenv("REJOINDER_JUDGE_URL", "http://own/v1")
    assert read_endpoint_settings("m").key == ""


def test_settings_never_show_url_or_key() -> None:
    assert repr(EndpointSettings("http://host/v1", KEY)) == repr(EndpointSettings("http://other/v1", "x"))


@pytest.mark.parametrize(("name", "value"), [("TIMEOUT", "soon"), ("IN_FLIGHT", "0"), ("RETRIES", "1.5")])
def test_a_setting_that_is_no_number_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_URL", "http://own/v1")
    monkeypatch.setenv(f"REJOINDER_JUDGE_{name}", value)
    with pytest.raises(SpecError, match=f"REJOINDER_JUDGE_{name} must be a number"):
        read_endpoint_settings("m")


def test_nobody_listening_is_an_error_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("REJOINDER_JUDGE_RETRIES", "1")
    with pytest.raises(JudgeError, match="no answer in 2 tries"):
        judged()


# The spec and the signature


def test_spec_and_signature_hold_what_decides_the_number_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_URL", "http://somewhere/v1")
    metric = parse("judge(model='m', repeats=2)")
    assert str(metric) == "judge(model='m', repeats=2)"
    signed = signature(metric)
    assert f"rubric_digest:{RUBRIC.digest[:12]}" in signed
    assert "somewhere" not in signed
    assert KEY not in signed
    own = tmp_path / "own.toml"
    own.write_text('rate = "Is it polite?"\n[scale]\nlow = 0\nhigh = 10\n')
    other = parse(f"judge(model='m', rubric={str(own)!r})")
    assert other.range == (0.0, 10.0)
    before = signature(other)
    own.write_text(own.read_text() + "# changed\n")
    assert signature(other) != before


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("judge(model='')", "model must name a model"),
        ("judge(model='m', repeats=0)", "repeats must be a whole number"),
        ("judge(model='m', temperature=3)", "temperature must be"),
        ("judge(model='m', max_tokens=0)", "max_tokens must be"),
        ("judge(model='m', format='json')", "format must be one of 'auto', 'schema', 'tool', 'text'"),
        ("judge(model='m', json_mode=True)", "no parameter 'json_mode' any more; write format='schema' instead"),
        ("judge(logprobs=True)", "leave format and logprobs out"),
        ("judge(repeats=2)", "always gives the same answer"),
        ("judge(model='m', rubric='defualt')", "did you mean 'default'"),
    ],
)
def test_parameters_that_make_no_sense_are_named(spec: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        parse(spec)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rate = ", "is not valid TOML"),
        ("[scale]\nlow = 1\nhigh = 5\n", "needs the key 'rate'"),
        ('rate = " "\n[scale]\nlow = 1\nhigh = 5\n', "'rate' must be a text"),
        ('rate = "x"\nscale = 5\n', "scale must have low and high"),
        ('rate = "x"\n[scale]\nlow = 5\nhigh = 5\n', "scale must have low and high"),
        ('rate = "x"\n[scale]\nlow = 1\nhigh = true\n', "scale must have low and high"),
        ('rate = "x"\ncolour = 1\n[scale]\nlow = 1\nhigh = 5\n', "no key 'colour'"),
        ('rate = "x"\n[scale]\nlow = 1\nhigh = 5\n[anchors]\n7 = "y"\n', "numbers from 1 to 5"),
    ],
)
def test_a_rubric_that_cannot_be_used_says_why(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        load_rubric(str(path))
    with pytest.raises(InputError, match="cannot be read"):
        load_rubric(str(tmp_path / "none.toml"))


# Two replies


def choosing(better: str) -> Any:
    return says(json.dumps({"better": better, "reason": "so"}))


def by_text(handler: Any, sent: dict[str, Any]) -> None:
    """Prefer the reply that says good, wherever it stands."""
    line = json.loads(sent["messages"][1]["content"].splitlines()[1])
    better = "first" if "good" in line["first reply"] else "second"
    handler.give(200, completion(json.dumps({"better": better, "reason": "so"})))


def test_two_replies_are_compared_in_both_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(by_text) as server:
        reach(server, monkeypatch)
        found = compare_pair(open_judge("m"), ["Well?"], "good", "bad")
        assert found == PairComparison("first", "first", "first", 1.0)
        assert compare_pair(open_judge("m"), ["Well?"], "bad", "good").choice == "second"
        assert len(server.sent) == 2, "both orders of the second call were already answered"


def test_a_judge_that_always_takes_the_first_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(choosing("first")) as server:
        reach(server, monkeypatch)
        found = compare_pair(open_judge("m"), ["Well?"], "good", "bad")
    assert found == PairComparison("tie", "first", "second", 0.0)
    assert order_consistency([found]) == (1, 0.0, 1.0)


def test_order_consistency_by_hand() -> None:
    steady, biased = PairComparison.of_choices("first", "first"), PairComparison.of_choices("second", "first")
    tied, unread = PairComparison.of_choices("tie", "tie"), PairComparison.of_choices(None, None)
    assert biased.choice == "tie"
    assert PairComparison.of_choices("first", None).choice == "first"
    # Decided answers: first/second of steady took the first shown once of two; biased never (it took the last shown).
    assert order_consistency([steady, biased, tied, unread]) == (3, 2 / 3, 1 / 4)
    assert order_consistency([]).n == 0


# Keeping


def test_a_torn_line_is_dropped_and_a_damaged_one_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    store = AnswerStore(path)
    first, second = (StoredAnswer(key, "answered", 200, "{}", 0.1) for key in "ab")
    with store.claim():
        store.add(first)
    with path.open("ab") as file:
        file.write(b'{"key": 3}\n{"key": "c", "outco')
    again = AnswerStore(path)
    with again.claim():
        assert again.get_all("a") == [first]
        again.add(second)
    last = AnswerStore(path)
    last.refresh()
    assert (last.get_all("a"), last.get_all("b"), last.get_all("c")) == ([first], [second], [])
    path.unlink()
    last.refresh()
    assert not last.has_answers


def test_a_store_that_cannot_be_written_is_an_error_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be stored there"), AnswerStore(tmp_path / "file" / "x.jsonl").claim():
        pass


def test_a_run_that_is_killed_keeps_every_answer_that_came(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import rejoinder\n"
        "from rejoinder.data.collection import from_lists\n"
        "rejoinder.score(from_lists([f'Reply {i}.' for i in range(400)], [['Well?']] * 400), [\"judge(model='m')\"])\n"
    )
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "4")
    with served(scores(4), delay=0.01) as server:
        reach(server, monkeypatch)
        running = subprocess.Popen([sys.executable, "-c", program])
        while len(server.sent) < 60 and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait()
        before = len(server.sent)
        assert 60 <= before < 400
        lines = next((own_cache / "judge").iterdir()).read_bytes().count(b"\n")
        assert before - lines <= 8, "at most what was in flight, or had just come, is lost"
        rejoinder.score(from_lists([f"Reply {i}." for i in range(400)], [["Well?"]] * 400), ["judge(model='m')"])
        assert len(server.sent) == 400 + before - lines


def test_processes_share_the_limit_and_pay_once(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "chats.jsonl"
    records: list[dict[str, Any]] = [{"kind": "item", "id": "i", "context": [{"text": "Well?"}]}]
    records += [
        {"kind": "response", "id": f"r{k}", "item": "i", "system": "s", "text": f"Reply {k % 900}."}
        for k in range(2400)
    ]
    file.write_text("\n".join(json.dumps(record) for record in records) + "\n")
    with served(scores(4)) as server:
        reach(server, monkeypatch)
        command = [sys.executable, "-m", "rejoinder", "score", str(file), "-m", "judge(model='m')", "--processes", "2"]
        done = subprocess.run([*command, "-o", str(tmp_path / "run")], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(server.sent) == 900
        assert server.most_at_once <= 32
        kept = "".join(p.read_text() for p in (tmp_path / "run").rglob("*") if p.is_file()) + done.stderr + done.stdout
        assert KEY not in kept
        assert server.url not in kept


# What a judge said of itself


def test_consistency_and_cost_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    acts = [scores(1), scores(2), scores(4), scores(4), says("oops"), scores(5), scores(5)]
    with served(*acts) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
        metric: Any = parse("judge(model='m', repeats=2)")
        given = pairs(3)
        assert metric.score(given) == [1.5, 4.0, 5.0]
        said = list(metric.judge().stored_answers([metric.to_request(pair) for pair in given]))
    found = measure_consistency(said)
    assert (found.n, found.same) == (3, 2 / 3)
    assert found.mean_difference == pytest.approx(1 / 3)
    assert 0.9 < found.alpha < 1
    counted = count_answers(said)
    assert counted == (7, 6, 1, 0, 700, 70, 0)
    assert compute_price(counted, (2.0, 10.0)) == pytest.approx(700 * 2e-6 + 70 * 10e-6)
    assert [len(answers) for answers in said] == [2, 2, 3]
    assert said[2][0].answer.outcome == "unreadable"


def test_a_run_shows_its_judge_and_hands_out_the_raw_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from rejoinder.cli import program

    file = chats(tmp_path, 3)
    run, raw = tmp_path / "run", tmp_path / "answers.jsonl"
    spec = "judge(model='m', repeats=2)"
    with served(scores(2), scores(4)) as server:
        reach(server, monkeypatch)
        done = CliRunner().invoke(program, ["score", str(file), "-m", spec, "-o", str(run), "--processes", "1"])
        assert done.exit_code == 0, done.output
        asked = len(server.sent)
    command = ["judge", str(run), "-o", str(raw), "--input-price", "1", "--output-price", "2", "--format", "json"]
    shown = CliRunner().invoke(program, command)
    assert shown.exit_code == 0, shown.output
    (row,) = json.loads(shown.stdout)["rows"]
    assert (row["judge"], row["replies"], row["answers"], row["compared"]) == (spec, 3, asked, 3)
    assert row["cost"] == pytest.approx(6 * (100 + 2 * 10) / 1e6)
    lines = [json.loads(line) for line in raw.read_text().splitlines()]
    assert [(line["response"], line["repeat"]) for line in lines] == [(f"r{k}", n) for k in range(3) for n in (0, 1)]
    assert {line["score"] for line in lines} == {2, 4}
    assert '"choices"' in lines[0]["body"]


def test_a_run_without_a_judge_says_so(tmp_path: Path) -> None:
    from rejoinder.reports.judge import judge, judge_table
    from rejoinder.scoring.run import Plan, run

    file = tmp_path / "chats.jsonl"
    file.write_text(
        '{"kind": "item", "id": "i", "context": [{"text": "Well?"}]}\n'
        '{"kind": "response", "id": "r", "item": "i", "system": "s", "text": "Yes."}\n'
    )
    run([file], Plan.of(["length"]), tmp_path / "run")
    with pytest.raises(RunError, match="no judge was used"):
        judge_table(judge(tmp_path / "run"))


# What went wrong is said


def score_by_command(file: Path, out: Path, *more: str) -> Any:
    from click.testing import CliRunner

    from rejoinder.cli import program

    words = ["score", str(file), "-m", "judge(model='m')", "-o", str(out), *more]
    return CliRunner().invoke(program, words)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_requests_that_failed_and_were_sent_again_are_counted(
    processes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    for name in ("_MEAN_CHUNK", "_SMALLEST_CHUNK", "_LARGEST_CHUNK"):  # a chunk for each reply, so that two work
        monkeypatch.setattr(index, name, {"_MEAN_CHUNK": 2, "_SMALLEST_CHUNK": 1, "_LARGEST_CHUNK": 1}[name])
    with served(fails(429), scores(4), fails(429), fails(503), scores(2), says("no JSON"), scores(3)) as server:
        reach(server, monkeypatch)
        done = score_by_command(chats(tmp_path, 3), tmp_path / "run", "--processes", processes)
        assert len(server.sent) == 7
    assert done.exit_code == 0, done.output
    assert "4 failures (HTTP 429: 2; HTTP 503: 1; unreadable answer: 1), 4 retries\n" in done.stderr
    timings = json.loads((tmp_path / "run" / "timings.json").read_text())
    assert timings["requests"] == {"HTTP 429": 2, "HTTP 503": 1, "unreadable answer": 1, "retries": 4}


def test_a_run_without_a_readable_answer_says_so_and_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_TRIES", "2")
    with served(says("Fairly good, I would say.")) as server:
        reach(server, monkeypatch)
        done = score_by_command(chats(tmp_path, 36), tmp_path / "run", "--processes", "1")
        assert len(server.sent) == 72
    assert done.exit_code == 1
    assert "72 failures (unreadable answer: 72), 36 retries\n" in done.stderr
    why = "none of 36 replies has a score under judge(model='m') (36 with only unreadable answers)"
    assert done.stderr.endswith(f"rejoinder: {why}\n")
    again = score_by_command(tmp_path / "chats.jsonl", tmp_path / "run")
    assert (again.exit_code, why in again.stderr) == (1, True)


def test_showing_the_judges_of_a_run_runs_no_code_that_the_run_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rejoinder.reports.judge import judge, judge_table, read_raw_answers
    from rejoinder.scoring.run import Plan, run

    with served(says(GOOD)) as server:
        reach(server, monkeypatch)
        run([chats(tmp_path, 2)], Plan.of(["judge(model='m')", "length"]), tmp_path / "run")
    mine = tmp_path / "mine.py"
    mine.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    about = tmp_path / "run" / "run.json"
    about.write_text(about.read_text().replace('"length"', json.dumps(str(mine))))
    assert judge_table(judge(tmp_path / "run")).rows
    assert list(read_raw_answers(tmp_path / "run"))
    assert not (tmp_path / "ran").exists()
