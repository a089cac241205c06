"""Run an exported task in a process of its own, by the packages that it was exported for; prints JSON lines.

    python harness_run.py lm-eval MODEL TASK...     the harness itself, on a model folder
    python harness_run.py inspect MODEL TASK...     Inspect, with a model that reads nothing but the prompt

The tasks are files in the folder in which this is run.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def run_lm_eval(model: str, tasks: list[str]) -> Iterator[dict[str, Any]]:
    import lm_eval
    from lm_eval.tasks import TaskManager

    found: Any = lm_eval.simple_evaluate(
        model="hf",
        model_args={"pretrained": model, "dtype": "float32"},
        tasks=tasks,
        task_manager=TaskManager(include_path=str(Path.cwd()), include_defaults=False),
        device="cpu",
        batch_size=4,
        bootstrap_iters=0,
    )
    for task in tasks:
        for sample in found["samples"][task]:
            sums = [float(one[0]) for one in sample["filtered_resps"]]
            points = {name: sample[name] for name in ("acc", "acc_norm", "acc_bytes")}
            yield {"task": task, "id": sample["doc"]["id"], "sums": sums, **points}


def run_inspect(model: str, tasks: list[str]) -> Iterator[dict[str, Any]]:
    """Inspect with a model of our own: it finds the choices in the prompt and names the letter of the likeliest."""
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi

    from rejoinder.systems import parse_system

    system = parse_system(f"causal(model={model!r}, join='newline', normalise='none')")

    class Likeliest(ModelAPI):
        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
            prompt = input[-1].text
            choices = dict(re.findall(r"^([A-Z])\) (.*)$", prompt, re.MULTILINE))
            context = re.findall(r"^[AB]: (.*)$", prompt, re.MULTILINE)
            scores = system.answer(context, list(choices.values()))
            best = list(choices)[scores.index(max(scores))]
            return ModelOutput.from_content(self.model_name, f"ANSWER: {best}")

    modelapi("likeliest")(Likeliest)
    logs = evaluate([f"{task}.py" for task in tasks], model=get_model("likeliest/tiny"), display="none", log_dir="logs")
    for task, log in zip(tasks, logs, strict=True):
        if log.status != "success":
            raise SystemExit(f"Inspect ended with {log.status}: {log.error}")
        for sample in log.samples or ():
            [score] = (sample.scores or {}).values()
            yield {"task": task, "id": sample.id, "acc": 1.0 if score.value == "C" else 0.0}


if __name__ == "__main__":
    program, model, *tasks = sys.argv[1:]
    for row in {"lm-eval": run_lm_eval, "inspect": run_inspect}[program](model, tasks):
        print("ROW " + json.dumps(row))
