"""Sets of weights by name: the one in the package, and another from a second distribution."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny_aptness
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.errors import SpecError
from rejoinder.model_use import ModelUse, describe_restrictions, format_licence, record_models
from rejoinder.models import weight_sets
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import find_licence
from rejoinder.models.idk.model import IdkCard, write_idk_card
from rejoinder.models.weight_sets import WeightsMissingError, list_weights, set_of, use_weights, weights_folder

ROOT = Path(__file__).parents[1]
CONTEXTS, REPLIES = [["the cat sat on the mat"], ["dog ran fast"]], ["the dog ran", "a cat sat"]
CHATS = ROOT / "examples" / "chats.jsonl"


def install(site: Path, licence: str) -> Path:
    """A distribution as pip would install it: a package with one folder per model, and an entry point."""
    package = site / "own_weights"
    tiny_aptness.write(package / "aptness", seed=3, about={**tiny_aptness.CARD, "licence": licence})
    (package / "__init__.py").write_text("raise RuntimeError('no code of a set of weights is run')\n")
    about = site / "own_weights-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-weights\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[rejoinder.weights]\nresearch = own_weights\n")
    return package


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("site"), "CC-BY-NC-4.0")


@pytest.fixture
def research(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed set that has the networks of aptness and nothing else."""
    monkeypatch.syspath_prepend(str(built.parent))
    return built


def weights_in(spec: str) -> str:
    (part,) = [p for p in rejoinder.signature(rejoinder.parse(spec)).split("|") if p.startswith("weights:")]
    return part


def test_a_set_that_is_not_installed_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_sets, "_find_installed", lambda name, path: None)
    for spec in ("aptness", "idk", "ssrem", "ruber_f"):
        with pytest.raises(WeightsMissingError, match=r"'research' are not installed; .*distribution rejoinder-lab"):
            rejoinder.signature(rejoinder.parse(f"{spec}(weights='research')"))
    with pytest.raises(WeightsMissingError, match="distribution rejoinder-lab"):
        rejoinder.models.load_encoder("aptness:research")


def test_the_default_set_by_its_name_is_the_same_metric_by_its_signature() -> None:
    for spec in ("aptness", "idk", "ssrem", "rsrem_f", "ruber"):
        named = rejoinder.parse(f"{spec}(weights='permissive')")
        assert rejoinder.signature(named) == rejoinder.signature(rejoinder.parse(spec))
        assert str(named) == f"{spec}(weights='permissive')"


def test_a_set_is_one_of_two_and_excludes_a_folder() -> None:
    with pytest.raises(SpecError, match=r"aptness: weights must be one of 'permissive', 'research', not 'free'"):
        rejoinder.parse("aptness(weights='free')")
    for metric in ("aptness", "idk", "ssrem", "ruber_f"):
        with pytest.raises(SpecError, match="folder and weights both say which weights to use; leave one out"):
            rejoinder.parse(f"{metric}(folder='x', weights='permissive')")
    with pytest.raises(SpecError, match="weights must be one of"):
        rejoinder.models.load_encoder("aptness:free")


def test_an_installed_set_scores_as_its_folder_does_and_has_its_own_signature(research: Path) -> None:
    by_set = rejoinder.aptness(CONTEXTS, REPLIES, weights="research")
    spec = f"aptness(folder={str(research / 'aptness')!r})"
    by_folder = rejoinder.score(REPLIES, contexts=CONTEXTS, metrics=spec)[spec]
    assert by_set == [pytest.approx(value, abs=1e-4) for value in by_folder]
    assert by_set != rejoinder.aptness(CONTEXTS, REPLIES)
    assert weights_in("aptness(weights='research')") == weights_in(spec) != weights_in("aptness")


