"""What is installed, what is missing for which command, where the folders are, and whether scores are as expected."""

from __future__ import annotations

import math
import os
import platform
import sys
from dataclasses import dataclass
from typing import Any

from rejoinder import __version__
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_model_available, models_home
from rejoinder.models.device import count_threads, describe_backend
from rejoinder.paths import cache_home, config_home, data_home, printable
from rejoinder.reports.installation import Extra, list_extras
from rejoinder.reports.listing import format_model_size
from rejoinder.reports.self_test import TOLERANCE, MetricTest, run_self_test
from rejoinder.table import Cell, Table, list_names

_FOLDER_NOTE = "Move folders with REJOINDER_CACHE (cache and models), REJOINDER_DATA and REJOINDER_CONFIG."


@dataclass(frozen=True)
class Diagnosis:
    """What ``doctor`` found; ``print`` shows it, ``tables()`` returns its tables, ``to_object()`` plain values."""

    facts: dict[str, str]  # versions and the machine
    folders: dict[str, str]
    extras: tuple[Extra, ...]
    models: dict[str, bool]  # whether each model of the catalog is here
    tests: tuple[MetricTest, ...]

    @property
    def passed(self) -> bool:
        """Whether the base install is complete, and every score of the self-test is the expected one."""
        return not self.extras[0].missing and all(test.passed for test in self.tests)

    def sentence(self) -> str:
        """The verdict."""
        missing, wrong = self.extras[0].missing, [test.metric for test in self.tests if not test.passed]
        if missing:
            return f"Missing or too old: {list_names(missing)}; install rejoinder again, e.g. pip install rejoinder"
        if wrong:
            return f"This machine does not give the expected scores of {list_names(wrong)}."
        return "This machine gives the expected scores."

    def tables(self) -> list[Table]:
        """The tables: this machine, what is installed, models, the self-test."""
        rows = [[*pair] for pair in (self.facts | self.folders).items()]
        machine = Table("This machine", ["what", "value"], rows, [_FOLDER_NOTE])
        return [machine, _extra_table(self.extras), _model_table(self.models), _test_table(self.tests)]

    def to_object(self) -> dict[str, Any]:
        """Plain values, as ``rejoinder doctor --json`` prints them."""
        return {
            "passed": self.passed,
            "verdict": self.sentence(),
            "facts": self.facts,
            "folders": self.folders,
            "extras": [_extra_object(extra) for extra in self.extras],
            "models": self.models,
            "self_test": [_test_object(test) for test in self.tests],
        }

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.tables()), self.sentence()])


def doctor() -> Diagnosis:
    """Say what is installed and what is missing for which command, and test whether scores are as expected.

    The self-test scores ten known pairs with the metrics whose weights are in the package and with metrics of overlap;
    nothing is read from the cache or the network.

    >>> import rejoinder
    >>> diagnosis = rejoinder.doctor()
    >>> diagnosis.passed
    True
    >>> diagnosis.models["aptness"]
    True
    """
    return Diagnosis(
        facts={
            "rejoinder": __version__,
            "Python": f"{platform.python_version()} ({sys.executable})",
            "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
            "processors": f"{os.cpu_count()}, of which {count_threads()} are used",
            "models compute on": describe_backend(),
        },
        folders={
            "cache": printable(cache_home()),
            "models": printable(models_home()),
            "published sets": printable(data_home()),
            "settings": printable(config_home()),
        },
        extras=list_extras(),
        models={name: is_model_available(model) for name, model in MODELS.items()},
        tests=run_self_test(),
    )


def _extra_table(extras: tuple[Extra, ...]) -> Table:
    rows: list[list[Cell]] = []
    for extra in extras:
        state = "missing: " + ", ".join(extra.missing) if extra.missing else "installed"
        if not extra.libraries:
            state = "not known"
        rows.append([extra.name or "(base)", state, extra.purpose])
    notes = ['Install an extra with: pip install "rejoinder[NAME]"']
    if not extras[0].libraries:
        notes.append("rejoinder runs from its source and was not installed by pip, so its libraries are not known.")
    versions = [f"{one.name} {one.installed}" for extra in extras for one in extra.libraries if one.installed]
    return Table("Libraries", ["extra", "state", "needed for"], rows, [*notes, ", ".join(dict.fromkeys(versions))])


def _model_table(models: dict[str, bool]) -> Table:
    rows: list[list[Cell]] = [
        [name, "yes" if here else "no", format_model_size(MODELS[name].size) if MODELS[name].size else "–"]
        for name, here in models.items()
    ]
    return Table("Models", ["name", "here", "size"], rows, ["Download one with: rejoinder models get NAME"])


def _test_table(tests: tuple[MetricTest, ...]) -> Table:
    rows: list[list[Cell]] = [
        [test.metric, "as expected" if test.passed else test.problem or "DIFFERENT", test.largest_difference]
        for test in tests
    ]
    notes = [f"{len(tests[0].expected)} known pairs; a difference of at most {TOLERANCE:g} is allowed."]
    return Table("Self-test", ["metric", "scores", "largest difference"], rows, notes, decimals=6)


def _extra_object(extra: Extra) -> dict[str, Any]:
    libraries = [
        {"name": one.name, "least": one.least, "installed": one.installed, "usable": one.is_usable}
        for one in extra.libraries
    ]
    return {"name": extra.name, "purpose": extra.purpose, "missing": extra.missing, "libraries": libraries}


def _test_object(test: MetricTest) -> dict[str, Any]:
    values = {"expected": test.expected, "computed": [None if math.isnan(one) else one for one in test.computed]}
    return {"metric": test.metric, "passed": test.passed, "problem": test.problem, **values}
