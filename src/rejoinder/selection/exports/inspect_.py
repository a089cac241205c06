"""A dataset and a task for Inspect (UK AI Security Institute 2024): a model is shown all candidates and names one."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from rejoinder.data.questions import find_right_candidates
from rejoinder.selection.exports import ExportSettings
from rejoinder.types import Question

SUMMARY = "Inspect: a JSONL dataset and a task that asks for a letter"
_INSTRUCTION = "Which of these is the best next reply in the conversation?"
_TASK = '''\
"""{n} questions, written by rejoinder. Run it with: inspect eval {name}.py --model MODEL"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
{imports}
from inspect_ai.solver import multiple_choice

{scorer}
@task
def {name}():
    """Response selection: which candidate is the right reply?"""
    questions = json_dataset(str(Path(__file__).with_name("{name}.jsonl")))
    return Task(dataset=questions, solver=multiple_choice(), scorer={scored})
'''
_ONE = ("from inspect_ai.scorer import choice", "", "choice()")
# Inspect's own scorer requires all right letters; here one of them is enough.
_SEVERAL = (
    "from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer, stderr",
    '''
@scorer(metrics=[accuracy(), stderr()])
def any_right():
    """Right where the letter that was named is one of the targets."""

    async def score(state, target):
        named = [place for place, one in enumerate(state.choices) if one.correct is True]
        targets = set(state.metadata["right"])
        is_right = len(named) == 1 and named[0] in targets
        return Score(value=CORRECT if is_right else INCORRECT, answer=", ".join(map(str, named)))

    return score

''',
    "any_right()",
)


def files(questions: Sequence[Question], settings: ExportSettings) -> dict[str, bytes]:
    """Return the task file and the dataset, which belong in one folder."""
    several = any(len(find_right_candidates(question)) > 1 for question in questions)
    imports, scorer, scored = _SEVERAL if several else _ONE
    lines = [orjson.dumps(_inspect_sample(question)) for question in questions]
    text = _TASK.format(n=len(questions), name=settings.name, imports=imports, scorer=scorer, scored=scored)
    return {f"{settings.name}.py": text.encode(), f"{settings.name}.jsonl": b"\n".join([*lines, b""])}


def _inspect_sample(question: Question) -> dict[str, object]:
    gold = sorted(find_right_candidates(question))
    letters = [_name_choice(place) for place in gold]
    return {
        "id": question.id,
        "input": render_question(question),
        "choices": [_to_one_line(candidate.text) for candidate in question.candidates],
        "target": letters[0] if len(letters) == 1 else letters,
        "metadata": {"right": gold, **({"dialogue": question.dialogue} if question.dialogue else {})},
    }


def render_question(question: Question) -> str:
    """The situation, the conversation and what is asked, as one text."""
    lines = []
    if question.situation:
        lines += ["Situation:", *(f"- {_to_one_line(statement.text)}" for statement in question.situation), ""]
    # Two speakers take turns if the file does not say who spoke.
    speakers = [turn.speaker or "AB"[number % 2] for number, turn in enumerate(question.context)]
    lines += [f"{speaker}: {_to_one_line(turn.text)}" for speaker, turn in zip(speakers, question.context, strict=True)]
    return "\n".join([*lines, "", _INSTRUCTION])


def _name_choice(place: int) -> str:
    """Return how Inspect calls a choice: A to Z, then numbers from 1."""
    return chr(ord("A") + place) if place < 26 else str(place - 25)


def _to_one_line(text: str) -> str:
    return " ".join(text.split())