def test_the_variable_chooses_for_everything_and_changes_signatures(
    research: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {spec: rejoinder.signature(rejoinder.parse(spec)) for spec in ("aptness", "cosine", "nsp")}
    named = rejoinder.aptness(CONTEXTS, REPLIES, weights="research")
    monkeypatch.setenv("REJOINDER_WEIGHTS", "research")
    assert rejoinder.aptness(CONTEXTS, REPLIES) == named
    assert all(rejoinder.signature(rejoinder.parse(spec)) != signature for spec, signature in before.items())
    assert weights_in("aptness") == weights_in("aptness(weights='research')")
    assert rejoinder.signature(rejoinder.parse("aptness(weights='permissive')")) == before["aptness"]
    assert (
        rejoinder.models.load_encoder("aptness").dimensions
        == rejoinder.models.load_encoder("aptness:research").dimensions
        == 32
    )
    assert rejoinder.models.load_encoder("aptness:permissive").dimensions == 384
    monkeypatch.setenv("REJOINDER_WEIGHTS", "free")
    with pytest.raises(SpecError, match="REJOINDER_WEIGHTS is 'free'; set it to one of: permissive, research"):
        rejoinder.aptness(CONTEXTS, REPLIES)


def test_a_set_without_the_weights_of_a_metric_says_so(research: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for metric, model in (("idk", "idk"), ("ssrem", "ssrem"), ("ruber_f", "ruber")):
        with pytest.raises(
            WeightsMissingError, match=f"the weights 'research' have none for {model}; use those called"
        ):
            rejoinder.signature(rejoinder.parse(f"{metric}(weights='research')"))
    monkeypatch.setenv("REJOINDER_WEIGHTS", "research")
    with pytest.raises(WeightsMissingError, match=r"have none for ranker; .* rejoinder train ranker -o FOLDER"):
        rejoinder.systems.parse_system("ranker").details()


def test_a_regression_reads_the_vectors_of_its_own_set(research: Path) -> None:
    with use_weights("research"):
        from rejoinder.models.idk.pair_encoder import load_pair_encoder

        encoder = load_pair_encoder(cache=False)
    card = IdkCard("aptness", encoder.digest, (0.5,) * encoder.dimensions, 0.1, {"licence": "CC-BY-NC-4.0"})
    write_idk_card(research / "idk", card)
    try:
        with record_models() as used:
            scores = rejoinder.score(REPLIES, contexts=CONTEXTS, metrics="idk(weights='research')")
        assert not any(value != value for value in scores["idk(weights='research')"])
        assert {(use.name, use.weights, use.licence) for use in used} == {
            ("aptness", "research", "CC-BY-NC-4.0"),
            ("idk", "research", "CC-BY-NC-4.0"),
        }
    finally:
        shutil.rmtree(research / "idk")


def test_a_folder_belongs_to_the_set_that_holds_it(research: Path, tmp_path: Path) -> None:
    assert set_of(weights_folder("aptness")) == "permissive"
    assert set_of(weights_folder("aptness", "research")) == "research"
    assert find_licence(MODELS["aptness"]) == "CC-BY-SA-4.0"
    with use_weights("research"):
        assert find_licence(MODELS["aptness"]) == "CC-BY-NC-4.0"
    assert set_of(tmp_path / "aptness") is None
    assert list_weights("research") == {"aptness": "CC-BY-NC-4.0"}
    assert list_weights("permissive").keys() == {"aptness", "idk", "ranker", "rsrem", "ruber", "ssrem"}


def score_chats(folder: Path, *specs: str) -> tuple[str, dict[str, Any]]:
    words = [word for spec in specs for word in ("-m", spec)]
    done = CliRunner().invoke(program, ["score", str(CHATS), *words, "-o", str(folder), "--processes", "1"])
    assert done.exit_code == 0, done.output
    return done.stderr, json.loads((folder / "run.json").read_text(encoding="utf-8"))


def test_a_run_records_licences_and_says_once_what_is_not_for_commercial_use(
    research: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJOINDER_WEIGHTS", "research")
    said, about = score_chats(tmp_path / "run", "aptness(model='bi')", "cosine", "length")
    assert said.count("not for commercial use") == 1
    assert "aptness and cosine use weights licensed CC BY-NC 4.0: not for commercial use\n" in said
    use = {"name": "aptness", "licence": "CC-BY-NC-4.0", "weights": "research"}
    assert [{k: v for k, v in model.items() if k != "digest"} for model in about["metrics"][0]["models"]] == [use]
    assert f"|weights:{about['metrics'][0]['models'][0]['digest']}|" in about["metrics"][0]["signature"]
    assert "models" not in about["metrics"][2]
    page = rejoinder.report(tmp_path / "run", form="html")
    assert "aptness and cosine use weights licensed CC BY-NC 4.0: not for commercial use." in page
    assert "aptness (weights research, CC BY-NC 4.0," in page


def test_a_run_without_weights_or_with_free_ones_says_nothing_of_licences(tmp_path: Path) -> None:
    said, about = score_chats(tmp_path / "run", "aptness(model='bi')", "length")
    assert "commercial" not in said
    assert about["metrics"][0]["models"][0]["licence"] == "CC-BY-SA-4.0"


def test_restrictions_are_grouped_by_licence() -> None:
    def line(spec: str, licence: str) -> dict[str, Any]:
        return {"spec": spec, "models": [ModelUse.of(spec, licence, "0" * 64).to_json()]}

    use = ModelUse.of("aptness", "CC-BY-NC-4.0", "0" * 64, "permissive")
    assert ModelUse.from_json({**use.to_json(), "added later": 1}) == use
    assert describe_restrictions([{"spec": "bleu"}, line("fed", "Apache-2.0"), line("x", "")]) == []
    one, other = describe_restrictions(
        [line("idk(folder='a')", "CC-BY-NC-4.0"), line("y", "CC-BY-NC-SA-4.0 (the base)")]
    )
    assert one == "idk uses weights licensed CC BY-NC 4.0: not for commercial use"
    assert other == "y uses weights licensed CC BY-NC-SA 4.0 (the base): not for commercial use"
    assert format_licence("PDDL-1.0") == "PDDL-1.0"


def test_the_catalog_shows_every_set_with_its_licences(research: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = CliRunner().invoke(program, ["models"], terminal_width=160).output
    assert "Sets of weights" in shown
    assert "CC BY-NC 4.0" in shown
    assert "rejoinder-lab" in shown
    monkeypatch.setattr(weight_sets, "find_set", lambda name: None)
    assert "CC BY-NC 4.0" not in CliRunner().invoke(program, ["models"]).output
    assert json.loads(CliRunner().invoke(program, ["models", "--format", "json"]).output)["title"] == "Models"
