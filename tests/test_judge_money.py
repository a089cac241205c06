"""What a judge costs: before it is asked, while it is asked, and afterwards."""

from __future__ import annotations

import json
import multiprocessing
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from judge_server import Act, Handler, completion, cuts_short, fails, forget_endpoints, hangs_up, scores, served, stalls

import rejoinder
from rejoinder.cli import program
from rejoinder.engines.spending import Ledger, SpendingLimit, limit_spending
from rejoinder.errors import BudgetError, InputError, SpecError
from rejoinder.judges.prices import PACKAGED, find_price, read_prices, user_prices_path
from rejoinder.judges.token_estimate import estimate_tokens
from rejoinder.metric import parse
from rejoinder.scoring.run import Plan
from rejoinder.types import Item, Pair, Response, Turn

JUDGE = "judge(model='m', max_tokens=100)"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_endpoints(monkeypatch, hasty=True)


def set_prices(monkeypatch: pytest.MonkeyPatch, given: float, returned: float) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_INPUT_PRICE", str(given))
    monkeypatch.setenv("REJOINDER_JUDGE_OUTPUT_PRICE", str(returned))


def chats(folder: Path, n: int, name: str = "chats.jsonl") -> Path:
    records: list[dict[str, Any]] = [{"kind": "item", "id": "i", "context": [{"text": "Well?"}]}]
    records += [
        {"kind": "response", "id": f"r{k}", "item": "i", "system": "s", "text": f"Reply {k}."} for k in range(n)
    ]
    file = folder / name
    file.write_text("\n".join(json.dumps(record) for record in records) + "\n")
    return file


def pairs(n: int) -> list[Pair]:
    item = Item("i", (Turn("Is it raining?", "A"),))
    return [Pair(item, Response(f"r{k}", "i", "s", f"Reply number {k}.")) for k in range(n)]


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(program, list(arguments))


def spend(n: int, amount: float, ledger: Path, spec: str = JUDGE) -> list[float]:
    with limit_spending(SpendingLimit(amount, str(ledger))):
        return parse(spec).score(pairs(n))


# Prices


def test_a_price_is_found_by_name_without_provider_and_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name in ("gpt-4o-mini", "openai/gpt-4o-mini", "gpt-4o-mini-2024-07-18", "openrouter/openai/gpt-4o-mini"):
        found = find_price(name)
        assert found is not None, name
        assert (found.input, found.output) == (0.15, 0.60), name
    assert find_price("claude-sonnet-4-5-20250929") == find_price("claude-sonnet-4-5")
    for unknown in ("gpt-5-pro", "gpt-4o-audio", "my-model"):  # a family's name is not a price
        assert find_price(unknown) is None, unknown
    local = find_price("ollama/gpt-4o-mini")
    assert local is not None
    assert local.input == 0


def test_your_own_prices_come_first_and_the_environment_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    path = user_prices_path()
    path.parent.mkdir(parents=True)
    path.write_text('currency = "EUR"\n["gpt-4o*"]\ninput = 7\noutput = 8\n["house-*"]\ninput = 1\noutput = 2\n')
    found = find_price("gpt-4o-mini")
    assert found is not None
    assert found[:3] == (7.0, 8.0, "EUR")
    assert str(path) in found.source
    assert find_price("house-model") is not None
    listed = invoke("list", "prices", "--format", "csv").output
    assert "house-*" in listed
    assert "gpt-4.1-nano" in listed
    assert str(path) in invoke("list", "prices").output.replace("\n", "")
    set_prices(monkeypatch, 3, 4)
    found = find_price("gpt-4o-mini")
    assert found is not None
    assert found[:2] == (3.0, 4.0)


@pytest.mark.parametrize("text", ["[a", '["m"]\ninput = 1\n', '["m"]\ninput = -1\noutput = 1\n', "m = 3\n"])
def test_a_table_of_prices_that_is_wrong_names_the_file(text: str) -> None:
    path = user_prices_path()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(InputError, match="prices"):
        find_price("m")


