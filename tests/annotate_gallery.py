"""Every page that a rater or an owner can come to, one after the other in a browser, over texts as they occur."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.annotation.store.base import Store
from rejoinder.server.limits import RequestRate, ServerLimits
from tests.annotate_site import FORMS, FREE, served, store_of
from tests.annotation_projects import answer_to

LONG = (
    "We left from the old harbour at half past six, and by the time the fog had lifted over the second bay there was "
    "nobody else on the path. "
) * 6
TALKS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "to cool off",
        ("It is so hot in here that I cannot think.", "Have you tried to open the window?", "It does not open."),
        ("Shall I turn on the fan beside your desk?", "The library next door is cool until eight.", "I like trains."),
    ),
    (
        "to find the way",
        ("كيف أصل إلى المحطة من هنا؟", "Sorry, in English please?", "How do I get to the station from here? 🚉"),
        (f"Walk along the river. {LONG}", "https://example.org/" + "directions-" * 14, "I do not know."),
    ),
    (
        "to eat something warm",
        (LONG, "What did you eat?", "Nothing yet.\nIs there a place that is open?"),
        ("There is a soup kitchen round the corner.", "Yes.", "No, all of them close at nine, I am afraid."),
    ),
)
INSTRUCTIONS = (
    "Read the whole conversation, then the reply. Judge the reply only by what stands there.\n\n"
    "- A short reply can be a good one.\n- Spelling does not count.\n\nTake your time; there is no prize for speed."
)
EXERCISE = """
[exercise]
needed = 2
attempts = 2
[[exercise.questions]]
context = [{speaker = "user", text = "Can you repair my bike today?"}]
reply = "Yes, bring it in before four."
answer = { appropriate = [4, 5] }
explanation = "It answers the question and says what to do."
[[exercise.questions]]
context = [{speaker = "user", text = "Can you repair my bike today?"}]
reply = "I had soup for lunch."
note = "Look at this one twice."
answer = { appropriate = [1, 2] }
"""
ATTENTION = """
[checks]
every = 2
stop_after = {stop}
[[attention]]
context = ["This one is here to see whether you read on."]
reply = "Please choose 2 for appropriate."
answer = {{ appropriate = 2 }}
[[attention]]
context = ["This one is here to see whether you still read on."]
reply = "Please choose 4 for appropriate."
answer = {{ appropriate = 4 }}
"""


class Shown(NamedTuple):
    """A page in a browser, under a name for it."""

    name: str
    page: Any


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def talks(copies: int = 4) -> list[dict[str, Any]]:
    """Items with all that a form can show, three responses each, and a question each."""
    found: list[dict[str, Any]] = []
    for n in range(copies * len(TALKS)):
        goal, turns, replies = TALKS[n % len(TALKS)]
        context = [{"speaker": ("user", "assistant")[k % 2], "text": text} for k, text in enumerate(turns)]
        situation = [
            {"text": "The user is at a desk on the fourth floor.", "category": "location"},
            {"text": "It is a quarter past two.", "category": "time"},
            {"text": "Thirty-one degrees, and no wind.", "category": "environment"},
        ]
        references = [{"text": replies[0]}, {"text": replies[1], "source": "bm25"}]
        item = {"kind": "item", "id": f"i{n}", "context": context, "references": references, "situation": situation}
        found.append({**item, "meta": {"goal": goal}})
        for place, text in enumerate(replies):
            response = {"kind": "response", "id": f"i{n}-{place}", "item": f"i{n}", "system": f"system-{place}"}
            found.append({**response, "text": f"{text} ({n})" if n >= len(TALKS) else text})
        candidates = [{"text": text, "id": str(place)} for place, text in enumerate(replies)]
        question = {"kind": "question", "id": f"q{n}", "context": context, "candidates": candidates}
        found.append({**question, "situation": situation, "meta": {"goal": goal}})
    return found


def project_at(folder: Path, form: str = "rate", extra: str = "", tables: str = "", copies: int = 4) -> Path:
    """A project file with its data."""
    folder.mkdir(parents=True)
    (folder / "data.jsonl").write_text("".join(json.dumps(record) + "\n" for record in talks(copies)), "utf-8")
    path = folder / f"{form}.toml"
    head = f'form = "{form}"\ndata = ["data.jsonl"]\ntitle = "Replies of three assistants"\n'
    path.write_text(
        f'{head}instructions = """{INSTRUCTIONS}"""\ncontact = "owner@example.org"\n{extra}\n{tables}', encoding="utf-8"
    )
    return path


def _visitor(browser: Any, url: str, store: Store, name: str = "ann", role: Any = "rater") -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(20_000)
    page.goto(f"{url}/r/{store.add_rater(name, role)}")
    return page


def _forms(browser: Any, folder: Path) -> Iterator[Shown]:
    for form in FORMS:
        store = store_of(project_at(folder / form, form, "raters_per_unit = 2\ncomments = true"))
        with served(store) as url:
            page = _visitor(browser, url, store)
            yield Shown(f"{form}-welcome", page)
            page.goto(url + "/work")
            yield Shown(f"{form}-work", page)
            for radios in page.query_selector_all('fieldset[data-kind="choice"]'):
                radios.query_selector_all("input")[1].check(force=True)
            for boxes in page.query_selector_all('fieldset[data-kind="labels"]'):
                boxes.query_selector_all("input")[1].check(force=True)
            yield Shown(f"{form}-work-chosen", page)
            page.reload()
            page.evaluate("sessionStorage.clear()")
            page.goto(url + "/work")
            page.evaluate("for (const one of document.querySelectorAll('#answer input:checked')) one.checked = false")
            page.evaluate("for (const one of document.querySelectorAll('#answer textarea')) one.value = ''")
            page.evaluate("HTMLFormElement.prototype.submit.call(document.getElementById('answer'))")
            page.wait_for_load_state()
            yield Shown(f"{form}-work-refused", page)
            page.context.close()


def _exercise(browser: Any, folder: Path) -> Iterator[Shown]:
    store = store_of(project_at(folder / "exercise", tables=EXERCISE))
    with served(store) as url:
        page = _visitor(browser, url, store)
        yield Shown("exercise-welcome", page)
        for attempt in (1, 2):
            for question in (1, 2):
                page.goto(url + "/work")
                if question == 1 or attempt == 1:
                    yield Shown(f"exercise-{attempt}-{question}", page)
                answers = page.query_selector_all('fieldset[data-kind="choice"]')
                for radios in answers:
                    radios.query_selector_all("input")[4].check(force=True)
                with page.expect_navigation():
                    page.click("#send")
                yield Shown(f"exercise-{attempt}-{question}-feedback", page)
        page.goto(url + "/work")
        yield Shown("end-unqualified", page)
        page.context.close()


def _mishaps(browser: Any, folder: Path) -> Iterator[Shown]:
    store = store_of(project_at(folder / "mishaps", extra="minimum_seconds = 50\nraters_per_unit = 1"))
    with served(store, ServerLimits(address=RequestRate(12, 0.001), session=FREE.session)) as url:
        page = _visitor(browser, url, store)
        page.goto(url + "/work")
        page.keyboard.press("?")
        yield Shown("work-keys", page)
        page.keyboard.press("Escape")
        page.keyboard.press("i")
        yield Shown("work-instructions", page)
        page.keyboard.press("i")
        page.keyboard.press("3")
        page.keyboard.press("Enter")
        yield Shown("work-incomplete", page)
        page.keyboard.press("3")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        yield Shown("work-too-fast", page)
        page.evaluate("document.querySelector('#answer [name=csrf]').value = 'forged'")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        yield Shown("problem-forged", page)
        page.goto(url + "/work")
        page.evaluate("document.querySelector('#answer [name=assignment]').value = 'gone'")
        page.keyboard.press("3")
        page.keyboard.press("3")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        yield Shown("problem-lost", page)
        page.goto(url + "/nothing")
        yield Shown("nothing-here", page)
        page.goto(url + "/")
        with page.expect_navigation():
            page.click("text=Sign out on this device")
        yield Shown("left", page)
        for _ in range(20):
            page.goto(url + "/")
        yield Shown("too-many-requests", page)
        page.context.close()


def _ends(browser: Any, folder: Path) -> Iterator[Shown]:
    for name, extra, tables in (
        ("finished", "units_per_rater = 1", ""),
        ("finished-code", 'units_per_rater = 1\ncompletion = "C1234-XYZ"', ""),
        ("finished-link", 'units_per_rater = 1\ncompletion = "https://example.org/complete?cc=C1234"', ""),
        ("stopped", "", ATTENTION.format(stop=1)),
        ("waiting", "raters_per_unit = 1", ""),
    ):
        store = store_of(project_at(folder / name, extra=extra, tables=tables, copies=1))
        with served(store) as url:
            page = _visitor(browser, url, store)
            page.goto(url + "/work")
            if name == "waiting":
                other = store.who(store.add_rater("bea"))
                assert other is not None
                assert store.next_unit(other) is not None
            for _ in range(20):
                if not page.query_selector("#answer"):
                    break
                page.keyboard.press("5")
                page.keyboard.press("5")
                with page.expect_navigation():
                    page.keyboard.press("Enter")
            yield Shown(f"end-{name}", page)
            page.context.close()


def _entrance(browser: Any, folder: Path) -> Iterator[Shown]:
    store = store_of(project_at(folder / "entrance"))
    with served(store) as url:
        page = _visitor(browser, url, store, "pool", "entrance")
        yield Shown("entrance", page)
        page.goto(f"{page.url}?PROLIFIC_PID=no%20id")
        yield Shown("entrance-wrong", page)
        link = page.url.partition("?")[0] + "?PROLIFIC_PID=fay"
        text = page.request.get(link, headers={"Sec-Fetch-Site": "cross-site"}).text()
        page.set_content(text.replace('http-equiv="refresh"', ""))  # else it would be gone before it is looked at
        yield Shown("entrance-from-elsewhere", page)
        page.context.close()


def _owner_of_nothing(browser: Any, folder: Path) -> Iterator[Shown]:
    store = store_of(project_at(folder / "nothing"))
    with served(store) as url:
        page = _visitor(browser, url, store, "chief", "owner")
        for name in ("", "/agreement", "/raters", "/export"):
            page.goto(f"{url}/owner{name}")
            yield Shown(f"owner-new{name.replace('/', '-')}", page)
        page.context.close()


def _owner(browser: Any, folder: Path) -> Iterator[Shown]:
    for form in ("rate", "errors", "compare", "write"):
        tables = ATTENTION.format(stop=0) if form == "rate" else ""
        clock = Clock()
        store = store_of(project_at(folder / f"owned-{form}", form, "raters_per_unit = 4", tables), clock)
        for place, name in enumerate(("ann", "bea-from-the-second-floor", "careless", "dan")):
            judge(store, clock, name, place)
        with served(store, clock=clock) as url:
            page = _visitor(browser, url, store, "chief", "owner")
            yield Shown(f"owner-{form}-progress", page)
            page.goto(url + "/owner/judgements")
            yield Shown(f"owner-{form}-judgements", page)
            page.click("article h2 a")
            yield Shown(f"owner-{form}-unit", page)
            page.goto(url + "/owner/agreement")
            yield Shown(f"owner-{form}-agreement", page)
            if form == "errors":
                page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
                yield Shown(f"owner-{form}-agreement-open", page)
            page.goto(url + "/owner/export/ratings") if form == "write" else page.goto(url + "/owner/export")
            yield Shown(f"owner-{form}-export", page)
            if form == "rate":
                yield from _links(page, url)
            page.context.close()


def _links(page: Any, url: str) -> Iterator[Shown]:
    page.goto(url + "/owner/raters")
    yield Shown("owner-raters", page)
    page.fill("#names", "eve\nfay")
    page.fill("#days", "14")
    page.click("button:has-text('Create links')")
    yield Shown("owner-raters-made", page)
    page.fill("#names", "eve")
    page.click("button:has-text('Create links')")
    yield Shown("owner-raters-refused", page)
    page.click("summary[aria-label='Revoke the link of eve']")
    yield Shown("owner-raters-asked", page)
    page.click("button[aria-label='Yes, revoke the link of eve']")
    yield Shown("owner-raters-revoked", page)


def judge(store: Store, clock: Clock, name: str, place: int) -> None:
    """Answer everything as somebody would who mostly agrees; who is careless always says the same, and at once."""
    rater = store.who(store.add_rater(name))
    assert rater is not None
    while (assignment := store.next_unit(rater)) is not None:
        unit = assignment.unit
        texts = "".join(reply["text"] for reply in unit.payload["replies"])
        if name == "careless":
            answer = answer_to(store.project, replace(unit, id=""), "careless")
        else:
            answer = answer_to(store.project, unit, f"{texts}{place if len(texts) % 5 == place else ''}")
            if asked := re.search("choose ([0-9])", texts):
                answer["appropriate.r1"] = int(asked[1])
        clock.now += 1.5 if name == "careless" else 9.0 + place
        store.submit(rater, assignment.id, answer, math.nan)


PAGES: dict[str, Callable[[Any, Path], Iterator[Shown]]] = {
    "forms": _forms,
    "exercise": _exercise,
    "mishaps": _mishaps,
    "ends": _ends,
    "entrance": _entrance,
    "owner of nothing": _owner_of_nothing,
    "owner": _owner,
}
