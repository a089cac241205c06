"""A task for the Language Model Evaluation Harness (Gao et al. 2021): YAML, JSONL, and a function that reads it.

The harness selects the choice with the largest sum of log-probabilities (``acc``), or the largest sum divided by the
choice's characters (``acc_norm``) or bytes (``acc_bytes``). Of equal choices it selects the first.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from rejoinder.data.questions import find_right_candidates
from rejoinder.selection.exports import ExportSettings
from rejoinder.types import Question

SUMMARY = "lm-evaluation-harness: a multiple_choice task (YAML and JSONL)"
_YAML = """\
# {n} questions, written by rejoinder. Run it with:
#   lm_eval --model hf --model_args pretrained=MODEL --include_path FOLDER --tasks {name}
task: "{name}"
custom_dataset: !function {module}.load
test_split: test
output_type: multiple_choice
doc_to_text: query
doc_to_choice: choices
doc_to_target: gold
target_delimiter: {delimiter}
num_fewshot: 0
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - metric: acc_norm
    aggregation: mean
    higher_is_better: true
  - metric: acc_bytes
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
"""
_LOADER = '''\
"""The questions of the task {name}, from the file beside this one."""

import json
from pathlib import Path


def load(**settings):
    """One split, ``test``."""
    from datasets import Dataset, DatasetDict

    lines = Path(__file__).with_name("{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return DatasetDict({{"test": Dataset.from_list([json.loads(line) for line in lines])}})
'''


def files(questions: Sequence[Question], settings: ExportSettings) -> dict[str, bytes]:
    """Return the task, its questions, and the function that reads them; they belong in one folder."""
    name, module = settings.name, f"{settings.name}_data"
    inside = not settings.turn_end.isspace()
    # The harness moves white space at the end of a context to the choice, so we put it there explicitly.
    delimiter = orjson.dumps("" if inside else settings.turn_end).decode()
    several = any(len(find_right_candidates(question)) > 1 for question in questions)
    lines = [orjson.dumps(_lm_eval_row(question, settings, inside, several)) for question in questions]
    return {
        f"{name}.yaml": _YAML.format(name=name, module=module, n=len(questions), delimiter=delimiter).encode(),
        f"{name}.jsonl": b"\n".join([*lines, b""]),
        f"{module}.py": _LOADER.format(name=name).encode(),
    }


def _lm_eval_row(question: Question, settings: ExportSettings, inside: bool, several: bool) -> dict[str, object]:
    turns = [settings.text(turn.text) for turn in question.context]
    query = settings.turn_end.join(turns) + (settings.turn_end if inside and turns else "")
    gold = sorted(find_right_candidates(question))
    return {
        "id": question.id,
        "query": query,
        "choices": [settings.text(candidate.text) for candidate in question.candidates],
        # One type for all rows: the harness looks at the first to see whether there may be several.
        "gold": gold if several else gold[0],
    }
