"""NUP: the network against transformers, the training on talk with topics, the folder and the metric."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import tiny_nup
import tiny_training

import rejoinder
from rejoinder.errors import InputError, RejoinderError
from rejoinder.models.nup import model as cards
from rejoinder.types import Item, Pair, Response, Turn


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="the torch extra is not installed")


@pytest.fixture
def trained(own_cache: Path, tmp_path: Path, torch: Any) -> Path:
    pytest.importorskip("onnx", reason="the torch extra is not installed")
    from rejoinder_lab.training.nup import train_nup
    from rejoinder_lab.training.recipes import NupRecipe

    tiny_training.install(own_cache)
    recipe = NupRecipe(contexts=16, held_out=6, epochs=1, batch=8, rate=1e-3)
    train_nup(tiny_training.talks(20), tmp_path / "nup", recipe, base="minilm", log=lambda line: None)
    return tmp_path / "nup"


def test_without_a_network_it_says_the_command() -> None:
    with pytest.raises(RejoinderError, match="train one with: rejoinder train nup"):
        rejoinder.score(["hi"], metrics="nup", contexts=["hello"])


def test_the_exported_folder_scores_as_the_network_does(torch: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the torch extra is not installed")
    from tokenizers import Tokenizer

    from rejoinder.models.aptness_card import AptnessLimits, SpecialTokens
    from rejoinder.models.nup.network import NextUtteranceNetwork, export_nup

    torch.manual_seed(0)
    network = NextUtteranceNetwork(tiny_training.trunk(layers=2)).eval()
    limits = AptnessLimits(context_tokens=6, reply_tokens=4)
    export_nup(network, tiny_training.tokenizer(), SpecialTokens(101, 102, 1, 0), limits, {"licence": "none"}, tmp_path)
    reader = Tokenizer.from_str(tiny_training.tokenizer())
    contexts = [["the cat", "sat on the mat so fast"], ["yes"], ["ok", " "]]
    replies = ["it ran fast and so is the dog", "no", "good"]
    found = cards.NupModel(tmp_path).probabilities(contexts, replies)
    for i, (context, reply) in enumerate(zip(contexts, replies, strict=True)):
        before = reader.encode(" ".join(context).strip(), add_special_tokens=False).ids[-6:]
        said = reader.encode(reply, add_special_tokens=False).ids[:4]
        ids = torch.tensor([[101, *before, 102, *said, 102]])
        kinds = torch.tensor([[0] * (len(before) + 2) + [1] * (len(said) + 1)])
        with torch.no_grad():
            states = network.trunk(input_ids=ids, token_type_ids=kinds).last_hidden_state[0]
            classes = torch.softmax(network.head(states.max(dim=0).values), dim=0)
        assert found[i] == pytest.approx(float(classes[1]), abs=0.02)  # int8 weights
    assert cards.NupModel(tmp_path).cut(contexts, replies) == [True, False, False]


def test_padding_never_wins_the_pooling(torch: Any) -> None:
    from rejoinder.models.nup.network import NextUtteranceNetwork

    network = NextUtteranceNetwork(tiny_training.trunk()).eval()
    ids = torch.tensor([[101, 110, 102, 111, 102]])
    kinds = torch.tensor([[0, 0, 0, 1, 1]])
    padded = (torch.nn.functional.pad(part, (0, 4)) for part in (ids, torch.ones_like(ids), kinds))
    with torch.no_grad():
        alone, beside = network(ids, torch.ones_like(ids), kinds), network(*padded)
    assert alone.item() == pytest.approx(beside.item(), abs=1e-5)


def test_it_learns_which_reply_belongs_to_which_context(torch: Any) -> None:
    from rejoinder_lab.training.next_turns import NextTurn
    from rejoinder_lab.training.nup import NupTokenizer, _train_nup_network, make_nup_batch
    from rejoinder_lab.training.recipes import NupRecipe

    from rejoinder.models.aptness_card import AptnessLimits
    from rejoinder.models.nup.network import NextUtteranceNetwork

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    texts = [("the cat sat", "mat"), ("train leaves", "nine"), ("how do you like it", "love"), ("see you", "soon")]
    found = [NextTurn((context,), reply) for context, reply in texts]
    network, device = NextUtteranceNetwork(tiny_training.trunk(), dropout=0.0), torch.device("cpu")
    pieces = NupTokenizer(tiny_training.tokenizer(), AptnessLimits(context_tokens=25, reply_tokens=25))
    _train_nup_network(network, pieces, found, NupRecipe(epochs=150, batch=8, rate=5e-3), device, lambda line: None)
    network.eval()
    rows = [pieces.rows([place.context] * 4, [other.reply for other in found]) for place in found]
    with torch.no_grad():
        best = [int(network(*make_nup_batch(line, device)).argmax()) for line in rows]
    torch.set_num_threads(threads)
    assert best == [0, 1, 2, 3]


def test_negatives_are_of_other_places_and_drawn_anew() -> None:
    pytest.importorskip("torch", reason="the torch extra is not installed")
    from rejoinder_lab.training.next_turns import NextTurn
    from rejoinder_lab.training.nup import sample_other_responses

    found = [NextTurn(("c",), str(i)) for i in range(9)]
    random = np.random.default_rng(0)
    drawn = [sample_other_responses(found, random) for _ in range(5)]
    assert all(reply != str(i) for line in drawn for i, reply in enumerate(line))
    assert len({tuple(line) for line in drawn}) == 5


def test_a_trained_folder_scores_and_tells_of_itself(trained: Path) -> None:
    spec = f"nup(folder={str(trained)!r})"
    found = rejoinder.score(["a dog ran.", " "], metrics=spec, contexts=[["the cat sat."], ["the cat sat."]])
    assert 0 < found.values[spec][0] < 1
    assert math.isnan(found.values[spec][1])
    about = cards.read_nup_card(trained).about
    assert about["base"] == "minilm"
    assert about["licence"] == "not known"
    assert about["data"] == {"corpora": ["shop", "street"], "split": "train"}
    assert 0 <= about["measured"]["pairs"] <= 1


def test_the_same_seed_gives_the_same_network(trained: Path, tmp_path: Path) -> None:
    from rejoinder_lab.training.nup import train_nup
    from rejoinder_lab.training.recipes import NupRecipe

    recipe = NupRecipe(contexts=16, held_out=6, epochs=1, batch=8, rate=1e-3)
    train_nup(tiny_training.talks(20), tmp_path / "again", recipe, base="minilm", log=lambda line: None)
    assert cards.read_nup_card(tmp_path / "again").digest() == cards.read_nup_card(trained).digest()


def test_the_command_trains_into_the_cache_where_no_folder_is_named(
    own_cache: Path, tmp_path: Path, torch: Any
) -> None:
    pytest.importorskip("onnx", reason="the torch extra is not installed")
    from click.testing import CliRunner

    from rejoinder.cli import program
    from rejoinder.data.writer import write

    tiny_training.install(own_cache)
    write(tiny_training.talks(20), tmp_path / "talks.jsonl")
    command = ["train", "nup", str(tmp_path / "talks.jsonl"), "--contexts", "10", "--epochs", "1", "--corpus", "shop"]
    command += ["--base", "minilm"]
    done = CliRunner().invoke(program, command)
    assert done.exit_code == 0, done.output
    assert "-m nup" in done.output
    assert 0 < rejoinder.score(["yes."], metrics="nup", contexts=["so?"]).values["nup"][0] < 1


def test_a_folder_that_was_changed_is_refused(own_cache: Path) -> None:
    folder = tiny_nup.write(own_cache / "nup", tiny_models.word_pieces())
    pair = Pair(Item("i", (Turn("the cat " * 20),)), Response("r", "i", "s", "sat"))
    metric = rejoinder.parse("nup")
    assert metric.cut([pair]) == [True]
    assert 0 < metric.score([pair])[0] < 1
    (folder / cards.TOKENIZER).write_text("{}")
    with pytest.raises(InputError, match="does not match its card"):
        cards.NupModel(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "cannot be read"), ("{", "is not JSON"), ("{}", "is not the card of nup in format 1"),
     ('{"format": 1, "marks": {}, "limits": {}}', "a key is missing or wrong")],
)  # fmt: skip
def test_a_folder_that_is_none_is_told_so(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / cards.CARD_FILE).write_text(text)
    with pytest.raises(InputError, match=said):
        rejoinder.score(["hi"], metrics=f"nup(folder={str(tmp_path)!r})", contexts=["hello"])


def test_it_starts_from_the_cross_encoder_of_aptness(torch: Any) -> None:
    pytest.importorskip("onnx", reason="the torch extra is not installed")
    from rejoinder_lab.training.nup import open_trunk_and_tokenizer

    from rejoinder.models.catalog.entries import MODELS
    from rejoinder.models.catalog.manifest import is_model_available

    if not is_model_available(MODELS["aptness"]):
        pytest.skip("the weights of aptness are not in the package")
    trunk, tokenizer = open_trunk_and_tokenizer("aptness")
    assert trunk.config.hidden_size == 384
    assert "[unused0]" in tokenizer
