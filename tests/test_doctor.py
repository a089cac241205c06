"""``rejoinder doctor``: what is installed and missing, and whether the scores of ten known pairs are as expected."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.models.catalog.entries import MODELS
from rejoinder.reports import doctor as module
from rejoinder.reports import installation, self_test
from rejoinder.reports.self_test import METRICS, MetricTest

PYPROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
GOOD = MetricTest("length", (1.0, 2.0), (1.0, 2.0))


@pytest.fixture(scope="module")
def diagnosis() -> rejoinder.reports.Diagnosis:
    return rejoinder.doctor()


def test_this_machine_gives_the_expected_scores(diagnosis: rejoinder.reports.Diagnosis) -> None:
    assert [test.metric for test in diagnosis.tests] == list(METRICS)
    assert all(len(test.computed) == 10 for test in diagnosis.tests)
    assert [test.metric for test in diagnosis.tests if not test.passed] == []
    assert diagnosis.passed
    assert "gives the expected scores" in str(diagnosis)


def test_it_shows_folders_models_and_extras(diagnosis: rejoinder.reports.Diagnosis) -> None:
    shown = str(diagnosis)
    assert set(diagnosis.models) == set(MODELS)
    for text in (rejoinder.__version__, "REJOINDER_CACHE", "minilm", "serve, annotate", *diagnosis.folders.values()):
        assert text in shown.replace("\n", " ")


def test_what_it_prints_for_programs_is_one_json_object(
    diagnosis: rejoinder.reports.Diagnosis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "doctor", lambda: diagnosis)
    done = CliRunner().invoke(program, ["doctor", "--json"])
    assert done.exit_code == 0
    printed = json.loads(done.stdout)
    assert printed["passed"]
    assert len(printed["self_test"]) == len(METRICS)
    assert printed["extras"][0]["missing"] == []


def test_one_different_score_gives_exit_status_1(
    diagnosis: rejoinder.reports.Diagnosis, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(diagnosis, tests=(GOOD, replace(GOOD, metric="bleu", computed=(1.0, 2.0002))))
    monkeypatch.setattr(module, "doctor", lambda: wrong)
    done = CliRunner().invoke(program, ["doctor"])
    assert done.exit_code == 1
    assert "does not give the expected scores of bleu" in done.stdout
    assert "DIFFERENT" in done.stdout


@pytest.mark.parametrize(
    ("computed", "passed"),
    [((1.0, 2.0), True), ((1.0, 2.0001), True), ((1.0, 2.00011), False), ((float("nan"), 2.0), False), ((), False)],
)
def test_a_difference_of_a_ten_thousandth_is_allowed(computed: tuple[float, ...], passed: bool) -> None:
    assert replace(GOOD, computed=computed).passed is passed


def test_a_metric_that_cannot_be_computed_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> tuple[float, ...]:
        raise ImportError("No module named 'onnxruntime'")

    monkeypatch.setattr(self_test, "_compute_scores", fail)
    tests = self_test.run_self_test()
    assert not any(test.passed for test in tests)
    assert "onnxruntime" in tests[0].problem


def test_a_missing_library_of_the_base_install_is_a_failure(diagnosis: rejoinder.reports.Diagnosis) -> None:
    gone = installation.Extra("", "every command", (installation.Library("numpy", "1.26", None),))
    poorer = replace(diagnosis, extras=(gone, *diagnosis.extras[1:]))
    assert not poorer.passed
    assert "numpy" in poorer.sentence()


def test_an_old_version_counts_as_missing() -> None:
    usable = [installation.Library("x", "2.4", one).is_usable for one in (None, "2.3.9", "2.4", "2.10.0+cpu")]
    assert usable == [False, False, True, True]


def test_the_extras_are_those_of_the_project() -> None:
    assert set(installation.EXTRAS) == set(PYPROJECT["project"]["optional-dependencies"]) - {"dev", "docs", "test"}


def test_requirements_are_read_as_pip_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = [
        "numpy>=1.26",
        'tomli>=2; python_version < "3.0"',
        "rejoinder[web]; extra == 'all'",
        'ray[data]>=2.40; extra == "all"',
        'starlette>=0.40; extra == "web"',
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: declared)
    assert [one.name for one in installation.list_libraries()] == ["numpy"]
    assert [(one.name, one.least) for one in installation.list_libraries("all")] == [
        ("ray", "2.40"),
        ("starlette", "0.40"),
    ]


def test_without_an_installation_the_libraries_are_not_known(
    diagnosis: rejoinder.reports.Diagnosis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", fail)
    bare = replace(diagnosis, extras=installation.list_extras())
    assert "was not installed by pip" in str(bare)
