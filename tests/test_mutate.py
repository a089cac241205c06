"""The mutants of ``make mutate``: what is changed, what never is, and what counts as noticed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import mutant_run
from benchmarks.mutants import Mutant, find_mutants
from benchmarks.mutate import EQUIVALENTS, PACKAGES, Result, draw, files_of, page, summary
from benchmarks.test_map import ROOT, CoverageMap, CoveredTest

MODULE = '''\
"""About 3 things."""
from typing import Literal
LEVEL = 0.5


@decorated(times=3)
def count(n: Literal[1, 2] = 1) -> Literal[3]:
    """Not 4."""
    if n in (5, 6) and not n > 7:
        raise ValueError(f"{n + 8} is more than 9")
    assert n != 10
    return sorted(zip([n - 1], [max(n, 2)], strict=True))


class Thing:
    def __repr__(self):
        return 11
'''


def changes(source: str) -> set[str]:
    return {mutant.change for mutant in find_mutants("x.py", source.encode())}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {"a < b -> (a <= b)", "a < b -> (a >= b)"}),
        ("x = a is None", {"a is None -> (a is not None)"}),
        ("x = a * b", {"a * b -> (a / b)"}),
        ("x = 'a' + b", set()),
        ("x = a or b", {"a or b -> (a and b)"}),
        ("x = True", {"True -> (False)"}),
        ("x = 2", {"2 -> (3)", "2 -> (1)"}),
        ("x = -a", {"-a -> (a)"}),
        ("x = min(a)", {"min(a) -> (max(a))"}),
        ("x = sorted(a, reverse=b)", {"sorted(a, reverse=b) -> (sorted(a))"}),
        ("x = a if b else c", {"a if b else c -> (a if not b else c)"}),
        ("if a:\n    b()", {"a -> (not (a))", "b() -> pass"}),
        ("def f():\n    return [a]", {"return [a] -> return None", "return [a] -> return []"}),
        ("for a in b:\n    continue", {"continue -> break"}),
        ("x = [a for a in b if a]", {"a -> (not (a))"}),
    ],
)
def test_what_is_changed(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


def test_texts_types_decorators_and_assertions_stay_as_they_are() -> None:
    changed = changes(MODULE)
    numbers = {int(n) for change in changed for n in re.findall(r"^(\d+) ->", change)}
    assert numbers == {1, 2, 5, 6, 7}  # the first is the default of n
    assert "0.5 -> (1.5)" in changed
    assert any(change.startswith("raise ValueError") for change in changed)


def test_a_mutant_differs_in_its_own_place_only() -> None:
    source = "é = 'ü'; x = a + 1\ny = a + 1\n".encode()
    mutants = [mutant for mutant in find_mutants("x.py", source) if mutant.line == 2]
    assert {mutant.apply(source).decode() for mutant in mutants} == {
        "é = 'ü'; x = a + 1\ny = (a - 1)\n",
        "é = 'ü'; x = a + 1\ny = a + (2)\n",
        "é = 'ü'; x = a + 1\ny = a + (0)\n",
    }
    assert all(mutant.compiles(source) for mutant in mutants)


def test_the_same_seed_draws_the_same_mutants_of_different_lines() -> None:
    assert len(files_of(PACKAGES)) > 100
    drawn = draw(30, 5)
    assert drawn == draw(30, 5)
    assert drawn[:10] == draw(10, 5)
    assert len({(mutant.path, mutant.line) for mutant in drawn}) == 30


def test_a_mutant_gets_the_tests_of_its_line_the_most_telling_first() -> None:
    whole = CoveredTest("whole", 1.0, {"a.py": frozenset({1, 2}), "b.py": frozenset(range(100))})
    near = CoveredTest("near", 1.0, {"a.py": frozenset({2, 3})})
    other = CoveredTest("other", 0.1, {"a.py": frozenset({4})})
    tests = CoverageMap([whole, near, other])
    assert [test.name for test in tests.tests_of("a.py", range(2, 3), False)] == ["near", "whole"]
    assert [test.name for test in tests.tests_of("a.py", range(2, 3), True)] == ["other", "near", "whole"]
    assert [test.name for test in tests.tests_of("a.py", range(9, 10), False)] == ["other", "near", "whole"]
    assert tests.tests_of("c.py", range(1, 2), False) == []


def mutant_run_of(tmp_path: Path, body: str) -> tuple[str, str, float]:
    test = tmp_path / "test_body.py"
    test.write_text(f"def test_body():\n    {body}\n", encoding="utf-8")
    return mutant_run._pytest([f"{test}::test_body"], ROOT / "src", 100.0 if "while" not in body else 5.0)


@pytest.mark.parametrize(
    ("body", "status"),
    [("pass", "passed"), ("assert 1 == 2", "failed"), ("while True: pass", "time"), ("bytearray(7 * 2**30)", "failed")],
)
def test_a_mutant_is_run_with_limits_of_time_and_memory(tmp_path: Path, body: str, status: str) -> None:
    found, output, seconds = mutant_run_of(tmp_path, body)
    assert found == status
    assert ("MemoryError" in output) == ("bytearray" in body)
    assert seconds < 100


def test_the_score_leaves_equivalents_out_and_counts_time_and_memory_as_killed() -> None:
    mutant = draw(1, 1)[0]
    ends = ["failed"] * 5 + ["time", "memory", "survived", "equivalent", "equivalent"]
    found = summary([Result(mutant, end, "why") for end in ends], 10, 1)
    assert (found["killed"], found["survived"], found["equivalent"]) == (7, 1, 2)
    assert found["score"] == 7 / 8
    assert "**87.5% of the 8 that can be noticed were killed**" in page(found)
    assert f"`{mutant.path}:{mutant.line}`" in page(found)


def test_every_equivalent_has_a_reason_and_its_line_is_there() -> None:
    rows = json.loads(EQUIVALENTS.read_text(encoding="utf-8"))
    sources = [file.read_bytes() for file in files_of(PACKAGES)]
    lines = {line.strip() for source in sources for line in source.decode().splitlines()}
    for row in rows:
        assert row["reason"]
        assert row["source"] in lines, f"{row['source']} is gone: delete it from {EQUIVALENTS.name}"


def test_a_mutant_says_where_it_is() -> None:
    (mutant,) = find_mutants("x.py", b"x = a is b")
    assert mutant == Mutant("x.py", 1, 4, 10, "a is b", "(a is not b)", (1, 1), True)
