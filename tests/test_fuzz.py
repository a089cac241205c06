"""Damaged input files: a result or one line of error, never a traceback, never a changed number.

``make fuzz`` tries 20,000; here are the first few hundred.
"""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.fuzz import commands, readers
from benchmarks.fuzz.damage import damage


def test_damaged_files_give_a_result_or_one_line_of_error() -> None:
    ended, wrong = readers.try_seeds(range(500))
    assert not wrong
    assert ended["result"] > 50
    assert ended["one line of error"] > 200


def test_every_command_that_is_tried_works_with_inputs_that_are_not_damaged() -> None:
    assert not commands.check_cases()


def test_commands_with_a_damaged_file_give_a_result_or_one_line_of_error() -> None:
    ended, wrong = commands.try_seeds(range(300))
    assert not wrong
    assert ended["result"] > 50
    assert ended["one line of error"] > 100


def test_a_seed_decides_the_damage(tmp_path: Path) -> None:
    made = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        for seed in range(60):
            path = folder / f"{seed}.jsonl"
            path.write_text('{"id": "i", "value": 3, "meta": {"a": [1, 2]}}\n' * 3)
            damage(path, [], random.Random(seed))
        made.append({path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()})
    assert made[0] == made[1]
    assert len(set(made[0].values())) > 40
