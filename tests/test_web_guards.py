"""What stands before the servers, by itself: buckets, what is remembered, addresses, tokens, bodies, names."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from starlette.exceptions import HTTPException

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.store.base import Rater
from rejoinder.errors import InputError
from rejoinder.server.access import cookie_name, is_genuine, make_csrf_mark, token_digest
from rejoinder.server.api import limits as api_limits
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.limits import LoadLimits, serving_limits
from rejoinder.server.api.records import items_of, pair_of, question_of, questions_of
from rejoinder.server.limits import RecentDigests, RequestRate, ServerLimits, TokenBuckets, client_key
from rejoinder.server.login import MAX_NEW_LINKS, make_link, make_links, parse_new_names, renew_owner_link, write_links
from rejoinder.server.middleware import HEADERS, RequestGuard

# ---- rates


def test_a_bucket_empties_and_fills_again() -> None:
    buckets, rate = TokenBuckets(10), RequestRate(2, 0.5)
    assert [buckets.wait("a", rate, 100.0) for _ in range(3)] == [0, 0, 2.0]  # half a token a second
    assert buckets.wait("a", rate, 101.0) == 1.0
    assert buckets.wait("a", rate, 102.0) == 0
    assert buckets.wait("a", rate, 102.0) == 2.0
    assert [buckets.wait("a", rate, 1000.0) for _ in range(3)] == [0, 0, 2.0]  # never more than the burst
    assert buckets.wait("b", rate, 1000.0) == 0


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    buckets, rate = TokenBuckets(10), RequestRate(3, 1)
    assert buckets.wait("a", rate, 100.0) == 0
    assert [buckets.wait("a", rate, 0.0) for _ in range(2)] == [0, 0]


def test_the_bucket_that_was_unused_longest_is_forgotten() -> None:
    buckets, rate = TokenBuckets(2), RequestRate(1, 0.1)
    for key in ("a", "b", "a", "c"):  # b is the oldest when c comes
        buckets.wait(key, rate, 0.0)
    assert buckets.wait("a", rate, 0.0) > 0
    assert buckets.wait("b", rate, 0.0) == 0


def test_what_is_known_is_bounded_and_the_latest_stay() -> None:
    known = RecentDigests(2)
    for one in ("a", "b", "a", "c"):
        known.add(one)
    assert ["a" in known, "b" in known, "c" in known] == [True, False, True]
    known.drop("a")
    known.drop("nobody")
    assert "a" not in known


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("localhost", "localhost"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_an_address_of_the_new_kind_counts_as_its_network(host: str | None, key: str) -> None:
    assert client_key(host) == key


# ---- the guard before an app


class Served:
    """An app behind the guard, and what it answered."""

    def __init__(self, limits: ServerLimits, app: Any = None, known: Sequence[str] = ()) -> None:
        self.now = 0.0
        seen = RecentDigests(100)
        for token in known:
            seen.add(token_digest(token))
        self.guard = RequestGuard(app or self.app, limits, seen, ("mine",), lambda: self.now)
        self.called = 0

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.called += 1
        body = b""
        if scope["method"] == "POST":
            while True:
                message = await receive()
                body += message.get("body", b"")
                if not message.get("more_body"):
                    break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(len(body)).encode()})

    def ask(
        self, headers: dict[str, str] | None = None, chunks: Sequence[bytes] = (), client: Any = ("192.0.2.7", 1)
    ) -> tuple[int, dict[str, str], bytes]:
        sent: list[Any] = []
        left = [{"type": "http.request", "body": one, "more_body": i + 1 < len(chunks)} for i, one in enumerate(chunks)]

        async def receive() -> Any:
            if not left:
                await asyncio.sleep(60)
            return left.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST" if chunks or headers == {"content-length": "5"} else "GET",
            "path": "/",
            "headers": [(k.encode(), v.encode()) for k, v in (headers or {}).items()],
            "client": client,
        }
        asyncio.run(self.guard(scope, receive, send))
        answered = {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}
        return sent[0]["status"], answered, b"".join(one.get("body", b"") for one in sent[1:])


def test_every_answer_has_the_headers_and_is_not_kept() -> None:
    served = Served(ServerLimits(address=RequestRate(1, 1)))
    for status in (200, 429):
        found, headers, _ = served.ask()
        assert found == status
        assert {name.lower(): value for name, value in HEADERS.items()}.items() <= headers.items()
        assert headers["cache-control"] == "no-store"


def test_who_asks_too_often_is_told_how_many_seconds_to_wait() -> None:
    served = Served(ServerLimits(address=RequestRate(2, 0.4)))
    assert [served.ask()[0] for _ in range(3)] == [200, 200, 429]
    assert served.ask()[1]["retry-after"] == "3"  # 2.5 seconds, rounded up
    assert served.ask(client=("192.0.2.8", 1))[0] == 200
    assert [served.ask(client=None)[0] for _ in range(3)] == [200, 200, 429]
    assert served.called == 5
    served.now = 2.5
    assert served.ask()[0] == 200


@pytest.mark.parametrize(
    "headers", [{"authorization": "Bearer secret"}, {"authorization": "bearer  secret "}, {"cookie": "mine=secret"}]
)
def test_a_session_that_is_known_has_a_bucket_alone(headers: dict[str, str]) -> None:
    limits = ServerLimits(address=RequestRate(1, 0.1), session=RequestRate(3, 0.1))
    served = Served(limits, known=["secret"])
    assert served.ask()[0] == 200
    assert [served.ask(headers)[0] for _ in range(4)] == [200, 200, 200, 429]
    stranger = Served(limits)
    assert [stranger.ask(headers)[0] for _ in range(2)] == [200, 429]


def test_another_cookie_is_no_session() -> None:
    served = Served(ServerLimits(address=RequestRate(1, 0.1)), known=["secret"])
    assert [served.ask({"cookie": "theirs=secret"})[0] for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    ("length", "status"),
    [("10", 200), ("11", 413), ("0", 200), ("-1", 413), ("1e1", 413), ("0" * 12, 200), ("0" * 13, 413)],
)
def test_a_body_is_refused_by_its_length_before_it_is_read(length: str, status: int) -> None:
    served = Served(ServerLimits(body_bytes=10, body_seconds=0.05))
    found, headers, _ = served.ask({"content-length": length})
    assert found == status
    assert (headers.get("connection") == "close") == (status == 413)
    assert served.called == (status == 200)


@pytest.mark.parametrize(("chunks", "refused"), [([b"12345", b"12345"], False), ([b"12345", b"123456"], True)])
def test_a_body_without_a_length_is_refused_where_it_grows_too_long(chunks: list[bytes], refused: bool) -> None:
    served = Served(ServerLimits(body_bytes=10))
    if refused:
        with pytest.raises(HTTPException) as caught:
            served.ask(chunks=chunks)
        assert caught.value.status_code == 413
    else:
        assert served.ask(chunks=chunks)[2] == b"10"


def test_a_body_that_does_not_arrive_is_given_up() -> None:
    served = Served(ServerLimits(body_seconds=0.05))
    with pytest.raises(HTTPException) as caught:
        served.ask({"content-length": "5"})
    assert caught.value.status_code == 408


def test_an_app_that_takes_too_long_is_given_up() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    status, _, body = Served(ServerLimits(request_seconds=0.05), slow).ask()
    assert (status, body) == (503, b"The request took too long; please try again.")


def test_only_requests_and_the_lifespan_reach_the_app() -> None:
    kinds = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        kinds.append(scope["type"])

    guard = RequestGuard(app, ServerLimits(), RecentDigests(1), (), None)
    for kind in ("lifespan", "websocket"):
        asyncio.run(guard({"type": kind}, None, None))  # type: ignore[arg-type]
    assert kinds == ["lifespan"]


# ---- tokens, forms, names


@pytest.mark.parametrize("token", ["a" * 15, "a" * 15 + " ", "a" * 16 + "é", "a" * 16 + "\n"])
def test_a_token_that_is_short_or_odd_is_refused(token: str) -> None:
    with pytest.raises(InputError, match="a token needs at least 16 ASCII characters"):
        TokenAuth(token, "http://127.0.0.1:1")


def test_a_token_of_sixteen_letters_lets_in() -> None:
    gate = TokenAuth("a" * 16, "https://example.org/")
    assert gate.link == "https://example.org/r/" + "a" * 16
    assert (gate.secure, TokenAuth("a" * 16, "http://example.org").secure) == (True, False)
    assert [gate.is_token(one) for one in ("a" * 16, "a" * 15, "a" * 17, "")] == [True, False, False, False]
    assert len(TokenAuth(None, "http://x").token) >= 16
    assert TokenAuth(None, "http://x").token != TokenAuth(None, "http://x").token


def test_a_form_is_genuine_with_the_one_mark_of_its_session() -> None:
    mark = make_csrf_mark("token")
    assert is_genuine("token", [("x", "1"), ("csrf", mark)])
    for pairs in (
        [],
        [("csrf", "")],
        [("csrf", make_csrf_mark("other"))],
        [("csrf", mark), ("csrf", mark)],
        [("CSRF", mark)],
    ):
        assert not is_genuine("token", pairs)


def test_cookies_of_roles_and_projects_have_names_of_their_own() -> None:
    names = {cookie_name(project, role) for project in ("a", "b") for role in ("rater", "owner")}
    assert len(names) == 4


def test_names_of_new_raters() -> None:
    assert parse_new_names("3", ["rater-2"]) == ["rater-1", "rater-3", "rater-4"]
    assert parse_new_names(" ann, bob\n\ncyd ,", []) == ["ann", "bob", "cyd"]
    assert len(parse_new_names(str(MAX_NEW_LINKS), [])) == MAX_NEW_LINKS
    assert len(parse_new_names(str(MAX_NEW_LINKS), [f"rater-{n}" for n in range(1, 700)])) == MAX_NEW_LINKS
    for wanted in ("0", str(MAX_NEW_LINKS + 1), "", " , ", ",".join(f"r{n}" for n in range(MAX_NEW_LINKS + 1))):
        with pytest.raises(AnnotationError, match="at most 500"):
            parse_new_names(wanted, [])
    for wanted in ("ann", "bob, bob"):
        with pytest.raises(AnnotationError, match=r"already a rater called .*; no rater was added"):
            parse_new_names(wanted, ["ann"])
    assert make_link("http://x/", "t") == "http://x/r/t"


# ---- requests of the API


def test_the_limits_that_the_description_of_the_api_publishes() -> None:
    found = (api_limits.ROWS, api_limits.TURNS, api_limits.CANDIDATES, api_limits.CHARACTERS, api_limits.SPECS)
    assert found == (1000, 200, 200, 20_000, 20)
    assert serving_limits().body_bytes == 4 * 1024 * 1024
    assert serving_limits(5, 60.0).request_seconds > LoadLimits().seconds  # who waits gets the app's own answer


def test_records_of_requests_are_those_of_a_file() -> None:
    pair = pair_of({"context": [{"text": "Hi."}], "reply": "Hello.", "references": None}, 4)
    assert (pair.item.id, pair.response.id, pair.response.item, pair.response.text) == ("4", "4/request", "4", "Hello.")
    items = items_of([{"context": [{"text": "Hi."}]}, {"id": "x", "context": [{"text": "So?"}], "dialogue": "d"}])
    assert [(one.id, one.dialogue) for one in items] == [("item-1", None), ("x", "d")]
    asked = {"context": [{"text": "Hi."}], "candidates": ["Yes.", {"text": "No.", "grade": None}]}
    assert [one.id for one in questions_of([asked, {**asked, "id": "q"}])] == ["question-1", "q"]
    assert [one.text for one in question_of({**asked, "id": "q"}).candidates] == ["Yes.", "No."]
    with pytest.raises(InputError, match="request line 2"):
        items_of([{"id": "x", "context": [{"text": "Hi."}]}, {"id": "x", "context": [{"text": "So?"}]}])


def test_a_body_may_take_its_time() -> None:
    async def slowly() -> Any:
        await asyncio.sleep(0.1)
        return {"type": "http.request", "body": b"12345", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    sent: list[Any] = []
    served = Served(ServerLimits(body_seconds=20.0))
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "client": None}
    asyncio.run(served.guard(scope, slowly, send))
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"5")


def test_the_limits_by_default_are_those_of_the_docs() -> None:
    assert serving_limits() == ServerLimits(
        session=RequestRate(1e9, 1e9), body_bytes=4 * 1024 * 1024, request_seconds=75.0
    )
    assert ServerLimits() == ServerLimits(
        RequestRate(200, 5), RequestRate(100, 10), 256 * 1024, 20.0, 30.0, 2000, 20_000
    )
    assert LoadLimits() == LoadLimits(256, 20_000, 60.0, 0.003, 0.03, 512)


class People:
    """A store that knows who was entered."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def raters(self) -> list[Rater]:
        return [Rater(name, name, "rater", 0.0, None, False, None) for name in self.names]

    def renew(self, name: str) -> str:
        return f"new-{name}"

    def add_rater(self, name: str, role: str = "rater", expires: float | None = None) -> str:
        self.names.append(name)
        return f"{role}-{name}-{expires}"


