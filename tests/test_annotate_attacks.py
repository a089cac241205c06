"""What somebody might try against ``rejoinder annotate``: refused or harmless, one test each."""

from __future__ import annotations

import asyncio
import contextlib
import html
import re
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from rejoinder.server.access import make_csrf_mark, token_digest
from rejoinder.server.annotation_app import OWNER_PATHS, RATER_PATHS, make_annotation_app
from rejoinder.server.limits import RequestRate, ServerLimits
from rejoinder.server.middleware import HEADERS
from rejoinder.server.server import CONNECTIONS, IDLE_PER_ADDRESS
from tests.annotate_site import (
    EXERCISE,
    FORMS,
    FREE,
    answered,
    client_of,
    entered,
    form_of,
    options_of,
    serving,
    store_of,
    stores_are_closed,  # noqa: F401
    write_project,
)

PAGES = ["/", "/work", "/owner", "/owner/agreement", "/owner/raters", "/owner/export", "/owner/export/csv"]
SCRIPT = "<script>alert('x')</script><img src=x onerror=alert(1)>\"&'{{1357*7531}}"
SQL = "x'; DROP TABLE judgements; DELETE FROM raters; --"


def _nothing(response: Any) -> bool:
    return bool(response.status_code == 404 and "<h1>There is nothing here</h1>" in response.text)


def _ended(response: Any) -> bool:
    """A page that says whom to ask, and nothing else."""
    ended = "<h1>This link no longer works</h1>" in response.text and "Is it open?" not in response.text
    return bool(response.status_code == 403 and ended and "set-cookie" not in response.headers)


@pytest.mark.parametrize(
    "path", [*PAGES, "/static/annotate.css", "/static/annotate.js", "/static/icon.svg", "/r/x", "/r/x/annotate.css"]
)
def test_nothing_is_served_without_a_link(path: str, tmp_path: Path) -> None:
    client = client_of(store_of(write_project(tmp_path)))
    assert _nothing(client.get(path))
    assert _nothing(client.post(path, data={"csrf": make_csrf_mark("")}))
    assert "Replies" not in client.get(path).text


def test_foreign_tokens_are_worth_nothing(tmp_path: Path) -> None:
    here = write_project(tmp_path, extra='name = "here"\ndatabase = "both.sqlite"')
    store = store_of(here)
    there = store_of(write_project(tmp_path, "compare", extra='name = "there"\ndatabase = "both.sqlite"'))
    cookie = next(iter(entered(store).cookies))
    for token in ("x", "x" * 5000, "%ff", there.add_rater("ann"), there.add_rater("chief", "owner")):
        client = client_of(store)
        assert _nothing(client.get(f"/r/{token}"))
        assert _nothing(client.get("/work", headers={"Cookie": f"{cookie}={token}"}))
    assert _nothing(client_of(store).get("/work", headers={b"Cookie": cookie.encode() + b"=\xff\xfe"}))
    assert _nothing(client_of(store).get("/work", headers={"Cookie": f"{cookie}="}))


def test_expired_and_revoked_tokens_are_worth_nothing_at_once(tmp_path: Path) -> None:
    now = [1000.0]
    store = store_of(write_project(tmp_path), lambda: now[0])
    clients = []
    for name, expires in (("ann", 2000.0), ("bea", None)):
        client = client_of(store, clock=lambda: now[0])
        link = f"/r/{store.add_rater(name, 'rater', expires)}"
        assert client.get(link).status_code == 200
        clients.append((client, link))
    page = clients[0][0].get("/work").text
    now[0] = 2001.0
    store.revoke("bea")
    for client, link in clients:
        assert _ended(client.get("/work"))
        assert _ended(client.get(link))
        assert _nothing(client.get("/r/" + "x" * len(link.removeprefix("/r/"))))
    assert _ended(clients[0][0].post("/work", data=answered(page)))
    assert store.judgements() == []


