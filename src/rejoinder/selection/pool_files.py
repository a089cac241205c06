"""Pools written for people to judge, and read again: the pools themselves, and a project for the annotation page."""

from __future__ import annotations

import json
import os
from pathlib import Path

import orjson

from rejoinder.data.collection import read_files
from rejoinder.data.shape import fits_shape
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.files import atomic_write
from rejoinder.selection.build import PoolSet
from rejoinder.selection.card import card_paths

_INSTRUCTIONS = (
    "You see the beginning of a conversation and some utterances. For each utterance, say how well it fits as the next "
    "one: 5 if it clearly can be a reply here, 1 if it cannot be one at all. Give 0 if it is not grammatical. "
    "Judge each one separately: several may fit, or none."
)


def pools_path(path: str | Path) -> Path:
    """Return the path of a set's pools: ``SET.pools.jsonl``."""
    path = Path(path)
    return path.with_name(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.pools.jsonl")


_FACTS_SHAPE = {
    "settings?": {str: object}, "dialogues?": {str: int}, "repository?": {str: (int, str)}, "leakage?": {str: int},
    "sources?": [{"spec": str, "version": int, "citation": str}],
    "inputs?": [{"role": str, "name": str, "sha256": str, "licence": str}],
}  # fmt: skip


def write_pools(pools: PoolSet, path: str | Path) -> None:
    """Write pools, and next to them what the card will say about how they were found."""
    write(pools.questions, path)
    with atomic_write(card_paths(path)[0]) as file:
        file.write(orjson.dumps(dict(pools.facts), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_pools(path: str | Path) -> PoolSet:
    """Read pools that ``write_pools`` wrote."""
    questions = tuple(read_files([path]).questions.values())
    if not questions:
        raise InputError(
            f"{Path(path).name}: has no pools; write some with: rejoinder build --write-csv or --write-project"
        )
    try:
        facts = orjson.loads(card_paths(path)[0].read_bytes())
    except FileNotFoundError:
        return PoolSet(questions)
    except (OSError, ValueError):
        facts = None
    if not fits_shape(facts, _FACTS_SHAPE):
        raise InputError(f"{card_paths(path)[0].name}: is not as it was written; restore it, or delete it")
    return PoolSet(questions, facts)


def write_scoring_project(path: str | Path, pools: str | Path, raters: int = 5) -> None:
    """Write a project for ``rejoinder annotate`` that shows a file of pools in the form ``candidates``."""
    path = Path(path)
    data = os.path.relpath(str(pools), str(path.parent)).replace(os.sep, "/")
    lines = [
        'form = "candidates"',
        f"data = [{json.dumps(data)}]",
        'title = "How well does each utterance fit?"',
        f"raters_per_unit = {raters}",
        f"instructions = {json.dumps(_INSTRUCTIONS)}",
    ]
    with atomic_write(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
