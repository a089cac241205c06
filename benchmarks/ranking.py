"""What ranking ten candidates with twelve statements costs: a situated ranker beside a plain cross-encoder over all.

Both are of the same kind of networks, those of `aptness`, exported in the same way; nothing is trained, since weights
cost what they cost whatever they are. The chooser has as many layers as that of a trained ranker.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.synthetic import sentences
from rejoinder.data.datasets import read_dataset
from rejoinder.errors import RejoinderError
from rejoinder.models.ranker.model import RankerModel
from rejoinder.types import Candidate, Question, Statement, Turn

CANDIDATES, STATEMENTS = 10, 12
ROUNDS = 3


def situated(count: int) -> tuple[list[Question], str]:
    """Questions of that size: requests, statements and replies of SUGAR where it is here, else made up."""
    random = np.random.default_rng(0)
    try:
        read = [one for one in read_dataset("sugar/0/test") if isinstance(one, Question)]
        requests = [one.context[0].text for one in read]
        told = sorted({statement.text for one in read for statement in one.situation})
        replies = sorted({candidate.text for one in read for candidate in one.candidates})
        kind = "texts of SUGAR"
    except RejoinderError:
        requests = told = replies = sentences(2_000)
        kind = "made-up texts"
    found = []
    for n in range(count):
        candidates = tuple(Candidate(text) for text in random.choice(replies, CANDIDATES, replace=False).tolist())
        situation = tuple(Statement(text) for text in random.choice(told, STATEMENTS, replace=False).tolist())
        found.append(Question(f"q{n}", (Turn(str(random.choice(requests))),), candidates, situation))
    return found, kind


def rankers(folder: Path) -> tuple[RankerModel, RankerModel]:
    """A situated one and a plain one."""
    from rejoinder_lab.training.ranker.start import open_ranker_start
    from rejoinder_lab.training.recipes import RankerRecipe

    from rejoinder.models.ranker.export import export_ranker
    from rejoinder.models.ranker.network import ChooserNetwork, copy_first_layers

    recipe = RankerRecipe()
    start = open_ranker_start(recipe)
    chooser = ChooserNetwork(copy_first_layers(start.trunk, recipe.chooser_layers))
    weights = np.ones(start.words.count, np.float32)
    for name, of, counted in (("situated", chooser, weights), ("cross", None, None)):
        export_ranker(start.reader, of, counted, recipe.input, recipe.choice, recipe.limits, {}, folder / name)
    return RankerModel(folder / "situated"), RankerModel(folder / "cross")


def measure(count: int = 30) -> list[dict[str, Any]]:
    """Milliseconds of CPU time a question of each, asked by turns, one question at a time as an assistant would."""
    questions, kind = situated(count)
    spent = dict.fromkeys(("situated", "cross"), 0.0)
    with tempfile.TemporaryDirectory() as folder:
        models = dict(zip(spent, rankers(Path(folder)), strict=True))
        for model in models.values():
            model.rank(questions[:2])  # opening the graphs is not ranking
        for turn in range(ROUNDS):
            for question in questions[turn::ROUNDS]:
                for name, model in models.items():
                    begun = time.process_time()
                    model.rank([question])
                    spent[name] += time.process_time() - begun
    ours, plain = (1000 * seconds / count for seconds in spent.values())
    return [
        {
            "name": f"situated ranker, {CANDIDATES} candidates, {STATEMENTS} statements, {kind}",
            "value": round(ours, 1),
            "unit": "ms of CPU time a question",
            "against": f"a plain cross-encoder over all statements, {plain:.1f} ms, same kind of networks",
            "ratio": round(ours / plain, 2),
            "floor": 0.5,
            "at_most": True,
        }
    ]


if __name__ == "__main__":
    for entry in measure():
        print(entry)
