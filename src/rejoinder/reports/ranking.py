"""A ranking as tables: the first questions, both measures, differences, breakdowns, distractors, statements read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.data.questions import DISTRACTORS, RELEVANT, limit_situation
from rejoinder.selection.ranking.breakdown import CATEGORY, SEEN, QuestionGroup
from rejoinder.selection.ranking.evaluation import ALPHA, RankingEvaluation
from rejoinder.selection.ranking.result import MEASURES, RankingResult, order_candidate_places
from rejoinder.selection.ranking.train_overlap import OverlapCounts
from rejoinder.table import Cell, Probability, Table, format_count, shorten_text

_MAX_TEXT = 60  # characters of a text in a table


def ranking_order_table(ranked: RankingResult, max_questions: int) -> Table:
    """The first questions with their candidates in ranked order, and the statements read for each."""
    questions = limit_situation(ranked.questions[:max_questions], ranked.input)
    rows: list[list[Cell]] = []
    for number, question in enumerate(questions):
        request = shorten_text(question.context[-1].text, _MAX_TEXT) if question.context else None
        for name in ranked.rankers:
            scores = ranked.scores[name][number]
            for rank, index in enumerate(order_candidate_places(scores), start=1):
                candidate = question.candidates[index]
                read_statements = ranked.used[name][number][index] if name in ranked.used else None
                statements = (
                    None
                    if read_statements is None
                    else " ".join(shorten_text(question.situation[n].text, _MAX_TEXT) for n in read_statements)
                    or "nothing"
                )
                grade = None if candidate.grade is None else str(candidate.grade)
                rows.append(
                    [
                        question.id,
                        request,
                        name,
                        rank,
                        shorten_text(candidate.text, _MAX_TEXT),
                        scores[index],
                        grade,
                        statements,
                    ]
                )
    heads = ["question", "request", "ranker", "rank", "candidate", "score", "grade", "statements read"]
    return Table(f"The first questions, input {ranked.input}", heads, rows)


def ranking_tables(evaluation: RankingEvaluation) -> list[Table]:
    """All non-empty tables of one input."""
    tables = [ranking_measure_table(evaluation)]
    if evaluation.differences:
        tables.append(ranking_difference_table(evaluation))
    tables += [
        ranking_breakdown_table(name, groups, evaluation.ranked.input) for name, groups in evaluation.parts.items()
    ]
    if evaluation.readings:
        tables.append(statement_table(evaluation))
    return tables


def ranking_measure_table(evaluation: RankingEvaluation) -> Table:
    """One line per ranker."""
    rows: list[list[Cell]] = []
    for standing in evaluation.standings:
        cells: list[Cell] = [standing.measures[measure].estimate for measure in MEASURES]
        rows.append(
            [
                standing.ranker,
                len(evaluation.ranked.questions) - standing.unanswered,
                standing.unanswered,
                standing.ties,
                *cells,
            ]
        )
    n, requests = len(evaluation.ranked.questions), len(set(evaluation.ranked.clusters.tolist()))
    notes = [
        f"{format_count(n, 'question')} with {format_count(requests, 'request')}; [low, high]: 95% "
        "bootstrap over requests. ties: questions where several candidates share the highest score; measures are means "
        "over the orders that ties allow."
    ]
    notes += [f"Left out: {format_count(count, 'question')} with {why}." for why, count in evaluation.left_out.items()]
    return Table(
        f"Rankers, input {evaluation.ranked.input}", ["ranker", "ranked", "unanswered", "ties", *MEASURES], rows, notes
    )


def ranking_difference_table(evaluation: RankingEvaluation) -> Table:
    """One line per pair of rankers and measure."""
    rows: list[list[Cell]] = []
    for difference in evaluation.differences:
        p: list[Cell] = [Probability(difference.p), Probability(difference.corrected)]
        differ = "yes" if difference.corrected < ALPHA else "no"
        rows.append(
            [difference.measure, difference.first, difference.second, difference.n, difference.difference, *p, differ]
        )
    notes = [
        "p: permutation test that swaps rankers by request; p (Holm): corrected by Holm's method over all pairs of a "
        f"measure; differ? where that is below {ALPHA:g}."
    ]
    heads = ["measure", "ranker", "minus", "questions", "difference", "p", "p (Holm)", "differ?"]
    title = f"Differences between rankers, input {evaluation.ranked.input}"
    return Table(title, heads, rows, notes)


def ranking_breakdown_table(name: str, groups: Sequence[QuestionGroup], input_name: str) -> Table:
    """One line per kind of question and ranker."""
    rows: list[list[Cell]] = [
        [group.name, group.ranker, group.n, *(group.measures[measure].estimate for measure in MEASURES)]
        for group in groups
    ]
    notes = {
        CATEGORY: ["Categories of the relevant statements; a question counts in each of its categories."],
        SEEN: ["Seen: the text is a reference of a training question. Questions are grouped by texts and request."],
    }.get(name, [])
    return Table(f"By {name}, input {input_name}", [name, "ranker", "questions", *MEASURES], rows, notes)


def statement_table(evaluation: RankingEvaluation) -> Table:
    """The statements that rankers read, compared with the relevant ones."""
    rows: list[list[Cell]] = []
    for reading in evaluation.readings:
        measures: list[Cell] = [
            reading.precision,
            reading.chance[0],
            reading.recall,
            reading.chance[1],
            reading.f1,
            reading.chance[2],
        ]
        rows.append([reading.ranker, reading.candidate, reading.n, reading.read, reading.relevant, *measures])
    heads = ["ranker", "for", "questions", "read", "matter", "precision", "chance", "recall", "chance", "F1", "chance"]
    notes = ["for: the candidate ranked first, or the one that was written for the request; chance: the same number of "
             "random statements."]  # fmt: skip
    return Table(f"Statements read, input {evaluation.ranked.input}", heads, rows, notes)


def distractor_table(evaluations: Mapping[str, RankingEvaluation]) -> Table | None:
    """The measures by number of distractors, where rankers were run with several numbers; else None."""
    steps = {RELEVANT: "0"} | {evaluation: evaluation for evaluation in DISTRACTORS}
    by_number = {steps[input_name]: evaluation for input_name, evaluation in evaluations.items() if input_name in steps}
    if len(by_number) < 2:
        return None
    rankers = next(iter(by_number.values())).ranked.rankers
    rows: list[list[Cell]] = []
    for measure in MEASURES:
        for number, name in enumerate(rankers):
            cells: list[Cell] = [
                evaluation.standings[number].measures[measure].estimate for evaluation in by_number.values()
            ]
            rows.append([measure, name, *cells])
    heads = ["measure", "ranker", *(f"{n} distractors" for n in by_number)]
    return Table("By number of distractors", heads, rows, ["0: only the relevant statements (u+S1)."])


def train_overlap_table(counts: OverlapCounts) -> Table:
    """What test questions share with the training data."""
    shared = {
        "test questions": counts.questions,
        "the same example is in training": counts.examples,
        "the request is in training": counts.requests,
        "the reference is a reference there": counts.reference,
        "the reference is a candidate there": counts.reference_offered,
        "a distractor is a reference there": counts.distractor,
        "all distractors are references there": counts.all_distractors,
        "a distractor is a candidate there": counts.distractor_offered,
    }
    rows: list[list[Cell]] = [
        [name, n, n / counts.questions if counts.questions else None] for name, n in shared.items()
    ]
    return Table("Seen in training", ["what", "questions", "share"], rows, ["Texts are compared by their words."])
