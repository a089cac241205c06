"""`rejoinder train aptness`: calibration and figures by hand, the whole way on a tiny corpus, and every refusal."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import shlex
import shutil
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import tiny_training
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.data.writer import write
from rejoinder.errors import InputError, RejoinderError
from rejoinder.files import sha256_of
from rejoinder.models import aptness_card
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_model_available
from rejoinder.models.weight_sets import weights_folder
from rejoinder.types import Dialogue, Item, Record, Turn

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from rejoinder_lab.training.aptness.calibration import calibrate_aptness, measure_calibration  # noqa: E402
from rejoinder_lab.training.aptness.evaluation import NEGATIVES, RawAptnessScores  # noqa: E402
from rejoinder_lab.training.aptness.recipe import AptnessRecipe  # noqa: E402
from rejoinder_lab.training.base_encoder import open_base_encoder  # noqa: E402
from rejoinder_lab.training.licence import PERMISSIVE  # noqa: E402
from rejoinder_lab.training.recipes import scale_recipe  # noqa: E402
from rejoinder_lab.training.sampling import CORRUPTIONS, read_generic_responses  # noqa: E402

from rejoinder.data.inputs import read_dialogues  # noqa: E402
from rejoinder.models.device import training_device  # noqa: E402

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
COLUMNS = 1 + NEGATIVES + len(CORRUPTIONS) + 1
SMALL = ("--bi-steps", "2", "--cross-steps", "2", "--batch", "0.01", "--places", "4", "--device", "cpu")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Any:
    """Sums are added in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with a tiny model under the name minilm."""
    folder = tmp_path_factory.mktemp("base")
    tiny_training.install(folder)
    return folder


@pytest.fixture
def with_base(base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REJOINDER_CACHE", str(base))
    return base


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("talks") / "talks.jsonl"
    write(tiny_training.talks(), path)
    return path


@pytest.fixture(scope="module")
def trained(base: Path, talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REJOINDER_CACHE", str(base))
        train(talks, "-o", folder, *SMALL)
    return folder


def train(*arguments: object) -> str:
    done = CliRunner().invoke(program, ["train", "aptness", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stderr


def refused(*arguments: object) -> str:
    """The one sentence that a command ends with."""
    done = CliRunner().invoke(program, ["train", "aptness", *map(str, arguments)])
    assert isinstance(done.exception, RejoinderError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


# Calibration


def planted(places: int = 3000, spoiled_bi: float = 0.1) -> RawAptnessScores:
    """Scores of two normal distributions: the log-odds are 5 bi - 1 + 2 cross.

    For means m and n and one deviation s the log-odds are (m - n) / s^2 times the score, less (m^2 - n^2) / (2 s^2).
    """
    rng = np.random.default_rng(0)
    bi = rng.normal(0.1, 0.2, (places, COLUMNS))
    cross = rng.normal(-1, 1, (places, COLUMNS))
    bi[:, 0] += 0.2
    cross[:, 0] += 2
    bi[:, 1 + NEGATIVES : -1] += spoiled_bi - 0.1
    return RawAptnessScores(np.zeros(places, np.int64), bi, cross)


def test_calibrate_finds_planted_weights() -> None:
    found = calibrate_aptness(planted(20_000))
    assert found["both"] == pytest.approx({"bi": 5, "cross": 2, "bias": -1}, rel=0.05)
    assert found["bi"] == pytest.approx({"bi": 5, "bias": -1}, rel=0.05)
    assert found["cross"] == pytest.approx({"cross": 2, "bias": 0}, rel=0.05, abs=0.05)


def test_a_network_that_spoiled_replies_fool_weighs_less() -> None:
    plain, fooled = calibrate_aptness(planted()), calibrate_aptness(planted(spoiled_bi=0.8))
    assert fooled["both"]["bi"] / fooled["both"]["cross"] < 0.9 * plain["both"]["bi"] / plain["both"]["cross"]
    assert fooled["bi"] == plain["bi"]  # alone, a network is fitted to replies of people only


def test_a_network_that_says_the_same_of_everything_weighs_nothing() -> None:
    raw = planted(200)
    found = calibrate_aptness(raw._replace(bi=np.full_like(raw.bi, 0.3)))
    assert found["bi"]["bi"] == pytest.approx(0, abs=1e-3)
    assert found["both"]["cross"] == pytest.approx(2, rel=0.3)
    assert all(math.isfinite(value) for weights in found.values() for value in weights.values())


def test_the_figures_of_the_card_by_hand() -> None:
    bi, cross = np.zeros((2, COLUMNS)), np.zeros((2, COLUMNS))
    bi[0, 0], bi[0, 1:] = 1.0, -1.0  # corpus a: the true reply beats everything
    bi[1, 1] = 1.0  # corpus b: it loses to one and ties with the others
    cross[:, 0] = -1e9
    raw = RawAptnessScores(np.array([0, 1]), bi, cross)
    weights = {"bi": {"bi": math.log(3), "bias": 0.0}, "cross": {"cross": 1.0}}
    found = measure_calibration(raw, ("a", "b"), weights)
    assert found["places"] == 2
    assert found["pairs"]["bi"] == round((1 + 0.5 * 18 / 19) / 2, 4)
    assert found["first_of_20"] == {"bi": 0.5, "cross": 0.0}
    assert found["attacks"]["bi"] == dict.fromkeys([*CORRUPTIONS, "other_speaker"], 0.75)
    # a: .75 for the true reply and .25 for others; b: the true reply at .5 weighs as much as its 19 others, 18 at .5
    # and one at .75, so that 19 of 37 in the bin of .5 are true.
    assert found["ece"]["bi"] == {"a": 0.25, "b": round((37 * (19 / 37 - 0.5) + 0.75) / 38, 4)}
    assert found["ece"]["cross"]["a"] == 0.75  # true replies at 0, others at 1/2


# Recipes


def test_a_recipe_is_scaled_in_its_steps_and_sizes_only() -> None:
    recipe = AptnessRecipe()
    assert scale_recipe(recipe) == recipe
    small = scale_recipe(recipe, 3, 4, 0.01, 5)
    assert (small.bi.steps, small.cross.steps, small.places) == (3, 4, 5)
    assert (small.bi.windows, small.bi.merged, small.bi.spoiled, small.cross.places) == (5, 4, 3, 5)
    assert scale_recipe(recipe, batch=1e-9).bi.spoiled == 2
    slow = scale_recipe(recipe, rate=0.5)
    assert (slow.bi.rate, slow.cross.rate) == (recipe.bi.rate / 2, recipe.cross.rate / 2)
    assert slow.bi.head_rate == recipe.bi.head_rate
    assert small.bi.rate == recipe.bi.rate
    assert small.preferences == recipe.preferences


@pytest.mark.skipif(not is_model_available(MODELS["aptness"]), reason="the weights of aptness are not in the package")
def test_the_research_networks_were_made_by_the_recipe_as_it_stands() -> None:
    told = aptness_card.read_aptness_card(weights_folder("aptness", "research")).about["recipe"]
    mine = json.loads(json.dumps(asdict(AptnessRecipe())))
    for key in ("seed", "corpora"):  # given on the command line
        del told[key], mine[key]
    assert told == mine


def test_a_dialogue_without_a_corpus_goes_by_its_file(tmp_path: Path) -> None:
    talk = (Turn("yes"), Turn("no"))
    first: list[Record] = [Dialogue("1", talk), Item("i", (Turn("hi"),)), Dialogue("2", talk, "shop", "test")]
    write(first, tmp_path / "first.jsonl.gz")
    write([Dialogue("3", talk)], tmp_path / "second.jsonl")
    found = read_dialogues([str(tmp_path / "first.jsonl.gz"), str(tmp_path / "second.jsonl")])
    assert [(d.id, d.corpus, d.split) for d in found] == [
        ("1", "first", None),
        ("2", "shop", "test"),
        ("3", "second", None),
    ]


# The whole way


@pytest.mark.parametrize(("name", "layers"), [("mpnet", 2), ("gte-small", 12)])
def test_another_base_is_trained_exported_and_scores_as_in_torch(
    name: str, layers: int, talks: Path, tmp_path: Path, own_cache: Path
) -> None:
    from rejoinder.models.aptness.model import AptnessModel
    from rejoinder.models.aptness.network import float_networks

    tiny_training.install(own_cache, name, layers=layers)
    train(talks, "-o", tmp_path / "out", *SMALL, "--base", name)
    model = AptnessModel(tmp_path / "out")
    bi, cross = float_networks(tmp_path / "out")
    assert bi.trunk.config.num_hidden_layers == cross.trunk.config.num_hidden_layers == layers
    assert bi.trunk.config.model_type == {"mpnet": "mpnet", "gte-small": "bert"}[name]
    contexts = [["the cat sat", "so?"], ["what train"], ["yes " * 200, "no", "ok"], ["the dog ran"] * 8]
    replies = ["yes the cat", "it leaves at nine", "good night", "the mat " * 60]
    marks = model.card.marks
    assert (marks.first, marks.last, marks.between, marks.padding) == (101, 102, 1, 0)
    tokens = [model._tokens([context], [reply]) for context, reply in zip(contexts, replies, strict=True)]
    cosines, odds = [], []
    with torch.no_grad():
        for (context,), (reply,) in tokens:
            said = [torch.tensor([[101, *ids[-256:], 102]]) for ids in (*context, reply)]
            vectors = [bi(row, torch.ones_like(row)) for row in said]
            newest = torch.zeros(1, 6, vectors[0].shape[1])
            for place, vector in enumerate(vectors[-2::-1][:6]):
                newest[0, place] = vector
            there = (torch.arange(6) < len(context))[None].long()
            cosines.append(float((bi.context(newest, there) * bi.reply(vectors[-1])).sum()))
            before = [i for ids in context for i in (1, *ids)][1:][-256:]
            row = torch.tensor([[101, *before, 102, *reply, 102]])
            kinds = torch.tensor([[0] * (len(before) + 2) + [1] * (len(reply) + 1)])
            odds.append(float(cross(row, torch.ones_like(row), kinds)))
    assert model.bi_scores(contexts, replies) == pytest.approx(cosines, abs=1e-4)
    assert model.cross_scores(contexts, replies) == pytest.approx(odds, abs=1e-4)


def test_the_folder_that_comes_out_scores_replies(trained: Path, talks: Path, tmp_path: Path) -> None:
    contexts, replies = [["the cat sat", "so?"], ["what train"]], ["yes the cat", "it leaves at nine"]
    specs = [f"aptness(model={model!r}, folder={str(trained)!r})" for model in ("both", "bi", "cross")]
    scores = rejoinder.score(replies, specs, contexts=contexts)
    for values in scores.values.values():
        assert ((values > 0) & (values < 1)).all()
    chats = tmp_path / "chats.jsonl"
    chats.write_text(
        '{"kind": "item", "id": "1", "context": ["the cat sat"]}\n'
        '{"kind": "response", "item": "1", "system": "bot", "text": "yes"}\n'
    )
    done = CliRunner().invoke(program, ["score", str(chats), "-m", specs[0], "-o", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output


def test_permissive_leaves_out_what_companies_may_not_use(with_base: Path, tmp_path: Path) -> None:
    write(tiny_training.talks(corpora=("chitchat", "friends")), tmp_path / "talks.jsonl")
    train(tmp_path / "talks.jsonl", "-o", tmp_path / "folder", "--permissive", *SMALL)
    card = aptness_card.read_aptness_card(tmp_path / "folder")
    assert card.about["data"] == {"chitchat": "MIT"}
    assert card.licence == "CC-BY-SA-4.0"
    assert (card.limits.context_tokens, card.limits.reply_tokens) == (256, 256)


def test_the_card_tells_what_it_was_made_of(trained: Path) -> None:
    card = aptness_card.read_aptness_card(trained)
    assert card.about["base"] == "minilm"
    assert card.about["seed"] == 0
    assert card.about["data"] == {"shop": "not known", "street": "not known"}
    assert card.licence == "not known"
    assert card.about["recipe"]["bi"]["steps"] == 2
    assert card.about["recipe"]["cross"]["rate"] == AptnessRecipe().cross.rate
    assert card.about["measured"]["places"] == 8
    assert set(card.about["measured"]["ece"]["both"]) == {"shop", "street"}
    assert set(card.calibration) == {"both", "bi", "cross"}
    assert json.loads((trained / "aptness.json").read_text())["format"] == 1


def test_the_same_seed_gives_the_same_bytes(with_base: Path, talks: Path, trained: Path, tmp_path: Path) -> None:
    said = train(talks, "-o", tmp_path / "again", *SMALL)
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == sorted(p.name for p in trained.iterdir())
    for path in trained.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    lines = said.splitlines()
    assert re.fullmatch(r"test: \d+ turns, train: \d+ turns, valid: \d+ turns", lines[0])
    assert [line.partition(",")[0] for line in lines[1:3]] == [
        "bi-encoder: step 2 of 2",
        "cross-encoder: step 2 of 2",
    ]
    assert lines[-1].endswith(f"""score with it: -m "aptness(folder='{tmp_path / "again"}')\"""")
    train(talks, "-o", tmp_path / "other", "--seed", "1", *SMALL)
    assert (tmp_path / "other" / "bi.onnx").read_bytes() != (trained / "bi.onnx").read_bytes()


