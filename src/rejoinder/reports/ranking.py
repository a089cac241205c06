"""A ranking in tables: the first orders, both measures, differences, breakdowns, distractors, statements read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.data.questions import DISTRACTORS, RELEVANT, limit_situation
from rejoinder.selection.ranking.breakdown import CATEGORY, SEEN, QuestionGroup
from rejoinder.selection.ranking.evaluation import ALPHA, RankingEvaluation
from rejoinder.selection.ranking.result import MEASURES, RankingResult, order_places
from rejoinder.selection.ranking.train_overlap import OverlapCounts
from rejoinder.table import Cell, Probability, Table, format_count

_MAX_TEXT = 60  # characters of a text in a table


def order_table(ranked: RankingResult, most: int) -> Table:
    """The first questions with their candidates in order, and what was read for each."""
    asked = limit_situation(ranked.questions[:most], ranked.given)
    rows: list[list[Cell]] = []
    for number, question in enumerate(asked):
        request = _shorten_text(question.context[-1].text) if question.context else None
        for name in ranked.rankers:
            scores = ranked.scores[name][number]
            for place, at in enumerate(order_places(scores), start=1):
                candidate = question.candidates[at]
                used = ranked.used[name][number][at] if name in ranked.used else None
                told = (
                    None
                    if used is None
                    else " ".join(_shorten_text(question.situation[n].text) for n in used) or "nothing"
                )
                grade = None if candidate.grade is None else str(candidate.grade)
                rows.append([question.id, request, name, place, _shorten_text(candidate.text), scores[at], grade, told])
    heads = ["question", "request", "ranker", "place", "candidate", "score", "grade", "read"]
    return Table(f"The first questions, input {ranked.given}", heads, rows)


def evaluation_tables(found: RankingEvaluation) -> list[Table]:
    """All tables of one input that there is something to put into."""
    made = [measure_table(found)]
    if found.differences:
        made.append(difference_table(found))
    made += [breakdown_table(name, some, found.ranked.given) for name, some in found.parts.items()]
    if found.readings:
        made.append(statement_table(found))
    return made


def measure_table(found: RankingEvaluation) -> Table:
    """A line a ranker."""
    rows: list[list[Cell]] = []
    for one in found.standings:
        cells: list[Cell] = [one.measures[measure].estimate for measure in MEASURES]
        rows.append([one.ranker, len(found.ranked.questions) - one.unanswered, one.unanswered, one.ties, *cells])
    n, requests = len(found.ranked.questions), len(set(found.ranked.clusters.tolist()))
    notes = [
        f"{format_count(n, 'question', 'questions')} with {format_count(requests, 'request', 'requests')}, which are drawn again for "
        "[low, high] (95%). ties: several candidates share the highest score; measures are the mean over the orders "
        "that ties allow."
    ]
    notes += [
        f"Left out: {format_count(count, 'question', 'questions')} with {why}." for why, count in found.left_out.items()
    ]
    return Table(
        f"Rankers, input {found.ranked.given}", ["ranker", "ranked", "unanswered", "ties", *MEASURES], rows, notes
    )


def difference_table(found: RankingEvaluation) -> Table:
    """A line a pair of rankers and measure."""
    rows: list[list[Cell]] = []
    for one in found.differences:
        p: list[Cell] = [Probability(one.p), Probability(one.corrected)]
        differ = "yes" if one.corrected < ALPHA else "no"
        rows.append([one.measure, one.first, one.second, one.n, one.difference, *p, differ])
    notes = [
        "p: rankers swapped request by request; corrected by Holm's method over all pairs of a measure; differ? where "
        f"that is below {ALPHA:g}."
    ]
    heads = ["measure", "ranker", "less", "questions", "difference", "p", "p (Holm)", "differ?"]
    return Table(f"Differences between rankers, input {found.ranked.given}", heads, rows, notes)


def breakdown_table(name: str, some: Sequence[QuestionGroup], given: str) -> Table:
    """A line a kind of question and ranker."""
    rows: list[list[Cell]] = [
        [part.name, part.ranker, part.n, *(part.measures[measure].estimate for measure in MEASURES)] for part in some
    ]
    notes = {
        CATEGORY: ["Of the statements that matter; a question counts under each of its categories."],
        SEEN: ["Seen: the text is a reference of a training question. A question counts by its texts and its request."],
    }.get(name, [])
    return Table(f"By {name}, input {given}", [name, "ranker", "questions", *MEASURES], rows, notes)


def statement_table(found: RankingEvaluation) -> Table:
    """What rankers read against what matters."""
    rows: list[list[Cell]] = []
    for one in found.readings:
        told: list[Cell] = [one.precision, one.chance[0], one.recall, one.chance[1], one.f1, one.chance[2]]
        rows.append([one.ranker, one.candidate, one.n, one.read, one.relevant, *told])
    heads = ["ranker", "for", "questions", "read", "matter", "precision", "chance", "recall", "chance", "F1", "chance"]
    notes = ["for: the candidate that it puts first, or the one that was written for the request; chance: as many "
             "statements drawn at random."]  # fmt: skip
    return Table(f"Statements read, input {found.ranked.given}", heads, rows, notes)


def distractor_table(found: Mapping[str, RankingEvaluation]) -> Table | None:
    """The measures by the number of distractors, where rankers were asked with several."""
    steps = {RELEVANT: "0"} | {one: one for one in DISTRACTORS}
    known = {steps[given]: one for given, one in found.items() if given in steps}
    if len(known) < 2:
        return None
    rankers = next(iter(known.values())).ranked.rankers
    rows: list[list[Cell]] = []
    for measure in MEASURES:
        for number, name in enumerate(rankers):
            cells: list[Cell] = [one.standings[number].measures[measure].estimate for one in known.values()]
            rows.append([measure, name, *cells])
    heads = ["measure", "ranker", *(f"{n} distractors" for n in known)]
    return Table("By number of distractors", heads, rows, ["0: only the statements that matter (u+S1)."])


def train_overlap_table(counts: OverlapCounts) -> Table:
    """What test questions share with training."""
    told = {
        "questions of the test": counts.questions,
        "the same example is in training": counts.examples,
        "the request is in training": counts.requests,
        "the reference is a reference there": counts.reference,
        "the reference is a candidate there": counts.reference_offered,
        "a distractor is a reference there": counts.distractor,
        "all distractors are references there": counts.all_distractors,
        "a distractor is a candidate there": counts.distractor_offered,
    }
    rows: list[list[Cell]] = [[name, n, n / counts.questions if counts.questions else None] for name, n in told.items()]
    return Table("Seen in training", ["what", "questions", "share"], rows, ["Texts are compared by their words."])


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 1] + "…"
