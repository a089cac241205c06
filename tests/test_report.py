"""The report: one page that stands alone, says everything, breaks on nothing, and its tables in other forms."""

from __future__ import annotations

import csv
import html
import json
import math
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder import cli
from rejoinder.errors import InputError, RunError
from rejoinder.escape import escape_html, replace_control_characters
from rejoinder.reports.chart import interval_bar, make_axis
from rejoinder.reports.examples import select_examples
from rejoinder.reports.findings import compute_findings
from rejoinder.reports.leaderboard import list_leaderboards
from rejoinder.reports.output import render_report, report
from rejoinder.reports.reply_table import make_reply_table
from rejoinder.reports.scatter import draw_scatter, fit_line
from rejoinder.reports.verdict import decide_verdict
from rejoinder.table import Estimate
from rejoinder.types import Item, Preference, Rating, Record, Reference, Response, Turn

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
VOID = {"meta", "link", "br", "hr", "img", "input"}
EVIL = """<script>alert("1")</script>'"><img src=http://x.invalid/y onerror=alert(2)> &amp; {{ 7*7 }} {% raw %}"""
RTL = "مرحبا، كيف حالك؟ שלום"


class Page(HTMLParser):
    """A page taken apart; complains at once about what is not well formed or not allowed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.wanted: list[str] = []
        self.headings: list[int] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"an attribute twice in {tag}: {attrs}"
        self.tags.append((tag, given))
        self.ids += [given["id"] or ""] if "id" in given else []
        for key in ("aria-labelledby", "href"):
            value = given.get(key) or ""
            self.wanted += value.split() if key != "href" else [value[1:]] if value.startswith("#") else []
        for name, value in attrs:
            assert not name.startswith("on"), f"{tag} has {name}"
            assert name != "style", f"{tag} has a style of its own, which the policy forbids"
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                assert (value or "").startswith(("#", "data:,")), f"{tag} leads to {value}"
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)

    def count(self, tag: str, **attributes: str) -> int:
        return sum(t == tag and all(a.get(k) == v for k, v in attributes.items()) for t, a in self.tags)


def checked(text: str) -> Page:
    """The page, after everything that holds of every page was looked at."""
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids), "an id twice"
    assert set(page.wanted) <= set(page.ids), f"names that lead nowhere: {set(page.wanted) - set(page.ids)}"
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(page.headings, page.headings[1:], strict=False)), page.headings
    assert page.count("table") == page.count("caption")
    assert all("scope" in a for t, a in page.tags if t == "th")
    for tag, a in page.tags:
        if tag == "svg":
            assert a.get("aria-hidden") == "true" or (
                a.get("role") == "img" and ("aria-label" in a or "aria-labelledby" in a)
            )
    assert page.count("main") == page.count("header") == page.count("nav") == page.count("script") == 1
    for section in ("summary", "systems", "people", "replies", "missing", "origin"):
        assert section in page.ids
    for forbidden in ("@import", "url(", "nan–nan", "Infinity"):
        assert forbidden not in text
    assert not re.search(r"\bnan\b", " ".join(page.text).replace("--empty nan", ""))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]", text)
    return page


def conversations(
    items: int = 6,
    systems: int = 2,
    references: int = 1,
    raters: int = 2,
    aspects: tuple[str, ...] = ("quality",),
    texts: tuple[str, ...] = ("Yes, of course.", "No, I am sorry.", "Perhaps we could go there tomorrow, then."),
) -> Iterator[Record]:
    """A made-up set; everything about it is told by the arguments."""
    for i in range(items):
        known = tuple(Reference(texts[(i + k) % len(texts)]) for k in range(references))
        yield Item(f"i{i}", (Turn("Shall we go there?", "A"), Turn(f"And when? {i}")), known, dialogue=f"d{i // 2}")
        for s in range(systems):
            yield Response(f"i{i}/s{s}", f"i{i}", f"s{s}", texts[(i + 2 * s + i // 2) % len(texts)])
            for r in range(raters):
                for a, aspect in enumerate(aspects):
                    value = float(1 + (i + s + a + r * (i % 2)) % 5)
                    yield Rating(f"r{r}", aspect, value, response=f"i{i}/s{s}")


def run_of(folder: Path, records: Iterator[Record] | list[Record], *metrics: str, empty: str = "error") -> Path:
    """A run of records."""
    rejoinder.write(list(records), folder / "set.jsonl")
    plan = rejoinder.Plan.of(metrics or ("bleu", "length"), empty)  # type: ignore[arg-type]
    rejoinder.run([folder / "set.jsonl"], plan, folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example conversations under four metrics."""
    folder = tmp_path_factory.mktemp("chats") / "run"
    rejoinder.run([CHATS], rejoinder.Plan.of(["bleu", "rouge_l", "meteor", "length"]), folder, cache=False)
    return folder