def test_a_rater_is_no_owner_and_an_owner_no_rater(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    rater, owner = entered(store), entered(store, "chief", "owner")
    assert all(_nothing(rater.get(path)) for path in PAGES if path.startswith("/owner"))
    assert all(_nothing(owner.get(path)) for path in ("/", "/work"))
    token = store.add_rater("eve")
    eve = client_of(store)
    name = next(iter(owner.cookies))
    assert name.startswith("rejoinder-owner-")
    assert _nothing(eve.get("/owner", headers={"Cookie": f"{name}={token}"}))
    assert _nothing(rater.post("/owner/raters", data={"csrf": make_csrf_mark(token), "action": "add", "names": "x"}))


def test_the_cookie_is_out_of_reach_and_the_token_leaves_the_address(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    token = store.add_rater("ann")
    found = client_of(store).get(f"/r/{token}", follow_redirects=False)
    assert (found.status_code, found.headers["location"]) == (303, "/")
    cookie = found.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie
    safe = client_of(store, url="https://example.org").get(f"/r/{token}", follow_redirects=False)
    assert "; secure" in safe.headers["set-cookie"].lower()


@pytest.mark.parametrize(
    "forged", ["none", "wrong", "empty", "twice", "own and another", "of another", "cross-site", "same-site"]
)
def test_forged_forms_change_nothing(forged: str, tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    client, owner = entered(store), entered(store, "chief", "owner")
    mark = make_csrf_mark(store.add_rater("eve"))
    client.post("/work", data=answered(client.get("/work").text), follow_redirects=False)
    page = client.get("/work").text
    before = [store.judgements(superseded=True), store.raters(), store.next_unit(_me(store))]
    marks = {client: form_of(page, "/undo")["csrf"]}
    marks[owner] = form_of(owner.get("/owner/raters").text, "/owner/raters")["csrf"]
    for who, path, data in (
        (client, "/work", answered(page)),
        (client, "/undo", form_of(page, "/undo")),
        (client, "/leave", form_of(page, "/leave")),
        (owner, "/owner/raters", {"action": "add", "names": "mallory"}),
        (owner, "/owner/raters", {"action": "revoke", "name": "ann"}),
    ):
        own = marks[who]
        changes: dict[str, Any] = {"none": None, "wrong": "0" * 64, "empty": "", "of another": mark}
        changes |= {"twice": [own, own], "own and another": [own, mark]}  # even where the first or each is right
        sent, headers = {**data, "csrf": changes.get(forged, own)}, {}
        if forged.endswith("-site"):
            headers = {"Sec-Fetch-Site": forged}
        if sent["csrf"] is None:
            del sent["csrf"]
        refused = who.post(path, data=sent, headers=headers).status_code
        assert refused == (403 if sent else 415)  # what holds nothing is no form
    assert [store.judgements(superseded=True), store.raters(), store.next_unit(_me(store))] == before
    assert client.get("/work").status_code == 200


def _me(store: Any) -> Any:
    return next(rater for rater in store.raters() if rater.name == "ann")


def test_only_forms_are_taken(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    client = entered(store)
    answer = answered(client.get("/work").text)
    assert client.post("/work", json=answer).status_code == 415
    assert client.post("/work", data=answer, files={"f": b"x"}).status_code == 415
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/work", content=b"a=%ff", headers=kind).status_code == 400
    assert client.post("/work", content="a=ü".encode(), headers=kind).status_code == 400
    assert client.post("/work", content="&".join(["a=1"] * 3000), headers=kind).status_code == 400
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert _nothing(client.request(method, "/work"))
    assert store.judgements() == []


@pytest.mark.parametrize("form", FORMS)
def test_script_in_the_data_is_shown_as_text(form: str, tmp_path: Path) -> None:
    path = write_project(tmp_path, form, text=SCRIPT, extra="comments = true")
    toml = path.read_text().replace('title = "Replies"', f"title = '''{SCRIPT}'''")
    toml = toml.replace('contact = "owner@example.org"', f"contact = '''{SCRIPT}'''\nnotice = '''{SCRIPT}'''")
    toml = re.sub('instructions = ".*"', lambda _: f"instructions = '''{SCRIPT}'''\ncompletion = '''{SCRIPT}'''", toml)
    path.write_text(toml)
    store = store_of(path)
    client, owner = entered(store), entered(store, "chief", "owner")
    pages = [client.get("/").text, client.get("/work").text, *(owner.get(one).text for one in PAGES[2:6])]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
        assert str(1357 * 7531) not in page
        assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize("form", ["rate", "review", "write", "situation"])
def test_script_in_every_answer_is_kept_and_shown_as_text(form: str, tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, form, extra="comments = true"))
    client = entered(store)
    page = client.get("/work").text
    answer = answered(page, SCRIPT, pick=1)
    client.post("/work", data=answer)
    assert SCRIPT in store.judgements()[0].answer.values()
    undone = client.post("/undo", data=form_of(page, "/undo")).text
    assert "<script>alert" not in undone
    assert form_of(undone)["comment"] == SCRIPT
    for name in options_of(page):
        refused = client.post("/work", data={**form_of(undone), name: SCRIPT})
        assert refused.status_code == 422
        assert "<script>alert" not in refused.text
    owner = entered(store, "chief", "owner")
    for path in PAGES[2:6]:
        assert "<script>alert" not in owner.get(path).text


def test_script_in_the_owners_fields_is_shown_as_text(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    owner = entered(store, "chief", "owner")
    mark = form_of(owner.get("/owner/raters").text, "/owner/raters")["csrf"]
    for action in ("add", "renew", "revoke", SCRIPT):
        data = {"csrf": mark, "action": action, "names": SCRIPT, "name": SCRIPT, "days": SCRIPT, "role": SCRIPT}
        found = owner.post("/owner/raters", data=data)
        assert found.status_code == 422
        assert "<script>alert" not in found.text
    assert len(store.raters()) == 1


def test_script_in_an_exercise_is_shown_as_text(tmp_path: Path) -> None:
    tables = EXERCISE.replace("What time is it?", "<script>alert(1)</script>").replace(
        "It answers the question.", "<script>alert(1)</script>"
    )
    client = entered(store_of(write_project(tmp_path, tables=tables)))
    page = client.get("/work").text
    feedback = client.post("/work", data=answered(page)).text
    for shown in (page, feedback):
        assert "<script>alert" not in shown
        assert "&lt;script&gt;alert" in shown


@pytest.mark.parametrize("form", FORMS)
def test_sql_in_every_field_is_a_text_like_any_other(form: str, tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, form, text=SQL, extra="comments = true"))
    client, owner = entered(store), entered(store, "chief", "owner")
    page = client.get("/work").text
    whole = answered(page, SQL, pick=1)
    for name in whole:
        client.post("/work", data={**whole, name: SQL})
    client.post("/work", data=whole)
    assert client_of(store).get(f"/r/{SQL}").status_code == 404
    cookie = next(iter(client.cookies))
    assert _nothing(client_of(store).get("/work", headers={"Cookie": f"{cookie}={SQL.replace(';', '')}"}))
    mark = form_of(owner.get("/owner/raters").text, "/owner/raters")["csrf"]
    for action in ("add", "renew", "revoke"):
        data = {"csrf": mark, "action": action, "names": SQL, "name": SQL, "days": SQL}
        assert owner.post("/owner/raters", data=data).status_code == 422
    assert owner.get(f"/owner/export/{SQL}").status_code == 404
    assert client_of(store).get(f"/r/{store.add_rater('pool', 'entrance')}?PROLIFIC_PID={SQL}").status_code == 422
    assert len(store.judgements()) == 1
    assert SQL in store.judgements()[0].answer.values()
    assert {rater.name for rater in store.raters()} == {"ann", "chief", "pool"}


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/%2e%2e/cli/annotate.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/annotate.css%00.html",
        "/static/",
        "/static/templates/base.html",
        "/owner/export/..%2f..%2fdata.jsonl",
        "/../data.jsonl",
        "/r/../../data.jsonl",
    ],
)
def test_no_path_leads_out_of_the_few_files(path: str, tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    for client in (entered(store), entered(store, "chief", "owner")):
        scope_path = path.encode()
        assert asyncio.run(_status(client.app, scope_path, next(iter(client.cookies.items())))) == 404
        assert client.get("/static/annotate.css").status_code == 200


async def _status(app: Any, raw: bytes, cookie: tuple[str, str] | None = None, body: Any = None, **scope: Any) -> int:
    """The status of a request exactly as given: no client tidies up its path."""
    from urllib.parse import unquote

    headers = [(b"cookie", "=".join(cookie).encode())] if cookie else []
    request = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(raw.decode()),
        "raw_path": raw,
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("10.0.0.1", 5),
        "server": ("127.0.0.1", 8700),
        **scope,
    }
    found: list[int] = []

    async def receive() -> dict[str, Any]:
        return body(bool(found)) if body else {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    await app(request, receive, send)
    return found[0]


def test_a_body_of_100_mb_is_refused_before_it_is_read_and_little_of_the_rest_is_discarded(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    read: list[bool] = []  # whether the answer was there before each block

    def body(is_answered: bool) -> dict[str, Any]:
        read.append(is_answered)
        return {"type": "http.request", "body": b"x" * 65536, "more_body": True}

    app = make_annotation_app(store.project, store, limits=FREE)
    form = (b"content-type", b"application/x-www-form-urlencoded")
    for length in (b"100000000", b"262145", b"9" * 40, b"-1", b"x"):
        headers = [form, (b"content-length", length)]
        assert asyncio.run(_status(app, b"/work", None, body, method="POST", headers=headers)) == 413
    most = 16 * 4  # blocks: 16 times the largest body
    assert read == [True] * 5 * most
    assert asyncio.run(_status(app, b"/work", None, body, method="POST", headers=[form])) == 413  # no length given
    assert read[5 * most :] == [False] * 5 + [True] * most
    client = entered(store)
    assert client.post("/work", data={"text": "x" * 300_000}).status_code == 413
    assert client.post("/work", data={**answered(client.get("/work").text), "f": "x" * 200_000}).status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))

    async def late() -> int:
        app = make_annotation_app(store.project, store, limits=ServerLimits(body_seconds=0.05))
        found: list[int] = []
        request = {
            "type": "http",
            "method": "POST",
            "path": "/work",
            "raw_path": b"/work",
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "headers": [(b"content-type", b"application/x-www-form-urlencoded")],
            "client": ("10.0.0.1", 5),
        }

        async def receive() -> Any:
            await asyncio.sleep(60)

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                found.append(message["status"])

        await app(request, receive, send)
        return found[0]

    assert asyncio.run(late()) == 408


def test_ten_thousand_requests_of_one_client_are_limited(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    now = [0.0]
    app = make_annotation_app(
        store.project,
        store,
        limits=ServerLimits(RequestRate(20, 5), RequestRate(50, 10)),
        monotonic_clock=lambda: now[0],
    )

    async def many(count: int, cookie: tuple[str, str] | None, address: str) -> list[int]:
        return [await _status(app, b"/work", cookie, client=(address, 5)) for _ in range(count)]

    found = asyncio.run(many(10_000, None, "10.0.0.1"))
    assert (found.count(404), found.count(429)) == (20, 9_980)
    assert asyncio.run(many(1, None, "10.0.0.2")) == [404]  # others are not held up
    name, token = next(iter(entered(store).cookies.items()))
    mine = asyncio.run(many(10_000, (name, token), "10.0.0.3"))
    # The first was not recognised yet and came out of the address's bucket.
    assert (mine.count(200), mine.count(429)) == (51, 9_949)
    spun = [asyncio.run(many(1, (name, f"{n}"), "10.0.0.1"))[0] for n in range(20)]
    assert spun == [429] * 20  # another cookie each time does not help
    now[0] += 1.0
    assert asyncio.run(many(20, None, "10.0.0.1")).count(404) == 5
    assert asyncio.run(many(20, (name, token), "10.0.0.3")).count(200) == 10


def test_too_many_requests_are_told_when_to_come_again(tmp_path: Path) -> None:
    client = client_of(store_of(write_project(tmp_path)), ServerLimits(RequestRate(1, 0.1), RequestRate(1, 0.1)))
    client.get("/")
    found = client.get("/")
    assert found.status_code == 429
    assert 1 <= int(found.headers["retry-after"]) <= 10
    page = client.get("/", headers={"Accept": "text/html"})
    assert page.status_code == 429
    assert "<h1>Please try again later</h1>" in page.text


def test_another_raters_assignment_cannot_be_answered_or_seen(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    ann, eve = entered(store), entered(store, "eve")
    theirs, mine = ann.get("/work").text, eve.get("/work").text
    stolen = {**answered(theirs), "csrf": form_of(mine)["csrf"]}
    found = eve.post("/work", data=stolen)
    assert found.status_code == 409
    unknown = eve.post("/work", data={**stolen, "assignment": "0123456789abcdef"})
    hidden = [re.sub("[0-9a-f]{16,}", "", page.text) for page in (found, unknown)]
    assert hidden[0] == hidden[1]  # whether it exists is not told
    assert store.judgements() == []


def test_one_project_does_not_see_the_cookies_of_another(tmp_path: Path) -> None:
    here = entered(store_of(write_project(tmp_path / "a", extra='name = "a"')))
    there = entered(store_of(write_project(tmp_path / "b", extra='name = "b"')))
    assert set(here.cookies).isdisjoint(there.cookies)


def test_every_answer_carries_the_headers_that_keep_scripts_and_frames_out(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    client = entered(store)
    owner = entered(store, "chief", "owner")
    found = [client_of(store).get("/nowhere"), client.post("/work", json={}), client.post("/undo", data={})]
    found += [client.get(path) for path in RATER_PATHS if "POST" not in RATER_PATHS[path]]
    found += [owner.get(path.replace("{name}", "csv")) for path in OWNER_PATHS if "GET" in OWNER_PATHS[path]]
    found += [client.get("/static/annotate.js"), client.post("/work", data={"x": "y" * 300_000})]
    for one in found:
        for name, value in HEADERS.items():
            assert one.headers[name] == value
        assert one.headers["cache-control"] in ("no-store", "private, max-age=86400")
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_pages_need_no_script_or_style_of_their_own(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, "compare"))
    client, owner = entered(store), entered(store, "chief", "owner")
    for page in [client.get("/").text, client.get("/work").text, *(owner.get(one).text for one in PAGES[2:6])]:
        assert not re.search(r"<style|style=|\son\w+=|javascript:", page)
        assert re.findall(r"<script(.*?)>", page) == re.findall(r"<script( src=\"/static/[^\"]+\" defer)>", page)
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', page)


def test_an_error_of_ours_shows_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.testclient import TestClient

    store = store_of(write_project(tmp_path))
    client = TestClient(make_annotation_app(store.project, store, limits=FREE), raise_server_exceptions=False)
    client.get(f"/r/{store.add_rater('ann')}")

    def fail(*_: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(type(store), "next_unit", fail)
    found = client.get("/work")
    assert found.status_code == 500
    assert "secret" not in found.text
    assert found.headers["X-Frame-Options"] == "DENY"


def test_unfit_characters_are_refused_and_odd_ones_kept(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, "write"))
    client = entered(store)
    whole = answered(client.get("/work").text)
    assert client.post("/work", data={**whole, "accepting": "a\0b"}).status_code == 422
    assert client.post("/work", data={**whole, "accepting": "x" * 2001}).status_code == 422
    client.post("/work", data={**whole, "accepting": "\u202e right to left \U0001f600"})
    assert store.judgements()[0].answer["accepting"] == "\u202e right to left \U0001f600"


def test_who_knows_the_id_of_a_participant_takes_nothing_over(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    link = f"/r/{store.add_rater('pool', 'entrance')}"
    mine, other = client_of(store), client_of(store)
    mine.get(link, params={"PROLIFIC_PID": "5f00aa"})
    mine.post("/work", data=answered(mine.get("/work").text))
    other.get(link, params={"PROLIFIC_PID": "5f00bb"})  # somebody with a session of their own
    for eve in (client_of(store), other):
        page = eve.get(link, params={"PROLIFIC_PID": "5f00aa"})
        assert "Continue" in page.text  # through a page of ours, for a cookie does not come along from another site
        refused = eve.get(html.unescape(re.findall('href="(/r/[^"]*)"', page.text)[0]))
        assert refused.status_code == 403
        assert "This id has been used before" in refused.text
        assert "owner@example.org" in refused.text
        assert "1 of 6 done" not in eve.get("/").text
    assert "1 of 6 done" in mine.get("/").text
    first = mine.get(link, params={"PROLIFIC_PID": "5f00aa"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert first.status_code == 200
    assert "1 of 6 done" in mine.get("/").text
    fresh = client_of(store)
    fresh.get(f"/r/{store.renew('5f00aa')}")  # the way back, through the owner
    assert "1 of 6 done" in fresh.get("/").text
    assert _nothing(mine.get("/"))


def test_idle_connections_of_one_address_leave_room_for_others(tmp_path: Path) -> None:
    with serving(write_project(tmp_path)) as (url, _, _process), contextlib.ExitStack() as held:
        port = urlsplit(url).port
        idle = [held.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(CONNECTIONS + 20)]
        time.sleep(1)
        for source in ("127.0.0.1", "127.0.0.2"):
            with socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0)) as peer:
                peer.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert peer.recv(100).startswith(b"HTTP/1.1 404")
        assert sum(_is_open(one) for one in idle) <= IDLE_PER_ADDRESS
        assert _is_open(idle[-1])  # the oldest went first


def _is_open(peer: socket.socket) -> bool:
    peer.setblocking(False)
    try:
        return peer.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_the_real_server_refuses_big_bodies_and_slow_heads(tmp_path: Path) -> None:
    path = write_project(tmp_path)
    with serving(path, "--raters", "1") as (url, links, process):
        host, port = urlsplit(url).hostname, urlsplit(url).port
        assert host == "127.0.0.1"
        with socket.create_connection((host, port), timeout=20) as peer:
            peer.sendall(b"POST /work HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
            assert peer.recv(100).startswith(b"HTTP/1.1 413")
        with socket.create_connection((host, port), timeout=20) as peer:
            peer.sendall(b"POST /work HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n")
            peer.sendall(b"Content-Type: application/x-www-form-urlencoded\r\n\r\n")
            answer = b"HTTP/1.1 413"
            with contextlib.suppress(OSError):  # the server closes the connection while we still send
                for _ in range(2000):  # 128 MB, if anybody read it
                    peer.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                answer = peer.recv(100)
            assert answer.startswith(b"HTTP/1.1 413")
        with socket.create_connection((host, port), timeout=30) as peer:
            begun = time.monotonic()
            peer.sendall(b"GET / HTTP/1.1\r\nHost:")
            assert peer.recv(100) == b""
            assert time.monotonic() - begun < 25
        status = Path(f"/proc/{process.pid}/status")
        if status.exists():
            used = int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0])
            assert used < 300_000  # the bodies were not kept
        with socket.create_connection((host, port), timeout=20) as peer:
            peer.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            head = peer.recv(1000)
            assert head.startswith(b"HTTP/1.1 404")
            assert b"uvicorn" not in head.lower()
        assert links["rater-1"].startswith(url)


def test_whoever_opens_a_personal_link_is_known_to_the_limits_at_once(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    client, token = client_of(store), store.add_rater("ann", "rater")
    assert token_digest(token) not in client.app._known
    client.get(f"/r/{token}", follow_redirects=False)
    assert token_digest(token) in client.app._known
