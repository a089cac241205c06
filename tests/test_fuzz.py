"""Damaged input files: a result or one line of error, never a traceback, never a changed number.

``make fuzz`` tries 20,000; here are the first few hundred.
"""

from __future__ import annotations

from benchmarks.fuzz import try_seeds


def test_damaged_files_give_a_result_or_one_line_of_error() -> None:
    ended, wrong = try_seeds(range(500))
    assert not wrong
    assert ended["result"] > 50
    assert ended["one line of error"] > 200
