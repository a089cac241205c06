"""A ranker on any encoder by name: a tiny BERT, RoBERTa and MPNet, trained, written, read and asked."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_encoder
import tiny_models
import tiny_rankers
from click.testing import CliRunner

from rejoinder import cli
from rejoinder.data.writer import write
from rejoinder.errors import InputError, MissingExtraError
from rejoinder.types import Statement

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("transformers")

from rejoinder_lab.training.ranker.start import open_ranker_start  # noqa: E402
from rejoinder_lab.training.ranker.steps import row_tensors  # noqa: E402

from rejoinder.models.ranker import card  # noqa: E402
from rejoinder.models.ranker.model import open_ranker  # noqa: E402
from rejoinder.models.ranker.transformers import HubReader, find_special_tokens, fit_limits, open_hub_reader  # noqa: E402


def write_roberta(folder: Path) -> Path:
    """A RoBERTa with its own marks and without a pooler."""
    from transformers import RobertaConfig, RobertaModel

    folder.mkdir(parents=True)
    tokenizer = tiny_models.byte_pairs(space_first=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    shape: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    shape |= {"intermediate_size": 64, "initializer_range": 0.3, "vocab_size": tokenizer.get_vocab_size()}
    marks = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    torch.manual_seed(0)
    network: Any = RobertaModel
    config = RobertaConfig(max_position_embeddings=514, type_vocab_size=1, **shape, **marks)
    network(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def write_mpnet(folder: Path) -> Path:
    """An MPNet, which has RoBERTa's marks and no kinds of tokens."""
    from transformers import MPNetConfig, MPNetModel

    folder.mkdir(parents=True)
    tokenizer = tiny_models.byte_pairs(space_first=False)
    tokenizer.save(str(folder / "tokenizer.json"))
    shape: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    shape |= {"intermediate_size": 64, "initializer_range": 0.3, "vocab_size": tokenizer.get_vocab_size()}
    torch.manual_seed(0)
    network: Any = MPNetModel
    network(MPNetConfig(max_position_embeddings=514, **shape), add_pooling_layer=False).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("encoders")
    found = {"bert": tiny_encoder.write_encoder(home / "bert", "bert", 64), "roberta": write_roberta(home / "roberta")}
    for kind, folder in list(found.items()):
        found[f"{kind} ranker"] = home / f"{kind}-ranker"
        tiny_rankers.trained(home / f"{kind}-ranker", few=4, kind="cross", encoder=f"hf:{folder}", rate=1e-3)
    return found


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_what_is_trained_is_what_is_asked(encoders: dict[str, Path], kind: str) -> None:
    folder = encoders[f"{kind} ranker"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "ranker.json",
        "tokenizer.json",
        "weights.safetensors",
    ]
    model = open_ranker(folder)
    assert (model.card.kind, model.card.encoder) == ("cross", f"hf:{encoders[kind]}")
    questions = tiny_rankers.questions()
    found = model.rank(questions)
    assert not any(math.isnan(score) for one in found for score in one.scores)
    assert len({score for one in found for score in one.scores}) > 20
    for question, among in zip(questions, found, strict=True):
        assert model.rank([question])[0].scores == pytest.approx(among.scores, abs=1e-5)
    (turned,) = model.rank([replace(questions[0], candidates=questions[0].candidates[::-1])])
    assert turned.scores[::-1] == pytest.approx(found[0].scores, abs=1e-5)


def test_the_marks_are_those_of_the_encoders_tokeniser(encoders: dict[str, Path]) -> None:
    bert, roberta = (card.read_ranker_card(encoders[f"{kind} ranker"]).marks for kind in ("bert", "roberta"))
    assert (bert.first, bert.last, bert.between, bert.padding) == (2, 3, 3, 0)
    assert (roberta.first, roberta.last, roberta.between, roberta.padding) == (0, 2, 2, 1)
    with pytest.raises(InputError, match=r"neither \[CLS\], \[SEP\] and \[PAD\] nor <s>, </s> and <pad>"):
        find_special_tokens(
            '{"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}}'
        )


