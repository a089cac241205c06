"""Systems that go by likelihood, against transformers' own loss, and the names that models go by."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import tiny_language_model  # noqa: E402
from judge_server import Handler, served  # noqa: E402
from tiny_systems import QUESTIONS, question, write_sequence_model  # noqa: E402

from rejoinder.errors import InputError, RejoinderError, SpecError  # noqa: E402
from rejoinder.models.language_model.model import load_language_model  # noqa: E402
from rejoinder.models.language_model.prompt_format import context_ids, turn_end_ids  # noqa: E402
from rejoinder.systems import parse_system, system_signature  # noqa: E402
from rejoinder.systems.causal import Causal  # noqa: E402
from rejoinder.systems.completion import Completion  # noqa: E402
from rejoinder.systems.embedded import Embedded  # noqa: E402
from rejoinder.systems.seq2seq import Seq2Seq  # noqa: E402
from rejoinder.types import Question  # noqa: E402

CLOSE: dict[str, Any] = {"abs": 1e-4}
Q1 = QUESTIONS[0]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm") / "tiny"
    tiny_language_model.write_language_model(folder, window=64)
    return folder


@pytest.fixture(scope="module")
def sequence(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("seq2seq")
    return {kind: write_sequence_model(base / kind, kind) for kind in ("bart", "t5")}


# Causal language models


def causal_losses(folder: Path, asked: Question, join: Any, end: bool) -> list[tuple[float, int]]:
    """The mean loss of each candidate as transformers computes it with labels, and over how many tokens."""
    model = load_language_model(folder, device="cpu", join=join)
    found = []
    for candidate in asked.candidates:
        before = context_ids(model.tokenizer, asked.context, model.join).fit(10**6)
        after = (*model.reply_ids(candidate.text), *(turn_end_ids(model.tokenizer, model.join) if end else ()))
        ids = torch.tensor([[*before, *after]])
        labels = torch.tensor([[-100] * len(before) + list(after)])
        found.append((float(model.network(input_ids=ids, labels=labels).loss), len(after)))
    return found


@pytest.mark.parametrize("join", [None, "newline", "eos"])
@pytest.mark.parametrize("end", [False, True])
def test_a_causal_score_is_minus_the_loss(lm: Path, join: Any, end: bool) -> None:
    expected = causal_losses(lm, Q1, join, end)
    mean = Causal(str(lm), end=end, join=join).score([Q1])[0]
    assert mean == pytest.approx([-loss for loss, _ in expected], **CLOSE)
    total = Causal(str(lm), "none", end, join).score([Q1])[0]
    assert total == pytest.approx([-loss * tokens for loss, tokens in expected], abs=1e-3)


def test_many_questions_are_answered_in_parts_with_the_same_numbers(lm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Causal(str(lm)).score(QUESTIONS)
    monkeypatch.setattr("rejoinder.systems._texts.MOST_QUESTIONS", 2)
    for first, second in zip(whole, Causal(str(lm)).score(QUESTIONS), strict=True):
        assert second == pytest.approx(first, nan_ok=True, **CLOSE)


def test_a_context_beyond_the_window_loses_its_beginning(lm: Path) -> None:
    long = question("long", ["the dog ran fast " * 100, "what about the train"], "it leaves at nine", "no")
    assert not any(map(math.isnan, Causal(str(lm)).score([long])[0]))


def test_a_candidate_with_marks_of_the_model_stays_plain_text(lm: Path) -> None:
    marked = question("m", ["hello"], "yes<|end|>", "yes", "<|assistant|>")
    scores = Causal(str(lm), "none").score([marked])[0]
    assert len(set(scores)) == 3
    assert not any(map(math.isnan, scores))


def test_the_embedded_model_is_the_catalogs(own_cache: Path) -> None:
    with pytest.raises(RejoinderError, match="rejoinder models get smollm2-135m"):
        Embedded().score(QUESTIONS)
    tiny_language_model.install(own_cache)
    assert Embedded().score([Q1]) == Causal("smollm2-135m").score([Q1])
    assert Embedded(normalise="none").score([Q1]) != Embedded().score([Q1])
    assert "model:smollm2-135m" in system_signature(Embedded())


def test_the_same_model_behind_an_endpoint_gives_the_same_scores(lm: Path) -> None:
    model = load_language_model(lm, device="cpu")

    def act(handler: Handler, sent: dict[str, Any]) -> None:
        given = model.tokenizer(sent["prompt"], return_offsets_mapping=True)
        ids = given["input_ids"]
        with torch.no_grad():
            values = model.network(torch.tensor([ids])).logits[0].log_softmax(-1)
        told = {
            "tokens": model.tokenizer.convert_ids_to_tokens(ids),
            "token_logprobs": [None, *(float(values[n - 1, ids[n]]) for n in range(1, len(ids)))],
            "text_offset": [begin for begin, _ in given["offset_mapping"]],
        }
        handler.give(200, json.dumps({"choices": [{"text": sent["prompt"], "logprobs": told}]}).encode())

    with served(act) as server:
        found = Completion("tiny", server.url).score(QUESTIONS[:2])
    for one, scores in zip(Causal(str(lm), join="newline").score(QUESTIONS[:2]), found, strict=True):
        assert scores == pytest.approx(one, **CLOSE)


# Names of models


def test_a_model_that_is_nowhere_says_what_to_do(lm: Path) -> None:
    with pytest.raises(InputError, match=r"there is no language model 'nobody/lm-1'.*hf download NAME"):
        parse_system("hf:nobody/lm-1").score(QUESTIONS)
    with pytest.raises(InputError, match="did you mean 'gpt2'"):
        parse_system("hf:gpt22").details()
    with pytest.raises(InputError, match="there is no sequence-to-sequence model"):
        parse_system("seq2seq:nobody/t5").score(QUESTIONS)
    with pytest.raises(SpecError, match="no language model is named"):
        parse_system("hf:").score(QUESTIONS)
    with pytest.raises(SpecError, match="bert-base-uncased is not a language model"):
        parse_system("hf:bert-base-uncased").score(QUESTIONS)


@pytest.mark.parametrize("name", ["gpt2", "openai-community/gpt2"])
def test_a_model_of_the_catalog_goes_by_its_name_and_by_its_repository(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir(parents=True)  # a folder of that name is something else
    with pytest.raises(RejoinderError, match="the model 'gpt2' is missing; get it with: rejoinder models get gpt2"):
        parse_system(f"hf:{name}").score(QUESTIONS)


def test_what_another_program_fetched_from_the_hub_is_found(
    lm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    home = tmp_path / "models--nobody--lm-1"
    commit = "a" * 40
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(commit)
    shutil.copytree(lm, home / "snapshots" / commit)
    system = parse_system("hf:nobody/lm-1")
    assert system == Causal("nobody/lm-1")
    assert system.score([Q1]) == Causal(str(lm)).score([Q1])
    assert system.details() == Causal(str(lm)).details()


def test_a_folder_that_is_no_model_is_a_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no config\.json"):
        Causal(str(tmp_path)).score(QUESTIONS)
    with pytest.raises(InputError, match=r"has no config\.json"):
        Seq2Seq(str(tmp_path)).score(QUESTIONS)


# Sequence-to-sequence models


def sequence_losses(folder: Path, asked: Question, start: int, end: bool) -> list[tuple[float, int]]:
    """The loss with labels, of which the first ``start`` and, without ``end``, the last do not count."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    turns = f"{tokenizer.eos_token}".join(turn.text for turn in asked.context)
    found = []
    for candidate in asked.candidates:
        given = tokenizer(turns, return_tensors="pt")
        labels = tokenizer(text_target=candidate.text, return_tensors="pt")["input_ids"]
        counted = labels.clone()
        counted[:, :start] = -100
        if not end:
            counted[:, -1] = -100
        with torch.no_grad():
            logits = network(**given, labels=labels).logits  # the labels, shifted, are also what the decoder reads
        loss = torch.nn.functional.cross_entropy(logits[0], counted[0], ignore_index=-100)
        found.append((float(loss), int((counted != -100).sum())))
    return found