def test_the_packaged_table_says_when_it_was_written() -> None:
    entries = read_prices(PACKAGED)
    assert len(entries) > 15
    assert all(entry.price.source.endswith("of 2026-01") for entry in entries)


# Before: an estimate


def test_a_dry_run_counts_and_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_prices(monkeypatch, 1, 2)
    file = chats(tmp_path, 6)
    with served(scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        monkeypatch.chdir(tmp_path)
        done = invoke("score", str(file), "-m", JUDGE, "--dry-run", "--format", "json")
        assert done.exit_code == 0, done.output
        assert not server.sent
        assert not (tmp_path / "runs").exists()
        [before] = rejoinder.scoring.estimate_cost([file], [JUDGE, "length"])
        assert (before.requests, before.answered, before.to_send) == (6, 0, 6)
        assert before.cost == pytest.approx((before.input_tokens + 2 * before.output_tokens) / 1e6, rel=0.01)
        rejoinder.run([chats(tmp_path, 4, "fewer.jsonl")], Plan.of([JUDGE]), tmp_path / "fewer")
        [after] = rejoinder.scoring.estimate_cost([file], [JUDGE])
    assert (after.requests, after.answered, after.calibrated_on) == (6, 4, 4)
    assert (after.input_tokens, after.output_tokens) == (200, 20)  # as the server counted: 100 and 10 each
    assert after.cost == pytest.approx((200 + 2 * 20) / 1e6)


def test_a_dry_run_needs_neither_endpoint_nor_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = invoke("score", str(chats(tmp_path, 2)), "-m", "judge(model='unheard-of')", "--dry-run")
    assert done.exit_code == 0
    text = " ".join(done.output.split())
    assert "no price is known for unheard-of: set REJOINDER_JUDGE_INPUT_PRICE and" in text
    assert str(user_prices_path()) in done.output.replace("\n", "")
    done = invoke("score", str(chats(tmp_path, 2)), "-m", "length", "--dry-run")
    assert done.exit_code == 0
    assert "No metric here sends requests" in done.output


def test_a_dry_run_counts_equal_requests_once_and_blank_replies_never(tmp_path: Path) -> None:
    file = chats(tmp_path, 3)
    with file.open("a") as lines:
        for k, text in enumerate(["Reply 0.", "   "]):
            lines.write(
                json.dumps({"kind": "response", "id": f"x{k}", "item": "i", "system": "t", "text": text}) + "\n"
            )
    [found] = rejoinder.scoring.estimate_cost([file], ["judge(model='m', repeats=2)"], empty="nan")
    assert found.requests == 6


def test_a_dry_run_of_many_files_adds_them_up(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    chats(folder, 2, "a.jsonl")
    chats(folder, 5, "b.jsonl")
    done = invoke("score", str(folder), "-m", JUDGE, "--dry-run", "--format", "json")
    assert done.exit_code == 0, done.output
    assert '"requests":5' in done.output.replace(" ", "")  # two of them are the same


@pytest.mark.parametrize(
    ("text", "tokens"),
    [  # as the tokeniser of Qwen2.5 counts them
        ("Is the museum open on Sunday, and how much is a ticket for two adults and one child?", 20),
        ("Yes, it is open from ten to six; the ticket for your family costs 24 euros in total.", 22),
    ],
)
def test_tokens_of_plain_english_are_estimated_within_a_third(text: str, tokens: int) -> None:
    assert estimate_tokens(text) - 5 == pytest.approx(tokens, rel=0.34)


# Meanwhile: a budget


def test_a_budget_is_never_passed_with_many_requests_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_prices(monkeypatch, 0, 1000)  # 10 tokens of output cost .01, and 100, the most, .1
    with served(scores(4), delay=0.01) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        with pytest.raises(BudgetError, match=r"the budget of 1\.00 does not allow another request: 0\.9"):
            spend(300, 1.0, tmp_path / "ledger")
        assert 90 <= len(server.sent) <= 99  # .9 to .99: the next one might have passed it
        n = len(server.sent)
        with pytest.raises(BudgetError):  # the same budget again: nothing more
            spend(300, 1.0, tmp_path / "ledger")
        assert len(server.sent) == n
        assert len(spend(300, 4.0, tmp_path / "ledger")) == 300
        assert len(server.sent) == 300


def _spend_in_process(url: str, cache: str, ledger: str, start: int) -> None:
    os.environ |= {
        "REJOINDER_JUDGE_URL": url,
        "REJOINDER_CACHE": cache,
        "REJOINDER_JUDGE_INPUT_PRICE": "0",
        "REJOINDER_JUDGE_OUTPUT_PRICE": "1000",
    }
    rubric = "helpful" if start else "tone"  # another store of answers: only the ledger keeps them apart
    with limit_spending(SpendingLimit(1.0, ledger)):
        try:
            parse(f"judge(model='m', rubric='{rubric}', max_tokens=100)").score(pairs(200)[start:])
        except BudgetError:
            os._exit(7)


def test_a_budget_is_never_passed_by_several_processes(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = multiprocessing.get_context("fork")
    with served(scores(4), delay=0.005) as server:
        arguments = (server.url, str(own_cache), str(tmp_path / "ledger"))
        processes = [context.Process(target=_spend_in_process, args=(*arguments, k * 50)) for k in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        assert [process.exitcode for process in processes] == [7, 7, 7]
        assert len(server.sent) <= 99
    assert _spent(tmp_path / "ledger") <= 1.0


def _spent(ledger: Path) -> float:
    costs = dict(json.loads(line) for line in ledger.read_text().splitlines())
    return sum(costs.values())


def test_what_a_killed_process_had_in_flight_counts_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = SpendingLimit(1.0, str(tmp_path / "ledger"))
    first = Ledger(limit)
    with first.claim():
        settled = first.reserve(0.4, lambda: False)
        assert settled is not None
        first.settle(settled, 0.1)
        first.reserve(0.5, lambda: False)  # and then the process ends
    with (tmp_path / "ledger").open("ab") as file:
        file.write(b'["half a li')
    second = Ledger(limit)
    with second.claim():
        assert second.spent == pytest.approx(0.6)
        with pytest.raises(BudgetError, match=r"0\.6000 was paid"):
            second.reserve(0.5, lambda: False)
        assert second.reserve(0.5, lambda: True) is None


@pytest.mark.parametrize(
    ("act", "cost"),
    [
        (fails(429), 0.01),  # not computed, so not paid
        (fails(500), 0.01),
        (cuts_short, 0.11),  # may have been computed: its most counts
        (hangs_up, 0.11),
        (stalls, 0.11),
    ],
)
def test_a_lost_answer_counts_at_its_most_and_an_error_not_at_all(
    act: Act, cost: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_prices(monkeypatch, 0, 1000)
    monkeypatch.setenv("REJOINDER_JUDGE_TIMEOUT", "0.5")
    with served(act, scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        assert spend(1, 5.0, tmp_path / "ledger") == [4.0]
        assert len(server.sent) == 2
    assert _spent(tmp_path / "ledger") == pytest.approx(cost)


def test_an_answer_without_token_counts_is_charged_at_its_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_prices(monkeypatch, 0, 1000)

    def uncounted(handler: Handler, _: dict[str, Any]) -> None:
        handler.give(200, completion('{"score": 4, "reason": "so"}', usage={}))

    with served(uncounted) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        with pytest.raises(BudgetError):
            spend(20, 1.0, tmp_path / "ledger")
        assert len(server.sent) == 10


def test_unreadable_answers_are_paid_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_prices(monkeypatch, 0, 1000)
    with served(fails(200, completion("I would rather not."))) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        spend(3, 5.0, tmp_path / "ledger")
        assert len(server.sent) == 6
    assert _spent(tmp_path / "ledger") == pytest.approx(0.06)


def test_a_command_that_reaches_its_budget_says_how_far_it_came_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_prices(monkeypatch, 0, 1000)
    file, out = chats(tmp_path, 40), tmp_path / "out"
    command = ["score", str(file), "-m", JUDGE, "-o", str(out), "--processes", "1"]
    with served(scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        done = invoke(*command, "--budget", "0.2")
        n = len(server.sent)
        assert isinstance(done.exception, BudgetError)
        assert f"{n} of 40 requests are answered; every answer so far is stored" in str(done.exception)
        assert "run the same command with a larger --budget to continue" in str(done.exception)
        assert not (out / "run.json").exists()
        done = invoke(*command, "--budget", "5")
        assert done.exit_code == 0, done.output
        assert len(server.sent) == 40
    assert f"40 requests ({n} answered before), 4,000 input and 400 output tokens; cost 0.4000" in " ".join(
        done.output.split()
    )
    [metric] = json.loads((out / "run.json").read_text())["metrics"]
    assert metric["cost"]["cost"] == pytest.approx(0.4)
    assert {key: metric["cost"][key] for key in ("requests", "answered_before", "input_tokens", "output_tokens")} == {
        "requests": 40,
        "answered_before": n,
        "input_tokens": 4000,
        "output_tokens": 400,
    }


def test_a_budget_without_a_price_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = chats(tmp_path, 2)
    with served(scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        done = invoke("score", str(file), "-m", JUDGE, "-o", str(tmp_path / "a"), "--budget", "1")
        assert not server.sent
        assert "a budget needs prices, and no price is known for m: set REJOINDER_JUDGE_INPUT" in str(done.exception)
        set_prices(monkeypatch, 0, 0)  # as it says
        done = invoke("score", str(file), "-m", JUDGE, "-o", str(tmp_path / "a"), "--budget", "1")
        assert done.exit_code == 0, done.output


def test_a_budget_needs_a_limit_of_length_and_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_prices(monkeypatch, 1, 1)
    with served(scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        with pytest.raises(BudgetError, match="max_tokens=512"):
            spend(1, 1.0, tmp_path / "ledger", "judge(model='m', max_tokens=None)")
        assert not server.sent
    file = chats(tmp_path, 1)
    for amount in (0, -3.0, float("nan")):
        with pytest.raises(SpecError, match="--budget 5"):
            rejoinder.run([file], Plan.of([JUDGE]), tmp_path / "b", budget=amount)


def test_a_budget_holds_over_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_prices(monkeypatch, 0, 1000)
    folder = tmp_path / "many"
    folder.mkdir()
    for k in range(3):
        records = chats(folder, 10, f"{k}.jsonl")
        text = records.read_text().replace("Reply", f"Answer {k},").replace('"id": "r', f'"id": "r{k}-')
        records.write_text(text.replace('"i"', f'"i{k}"'))
    command = ["score", str(folder), "-m", JUDGE, "-o", str(tmp_path / "out"), "--processes", "1"]
    with served(scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        done = invoke(*command, "--budget", "0.2")
        assert isinstance(done.exception, BudgetError)
        assert len(server.sent) <= 19
        done = invoke(*command, "--budget", "2")
        assert done.exit_code == 0, done.output
        assert len(server.sent) == 30
    assert "30 requests, 3,000 input and 300 output tokens; cost 0.3000" in " ".join(done.output.split())


# Afterwards: the cache


def test_clearing_the_cache_keeps_paid_answers(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_prices(monkeypatch, 0, 1000)
    with served(scores(4)) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        rejoinder.run([chats(tmp_path, 5)], Plan.of([JUDGE, "length"]), tmp_path / "a")
        shown = invoke("cache").output
        assert "5 answers of endpoints (cost 0.0500" in shown
        done = invoke("cache", "--clear")
        assert "kept: 5 answers of endpoints (cost 0.0500" in done.output
        assert not (own_cache / "scores").exists()
        assert (own_cache / "judge").exists()
        rejoinder.run([chats(tmp_path, 5)], Plan.of([JUDGE, "length"]), tmp_path / "b")
        assert len(server.sent) == 5
        suggested = shlex.split(done.output.rpartition("with: ")[2])[1:]
        assert "deleted, and to be paid again" in invoke(*suggested).output
        assert not (own_cache / "judge").exists()
    assert invoke("cache", "--paid").exit_code == 2