@pytest.fixture(scope="module")
def page(chats: Path) -> str:
    """Their report."""
    return report(chats)


def test_the_page_is_well_formed_and_loads_nothing(page: str) -> None:
    checked(page)
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src 'none'" in html.unescape(page)


def test_the_page_is_the_same_byte_for_byte_and_another_seed_shows(chats: Path, page: str) -> None:
    assert report(chats) == page
    other = report(chats, seed=1)
    assert other != page
    assert "resampling uses the seed 1." in other


def test_the_page_says_what_was_scored_and_how_to_make_it_again(chats: Path, page: str) -> None:
    about = json.loads((chats / "run.json").read_text())
    assert about["inputs"][0]["sha256"] in page
    assert "48 items, 1,314 ratings, 192 replies" in page
    assert "192 replies of 4 systems to 48 items were scored with 4 metrics." in page
    assert "1,314 ratings by 4 raters of 192 of the 192 replies (appropriate, on-topic)." in page
    for metric in about["metrics"]:
        assert html.escape(metric["signature"]) in page
    assert "rejoinder score chats.jsonl -m bleu -m rouge_l -m meteor -m length -o RUN" in page
    assert "rejoinder report RUN" in page
    assert f"numpy {np.__version__}" in page


def test_the_page_has_the_verdicts_in_words_and_numbers(chats: Path, page: str) -> None:
    found = compute_findings(chats)
    text = html.unescape(page)
    for comparison in found.comparisons:
        assert comparison.sentence() in text
        for standing in comparison.standings:
            assert f"{standing.mean.value:.3f} [{standing.mean.low:.3f}, {standing.mean.high:.3f}]" in text
    parsed = checked(page)
    assert parsed.count("figure") == 2 * 4  # aspects by metrics
    assert "Krippendorff" in text
    assert "one rater against the rest" in text
    assert "baseline: which system wrote it" in text
    assert text.count("surely ahead of") > 4


def test_an_aspect_can_be_chosen_and_a_wrong_one_is_named(chats: Path) -> None:
    one = report(chats, aspect="on-topic")
    assert "Aspect: <bdi>on-topic</bdi>" in one
    assert "Aspect: <bdi>appropriate</bdi>" not in one
    assert "rejoinder report RUN --aspect on-topic" in one
    with pytest.raises(InputError, match="did you mean 'on-topic'"):
        report(chats, aspect="on topic")


def nasty() -> list[Record]:
    """Texts and names that try to break out of the page."""
    texts = (EVIL, RTL, "w" * 3000, "one\ntwo\n\n\tthree", "word " * 2000, "\x01\x07\x7f\x85\u202e👩‍💻", "?")
    systems = ('bot<b>"', RTL, "x" * 200, "up\u202eside", "it's")
    records: list[Record] = []
    for i in range(7):
        context = tuple(Turn(texts[(i + k) % 7], EVIL if k else None) for k in range(i))
        references = tuple(Reference(texts[(i + k) % 7], "<i>") for k in range(i))
        records.append(Item(f'i{i}"<', context, references, truncated=i == 3))
        for s, system in enumerate(systems):
            text = "" if i == s == 3 else texts[(2 * i + s) % 7]
            records.append(Response(f"<{i}>{s}", f'i{i}"<', system, text))
            records.append(Rating("r<", EVIL, float(1 + i * s % 4), response=f"<{i}>{s}"))
    return records


