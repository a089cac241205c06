"""The measurements of judges in a file: one comes with the package, and a command writes others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError, SpecError
from rejoinder.files import atomic_write
from rejoinder.metric import Metric, parse, signature
from rejoinder.selection.acceptability import MAX_MISSED, Acceptability, ErrorRates, fit_acceptability
from rejoinder.selection.grade_separation import collect_graded_scores
from rejoinder.selection.model_pass import Progress, check_judge, score_candidates
from rejoinder.stats.interval import Interval
from rejoinder.types import Question

SHIPPED = Path(__file__).with_name("acceptability.json")
DEV, TEST = "dailydialogpp/dev", "dailydialogpp/test"
_DECIMALS = 4


def measure_judge(
    dev: Sequence[Question],
    test: Sequence[Question],
    metric: Metric | str,
    missed: float = MAX_MISSED,
    progress: Progress | None = None,
) -> Acceptability:
    """Measure a metric as a judge of what is acceptable: threshold and curve on ``dev``, error rates on ``test``."""
    metric = parse(metric) if isinstance(metric, str) else metric
    on_dev, on_test = (collect_graded_scores(part, score_candidates(part, metric, progress)) for part in (dev, test))
    return fit_acceptability(str(metric), signature(metric), on_dev, on_test, missed)


def read_published_questions(name: str) -> list[Question]:
    """Return the questions of a published set such as DailyDialog++."""
    from rejoinder.data.datasets import read_dataset

    return [record for record in read_dataset(name) if isinstance(record, Question)]


def write_acceptability(judges: Sequence[Acceptability], path: str | Path) -> None:
    """Write the measurements of judges."""
    content = {"chosen_on": DEV, "measured_on": TEST, "judges": [acceptability_to_object(judge) for judge in judges]}
    with atomic_write(path) as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_acceptability(path: str | Path = SHIPPED) -> dict[str, Acceptability]:
    """Return the measurements of a file, by the judge's signature: a spec has one per set of weights."""
    path = Path(path)
    try:
        content = orjson.loads(path.read_bytes())
        return {judge["signature"]: _parse_acceptability(judge) for judge in content["judges"]}
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path}: has no measurements of judges; write it with: rejoinder build -o FILE --measure-acceptability"
        ) from None


def load_acceptability(metric: Metric, path: str | Path = SHIPPED) -> Acceptability:
    """Return the measurements of a metric as a judge; they must be of the metric as it is now."""
    check_judge(metric)
    remedy = f'measure it with: rejoinder build -o FILE.json --measure-acceptability --judge-with "{metric}"'
    measured = read_acceptability(path)
    if (own := signature(metric)) in measured:
        return replace(measured[own], metric=str(metric))  # the spec as it was typed, not as the file has it
    if earlier := [judge.signature for judge in measured.values() if judge.metric == str(metric)]:
        raise SpecError(f"{metric} has changed since its threshold was chosen ({', '.join(earlier)}); {remedy}")
    raise SpecError(f"{metric} has no measured threshold for what is acceptable; {remedy}")


def acceptability_to_object(acceptability: Acceptability) -> dict[str, Any]:
    """Return the measurements of a judge as a JSON object."""
    fields = asdict(acceptability)
    for name in ("chosen", "measured"):
        rates: ErrorRates = getattr(acceptability, name)
        fields[name] = {
            "questions": rates.questions,
            "n_missing": rates.n_missing,
            "auc": _interval_to_object(rates.auc),
            "missed": _interval_to_object(rates.missed),
            "passed": {grade: _interval_to_object(share) for grade, share in rates.passed.items()},
        }
    return fields


def _interval_to_object(interval: Interval) -> dict[str, Any]:
    ends = {key: round(getattr(interval, key), _DECIMALS) for key in ("value", "low", "high")}
    return {**ends, "n": interval.n, "n_clusters": interval.n_clusters}


def _parse_acceptability(o: Mapping[str, Any]) -> Acceptability:
    return Acceptability(
        str(o["metric"]),
        str(o["signature"]),
        float(o["slope"]),
        float(o["repeating"]),
        float(o["intercept"]),
        float(o["threshold"]),
        _parse_rates(o["chosen"]),
        _parse_rates(o["measured"]),
    )


def _parse_rates(o: Mapping[str, Any]) -> ErrorRates:
    return ErrorRates(
        int(o["questions"]),
        int(o["n_missing"]),
        _parse_interval(o["auc"]),
        _parse_interval(o["missed"]),
        {grade: _parse_interval(share) for grade, share in o["passed"].items()},
    )


def _parse_interval(o: Mapping[str, Any]) -> Interval:
    return Interval(float(o["value"]), float(o["low"]), float(o["high"]), int(o["n"]), 0, int(o["n_clusters"]))