def test_mpnets_own_marks_come_before_those_of_bert_among_its_words() -> None:
    from tokenizers import AddedToken, Tokenizer, models

    words = ["<s>", "<pad>", "</s>", "[PAD]", "[CLS]", "[SEP]", "how"]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="how"))
    tokenizer.add_special_tokens([AddedToken(mark, special=True) for mark in words[:3]])
    marks = find_special_tokens(tokenizer.to_str())
    assert (marks.first, marks.last, marks.between, marks.padding) == (0, 2, 2, 1)


def test_the_fast_pass_of_an_mpnet_has_the_scores_of_the_network(tmp_path: Path) -> None:
    from rejoinder_lab.training.ranker.steps import compute_reader_scores, reads_by_groups, score_ranker_rows

    from rejoinder.models.aptness.cross_encoder import PairRow

    reader, serialized = open_hub_reader(f"hf:{write_mpnet(tmp_path / 'mpnet')}")
    assert reads_by_groups(reader)
    padding, cpu = find_special_tokens(serialized).padding, torch.device("cpu")
    rows = [PairRow((0, 5, 9, 2, 6, 7, 2), 4), PairRow((0, *range(10, 30), 2, 6, 2), 22), PairRow((0, 2, 6, 2), 2)]
    with torch.no_grad():
        expected = reader.eval()(*row_tensors(rows, padding, cpu)).tolist()
        assert compute_reader_scores(reader, rows, padding, cpu).tolist() == pytest.approx(expected, abs=1e-5)
    assert score_ranker_rows(reader, rows, padding, cpu).tolist() == pytest.approx(expected, abs=1e-5)


def test_rows_are_no_longer_than_the_encoder_can_read(encoders: dict[str, Path]) -> None:
    limits = card.read_ranker_card(encoders["bert ranker"]).limits
    assert (limits.row_tokens, limits.request_tokens, limits.candidate_tokens) == (62, 29, 29)
    (long, *_) = tiny_rankers.questions()
    far = replace(long, context=(replace(long.context[0], text="how are you " * 700),))
    far = replace(far, situation=(Statement("word " * 5000), *long.situation))
    far = replace(far, candidates=(replace(far.candidates[0], text="fine " * 900), *far.candidates[1:]))
    found = open_ranker(encoders["bert ranker"]).rank([far])[0]
    assert not any(map(math.isnan, found.scores))
    assert found.used[0] == (), "request and candidate leave no room"


def test_a_score_is_one_layer_on_the_first_token(encoders: dict[str, Path]) -> None:
    reader, _ = open_hub_reader(f"hf:{encoders['bert']}")
    ids = torch.tensor([[2, 9, 3, 10, 3]])
    kinds = torch.tensor([[0, 0, 0, 1, 1]])
    with torch.no_grad():
        states = reader.trunk(input_ids=ids, token_type_ids=kinds).last_hidden_state
        by_hand = (states[0, 0] * reader.head.weight[0]).sum() + reader.head.bias[0]
        assert float(reader(ids, torch.ones_like(ids), kinds)) == pytest.approx(float(by_hand), abs=1e-5)
        other = reader(ids, torch.ones_like(ids), torch.zeros_like(kinds))
        assert float(other) != pytest.approx(float(by_hand), abs=1e-5), "BERT tells the candidate from the rest"


def test_limits_of_a_large_encoder_are_the_usual_ones(encoders: dict[str, Path]) -> None:
    from rejoinder.models.ranker.settings import RankerLimits

    reader, _ = open_hub_reader(f"hf:{encoders['roberta']}")
    assert isinstance(reader, HubReader)
    assert fit_limits(reader, RankerLimits()) == RankerLimits()


def test_rows_become_tensors_with_the_encoders_padding(encoders: dict[str, Path]) -> None:
    from rejoinder.models.aptness.cross_encoder import PairRow

    ids, real, of_candidate = row_tensors(
        [PairRow((0, 5, 2, 6, 2), 3), PairRow((0, 2, 6, 2), 2)], 1, torch.device("cpu")
    )
    assert ids.tolist() == [[0, 5, 2, 6, 2], [0, 2, 6, 2, 1]]
    assert real.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]
    assert of_candidate.tolist() == [[0, 0, 0, 1, 1], [0, 0, 1, 1, 0]]


