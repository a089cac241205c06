"""USR: its masked language model against transformers' own call on a tiny BERT, its parts and their combination."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import tiny_aptness
import tiny_models
import tiny_training
from rejoinder_lab.metrics.usr import Usr
from rejoinder_lab.models.head.model import HeadCard, open_head
from rejoinder_lab.training.recipes import UsrRecipe

import rejoinder
from rejoinder.errors import InputError, SpecError
from rejoinder.models.encoder.transformers import load_tokenizer
from rejoinder.models.weight_sets import WEIGHT_SETS, use_weights
from rejoinder.types import Dialogue, Item, Pair, Response, Turn

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
CONTEXT, REPLY = "the cat sat on the mat", "the dog ran fast"


@pytest.fixture
def bert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A random BERT with a masked language model of 2 layers."""
    import transformers

    monkeypatch.setenv("REJOINDER_THREADS", "1")
    folder = tiny_models.write_transformers_encoder(tmp_path / "bert")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertForMaskedLM(transformers.BertConfig.from_pretrained(folder)).save_pretrained(folder)
    return folder


def pair(context: str, reply: str) -> Pair:
    return Pair(Item("i", (Turn(context),) if context else ()), Response("r", "i", "s", reply))


def test_each_token_is_masked_in_turn_as_transformers_computes_it(bert: Path) -> None:
    from transformers import BertForMaskedLM

    network = BertForMaskedLM.from_pretrained(bert).eval()
    before, after = load_tokenizer(bert, 64).pieces([CONTEXT, REPLY])
    ids = [2, *before, 3, *after, 3]
    logs = []
    for at in range(len(before) + 2, len(ids) - 1):
        masked = torch.tensor([[*ids[:at], 4, *ids[at + 1 :]]])
        kinds = torch.tensor([[0] * (len(before) + 2) + [1] * (len(after) + 1)])
        with torch.no_grad():
            logs.append(network(input_ids=masked, token_type_ids=kinds).logits[0, at].log_softmax(-1)[ids[at]].item())
    metric = Usr(model=str(bert), part="mlm")
    found = metric.score([pair(CONTEXT, REPLY), pair("how are you", "no"), pair("", "no")])
    assert found[0] == pytest.approx(math.exp(np.mean(logs)), abs=1e-6)
    assert math.isnan(found[2])


def test_both_parts_are_weighted(bert: Path) -> None:
    given = [pair(CONTEXT, REPLY)]
    parts = {name: Usr(None, str(bert), "context_overlap", 0.3, name).score(given)[0] for name in ("all", "mlm", "dr")}
    assert parts["dr"] == rejoinder.parse("context_overlap").score(given)[0]
    assert parts["all"] == pytest.approx(0.3 * parts["mlm"] + 0.7 * parts["dr"])


def test_an_encoder_without_a_language_model_is_refused(tmp_path: Path) -> None:
    folder = tiny_models.write_transformers_encoder(tmp_path / "plain")
    with pytest.raises(InputError, match="no complete masked language model"):
        Usr(model=str(folder)).score([pair(CONTEXT, REPLY)])


def test_parameters_out_of_range_are_refused() -> None:
    for spec in ("usr(mlm_weight=2)", "usr(mlm_weight=True)", "usr(part='x')", "usr(retrieval='bleu')"):
        with pytest.raises(SpecError, match="usr: "):
            rejoinder.parse(spec)


