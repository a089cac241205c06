"""One file adds a thing: every example of CONTRIBUTING.md, put into a temporary folder and used by its name."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.sources import parse_source
from rejoinder.systems import parse_system

ROOT = Path(__file__).parent.parent
SOURCE = "(?:src/rejoinder|lab/src/rejoinder_lab)/"
EXAMPLES = dict(
    re.findall(
        rf"^```python {SOURCE}(\S+)\n(.*?)^```$",
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
)
DIALOGUES = [
    ["Is the shop open on Sunday?", "Yes, from ten to four.", "Good, then I will come by."],
    ["Is the museum open on Monday?", "No, it is closed on Mondays.", "What a pity."],
    ["Do you like rain?", "Only from indoors.", "Same here, with tea."],
]
GREETINGS = (
    '[{"said": "Good morning!", "reply": "Good morning. Did you sleep well?"}, '
    '{"said": "See you tomorrow.", "reply": "See you!"}]\n'
)


class Extension:
    """Packages of rejoinder that also look into a temporary folder."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        self._packages: list[ModuleType] = []

    def add(self, *examples: str) -> None:
        """Put files of CONTRIBUTING.md into the folder, and let their registry look there, too."""
        for example in examples:
            path = self._folder / example
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(EXAMPLES[example], encoding="utf-8")
        registry = "papers" if examples[0].startswith("papers/") else examples[0].rpartition("/")[0]
        root = "rejoinder_lab" if registry == "papers" else "rejoinder"
        package = importlib.import_module(f"{root}.{registry.replace('/', '.')}")
        self._patch.setattr(package, "__path__", [*package.__path__, str(self._folder / registry)])
        self._packages.append(package)
        importlib.invalidate_caches()

    def remove(self) -> None:
        """Forget every module that came from the folder."""
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(self._folder)):
                del sys.modules[name]
                for package in self._packages:
                    if getattr(package, name.rpartition(".")[2], None) is module:
                        delattr(package, name.rpartition(".")[2])


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Extension]:
    """A temporary folder beside the package's own; everything else is written to another one."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    made = Extension(tmp_path / "rejoinder", monkeypatch)
    yield made
    made.remove()


def rejoinder_prints(*typed: str) -> str:
    """What a command prints; it must succeed."""
    result = CliRunner().invoke(program, typed, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def write_lines(path: str, objects: list[dict[str, object]]) -> str:
    Path(path).write_text("".join(json.dumps(one) + "\n" for one in objects))
    return path


def write_dialogues() -> str:
    return write_lines(
        "dialogues.jsonl",
        [
            {"kind": "dialogue", "id": f"d{n}", "turns": [{"speaker": "AB"[t % 2], "text": x} for t, x in enumerate(d)]}
            for n, d in enumerate(DIALOGUES)
        ],
    )


def test_every_kind_has_an_example() -> None:
    folders = {name.rpartition("/")[0] for name in EXAMPLES}
    assert folders == {
        "metrics",
        "sources",
        "systems",
        "data/importers",
        "data/datasets",
        "papers/brevity",
        "cli",
    }


def test_no_example_has_a_name_that_is_in_use() -> None:
    assert not [name for name in EXAMPLES if (ROOT / SOURCE / name).exists()]


def test_a_metric_is_one_file(extension: Extension) -> None:
    extension.add("metrics/question_mark.py")
    assert rejoinder.score(["Really?", "Yes."], metrics="question_mark")["question_mark"].tolist() == [1.0, 0.0]
    assert "question_mark" in rejoinder_prints("list", "metrics")
    chats = str(ROOT / "examples" / "chats.jsonl")
    printed = rejoinder_prints("score", chats, "-m", "question_mark", "--processes", "1", "-o", "run")
    assert "question_mark" in printed
    lines = [json.loads(line) for line in Path("run/scores.jsonl").read_text().splitlines()]
    texts = {response.id: response.text for response in rejoinder.read(chats).responses.values()}
    assert all(one["scores"]["question_mark"] == texts[one["response"]].endswith("?") for one in lines)


def test_a_source_is_one_file(extension: Extension) -> None:
    extension.add("sources/half_random.py")
    assert str(parse_source("half_random")) == "half_random"
    assert "half_random" in rejoinder_prints("list", "sources")
    item = {"kind": "item", "id": "i", "context": [{"text": "Is the library open on Sunday?"}]}
    items = write_lines("items.jsonl", [item])
    typed = ["propose", items, "--corpus", write_dialogues(), "--source", "half_random", "-k", "4", "-o", "out.jsonl"]
    rejoinder_prints(*typed)
    question = json.loads(Path("out.jsonl").read_text())
    texts = [candidate["text"] for candidate in question["candidates"]]
    assert len(set(texts)) == 4
    assert "Is the shop open on Sunday?" in texts  # by BM25
    assert {candidate["source"] for candidate in question["candidates"]} == {"half_random"}


def test_a_system_is_one_file(extension: Extension) -> None:
    extension.add("systems/shortest.py")
    assert str(parse_system("shortest")) == "shortest"
    questions = [
        {
            "kind": "question",
            "id": f"q{n}",
            "context": [{"text": "How are you?"}],
            "candidates": [{"text": "Fine.", "grade": 1}, {"text": wrong, "grade": 0}],
        }
        for n, wrong in enumerate(("The bus was late again.", "No."))
    ]
    testset = write_lines("testset.jsonl", questions)
    printed = rejoinder_prints("select", testset, "--system", "shortest", "--format", "json", "-o", "run")
    assert "shortest" in printed
    answers = rejoinder.read(testset).questions.values()
    assert [s.index(max(s)) for s in parse_system("shortest").score(list(answers))] == [0, 1]


def test_an_importer_is_one_file(extension: Extension) -> None:
    extension.add("data/importers/script.py")
    Path("play.txt").write_text("ANN: Is it raining?\nBOB: Not yet.\n\nANN: Now it is.\nBOB: I see.\n")
    rejoinder_prints("import", "script", "play.txt", "-o", "out.jsonl")
    dialogues = list(rejoinder.read("out.jsonl").dialogues.values())
    assert [[(t.speaker, t.text) for t in d.turns] for d in dialogues] == [
        [("ANN", "Is it raining?"), ("BOB", "Not yet.")],
        [("ANN", "Now it is."), ("BOB", "I see.")],
    ]
    assert "script" in rejoinder_prints("import", "--help")
    Path("play.txt").write_text("Exeunt.\n")
    with pytest.raises(rejoinder.RejoinderError, match=r"play.txt line 1: found 'Exeunt\.'; write NAME: text"):
        rejoinder_prints("import", "script", "play.txt", "-o", "out.jsonl")


def test_a_dataset_is_one_file(extension: Extension, monkeypatch: pytest.MonkeyPatch) -> None:
    extension.add("data/datasets/greetings.py")
    monkeypatch.setenv("REJOINDER_DATA", str(Path.cwd()))
    Path("greetings").mkdir()
    Path("greetings/greetings.json").write_text(GREETINGS)
    assert "greetings" in rejoinder_prints("list", "datasets")
    rejoinder_prints("data", "write", "greetings", "-o", "out.jsonl")  # which checks the sha256
    assert len(rejoinder.read("out.jsonl").responses) == 2
    assert rejoinder.score("dataset:greetings", metrics="length")["length"].tolist() == [6.0, 2.0]


def test_a_reproduction_is_one_folder(extension: Extension) -> None:
    pytest.importorskip("rejoinder_lab")
    extension.add("papers/brevity/__init__.py", "papers/brevity/brevity.py")
    assert "brevity" in rejoinder_prints("list", "reproductions")
    assert "2.3" in rejoinder_prints("reproduce", "brevity")
    (figure,) = json.loads(Path("docs/results/brevity.json").read_text())
    assert (figure["published"], round(figure["measured"], 4)) == (2.3, 2.3333)


def test_a_command_is_one_file(extension: Extension) -> None:
    extension.add("cli/turns.py")
    assert "turns" in program.list_commands(None)  # type: ignore[arg-type]
    assert rejoinder_prints("turns", write_dialogues()) == "3 dialogues, 9 turns\n"
    assert "Print how many dialogues FILE has" in rejoinder_prints("turns", "--help")


def test_what_was_added_is_gone_afterwards() -> None:
    assert "question_mark" not in rejoinder_prints("list", "metrics")
    assert "turns" not in program.list_commands(None)  # type: ignore[arg-type]