def test_the_owner_has_one_link_and_raters_have_theirs(tmp_path: Path) -> None:
    assert renew_owner_link(People("ann"), "http://x") == "http://x/r/owner-owner-None"  # type: ignore[arg-type]
    assert renew_owner_link(People("ann", "owner"), "http://x") == "http://x/r/new-owner"  # type: ignore[arg-type]
    store = People("ann")
    assert make_links(store, "http://x", "bob, cyd", expires=5.0) == {  # type: ignore[arg-type]
        "bob": "http://x/r/rater-bob-5.0",
        "cyd": "http://x/r/rater-cyd-5.0",
    }
    (entrance,) = make_links(store, "http://x", "door", "entrance").values()  # type: ignore[arg-type]
    assert entrance.startswith("http://x/r/entrance-door-None?PROLIFIC_PID=")
    file = tmp_path / "links.csv"
    write_links(file, lambda: {"bob": "http://x/r/1"})
    assert b"http://x/r/1" in file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600
    made: list[int] = []
    with pytest.raises(InputError, match=r"links cannot be written there .*; choose a new file"):
        write_links(file, lambda: made.append(1) or {})  # type: ignore[func-returns-value]
    assert made == []
    with pytest.raises(ZeroDivisionError):
        write_links(tmp_path / "other.csv", lambda: {"bob": str(1 // 0)})
    assert not (tmp_path / "other.csv").exists()