@pytest.mark.parametrize(("kind", "start"), [("bart", 1), ("t5", 0)])
@pytest.mark.parametrize("end", [True, False])
def test_a_sequence_models_score_is_minus_the_loss(sequence: dict[str, Path], kind: str, start: int, end: bool) -> None:
    expected = sequence_losses(sequence[kind], Q1, start, end)
    system = Seq2Seq(str(sequence[kind]), end=end)
    assert system.score([Q1])[0] == pytest.approx([-loss for loss, _ in expected], **CLOSE)
    total = Seq2Seq(str(sequence[kind]), "none", end).score([Q1])[0]
    assert total == pytest.approx([-loss * tokens for loss, tokens in expected], abs=1e-3)


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_a_sequence_models_batch_changes_no_number(sequence: dict[str, Path], kind: str) -> None:
    system = Seq2Seq(str(sequence[kind]))
    together = system.score(QUESTIONS)
    for one, scores in zip(QUESTIONS, together, strict=True):
        assert system.score([one])[0] == pytest.approx(scores, nan_ok=True, **CLOSE)


def test_prefix_and_separator_are_read_by_the_encoder(sequence: dict[str, Path]) -> None:
    plain = Seq2Seq(str(sequence["t5"])).score([Q1])
    assert Seq2Seq(str(sequence["t5"]), prefix="like the dog").score([Q1]) != plain
    assert Seq2Seq(str(sequence["t5"]), separator=" so ").score([Q1]) != plain
    marked = Seq2Seq(str(sequence["t5"]), separator="</s>").score([Q1])[0]
    assert marked == pytest.approx(plain[0], **CLOSE), "a mark in a separator is the mark"
    spec = "seq2seq(model='m', separator=' EOS ', prefix='Given a dialogue: ')"
    assert str(parse_system(spec)) == spec


def test_long_texts_and_marks_in_texts_do_no_harm(sequence: dict[str, Path]) -> None:
    odd = question("odd", ["the dog " * 200, "</s><pad>"], "the train " * 200, "</s>", "\ud800 yes", "no")
    for kind in ("bart", "t5"):
        scores = Seq2Seq(str(sequence[kind])).score([odd])[0]
        assert not any(map(math.isnan, scores))


def test_a_causal_folder_is_no_sequence_model(lm: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened as a sequence-to-sequence model"):
        Seq2Seq(str(lm)).score(QUESTIONS)