def test_without_torch_such_a_ranker_says_what_to_install(
    encoders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rejoinder.models.ranker.transformers", None)
    from rejoinder.models.ranker.model import RankerModel

    with pytest.raises(MissingExtraError, match=r'pip install "rejoinder\[torch\]"'):
        RankerModel(encoders["bert ranker"])


def test_an_exported_graph_cannot_be_trained(encoders: dict[str, Path]) -> None:
    from rejoinder_lab.training.recipes import RankerRecipe

    with pytest.raises(InputError, match="is an exported graph"):
        open_ranker_start(RankerRecipe(kind="cross", encoder=str(exported(encoders["bert"].parent / "graph"))))


@pytest.mark.parametrize("kind", ["roberta", "mpnet"])
def test_a_situated_ranker_reads_with_another_encoder_and_chooses_with_the_embedded_one(
    encoders: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    encoder = write_mpnet(tmp_path / "mpnet") if kind == "mpnet" else encoders[kind]
    folder = tmp_path / "ranker"
    measured = tiny_rankers.trained(folder, few=6, encoder=f"hf:{encoder}", rate=1e-3)
    assert set(measured["held_out_ndcg3"]) == {"u", "u+S1", "u+S", "15"}
    model = open_ranker(folder)
    assert (model.card.kind, model.card.encoder) == ("situated", f"hf:{encoder}")
    assert {card.CHOOSER, card.COUNTS, card.WEIGHTS} <= set(model.card.files)
    questions = tiny_rankers.questions()
    found = model.rank(questions)
    assert all(len(used) == 3 for one in found for used in one.used), "three of eleven statements"
    assert not any(math.isnan(score) for one in found for score in one.scores)
    (fewer,) = model.rank([replace(questions[0], situation=())])
    assert fewer.scores != pytest.approx(found[0].scores, abs=1e-6)
    assert model.used(questions[:1]) == [found[0].used]
    assert len(model.odds(questions[:1])[0]) == len(questions[0].situation)


def test_what_a_situated_ranker_reads_is_in_the_readers_own_tokens(encoders: dict[str, Path]) -> None:
    from rejoinder_lab.training.ranker import trainer
    from rejoinder_lab.training.recipes import RankerRecipe

    start = open_ranker_start(RankerRecipe(encoder=f"hf:{encoders['roberta']}"))
    (example,), _ = trainer._build_examples(tiny_rankers.questions(0, 1), start)
    text = "Please open the window."
    assert list(example.request) == start.chooser_tokenizer.pieces([text])[0]
    assert list(example.request_to_read()) == start.encode([text])[0] != list(example.request)
    assert list(example.request_to_read(by_goal=True)) == start.encode(["breathe fresh air"])[0]
    assert list(example.situations["u+S"][0].to_read) == start.encode(["The room is smoky."])[0]
    assert all(one.to_read == one.reader_ids != one.ids for one in example.candidates)


def exported(folder: Path) -> Path:
    return tiny_models.write_exported_encoder(folder)


def test_the_command_takes_an_encoder_by_its_folder(
    encoders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tiny_rankers.questions(0, 4), tmp_path / "train.jsonl")
    write(tiny_rankers.held_out(), tmp_path / "valid.jsonl")
    options = ["--train", "train.jsonl", "--valid", "valid.jsonl", "--kind", "cross", "--input", "u+S1"]
    how = ["--encoder", f"hf:{encoders['roberta']}", "--epochs", "2", "--device", "cpu", "-o", "new"]
    done = CliRunner().invoke(cli.program, ["train", "ranker", *options, *how])
    assert done.exit_code == 0, f"{done.output} {done.exception}"
    assert "epoch 2 of 2: loss" in done.stderr
    assert card.read_ranker_card(tmp_path / "new").given == "u+S1"
    assert card.read_ranker_card(tmp_path / "new").about["train"] == ["train.jsonl"]
    asked = CliRunner().invoke(cli.program, ["rank", "valid.jsonl", "--ranker", "ranker(folder='new')"])
    assert asked.exit_code == 0, asked.output
