"""Specs: one string that names a metric, parses back to it, and says everything in its signature."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rejoinder
from rejoinder import metric as registry
from rejoinder.errors import SpecError

MINE = '''
from dataclasses import dataclass
from rejoinder import Metric

@dataclass(frozen=True)
class Exclaims(Metric):
    """How many exclamation marks a reply has."""
    weight: float = 1.0
    range = (0.0, float("inf"))

    def score(self, pairs):
        return [self.weight * pair.response.text.count("!") for pair in pairs]
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return "./mine.py"


@pytest.mark.parametrize("spec", ["bleu", "bleu(n=2)", "bleu(n=1, tokenizer='whitespace', lowercase=False)"])
def test_a_spec_prints_as_it_was_typed(spec: str) -> None:
    metric = rejoinder.parse(spec)
    assert str(metric) == spec
    assert rejoinder.parse(str(metric)) == metric


def test_a_default_that_is_spelled_out_is_the_same_metric() -> None:
    assert str(rejoinder.parse(" bleu( n = 4 ) ")) == "bleu"
    assert rejoinder.parse("bleu(n=4)") == rejoinder.parse("bleu")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("blue", "no metric is called 'blue'; did you mean 'bleu'"),
        ("", "is not a metric"),
        ("bleu(", "is not a metric"),
        ("bleu(m=3)", "bleu has no parameter 'm'"),
        ("bleu(n='4')", "bleu: n must be"),
        ("bleu(n=True)", "bleu: n must be"),
        ("bleu(4)", "cannot be read; write them as name=value"),
        ("bleu(n=__import__('os'))", "cannot be read"),
        ("bleu(smoothing='nothing')", "smoothing must be one of"),
        ("bleu(**{})", "cannot be read"),
        ("./nowhere.py", "no such file"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        rejoinder.parse(spec)
    assert said in str(error.value)


def test_a_users_file_is_a_metric(mine: str) -> None:
    metric = rejoinder.parse(f"{mine}(weight=2)")
    assert str(metric) == "./mine.py(weight=2.0)"
    assert rejoinder.parse(str(metric)) == metric
    scores = rejoinder.score(["Hey!!", "Hey."], metrics=[f"{mine}(weight=2)"])
    assert scores["./mine.py(weight=2.0)"].tolist() == [4.0, 0.0]


def test_the_signature_of_a_users_metric_changes_with_its_file(mine: str, tmp_path: Path) -> None:
    first = rejoinder.signature(rejoinder.parse(mine))
    assert "|file:" in first
    (tmp_path / "mine.py").write_text(MINE + "\n# changed\n")
    assert rejoinder.signature(rejoinder.parse(mine)) != first


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0", "mine.py: ZeroDivisionError"),
        ("x = 3", "must define one rejoinder.Metric (found: none)"),
        (MINE + MINE.replace("Exclaims", "Other"), "found: Exclaims, Other"),
        (MINE.replace("@dataclass(frozen=True)", ""), "must be decorated with @dataclass(frozen=True)"),
    ],
)
def test_a_users_file_that_does_not_work_says_why(mine: str, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(SpecError) as error:
        rejoinder.parse(mine)
    assert said in str(error.value)


def test_one_of_several_metrics_in_a_file_can_be_named(mine: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE + MINE.replace("Exclaims", "Other"))
    assert str(rejoinder.parse("./mine.py:Other")) == "./mine.py:Other"
    with pytest.raises(SpecError, match="did you mean 'Other'"):
        rejoinder.parse("./mine.py:Othre")


def test_an_installed_package_may_bring_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    entry = EntryPoint("words", "rejoinder.metrics.bleu:Bleu", "rejoinder.metrics")
    monkeypatch.setattr(registry.METRICS, "entry_points", lambda: [entry])
    monkeypatch.setattr(registry, "_names", {})
    assert "words" in registry.metric_names()
    assert str(rejoinder.parse("words(n=2)")) == "words(n=2)"


def test_the_signature_says_everything_that_decides_the_number() -> None:
    found = rejoinder.signature(rejoinder.parse("bleu(n=2)"), {"human", "bm25"})
    for part in ("bleu|n:2", "|lowercase:yes", "|references:bm25+human", "|version:"):
        assert part in found


def test_a_folder_is_listed_again_only_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.data.tables.detection import detect_format, take_sample

    sample = take_sample(b"prompt,response\nHi.,Hello.\n", "replies.csv")
    assert detect_format(sample) == "csv"
    monkeypatch.setattr("rejoinder.registry._list_modules", lambda folder: pytest.fail("listed again"))
    assert detect_format(sample) == "csv"


def test_a_plug_in_adds_a_command_a_metric_a_system_and_a_list(tmp_path: Path) -> None:
    about = tmp_path / "mine-1.0.dist-info"
    about.mkdir()
    (about / "entry_points.txt").write_text(
        "[rejoinder.cli]\nwave = mine\n[rejoinder.metrics]\nwaves = mine:Waves\n"
        "[rejoinder.systems]\nfirst = mine:First\nwrong = mine:Waves\n"
        "[rejoinder.reports.listing]\nwaves = mine:list_waves\n[console_scripts]\nmine = mine:main\n"
    )
    (tmp_path / "mine.py").write_text(
        "import click\nfrom dataclasses import dataclass\nfrom rejoinder.metric import Metric\n"
        "from rejoinder.table import Table\nGROUP = 'Serving and help'\n"
        "@click.command(short_help='Wave')\ndef command():\n    click.echo('hello')\n"
        "@dataclass(frozen=True)\nclass Waves(Metric):\n    'Waves.'\n    citation = 'mine'\n"
        "    def score(self, pairs):\n        return [1.0 for _ in pairs]\n"
        "from rejoinder.systems import System\n"
        "@dataclass(frozen=True)\nclass First(System):\n    'The first candidate.'\n    k: int = 1\n"
        "    citation = 'mine'\n    def score(self, questions):\n"
        "        return [[float(not n) for n, _ in enumerate(q.candidates)] for q in questions]\n"
        "def list_waves():\n    return Table('Waves', ['wave'], [['one']])\n"
    )
    code = (
        "import rejoinder; from rejoinder.cli import program; from click.testing import CliRunner\n"
        "print(CliRunner().invoke(program, ['wave']).output, CliRunner().invoke(program, ['--help']).output)\n"
        "print(rejoinder.score(['Hi.'], 'waves')['waves'], rejoinder.list_('waves').rows)\n"
        "from rejoinder.systems import parse_system, system_signature\n"
        "first = parse_system('first(k=2)'); print(first, first == parse_system(str(first)))\n"
        "print(system_signature(first), first.answer(['Hi.'], ['Hello.', 'Soup.']))\n"
        "try:\n    parse_system('wrong')\nexcept rejoinder.RejoinderError as error:\n    print(error)\n"
        "print(CliRunner().invoke(program, ['list', 'waves']).output)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("hello\n")
    assert "wave" in done.stdout.partition("Serving and help")[2].partition("\n")[0]
    assert "[1.] [['one']]" in done.stdout
    assert "first(k=2) True\nfirst|k:2|version:1 [1.0, 0.0]\n" in done.stdout
    assert "the entry point 'wrong' of mine:Waves is not a System\n" in done.stdout
    assert done.stdout.rstrip().endswith("one")
