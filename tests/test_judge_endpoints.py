"""Where a judge is, in which format it is asked, and what is made of its log-probabilities; against servers of ours."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from judge_server import Act, completion, fails, forget_endpoints, message, says, scores, served
from judge_server import Handler as Request

from rejoinder.errors import JudgeError
from rejoinder.judges import compare_pair, negotiation, open_judge, provider
from rejoinder.judges.answer_summary import add_summaries, describe_summary
from rejoinder.judges.protocol import ALTERNATIVES, AnswerForm, RequestStyle, adapt_style
from rejoinder.judges.provider import find_endpoint
from rejoinder.metric import parse
from rejoinder.types import Item, Pair, Response, Turn

GOOD = '{"score": 4, "reason": "so"}'
KEYS = {"REJOINDER_JUDGE_KEY": "sk-own", "OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-ant"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_endpoints(monkeypatch, hasty=True)


def judged(n: int = 1, spec: str = "judge(model='m')", context: str = "Well?") -> list[float]:
    item = Item("i", (Turn(context, "A"),))
    return parse(spec).score([Pair(item, Response(f"r{k}", "i", "s", f"Reply number {k}.")) for k in range(n)])


def set_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


# Which endpoint has a model


def test_a_key_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    assert find_endpoint("gpt-x")[:4] == ("openai", "https://api.openai.com/v1", "sk-openai", "gpt-x")
    assert find_endpoint("openai/gpt-x").model == "gpt-x"
    assert find_endpoint("claude-x").provider == "openai", "without its key, it cannot be at Anthropic"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
    found = find_endpoint("claude-x")
    assert found[:4] == ("anthropic", "https://api.anthropic.com/v1", "sk-ant", "claude-x")
    assert find_endpoint("anthropic/claude-x") == found
    assert find_endpoint("gpt-x").provider == "openai"


def test_what_is_set_for_the_judge_wins_and_names_stay_as_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    set_keys(monkeypatch)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://general.example/v1")
    assert find_endpoint("openai/gpt-x")[1:4] == ("https://general.example/v1", "sk-own", "openai/gpt-x")
    monkeypatch.setenv("REJOINDER_JUDGE_URL", "https://own.example/v1/")
    for model in ("claude-x", "anthropic/claude-x", "ollama/llama", "gpt-x"):
        assert find_endpoint(model)[:4] == ("endpoint", "https://own.example/v1", "sk-own", model)
    monkeypatch.setenv("REJOINDER_JUDGE_URL", "https://api.anthropic.com")
    assert find_endpoint("claude-x")[:3] == ("anthropic", "https://api.anthropic.com/v1", "sk-own")


def test_every_key_goes_to_its_own_endpoint_and_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    set_keys(monkeypatch)
    monkeypatch.setattr(provider, "LOCAL_PORTS", {"ollama": 11434, "vllm": 8000, "llama.cpp": 8080})
    assert find_endpoint("gpt-x").key == "sk-openai"
    assert find_endpoint("claude-x").key == "sk-ant"
    assert {find_endpoint(f"{one}/x").key for one in ("ollama", "vllm", "llama.cpp")} == {""}
    monkeypatch.delenv("REJOINDER_JUDGE_KEY")
    monkeypatch.setenv("REJOINDER_JUDGE_URL", "https://own.example/v1")
    assert find_endpoint("claude-x").key == find_endpoint("gpt-x").key == ""


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("gpu", "http://gpu:11434/v1"),
        ("gpu:1234", "http://gpu:1234/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234/v1"),
        ("[::1]:1234", "http://[::1]:1234/v1"),
        ("http://gpu:1234/", "http://gpu:1234/v1"),
        ("https://gpu.example/ollama", "https://gpu.example/ollama/v1"),
    ],
)
def test_ollama_is_where_its_own_variable_says(host: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "LOCAL_PORTS", {"ollama": 11434})
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert find_endpoint("ollama/llama3:8b")[:4] == ("ollama", url, "", "llama3:8b")


def test_servers_on_this_machine_are_tried_in_order_and_asked_for_their_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with served(scores(4)) as first, served(scores(2)) as second, served(scores(1)) as neither:
        first.models, second.models = ["llama3:latest"], ["Qwen/Qwen2", "llama3"]
        ports = [one.server_address[1] for one in (neither, first, second)]
        names = ("ollama", "vllm", "llama.cpp")
        monkeypatch.setattr(provider, "LOCAL_PORTS", dict(zip(names, ports, strict=True)))
        assert judged(1, "judge(model='llama3')") == [4.0]
        assert judged(1, "judge(model='Qwen/Qwen2')") == [2.0]
        assert first.sent[0]["model"] == "llama3:latest"
        assert (first.paths, len(neither.sent)) == (["/v1/chat/completions"], 0)
        with pytest.raises(JudgeError, match="no server on this machine lists the model 'gpt'") as told:
            judged(1, "judge(model='gpt')")
        assert "vllm has 'llama3:latest'; llama.cpp has 'Qwen/Qwen2, llama3'" in str(told.value)
        assert judged(1, "judge(model='llama.cpp/anything')") == [2.0]
        assert second.sent[-1]["model"] == "anything"


def test_errors_name_the_variable_that_belongs_to_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    set_keys(monkeypatch)
    body = b'{"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key sk-ant"}}'
    with served(fails(401, body)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        with pytest.raises(JudgeError, match=r"says 'invalid x-api-key \*\*\*'; set ANTHROPIC_API_KEY"):
            judged(1, "judge(model='claude-x')")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "nowhere")
    with pytest.raises(JudgeError, match="set ANTHROPIC_BASE_URL"):
        judged(1, "judge(model='claude-x')")
    with served(fails(404, b'{"error": "model \\"x\\" not found"}')) as server:
        monkeypatch.setattr(provider, "LOCAL_PORTS", {"ollama": server.server_address[1]})
        with pytest.raises(JudgeError, match=r"not found.*; run: ollama pull x"):
            judged(1, "judge(model='ollama/x')")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'),
        (400, b'{"type": "error", "error": {"message": "Your credit balance is too low"}}'),
    ],
)
def test_an_empty_account_ends_the_run_at_once(status: int, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    with served(scores(4), fails(status, body)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        with pytest.raises(JudgeError, match="add credit to the account"):
            judged(9)
        assert len(server.sent) == 2


# Anthropic's own protocol


def verdict(handler: Request, sent: dict[str, Any]) -> None:
    """Answer as Anthropic does: with the input of the tool that must be used, else with text."""
    if "tools" not in sent:
        handler.give(200, message({"type": "text", "text": "Rating: 2"}))
        return
    key = next(iter(sent["tools"][0]["input_schema"]["properties"]))
    given = {"score": 5, "better": "first"}[key]
    handler.give(200, message({"type": "tool_use", "name": "give_verdict", "input": {key: given, "reason": "so"}}))


def test_anthropic_is_asked_in_its_own_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
    busy = fails(529, b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}')
    with served(busy, verdict) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url.removesuffix("/v1"))
        assert judged(3, "judge(model='claude-x')") == [5.0] * 3
        sent, headers = server.sent[-1], {name.lower(): value for name, value in server.headers[-1].items()}
        assert set(server.paths) == {"/v1/messages"}
        assert (headers["x-api-key"], headers["anthropic-version"]) == ("sk-ant", "2023-06-01")
        assert "authorization" not in headers
        assert sent.keys() == {"model", "system", "messages", "max_tokens", "temperature", "tools", "tool_choice"}
        assert [one["role"] for one in sent["messages"]] == ["user"]
        assert "5: excellent" in sent["system"]
        assert sent["tool_choice"] == {"type": "tool", "name": sent["tools"][0]["name"]}
        assert judged(1, "judge(model='claude-x', format='text', temperature=None, max_tokens=None)") == [2.0]
        assert server.sent[-1].keys() == {"model", "system", "messages", "max_tokens"}, "a limit is required there"
        with pytest.raises(JudgeError, match="write format='tool'"):
            judged(1, "judge(model='claude-x', format='schema')")
        found = compare_pair(open_judge("claude-x"), ["Well?"], "good", "bad")
        assert (found.forward, found.backward) == ("first", "second")
        metric: Any = parse("judge(model='claude-x')")
        pair = Pair(Item("i", (Turn("Well?", "A"),)), Response("r", "i", "s", "Reply number 0."))
        (answer,) = next(metric.trace([pair]))
        assert (answer["score"], answer["style"]) == (5, "anthropic: tool")
        assert answer["usage"] == {"input": 100, "output": 10}


# The format of the answer


def accepts(*formats: str, limit: str = "max_tokens", temperature: bool = True, logprobs: bool = True) -> Act:
    """An endpoint that refuses what it does not know, naming it."""

    def act(handler: Request, sent: dict[str, Any]) -> None:
        known = {"model", "messages", limit}
        known |= {"response_format"} if "schema" in formats else set()
        known |= {"tools", "tool_choice"} if "tool" in formats else set()
        known |= {"temperature"} if temperature else set()
        known |= {"logprobs", "top_logprobs"} if logprobs else set()
        unknown = sorted(sent.keys() - known)
        if unknown:
            error = {"message": f"Unsupported parameter: '{unknown[0]}' is not supported.", "param": unknown[0]}
            handler.give(400, json.dumps({"error": error}).encode())
        elif "tools" in sent:
            call = {"type": "function", "function": {"name": "give_verdict", "arguments": GOOD}}
            choice = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}
            handler.give(200, json.dumps({"choices": [choice]}).encode())
        else:
            handler.give(200, completion(GOOD))

    return act


@pytest.mark.parametrize(
    ("act", "refused", "style"),
    [
        (accepts("schema", "tool"), 0, "schema"),
        (accepts("tool"), 1, "tool"),
        (accepts(), 2, "text"),
        (accepts("schema", limit="max_completion_tokens"), 1, "schema, max_completion_tokens"),
        (accepts("schema", limit="seed"), 2, "schema, no limit"),
        (accepts("tool", temperature=False), 2, "tool, no temperature"),
    ],
)
def test_the_best_format_that_the_endpoint_takes_is_found_with_one_refusal_each(
    act: Act, refused: int, style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(act) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        assert judged(40) == [4.0] * 40
        assert len(server.sent) == 40 + refused, "the others wait until the first is answered"
        judged(40, context="Another?")
        assert len(server.sent) == 80 + refused, "what works is remembered"
        negotiation._known_styles.clear()  # as in another process
        judged(3, context="A third one?")
        assert len(server.sent) == 83 + refused, "the stored answers say how they were asked for"
    metric: Any = parse("judge(model='m')")
    pair = Pair(Item("i", (Turn("Well?", "A"),)), Response("r", "i", "s", "Reply number 0."))
    assert next(metric.trace([pair]))[0]["style"] == f"endpoint: {style}"
    assert RequestStyle.parse(style) is not None


def test_a_format_that_is_named_is_used_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(accepts("tool")) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        assert judged(1, "judge(model='m', format='tool')") == [4.0]
        assert judged(1, "judge(model='m', format='text')") == [4.0]
        assert len(server.sent) == 2
        with pytest.raises(JudgeError, match=r"does not take format='schema' \(HTTP 400, and says .*'response_format'"):
            judged(40, "judge(model='m', format='schema')")
        assert len(server.sent) == 3, "it is refused once, not once per reply"


@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
def test_a_named_format_that_the_server_lacks_is_refused_once_in_one_sentence(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"error": {"message": "tools are not supported by this model"}}'
    with served(fails(status, body)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        with pytest.raises(JudgeError) as error:
            judged(20, "judge(model='m', format='tool')")
        assert len(server.sent) == 1
    assert str(error.value) == (
        f"the judge's endpoint does not take format='tool' (HTTP {status}, and says 'tools are not supported by this "
        "model'); leave format out, and one that it takes is found"
    )


def test_a_vague_refusal_of_a_named_format_names_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")  # else how many are sent before the first refusal is chance
    with served(fails(400, b"Bad Request")) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        with pytest.raises(JudgeError, match="if it does not take format='schema', leave format out"):
            judged(20, "judge(model='m', format='schema')")
        assert len(server.sent) <= 4
        with pytest.raises(JudgeError, match=r"refuses every request with HTTP 400 and says 'Bad Request'$"):
            judged(20, "judge(model='m', format='text')")


def test_a_refusal_without_a_reason_is_tried_without_a_format_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def vague(handler: Request, sent: dict[str, Any]) -> None:
        handler.give(400, b"Bad Request") if "response_format" in sent else handler.give(200, completion(GOOD))

    with served(vague) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        assert judged(5) == [4.0] * 5
        assert len(server.sent) == 6


def test_a_text_that_is_too_long_does_not_change_how_others_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    too_long = "'max_tokens' is too large: 512. This model's maximum context length is 2048 tokens; reduce the messages"
    body = json.dumps({"error": {"message": too_long}}).encode()
    with served(scores(4), fails(400, body), scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        found = judged(3)
        assert (found[0], found[2], math.isnan(found[1])) == (4.0, 4.0, True)
        assert all("max_tokens" in sent for sent in server.sent)
    form = AnswerForm({}, ("schema", "text"))
    assert adapt_style(RequestStyle("schema"), {"max_tokens": 512}, form, too_long) is None


def test_a_temperature_out_of_range_is_an_error_and_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"type": "error", "error": {"message": "temperature: Input should be less than or equal to 1"}}'
    with served(fails(400, body)) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        with pytest.raises(JudgeError, match="temperature: Input should be less than or equal to 1"):
            judged(1, "judge(model='claude-x', temperature=1.5)")


def test_an_endpoint_that_changed_is_adapted_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(accepts("schema")) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        judged(2)
        server.acts[:] = [accepts()]
        assert judged(30, context="Another?") == [4.0] * 30


def test_a_schema_says_what_the_rubric_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rubric = tmp_path / "own.toml"
    rubric.write_text('rate = "Is it polite?"\n[scale]\nlow = 0\nhigh = 3\n')
    with served(scores(3)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        assert judged(1, f"judge(model='m', rubric={str(rubric)!r})") == [3.0]
        schema = server.sent[0]["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["score"]["enum"] == [0, 1, 2, 3]
        assert schema["required"] == ["score", "reason"]
        assert schema["additionalProperties"] is False


# Log-probabilities


def certain(handler: Request, sent: dict[str, Any]) -> None:
    """Answer 4, with 3 as likely, where log-probabilities are asked for."""
    half = [{"token": text, "logprob": math.log(0.5)} for text in ("4", "3")]
    tokens = [{"token": '{"score": ', "logprob": 0.0}, {**half[0], "top_logprobs": half}]
    tokens.append({"token": ', "reason": "so"}', "logprob": 0.0})
    body = json.loads(completion(GOOD))
    if "logprobs" in sent:
        body["choices"][0]["logprobs"] = {"content": tokens}
    handler.give(200, json.dumps(body).encode())


def test_log_probabilities_give_the_expected_score(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(certain) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        assert judged(1) == [4.0]
        assert judged(1, "judge(model='m', logprobs=True)") == [pytest.approx(3.5)]
        assert (server.sent[1]["logprobs"], server.sent[1]["top_logprobs"]) == (True, ALTERNATIVES)


def test_without_log_probabilities_the_written_score_counts_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(accepts("schema", logprobs=False)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        done = score(tmp_path, 3, "judge(model='m', logprobs=True)")
        assert done.exit_code == 0, done.output
        assert len(server.sent) == 4
    assert "judge: 3 of 3 scores are as written, because the log-probabilities of their tokens did not" in done.stderr
    answers = json.loads((tmp_path / "run" / "run.json").read_text())["metrics"][0]["answers"]
    tokens = {"requests": 3, "input_tokens": 300, "output_tokens": 30, "uncounted": 0}
    assert answers == {
        **tokens,
        **{"paid": 3, "refused": 0, "styles": {"endpoint: schema, 0 logprobs": 3}, "scores": {"as written": 3}},
    }


def test_fewer_log_probabilities_are_asked_for_where_twenty_are_too_many() -> None:
    style = adapt_style(RequestStyle("text"), {"logprobs": True}, None, "top_logprobs must be at most 5")
    assert style == RequestStyle("text", alternatives=5)
    assert adapt_style(style, {"logprobs": True}, None, "logprobs are not supported") == style._replace(alternatives=0)


# What could not be read is counted and said


def score(folder: Path, n: int, spec: str, *more: str) -> Any:
    from click.testing import CliRunner

    from rejoinder.cli import program

    records: list[dict[str, Any]] = [{"kind": "item", "id": "i", "context": [{"text": "Well?"}]}]
    records += [
        {"kind": "response", "id": f"r{k}", "item": "i", "system": "s", "text": f"Reply {k}."} for k in range(n)
    ]
    (folder / "chats.jsonl").write_text("\n".join(json.dumps(record) for record in records) + "\n")
    words = ["score", str(folder / "chats.jsonl"), "-m", spec, "-o", str(folder / "run"), "--processes", "1", *more]
    return CliRunner().invoke(program, words)


def test_a_run_counts_why_answers_could_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
    cut = json.loads(completion('{"score"'))
    cut["choices"][0]["finish_reason"] = "length"
    half: Act = lambda handler, _: handler.give(200, json.dumps(cut).encode())  # noqa: E731
    acts = [half, half, says("I'm sorry, I can't rate this."), scores(4), says('{"score": 3.5}'), scores(2)]
    with served(*acts) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        done = score(tmp_path, 5, "judge(model='m')")
        assert len(server.sent) == 7
    assert done.exit_code == 0, done.output
    line = "judge: 3 of 7 answers could not be read (2 cut by max_tokens, 1 refusal)\n"
    assert line in done.stderr
    answers = json.loads((tmp_path / "run" / "run.json").read_text())["metrics"][0]["answers"]
    assert answers["unreadable"] == {"cut by max_tokens": 2, "refusal": 1}
    assert (answers["paid"], answers["styles"]) == (7, {"endpoint: schema": 7})
    lines = [json.loads(one) for one in (tmp_path / "run" / "judge.jsonl").read_text().splitlines()]
    assert [one.get("problem") for one in lines] == ["cut by max_tokens"] * 2 + ["refusal"] + [None] * 4
    assert [repr(one["score"]) for one in lines[3:]] == ["4", "3.5", "2", "2"], "whole scores stay whole"
    again = score(tmp_path, 5, "judge(model='m')")
    assert line in again.stderr, "a finished run says it again"


def test_summaries_of_parts_add_up() -> None:
    parts = [
        {"paid": 3, "refused": 0, "unreadable": {"empty": 1}},
        {"paid": 2, "refused": 1, "unreadable": {"empty": 1, "refusal": 1}, "styles": {"openai: schema": 2}},
    ]
    total = add_summaries(parts)
    assert total == {
        **{"paid": 5, "refused": 1, "unreadable": {"empty": 2, "refusal": 1}, "styles": {"openai: schema": 2}}
    }
    assert describe_summary(total) == ["3 of 5 answers could not be read (2 empty, 1 refusal)"]
    assert describe_summary({}) == []


def test_many_files_say_it_for_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from rejoinder.cli import program

    folder = tmp_path / "shards"
    folder.mkdir()
    for k in range(2):
        item = {"kind": "item", "id": f"i{k}", "context": [{"text": f"Well, {k}?"}]}
        reply = {"kind": "response", "id": f"r{k}", "item": f"i{k}", "system": "s", "text": "Yes."}
        (folder / f"{k}.jsonl").write_text(f"{json.dumps(item)}\n{json.dumps(reply)}\n")
    with served(says("hm"), scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        words = ["score", str(folder), "-m", "judge(model='m')", "-o", str(tmp_path / "run"), "--processes", "1"]
        done = CliRunner().invoke(program, words)
    assert done.exit_code == 0, done.output
    assert "judge: 1 of 3 answers could not be read (1 no verdict)\n" in done.stderr