def test_text_from_data_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    text = report(run_of(tmp_path, nasty(), "bleu", "length", empty="nan"))
    page = checked(text)
    assert page.count("img") == 0
    assert page.count("b") + page.count("i") == page.count("b")  # none but our own
    shown = "".join(page.text)
    assert EVIL in shown
    assert RTL in shown
    assert "one\ntwo\n\n\tthree" in shown
    assert "49" not in re.findall(r"&amp; (\d+) ", shown)
    assert "␁␇␡" in shown


def test_long_texts_are_folded_and_very_long_ones_cut(tmp_path: Path) -> None:
    long, longer = "x" * 10_000, "y" * 30_000
    records = [Item("i", (Turn("Go on"),)), Response("a", "i", "s", long), Response("b", "i", "s", longer)]
    text = report(run_of(tmp_path, [*records, Response("c", "i", "s", "Short.")], "length(unit='characters')"))
    page = checked(text)
    assert long in text
    assert "10,000 characters" in text
    assert "y" * 20_000 in text
    assert "y" * 20_001 not in text
    assert "Cut after 20,000 characters" in text
    assert ("details", {"class": "long"}) in page.tags


EDGES = {
    "no ratings": (lambda: conversations(raters=0), ("bleu", "length")),
    "one system": (lambda: conversations(systems=1), ("bleu", "length")),
    "no references": (lambda: conversations(references=0), ("bleu", "length")),
    "one response": (lambda: conversations(items=1, systems=1, raters=0), ("bleu", "length")),
    "one rated response": (lambda: conversations(items=1, systems=1, raters=1), ("bleu", "length")),
    "constant scores": (lambda: conversations(texts=("Yes.",)), ("bleu", "length", "distinct")),
    "constant ratings": (
        lambda: (
            Rating(r.rater, r.aspect, 3.0, response=r.response) if isinstance(r, Rating) else r for r in conversations()
        ),
        ("bleu", "length"),
    ),
    "several aspects": (lambda: conversations(aspects=("a", "b", "c")), ("bleu", "length")),
    "twenty systems": (lambda: conversations(items=8, systems=20), ("chrf", "length")),
    "twelve metrics": (
        lambda: conversations(),
        (
            *(f"bleu(n={n})" for n in (1, 2, 3, 4)),
            *("length", "length(unit='characters')", "chrf", "rouge_l", "meteor", "distinct", "self_bleu"),
            "context_overlap",
        ),
    ),
}


@pytest.mark.parametrize("edge", EDGES)
def test_no_kind_of_run_breaks_the_page(tmp_path: Path, edge: str) -> None:
    records, metrics = EDGES[edge]
    folder = run_of(tmp_path, records(), *metrics)
    text = report(folder)
    page = checked(text)
    aspects = len(compute_findings(folder).trusts)
    assert page.count("figure") == aspects * len(metrics)
    assert ("There are no ratings of replies in this run" in text) == (aspects == 0)
    if edge == "one system":
        assert text.count("There is only one system (s0)") == 1
    if edge == "no references":
        assert "12 without references" in text
        assert "No reply has a score." in text
    if edge == "constant scores":
        assert "All 12 scores are the same (1.000), so none is best or worst." in text
    if edge == "one response":
        assert "The only reply with a score" in text
    if edge == "twelve metrics":
        assert text.count("no difference between systems survives correction") <= 1


def test_ratings_of_dialogues_and_preferences_are_said_not_to_be_used(tmp_path: Path) -> None:
    records = list(conversations(raters=1))
    records += [Rating("r9", "quality", 3.0, dialogue="d0"), Preference("i0", "i0/s0", "i0/s1", "r9", "first")]
    text = report(run_of(tmp_path, records, "length"))
    assert "1 rating of whole dialogues, which this page does not use; 1 preference, which it does not use." in text