# trained here


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder like aptness's, of random weights, whose tokeniser has BERT's marks."""
    from rejoinder.models.aptness.export import export_pair
    from rejoinder.models.aptness.network import BiEncoder, CrossEncoder

    folder = tmp_path / "base"
    networks = BiEncoder(tiny_training.trunk()), CrossEncoder(tiny_training.trunk())
    export_pair(*networks, tiny_training.tokenizer(), tiny_aptness.CALIBRATION, tiny_aptness.CARD, folder)
    return folder


def train_tiny(target: Path, base: Path, **choices: int) -> HeadCard:
    from rejoinder_lab.training.heads.usr import train_usr

    recipe = UsrRecipe(rank=4, batch=16, rate=2e-2, held_out=40, bounded=20, **{"steps": 60, **choices})
    return train_usr(tiny_training.talks(40), target, recipe, None, str(base), "cpu", lambda line: None)


def test_what_was_trained_predicts_words_and_scores_as_the_network_that_was_trained(tmp_path: Path, base: Path) -> None:
    from rejoinder_lab.models.usr.model import open_masked_trunk, open_usr
    from rejoinder_lab.models.usr.network import MaskedNetwork

    untrained = train_tiny(tmp_path / "short", base, steps=1).about["measured"]
    card = train_tiny(tmp_path / "usr", base)
    assert card.about["measured"]["loss"] < untrained["loss"] - 0.3
    assert train_tiny(tmp_path / "again", base) == card  # the same bytes
    low, high = card.settings["fluency"]
    assert low < high < 0

    network = MaskedNetwork(open_masked_trunk(str(base))[0])
    network.attach(4, 2.0, 0)
    stored = open_head("usr", tmp_path / "usr").weights
    layers = {name.removesuffix(".b") for name in stored if name.endswith(".b")}
    with torch.no_grad():
        for layer in layers:
            module = network.get_submodule(layer)
            module.a.copy_(torch.from_numpy(stored[f"{layer}.a"]))
            module.b.copy_(torch.from_numpy(stored[f"{layer}.b"]) / module.scale)
        own = {name: torch.from_numpy(stored[name]) for name in stored if not name.startswith("trunk.")}
        network.load_state_dict(own, strict=False)
    before, after = load_tokenizer(base, 64).pieces([CONTEXT, REPLY])
    ids = [101, *before, 102, *after, 102]
    kinds = torch.tensor([[0] * (len(before) + 2) + [1] * (len(after) + 1)])
    logs = []
    for at in range(len(before) + 2, len(ids) - 1):
        masked = torch.tensor([[*ids[:at], 103, *ids[at + 1 :]]])
        with torch.no_grad():
            odds = network.eval()(masked, torch.ones_like(masked), kinds, (torch.tensor([0]), torch.tensor([at])))
        logs.append(float(odds[0].log_softmax(-1)[ids[at]]))
    [found] = open_usr(str(tmp_path / "usr")).log_probabilities([CONTEXT], [REPLY])
    assert found == pytest.approx(np.mean(logs), abs=1e-4)
    metric = rejoinder.parse(f"usr(folder={str(tmp_path / 'usr')!r}, part='mlm')")
    assert metric.score([pair(CONTEXT, REPLY)])[0] == pytest.approx(
        np.clip((found - low) / (high - low), 0, 1), abs=1e-4
    )
    assert metric.details()["weights"] == card.digest()[:12]


def test_masks_fall_on_words_and_the_words_are_kept() -> None:
    from rejoinder_lab.training.heads.usr import mask_words
    from rejoinder_lab.training.token_rows import MASKED, PairRows

    ids = torch.tensor([[101, 200, 201, 102, 202, 102], [101, 203, 102, 204, 102, 0]])
    rows = PairRows(ids, torch.tensor([6, 5]), torch.zeros_like(ids))
    special = torch.arange(MASKED + 1)
    masked = mask_words(rows, special, 0.5, torch.Generator().manual_seed(0))
    assert torch.equal(torch.where(masked.chosen, ids, 0)[masked.chosen], masked.words)
    assert bool((masked.ids[masked.chosen] == MASKED).all())
    assert torch.equal(masked.ids[~masked.chosen], ids[~masked.chosen])
    assert mask_words(rows, special, 1.0, torch.Generator().manual_seed(0)).words.tolist() == [200, 201, 202, 203, 204]
    assert len(mask_words(rows, special, 0.0, torch.Generator().manual_seed(0)).words) == 1


def test_the_rows_of_a_corpus_are_contexts_without_marks_and_replies() -> None:
    from rejoinder_lab.training.heads.usr import DialogueRows
    from rejoinder_lab.training.tokens import read_corpus_tokens

    turns = [Turn(text) for text in ("the cat", "a dog ran", "yes")]
    tokens = read_corpus_tokens([Dialogue("d", tuple(turns), split="train")], tiny_training.tokenizer())["train"]
    ids = [tokens.ids[a:b].tolist() for a, b in zip(tokens.begin, tokens.end, strict=True)]
    rows = DialogueRows(tokens, UsrRecipe(context_tokens=4), torch.device("cpu"))
    assert len(rows) == 2
    found = rows.rows(torch.tensor([0, 1]))
    assert [row[:n].tolist() for row, n in zip(found.ids, found.lengths, strict=True)] == [
        [101, *ids[0], 102, *ids[1], 102],
        [101, *[*ids[0], *ids[1]][-4:], 102, *ids[2], 102],
    ]


def test_weights_of_another_encoder_and_two_models_are_refused(tmp_path: Path, base: Path) -> None:
    with pytest.raises(SpecError, match="usr: folder and model both"):
        Usr(folder="a", model="b")
    with pytest.raises(InputError, match="is an addition to aptness"):
        train_tiny(tmp_path / "usr", tiny_models.write_transformers_encoder(tmp_path / "plain"))


# how much each part counts


def test_the_regression_finds_the_weight_and_no_part_counts_against() -> None:
    from rejoinder_lab.training.heads.usr import fit_part_weight

    parts = np.random.default_rng(0).random((2, 200))
    assert fit_part_weight(parts, 1 + 0.6 * parts[0] + 1.4 * parts[1]) == pytest.approx(0.3, abs=1e-4)
    assert fit_part_weight(parts, parts[1] - parts[0]) == 0
    with pytest.raises(InputError, match="neither part of usr rises"):
        fit_part_weight(parts, -parts.sum(0))


def test_ratings_decide_how_much_the_parts_count(tmp_path: Path, base: Path) -> None:
    from rejoinder_lab.training.heads.usr import learn_part_weights

    from rejoinder.data.collection import Collection
    from rejoinder.types import Rating

    train_tiny(tmp_path / "usr", base)
    spec = f"usr(folder={str(tmp_path / 'usr')!r}"
    talks = [dialogue for dialogue in tiny_training.talks(40) if len(dialogue.turns) > 1][:30]
    pairs = [
        Pair(Item(f"i{n}", talk.turns[:1]), Response(f"r{n}", f"i{n}", "s", talk.turns[1].text))
        for n, talk in enumerate(talks)
    ]
    fluency = rejoinder.parse(f"{spec}, part='mlm')").score(pairs)
    ratings = [Rating("me", "apt", value, p.response.id) for p, value in zip(pairs, fluency, strict=True)]
    items, responses = {p.item.id: p.item for p in pairs}, {p.response.id: p.response for p in pairs}
    data = Collection(items=items, responses=responses, ratings=ratings)
    card = learn_part_weights(data, tmp_path / "usr", tmp_path / "weighted", None, lambda line: None)
    weight = card.settings["mlm_weight"]
    assert weight > 0.9  # the ratings are the first part
    assert card.about["measured"]["spearman_held_out"] > 0.9
    learned = rejoinder.parse(f"usr(folder={str(tmp_path / 'weighted')!r})")
    parts = [rejoinder.parse(f"{spec}, part='{part}')").score(pairs) for part in ("mlm", "dr")]
    assert learned.score(pairs) == pytest.approx(weight * np.array(parts[0]) + (1 - weight) * np.array(parts[1]))
    assert rejoinder.parse(f"{spec})").details() != learned.details()


def test_the_shipped_additions_are_merged_into_the_network_that_they_were_trained_on() -> None:
    from rejoinder_lab.models.usr.model import open_usr

    for weights in WEIGHT_SETS:
        with use_weights(weights):
            model = open_usr()
            assert len(model._model.trunk.encoder.layer) == 6  # those of the research set, whatever the default is
            fits, does_not = model.fluency([CONTEXT] * 2, [REPLY, "the of of bicycle quickly the the"])
        assert fits > does_not
