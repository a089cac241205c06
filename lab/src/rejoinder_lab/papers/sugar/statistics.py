"""Tables 2 and 3 and Figure 4 of the SUGAR paper, counted in the released files.

Token counts need the tokenised sentences, which the questions do not keep, so the files are read as they are. Goals
were not released tokenised; the paper's count is matched if ``'s`` is split off, as in the tokenised sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev

from rejoinder.data.dataset_reader import DatasetRow, read_json_lines
from rejoinder.data.datasets import dataset
from rejoinder.data.questions import CATEGORIES
from rejoinder.paths import data_home
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_published

FOLDS = range(5)
_PUBLISHED = load_published("sugar")
GRADES = ("Bad", "Acceptable", "Best")
_PLACE = re.compile(r"(?<=\S)'s\b")


def read_sugar_examples(root: Path | None = None) -> list[DatasetRow]:
    """Every example once: the test splits of all folds together."""
    files = [file for fold in FOLDS for file in dataset(f"sugar/{fold}/test").files]
    return [row for file in files for row in read_json_lines((root or data_home()) / file.path)]


def list_count_figures(rows: Sequence[DatasetRow]) -> list[Figure]:
    """Return all counts, published and measured."""
    return [*sugar_table_2(rows), *sugar_table_3(rows), *sugar_figure_4(rows)]


def sugar_table_2(rows: Sequence[DatasetRow]) -> Iterator[Figure]:
    """Sentences and tokens."""
    table = "Table 2: dataset statistics"
    statements = [s for row in rows for s in row.texts("s.sents.tok")]
    texts = {
        "u": ([row.text("u") for row in rows], [s for row in rows for s in row.texts("u.sents.tok")]),
        "r": ([row.text("r") for row in rows], [s for row in rows for s in row.texts("r.sents.tok")]),
        "g": ([row.text("g") for row in rows], [_PLACE.sub(" 's", row.text("g")) for row in rows]),
        # Two statements that differ in a space alone count as one: the paper counts tokenised statements.
        "s": (statements, statements),
    }
    for name, (whole, tokenised) in texts.items():
        tokens = sum(len(sentence.split()) for sentence in tokenised)
        printed = _PUBLISHED["Table 2"][name]
        yield _count_figure(table, name, "different", len(set(whole)), printed["different"])
        yield _count_figure(table, name, "tokens", tokens, printed["tokens"])
        yield Figure(table, name, "tokens per example", printed["mean"], round(tokens / len(rows), 1))
    printed = _PUBLISHED["Table 2"]["all"]
    yield _count_figure(table, "all", "examples", len(rows), printed["examples"])
    yield _count_figure(table, "all", "sentences", _count_sentences(rows), printed["sentences"])


def sugar_table_3(rows: Sequence[DatasetRow]) -> Iterator[Figure]:
    """The statements that matter, by category, and the figures that the text gives."""
    table = "Table 3: statements that matter (S1)"
    gold = [[row.texts("s.labels")[n] for n in row.wholes("s.gold.sents.indices")] for row in rows]
    counted = Counter(category for categories in gold for category in categories)
    for category in CATEGORIES:
        yield _count_figure(table, category, "statements", counted[category], _PUBLISHED["Table 3"][category])
    table = "Section 3.2: statements that matter"
    sizes = [len(categories) for categories in gold]
    statements = {row.texts("s.sents.tok")[n] for row in rows for n in row.wholes("s.gold.sents.indices")}
    with_time = sum(bool({"time", "date"} & set(categories)) for categories in gold) / len(gold)
    with_behavior = sum("behavior" in categories for categories in gold) / len(gold)
    printed = _PUBLISHED["Section 3.2"]
    yield Figure(table, "per example, mean", "value", printed["statements"], round(mean(sizes), 1))
    yield Figure(table, "per example, standard deviation", "value", printed["deviation"], round(stdev(sizes), 1))
    yield Figure(table, "different", "value", printed["different"], len(statements))
    yield Figure(table, "examples with time or date", "value", printed["with time"], with_time)
    yield Figure(table, "examples with behavior", "value", printed["with behavior"], with_behavior)


def sugar_figure_4(rows: Sequence[DatasetRow]) -> Iterator[Figure]:
    """Examples by number of Bad, Acceptable and Best candidates; the paper's counts are only in a drawing."""
    table = "Figure 4: examples by number of Bad, Acceptable and Best candidates"
    for kind, n in grade_counts(rows).most_common():
        yield Figure(table, ", ".join(map(str, kind)), "examples", None, n)
    several = sum(sum(kind[1:]) > 1 for kind in map(_count_grades, rows)) / len(rows)
    table, printed = "Section 3.2: ratings", _PUBLISHED["Section 3.2"]
    yield Figure(table, "more than one candidate is Best or Acceptable", "share", printed["several good"], several)
    without = sum(not kind[2] for kind in map(_count_grades, rows))
    row = "examples with three Acceptable candidates (the paper removed one)"
    yield Figure(table, row, "share", printed["three acceptable"], without)


def grade_counts(rows: Sequence[DatasetRow]) -> Counter[tuple[int, int, int]]:
    """Examples by their numbers of Bad, Acceptable and Best candidates."""
    return Counter(map(_count_grades, rows))


def _count_grades(row: DatasetRow) -> tuple[int, int, int]:
    grades = [row.whole("r.label"), *(other.whole("r.label") for other in row.rows("r.distractors"))]
    bad, acceptable, best = (grades.count(grade) for grade in range(len(GRADES)))
    return bad, acceptable, best


def _count_sentences(rows: Sequence[DatasetRow]) -> int:
    """The sentences of everything that an example has: request, goal, statements, candidates."""
    total = 0
    for row in rows:
        total += 1 + len(row.texts("u.sents.tok")) + len(row.texts("s.sents")) + len(row.texts("r.sents.tok"))
        total += sum(len(other.texts("r.sents.tok")) for other in row.rows("r.distractors"))
    return total


def _count_figure(table: str, row: str, column: str, measured: int, published: int) -> Figure:
    return Figure(table, row, column, published, measured, note="exact" if measured == published else "")