def test_five_thousand_replies_make_a_page_of_moderate_size(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    words = np.array(["yes", "no", "when", "there", "perhaps", "tomorrow", "it", "is", "good", "bad"])
    records: list[Record] = []
    for i in range(1250):
        records.append(Item(f"i{i}", (Turn("Well?"),), (Reference(" ".join(random.choice(words, 6))),)))
        for s in range(4):
            records.append(Response(f"i{i}/{s}", f"i{i}", f"s{s}", " ".join(random.choice(words, 6))))
            records.append(Rating("r", "quality", float(random.integers(1, 6)), response=f"i{i}/{s}"))
    text = report(run_of(tmp_path, records, "bleu(n=1)", "bleu(n=2)", "rouge_l", "length"))
    checked(text)
    assert len(text.encode()) < 3_000_000
    assert "5,000 replies, 2,000 of them drawn (a fixed sample; the numbers are for all)" in text


def test_the_verdict_goes_by_people_and_says_what_to_do_next(tmp_path: Path) -> None:
    records: list[Record] = []
    for i in range(30):
        records.append(Item(f"i{i}", (Turn("Well?"),)))
        for system, rating in (("good", 5.0 - i % 2), ("bad", 1.0 + i % 2)):
            records.append(Response(f"i{i}/{system}", f"i{i}", system, "Yes, it is." * (1 + i % 3)))
            records.append(Rating("r", "quality", rating, response=f"i{i}/{system}"))
    found = decide_verdict(compute_findings(run_of(tmp_path, records, "length")))
    assert found.sentence == "good is best by people's ratings (quality): surely ahead of bad."
    assert found.board is not None
    assert [place.system for place in found.board.places] == ["good", "bad"]
    assert [step.command for step in found.steps if step.command] == ["rejoinder check NEW --no-worse-than RUN"]


def test_a_leaderboard_says_what_was_not_rated_or_scored_and_ranks_only_by_a_direction(tmp_path: Path) -> None:
    records: list[Record] = []
    for i in range(4):
        records.append(Item(f"i{i}", (Turn("Well?"),), (Reference("one two three four"),)))
        for system in ("here", "there"):
            records.append(Response(f"i{i}/{system}", f"i{i}", system, "one two x y" if i else ""))
            records += [Rating("r", "quality", 3.0, response=f"i{i}/{system}")] if i < 2 else []
    page = report(run_of(tmp_path, records, "rouge_l", "length", empty="nan"))
    boards = [board for board in page.split('<table class="chart board"')[1:] if "</table>" in board]
    assert "<small>(2 not rated)</small>" in boards[0]
    assert "<small>(1 not scored)</small>" in boards[1]
    assert ">ranks</th>" in boards[1].partition("</table>")[0]
    assert ">ranks</th>" not in boards[2].partition("</table>")[0]  # length has no direction


def test_a_system_whose_lead_is_reversed_on_shared_items_is_not_called_ahead(tmp_path: Path) -> None:
    """The mean of "easy" is higher for its own items, where "hard" said nothing; on the items of both it loses."""
    records: list[Record] = []
    for i in range(60):
        records.append(Item(f"i{i}", (Turn("Well?"),), (Reference("one two three four"),)))
        records.append(Response(f"i{i}/easy", f"i{i}", "easy", "one two x y" if i < 20 else "one two three four"))
        if i < 20:
            records.append(Response(f"i{i}/hard", f"i{i}", "hard", "one two three y"))
    found = decide_verdict(compute_findings(run_of(tmp_path, records, "rouge_l")))
    assert found.sentence == "No clear winner by rouge_l: easy comes first, but its lead may be chance."


def test_systems_with_the_same_mean_share_the_first_place(tmp_path: Path) -> None:
    records: list[Record] = []
    for i in range(4):
        records.append(Item(f"i{i}", (Turn("Well?"),), (Reference("one two three four"),)))
        records += [Response(f"i{i}/{system}", f"i{i}", system, "one two x y") for system in ("here", "there")]
    findings = compute_findings(run_of(tmp_path, records, "rouge_l"))
    assert decide_verdict(findings).sentence == "No winner by rouge_l: here and there share the best mean."
    same = "rouge_l: here and there share the best mean, and no difference survives correction."
    assert findings.comparisons[0].sentence() == same


def test_a_verdict_without_ratings_asks_for_some(tmp_path: Path) -> None:
    records: list[Record] = [Item("i", (Turn("Well?"),), (Reference("it is"),)), Response("r", "i", "one", "it is")]
    found = decide_verdict(compute_findings(run_of(tmp_path, records, "rouge_l")))
    assert found.sentence.startswith("one has 1.000")
    assert found.sentence.endswith("on average by rouge_l; there is no other system to compare.")
    commands = [step.command for step in found.steps]
    assert "rejoinder score old=OLD.jsonl new=NEW.jsonl" in commands
    assert "rejoinder next RUN -o to-rate.csv" in commands
    only = decide_verdict(compute_findings(run_of(tmp_path / "words", records, "length")))
    assert only.board is None
    assert only.sentence.startswith("No metric of this run says what is better")


def test_the_table_of_a_large_run_has_the_worst_replies(tmp_path: Path) -> None:
    records: list[Record] = []
    for n in range(600):  # of two systems: with one for each reply, 719,400 pairs of systems would be compared
        records.append(Item(f"i{n}", (Turn("Count"),), (Reference("a b c d"),)))
        records += [Response(f"{s}{n}", f"i{n}", s, "a b c d" if n % 2 else "a b x y") for s in ("one", "two")]
    table = make_reply_table(compute_findings(run_of(tmp_path, records, "rouge_l")))
    assert len(table.rows) == 1_000
    assert sum(row.reply == "a b x y" for row in table.rows) == 600
    assert table.note.startswith("These are the 1,000 of 1,200 replies with the worst scores by rouge_l")


def test_the_gallery_has_the_best_the_worst_and_the_disputed(tmp_path: Path) -> None:
    """By hand: the reference has four words, the reply of system n shares n of them, so rouge_l rises with n."""
    shared = "one two three four".split()
    records: list[Record] = [Item("i", (Turn("Count"),), (Reference(" ".join(shared)),))]
    for n in range(5):
        records.append(Response(f"r{n}", "i", f"s{n}", " ".join(shared[:n] + ["x"] * (4 - n))))
        records.append(Rating("p", "quality", float(5 - n), response=f"r{n}"))
    found = select_examples(compute_findings(run_of(tmp_path, records, "rouge_l")))[0]
    ids = {s.title: [e.pair.response.id for e in s.exhibits] for s in found.selections}
    assert ids["Best"] == ["r4", "r3", "r2"]
    assert ids["Worst"] == ["r0", "r1"]
    assert ids["Liked by rouge_l, not by people (quality)"] == ["r4", "r3"]
    assert ids["Liked by people, not by rouge_l (quality)"] == ["r0", "r1"]
    assert found.selections[2].exhibits[0].why == "score above 100% of the rated replies, rating above 0%"


LOWER = """
from dataclasses import dataclass
import rejoinder

@dataclass(frozen=True)
class Lower(rejoinder.Metric):
    higher_is_better = False
    range = (0.0, 1000.0)

    def score(self, pairs):
        return [float(len(p.response.text)) for p in pairs]
"""


def test_where_lower_is_better_the_lowest_is_best(tmp_path: Path) -> None:
    (tmp_path / "lower.py").write_text(LOWER)
    folder = run_of(tmp_path, conversations(), str(tmp_path / "lower.py"))
    found = select_examples(compute_findings(folder))[0]
    best, worst = found.selections[:2]
    assert (best.title, worst.title) == ("Best", "Worst")
    assert best.exhibits[0].score < worst.exhibits[0].score
    assert "lower is better: the correlation is with the negative score" in report(folder)


@pytest.mark.parametrize("metric", ["lower", "length(unit='characters')"])
def test_who_is_ahead_goes_by_the_direction_of_the_metric(tmp_path: Path, metric: str) -> None:
    (tmp_path / "lower.py").write_text(LOWER)
    records: list[Record] = []
    for i in range(20):
        records.append(Item(f"i{i}", (Turn("Well?"),)))
        records += [Response(f"i{i}/{s}", f"i{i}", s, "x" * n * (1 + i % 3)) for s, n in (("long", 9), ("short", 3))]
    spec = str(tmp_path / "lower.py") if metric == "lower" else metric
    found = list_leaderboards(compute_findings(run_of(tmp_path, records, spec)))[0]
    if metric == "lower":
        assert [(place.system, place.ahead) for place in found.places] == [("short", "long"), ("long", "–")]
        assert found.ahead == "surely ahead of"
    else:  # a description ranks nobody
        assert [(place.ranks, place.ahead) for place in found.places] == [("–", "–"), ("–", "–")]
        assert found.ahead is None


def test_an_axis_has_round_ticks_around_all_values() -> None:
    assert make_axis([0.147, 0.2]).ticks == (0.14, 0.16, 0.18, 0.2)  # type: ignore[union-attr]
    assert make_axis([1.0, 5.0]).ticks == (1.0, 2.0, 3.0, 4.0, 5.0)  # type: ignore[union-attr]
    assert make_axis([-0.3, 0.45]).ticks == (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6)  # type: ignore[union-attr]
    assert make_axis([0.0, 0.0], (0.0, 1.0)).ticks[::5] == (0.0, 1.0)  # type: ignore[union-attr]
    assert make_axis([7.0]).ticks[0] < 7.0 < make_axis([7.0]).ticks[-1]  # type: ignore[union-attr]
    assert make_axis([]) is make_axis([math.nan, math.inf]) is make_axis([-1e300, 1e300]) is None


def test_a_bar_is_drawn_to_scale() -> None:
    along = make_axis([0.0, 1.0])
    assert along is not None
    bar = interval_bar("a<b", Estimate(0.25, 0.1, 0.5), along)
    assert 'cx="25%"' in bar
    assert 'x1="10%" x2="50%"' in bar
    assert "a&lt;b: 0.250 [0.100, 0.500]" in bar
    assert "interval" not in interval_bar("a", Estimate(0.25, math.nan, math.nan), along).replace("aria-label", "")


def test_the_line_of_a_scatter_is_that_of_least_squares() -> None:
    random = np.random.default_rng(1)
    x = random.integers(1, 6, 300).astype(float)
    y = 0.1 * x + random.normal(0, 0.2, 300)
    line = fit_line(x, y)
    assert line is not None
    slope, start = np.polyfit(x, y, 1)
    assert line.slope == pytest.approx(slope, rel=1e-9)
    assert line.start == pytest.approx(start, rel=1e-9)
    assert fit_line(np.ones(5), y[:5]) is None


def test_a_scatter_draws_a_fixed_sample_and_counts_all() -> None:
    random = np.random.default_rng(2)
    x, y = random.integers(1, 6, 900).astype(float), random.random(900)
    y[0] = math.nan
    found = draw_scatter("c", x, y, ("rating", "score"), max_dots=200)
    assert found is not None
    assert (found.n, found.drawn) == (899, 200)
    assert found.svg.count("h0") == 200
    assert found == draw_scatter("c", x, y, ("rating", "score"), max_dots=200)
    assert found != draw_scatter("c", x, y, ("rating", "score"), max_dots=200, seed=1)
    assert draw_scatter("c", np.array([math.nan]), np.array([1.0]), ("rating", "score")) is None


def test_the_dots_of_a_scatter_stand_where_their_numbers_do() -> None:
    """Scores stand beside their ticks (ratings have noise); the line through (1, 0) and (5, 1) is x / 4 - 1 / 4."""
    found = draw_scatter("c", np.array([1.0, 5.0]), np.array([0.0, 1.0]), ("rating", "score"))
    assert found is not None
    at = [tuple(map(float, pair)) for pair in re.findall(r"M([\d.]+) ([\d.]+)h0", found.svg)]
    ticks = dict(re.findall(r'<text class="y" x="38" y="([\d.]+)">([\d.]+)</text>', found.svg))
    heights = {float(label): float(y) - 4 for y, label in ticks.items()}
    assert [y for _, y in at] == pytest.approx([heights[0.0], heights[1.0]], abs=0.1)
    assert heights[1.0] < heights[0.0]  # the higher score stands higher
    assert at[0][0] < at[1][0]
    assert found.line == pytest.approx((0.25, -0.25))


def test_control_characters_are_made_visible() -> None:
    assert replace_control_characters("a\tb\nc\x00\x1b\x7f\x9b") == "a\tb\nc␀␛␡\ufffd"
    assert escape_html("<\x00>") == "&lt;␀&gt;"


def luminance(colour: str) -> float:
    """The relative luminance of a colour such as #0a5a8c (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_every_ground_in_the_light_and_in_the_dark(page: str) -> None:
    palettes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root {(.*?)}", page, re.S)
    ]
    assert len(palettes) >= 2
    for palette in palettes[:2]:
        for ink in ("ink", "soft", "accent", "warm"):
            for ground in ("ground", "panel", "tint"):
                low, high = sorted(luminance(palette[name]) for name in (ink, ground))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)  # WCAG AA


@pytest.fixture
def ran(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(tmp_path)

    def call(*argv: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rejoinder", *map(str, argv)])
        status = 0
        try:
            cli.main()
        except SystemExit as stop:
            status = int(stop.code or 0)
        return (status, *capfd.readouterr())

    return call


def test_the_command_writes_the_page_beside_the_run(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = run_of(tmp_path, conversations())
    before = sorted(p.name for p in folder.iterdir())
    status, out, err = ran("report", "run")
    assert (status, out, err) == (0, "", "report: run.html\n")
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == report(folder)
    assert ran("report", "run/")[0] == 0  # a report may be replaced by a newer one
    assert ran("report", "run", "-o", "-")[1] == report(folder)
    assert ran("report", "run", "-o", "other.html", "--seed", 3)[0] == 0
    assert (tmp_path / "other.html").read_text(encoding="utf-8") == report(folder, seed=3)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_the_command_replaces_nothing_of_the_users_and_leaves_the_run_alone(ran, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run_of(tmp_path, conversations())
    (tmp_path / "run.html").write_text("<p>my own page</p>")
    for argv, said in (
        (("report", "run"), "is not a rejoinder report"),
        (("report", "run", "-o", "run/page.html"), "is in the run folder"),
        (("report", "run", "-o", "no/such/folder.html"), "cannot be written"),
        (("report", "elsewhere"), "no such run folder"),
        (("report", "run", "-o", "-", "--aspect", "x"), "nobody rated responses in the aspect 'x'"),
    ):
        status, out, err = ran(*argv)
        assert (status, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1
    assert (tmp_path / "run.html").read_text() == "<p>my own page</p>"


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "csv", "json"])
def test_the_tables_come_in_every_form(ran, tmp_path: Path, form: str) -> None:  # type: ignore[no-untyped-def]
    folder = run_of(tmp_path, conversations(aspects=("a", "b")), "bleu", "length")
    status, out, err = ran("report", "run", "--format", form)
    assert (status, err) == (0, "")
    assert out == render_report(folder, form)
    titles = [table.title for table in compute_findings(folder).tables()]
    assert len(titles) == 1 + 2 * 2 + 2
    if form == "json":
        assert [table["title"] for table in json.loads(out)] == titles
    elif form == "csv":
        assert [line[2:] for line in out.splitlines() if line.startswith("# ")] == titles
        blocks = out.split("\n\n")
        assert len(blocks) == len(titles)
        assert next(csv.reader([blocks[0].splitlines()[1]]))[:2] == ["system", "n"]
    else:
        assert all(title in out for title in titles)


def test_a_run_that_is_damaged_is_told_so(tmp_path: Path) -> None:
    folder = run_of(tmp_path, conversations())
    (folder / "scores.jsonl").write_text("{")
    with pytest.raises(RunError, match="the run is damaged"):
        report(folder)