def test_one_corpus_can_be_chosen(with_base: Path, talks: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    train(talks, "-o", tmp_path / "empty", "--corpus", "street", *SMALL)
    assert list(aptness_card.read_aptness_card(tmp_path / "empty").about["data"]) == ["street"]


# Starts and teachers


def test_a_student_learns_from_a_teacher_and_its_card_says_so(
    with_base: Path, talks: Path, trained: Path, tmp_path: Path
) -> None:
    train(talks, "-o", tmp_path / "alone", *SMALL)
    train(talks, "-o", tmp_path / "taught", *SMALL, "--teacher", trained, "--teacher", trained)
    card, teacher = (aptness_card.read_aptness_card(folder) for folder in (tmp_path / "taught", trained))
    assert card.about["teachers"] == [f"aptness {teacher.digest()[:12]} (from minilm)"] * 2
    assert card.about["distillation"]["pool"] == 24
    assert "teachers" not in aptness_card.read_aptness_card(tmp_path / "alone").about
    for name in ("bi.onnx", "cross.onnx"):
        assert (tmp_path / "taught" / name).read_bytes() != (tmp_path / "alone" / name).read_bytes()


def test_a_folder_is_trained_further(with_base: Path, talks: Path, trained: Path, tmp_path: Path) -> None:
    train(talks, "-o", tmp_path / "further", *SMALL, "--base", trained)
    card, base = (aptness_card.read_aptness_card(folder) for folder in (tmp_path / "further", trained))
    assert card.about["base"] == f"aptness {base.digest()[:12]} (from minilm)"
    assert card.files["embeddings.int8"] == base.files["embeddings.int8"]
    assert card.files["cross.onnx"] != base.files["cross.onnx"]
    scores = rejoinder.score(["yes"], [f"aptness(folder={str(tmp_path / 'further')!r})"], contexts=[["so?"]])
    assert all(0 < value < 1 for values in scores.values.values() for value in values)


def test_weights_inherit_the_data_of_what_they_start_from(with_base: Path, tmp_path: Path) -> None:
    write(tiny_training.talks(corpora=("chitchat", "ami")), tmp_path / "free.jsonl")
    write(tiny_training.talks(corpora=("dailydialog",)), tmp_path / "research.jsonl")
    train(tmp_path / "free.jsonl", "-o", tmp_path / "free", *SMALL)
    train(tmp_path / "research.jsonl", "-o", tmp_path / "research", *SMALL)
    train(tmp_path / "free.jsonl", "-o", tmp_path / "mixed", *SMALL, "--teacher", tmp_path / "research")
    card = aptness_card.read_aptness_card(tmp_path / "mixed")
    assert card.licence == "CC-BY-NC-SA-4.0"
    assert sorted(card.about["data"]) == ["ami", "chitchat", "dailydialog"]
    for option in ("--teacher", "--base"):
        found = refused(
            tmp_path / "free.jsonl", "-o", tmp_path / "out", "--permissive", *SMALL, option, tmp_path / "research"
        )
        assert found.endswith("these were also trained on dailydialog")
    train(tmp_path / "free.jsonl", "-o", tmp_path / "again", "--permissive", *SMALL, "--base", tmp_path / "free")
    again = aptness_card.read_aptness_card(tmp_path / "again")
    assert again.licence == "CC-BY-SA-4.0"
    assert again.about["recipe"]["preferences"]["self_dialogue"] == 0.4


def test_a_teacher_with_another_vocabulary_is_told(with_base: Path, talks: Path, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "other")
    tokenizer = json.loads((trained / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["another"] = len(tokenizer["model"]["vocab"])
    (tmp_path / "other" / "tokenizer.json").write_text(json.dumps(tokenizer))
    card = json.loads((trained / "aptness.json").read_text())
    card["files"]["tokenizer.json"] = sha256_of(tmp_path / "other" / "tokenizer.json")
    (tmp_path / "other" / "aptness.json").write_text(json.dumps(card))
    found = refused(talks, "-o", tmp_path / "out", *SMALL, "--teacher", tmp_path / "other")
    assert found.startswith(f"{tmp_path / 'other'}: has another vocabulary")
    assert "no.such" in refused(talks, "-o", tmp_path / "out", *SMALL, "--teacher", tmp_path / "no.such")


# Refusals


def test_splits_that_are_missing_are_told(with_base: Path, tmp_path: Path) -> None:
    for missing in ("train", "valid", "test"):
        path = tmp_path / f"{missing}.jsonl"
        write([talk for talk in tiny_training.talks() if talk.split != missing], path)
        others = ", ".join(sorted({"train", "valid", "test"} - {missing}))
        found = refused(path, "-o", tmp_path / "out", *SMALL)
        assert found.startswith(f"no dialogue of two turns or more has the split {missing!r} (found: {others}); ")
        assert found.endswith("training needs train, valid and test: set the 'split' of each dialogue")
    assert not (tmp_path / "out").exists()


def test_files_without_dialogues_are_told(with_base: Path, tmp_path: Path) -> None:
    write([Item("1", (Turn("hi"),))], tmp_path / "items.jsonl")
    assert "no dialogues to train on" in refused(tmp_path / "items.jsonl", "-o", tmp_path / "out")
    (tmp_path / "log.json").write_text(
        json.dumps(
            [{"id": "1", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}]
        )
    )
    assert "docs/training.md" in refused(tmp_path / "log.json", "-o", tmp_path / "out")
    assert "none.jsonl" in refused(tmp_path / "none.jsonl", "-o", tmp_path / "out")


def test_a_corpus_that_is_not_there_is_told(with_base: Path, talks: Path, tmp_path: Path) -> None:
    found = refused(talks, "-o", tmp_path / "out", "--corpus", "stret")
    assert found == "no dialogue belongs to the corpus 'stret'; did you mean 'street'?"


def test_an_output_that_is_in_use_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file"):
        assert refused("-o", path) == f"{path}: already exists and is not empty; name a new folder"


def test_an_output_that_cannot_be_made_is_told_before_the_training(
    with_base: Path, talks: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    found = refused(talks, "-o", tmp_path / "file" / "folder", *SMALL)
    assert found == f"{tmp_path / 'file' / 'folder'}: cannot be written (Not a directory); name another folder"


def test_two_ways_to_choose_corpora_are_one_too_many(tmp_path: Path) -> None:
    found = refused("-o", tmp_path / "out", "--permissive", "--corpus", "sgd")
    assert found == "permissive and corpora both choose the corpora; give only one of them"


@pytest.mark.parametrize("module", ["torch", "transformers", "onnx"])
def test_a_missing_extra_is_told(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else found(name))
    assert refused("-o", tmp_path / "out") == (
        f'training needs {module}; install it with: pip install "rejoinder[torch]"'
    )


def test_a_device_that_is_not_there_is_told(with_base: Path, talks: Path, tmp_path: Path) -> None:
    found = refused(talks, "-o", tmp_path / "out", "--device", "abacus")
    assert found == "the device 'abacus' is not available; name cuda (where there is one) or cpu"
    with pytest.raises(InputError, match="the device 'meta' is not available"):
        training_device("meta")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="the device 'cuda' is not available"):
            training_device("cuda")
        assert training_device(None).type == "cpu"


def test_a_base_that_does_not_do_is_told(own_cache: Path, talks: Path, tmp_path: Path) -> None:
    assert "rejoinder models get minilm" in refused(talks, "-o", tmp_path / "out")
    assert "no model is called 'minilmm'" in refused(talks, "-o", tmp_path / "out", "--base", "minilmm")
    folder = tiny_training.install(own_cache, max_position_embeddings=100)
    with pytest.raises(InputError, match="it reads 100 tokens and 227 are needed"):
        open_base_encoder("minilm")
    tiny_training.install(own_cache, hidden_act="relu")
    with pytest.raises(InputError, match=r"it is not a BERT with gelu \(bert, relu\)"):
        open_base_encoder("minilm")
    tiny_training.install(own_cache)
    tokenizer = json.loads(tiny_training.tokenizer())
    tokenizer["model"]["vocab"]["[unused0]"] = 2
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match=r"its tokeniser has \[unused0\] as 2, not as 1; name another BERT"):
        open_base_encoder("minilm")


def test_a_model_that_is_no_network_is_no_base(own_cache: Path) -> None:
    from tiny_models import install

    install(own_cache)
    with pytest.raises(InputError, match=r"'glove-6b-50d' cannot be trained further: it has no config\.json"):
        open_base_encoder("glove-6b-50d")


# The page


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    lines = [line for kind, block in blocks if not kind for line in block.splitlines() if line.startswith("rejoinder ")]
    return [
        shlex.split(line, comments=True)[1:] for line in [*lines, *re.findall(r"`(rejoinder [^`\n]*-m [^`\n]*)`", PAGE)]
    ]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_of_the_page_is_understood(command: list[str]) -> None:
    found: Any = program
    context = click.Context(found)
    while isinstance(found, click.Group):
        name, found, command = found.resolve_command(context, command)
        context = click.Context(found, context, name)
    found.parse_args(context, list(command))
    for spec in context.params.get("metrics") or ():
        rejoinder.parse(spec)


def test_the_page_names_every_option_and_the_numbers_of_the_recipe() -> None:
    training: Any = program.get_command(click.Context(program), "train")
    options = [name for option in training.commands["aptness"].params for name in option.opts]
    for name in options:
        assert name == "files" or f"`{name}" in PAGE, name
    recipe = AptnessRecipe()
    for number in (recipe.bi.steps, recipe.cross.steps, recipe.bi.windows, recipe.bi.merged, recipe.bi.spoiled):
        assert f"{number:,}" in PAGE
    assert f"A step has {recipe.cross.places} contexts" in PAGE
    assert f"On `valid`, {recipe.places} places per corpus" in PAGE
    weights = [recipe.cross.true, recipe.cross.any_corpus, recipe.cross.same_dialogue, recipe.cross.spoiled]
    for weight in (*weights, recipe.bi.earlier, recipe.bi.later):
        assert f"| {weight:g} |".replace("| 0.", "| .") in PAGE
    for corpus in PERMISSIVE:
        assert f"`{corpus}`" in PAGE


def test_the_page_tells_how_many_generic_replies_were_seen() -> None:
    lines = (files("rejoinder.probes") / "generic.txt").read_text(encoding="utf-8").splitlines()
    attacks, mine = [line for line in lines if not line.startswith("#")], read_generic_responses()
    assert len(set(mine)) == len(mine)
    assert f"one of {len(mine)} replies" in PAGE
    assert f"{len(set(mine) & set(attacks))} of its {len(attacks)} generic replies" in PAGE


def test_the_logs_of_the_page_become_a_corpus_that_trains(
    with_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    logs = [
        {
            "id": f"chat-{i}",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": f"how do you do {i}"},
                {"role": "assistant", "content": "fine thanks"},
                {"role": "assistant", "content": None, "tool_calls": []},
                {"role": "user", "content": "see you soon"},
            ],
        }
        for i in range(40)
    ]
    Path("logs.jsonl").write_text("\n".join(map(json.dumps, logs)) + "\n")
    exec(re.findall(r"```python\n(.*?)\n```", PAGE, re.DOTALL)[0], {})
    found = list(read_dialogues(["support.jsonl.gz"]))
    assert [turn.speaker for turn in found[0].turns] == ["user", "assistant", "user"]
    counts = [sum(talk.split == split for talk in found) for split in ("train", "valid", "test")]
    assert sum(counts) == 40
    assert min(counts) > 0
    command = next(command for command in commands() if command[2:3] == ["support.jsonl.gz"])
    train(*command[2:], *SMALL)
    assert aptness_card.read_aptness_card(tmp_path / "support-aptness").about["data"] == {"support": "not known"}
