"""What somebody might try against ``rejoinder serve``: refused in one sentence or harmless, and nobody else waits."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from rejoinder.errors import InputError
from rejoinder.server.api.auth import MARK_HEADER, TokenAuth
from rejoinder.server.api.limits import LoadLimits, serving_limits
from rejoinder.server.api.score import SCORE
from rejoinder.server.middleware import HEADERS
from tests.serve_site import NASTY, TOKEN, URL, client_of, house_of, library_at, serving

PAIRS = SCORE.example["pairs"]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with client_of(house_of()) as found:
        yield found


@pytest.mark.parametrize(
    "spec",
    [
        "./mine.py",
        "mine.py:Mine",
        "aptness(folder='/etc')",
        "with_references(metric='./mine.py')",
        "with_references(metric=\"with_references(metric='./mine.py')\")",
        "ssrem(reference='mine.py')",
        "judge(rubric='/etc/passwd')",
        "judge(model='gpt-4')",
        "judge(model='gpt2')",
        "judge(model='smollm2-135m')",
        "with_references(metric=\"judge(model='gpt2')\")",
        "bertscore(encoder='/etc')",
        "bleu(n=999999999999)",
        "meteor(alpha=1e999)",
        "__import__('os')",
        "bleu(n=__import__('os').getpid())",
        "",
    ],
)
def test_a_metric_cannot_reach_files_programs_or_addresses(client: Any, spec: str) -> None:
    answer = client.post("/score", json={"metrics": [spec], "pairs": PAIRS})
    assert answer.status_code in (404, 422)
    assert list(answer.json()) == ["error"]


@pytest.mark.parametrize(
    "spec",
    [
        "function(path='mine.py:f')",
        "mine.py:f",
        "chat(model='smollm2-135m')",
        "completion(model='x', url='http://127.0.0.1:1')",
        "hf:gpt2",
        "generator:/etc",
        "causal(model='/etc')",
        "tfidf(fit='/etc/passwd')",
        "metric(spec='./mine.py')",
        "metric(spec=\"judge(model='gpt2')\")",
        "judge(model='gpt2')",
        "metric(spec=\"aptness(folder='/etc')\")",
    ],
)
def test_a_system_cannot_reach_files_programs_or_addresses(client: Any, spec: str) -> None:
    answer = client.post("/rank", json={"system": spec, "context": ["a"], "candidates": ["b"]})
    assert answer.status_code == 404
    assert list(answer.json()) == ["error"]


def test_the_owner_can_allow_a_spec(tmp_path: Path) -> None:
    mine = tmp_path / "polite.py"
    mine.write_text(
        "from dataclasses import dataclass\nfrom rejoinder.metric import Metric\n\n\n@dataclass(frozen=True)\n"
        "class Polite(Metric):\n    def score(self, pairs):\n"
        "        return [float('please' in p.response.text) for p in pairs]\n"
    )
    asked = {"metrics": [str(mine)], "pairs": [{"context": [], "reply": "Yes, please."}]}
    with client_of(house_of(allow=[str(mine)])) as allowed:
        assert list(allowed.post("/score", json=asked).json()["scores"].values()) == [[1.0]]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"metrics": [NaN]}', 400),
        (b'{"metrics": [Infinity]}', 400),
        (b"\xff\xfe", 400),
        (b'"\\ud800"', 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 900 + b"1" + b"}" * 900, 422),
        (b"null", 422),
        (b"[]", 422),
        (b"1e308", 422),
        (b'{"metrics":["bleu"],"pairs":' + b"[" * 500 + b"]" * 500 + b"}", 422),
    ],
)
def test_what_is_no_request_is_refused(client: Any, body: bytes, status: int) -> None:
    answer = client.post("/score", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_only_json_is_taken(client: Any) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = client.post("/score", content=json.dumps(SCORE.example), headers={"Content-Type": kind})
        assert answer.status_code == 415


def test_too_many_rows_and_too_long_texts_are_refused(client: Any) -> None:
    many = {"metrics": ["length"], "pairs": [{"context": [], "reply": "x"}] * 1001}
    assert "at most 1,000" in client.post("/score", json=many).json()["error"]
    long = {"metrics": ["length"], "pairs": [{"context": [], "reply": "x" * 20_001}]}
    assert "20,001 characters" in client.post("/score", json=long).json()["error"]


def test_a_body_over_the_limit_is_refused_whether_it_says_its_length_or_not() -> None:
    with client_of(house_of(), serving_limits(10_000)) as client:
        told = client.post("/score", content=b"x" * 20_000, headers={"Content-Type": "application/json"})
        streamed = client.post("/score", content=iter([b"x" * 6_000] * 3), headers={"Content-Type": "application/json"})
        assert (told.status_code, streamed.status_code) == (413, 413)
        assert list(told.json()) == list(streamed.json()) == ["error"]
        assert told.headers["connection"] == "close"
        assert client.get("/health").status_code == 200


def test_more_requests_than_taken_on_at_once_are_asked_to_come_again() -> None:
    house = house_of(load=LoadLimits(concurrent=2))
    with client_of(house) as client:
        house.service.active_requests = 2
        refused = client.post("/score", json=SCORE.example)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        house.service.active_requests = 0
        assert client.post("/score", json=SCORE.example).status_code == 200


def test_what_takes_too_long_is_given_up() -> None:
    house = house_of(load=LoadLimits(seconds=0.0))
    with client_of(house) as client:
        assert client.post("/score", json=SCORE.example).status_code == 504
        assert house.service.active_requests == 0


def test_a_stranger_who_guesses_is_slowed_down() -> None:
    with client_of(house_of(), token=None) as stranger:
        statuses = {stranger.get("/runs").status_code for _ in range(260)}
    assert statuses == {401, 429}


@pytest.mark.parametrize("token", ["short", "with a space in the token", "ünïcödé-and-long-enough"])
def test_a_bad_token_is_refused_at_the_start(token: str) -> None:
    with pytest.raises(InputError, match="token"):
        TokenAuth(token, URL)


def test_a_browser_must_carry_the_mark_of_a_page() -> None:
    house = house_of()
    with client_of(house, token=None) as browser:
        assert browser.get(f"/r/{TOKEN}x", headers={"Accept": "text/html"}).status_code == 404
        entered = browser.get(f"/r/{TOKEN}", follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, "/try")
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert browser.get("/runs").status_code == 200
        assert browser.post("/score", json=SCORE.example).status_code == 403
        assert browser.post("/score", json=SCORE.example, headers={MARK_HEADER: "0" * 64}).status_code == 403
        mark = {MARK_HEADER: house.auth.mark}
        assert browser.post("/score", json=SCORE.example, headers=mark).status_code == 200
        for site in ("cross-site", "same-site"):
            elsewhere = {**mark, "Sec-Fetch-Site": site}
            assert browser.post("/score", json=SCORE.example, headers=elsewhere).status_code == 403
        form = {"Accept": "text/html"}
        for marks in ("x", [], [house.auth.mark] * 2, ["x", house.auth.mark]):
            sent = {"csrf": marks, "other": "1"}
            assert browser.post("/models/minilm/get", data=sent, headers=form).status_code == 403
        assert house.fetching == {}


def test_every_answer_has_the_headers_that_keep_pages_safe(client: Any) -> None:
    for answer in (client.get("/try"), client.get("/nothing"), client.post("/score", content=b"")):
        for name, value in HEADERS.items():
            assert answer.headers[name] == value


@pytest.mark.parametrize(
    "name", ["..%2f..%2fetc%2fpasswd", "%2e%2e", "/etc/passwd", "chats%00", "a" * 3000, "chats/../chats"]
)
def test_a_name_leads_out_of_no_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"kind": "question", "id": "secret"}\n')
    (tmp_path / "here").mkdir()
    with client_of(house_of(tmp_path / "here")) as client:
        for where in ("/runs", "/sets", "/models", "/static"):
            answer = client.get(f"{where}/{name}", headers={"Accept": "text/html"})
            assert answer.status_code in (404, 414)
            assert "root:" not in answer.text
            assert "secret" not in answer.text


def test_texts_of_data_stay_texts(tmp_path: Path) -> None:
    folder = library_at(tmp_path / "runs", text=NASTY)
    pages = ["/runs", "/runs/chats", "/runs/chats/replies", "/runs/chats/replies/0", "/runs/chats/people"]
    pages += ["/runs/chats/compare", "/sets/kitchen", "/sets/kitchen/0", "/try?run=chats&reply=0"]
    pages += ["/runs/chats/items", "/runs/chats/items/0", "/runs/chats/distributions", "/compare?old=chats&new=later"]
    pages += ["/runs/chosen/questions", "/runs/chosen/questions/0", "/runs/ranked/questions/0"]
    with client_of(house_of(folder)) as client:
        for path in pages:
            client.get(path)  # the first look, for which a browser would not wait
            page = client.get(path, headers={"Accept": "text/html"})
            assert page.status_code == 200, path
            assert "<script>alert" not in page.text
            assert "<img" not in page.text
        assert "{{7*7}}" in client.get("/runs/chats/replies/0", headers={"Accept": "text/html"}).text


def test_slow_clients_and_a_huge_body_harm_nobody_else() -> None:
    with serving() as (url, _):
        where = urlsplit(url)
        address = (where.hostname or "", where.port or 0)
        head = f"POST /score HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        slow = [socket.create_connection(address) for _ in range(40)]
        for one in slow:
            one.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        huge = socket.create_connection(address)
        huge.settimeout(10)
        huge.sendall(f"{head}Content-Length: 104857600\r\n\r\n".encode())
        with contextlib.suppress(OSError):  # it hangs up on us
            huge.sendall(b"x" * 4_000_000)
        assert b" 413 " in huge.recv(100)
        chunked = socket.create_connection(address)
        chunked.settimeout(10)
        chunked.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with contextlib.suppress(OSError):
            for _ in range(100):
                chunked.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
        with contextlib.suppress(OSError):
            assert b" 413 " in chunked.recv(100)
        body = json.dumps({"metrics": ["length"], "pairs": PAIRS}).encode()
        for _ in range(20):
            begun = time.perf_counter()
            with socket.create_connection(address) as quick:
                quick.settimeout(5)
                quick.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                assert b" 200 " in quick.recv(100)
            assert time.perf_counter() - begun < 2
        for one in (*slow, huge, chunked):
            one.close()


def test_cancelled_requests_leave_nothing_behind() -> None:
    house = house_of()

    async def cancelled() -> None:
        from rejoinder.server.api.score import answer_score

        tasks = [asyncio.create_task(answer_score(house.service, SCORE.example)) for _ in range(5)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.2)
        assert all(lane.queued == 0 for lane in house.service.queues.values())

    asyncio.run(cancelled())
    house.service.close()


@pytest.mark.parametrize("mib", [5, 30])
def test_a_body_that_is_too_large_gets_an_answer_and_not_a_reset(tmp_path: Path, mib: int) -> None:
    with serving(str(library_at(tmp_path / "runs"))) as (url, _):
        where = urlsplit(url)
        for headers in ({}, {"Transfer-Encoding": "chunked"}):
            connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
            block = b"x" * 2**20
            body = iter([block] * mib) if headers else block * mib
            start = time.perf_counter()
            sent = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **headers}
            connection.request("POST", "/score", body, sent, encode_chunked=bool(headers))
            answer = connection.getresponse()
            assert answer.status == 413
            assert b"too large" in answer.read()
            assert answer.getheader("Connection") == "close"
            assert time.perf_counter() - start < 15
            connection.close()
