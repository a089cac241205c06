"""Normalised log-probability: against transformers' own logits on a tiny chat model, and Appendix D.1 by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import tiny_language_model  # noqa: E402

import rejoinder  # noqa: E402
from rejoinder.errors import SpecError  # noqa: E402
from rejoinder.metric import Row  # noqa: E402
from rejoinder.metrics.norm_prob import NormProb  # noqa: E402
from rejoinder.models.catalog.manifest import ModelMissingError  # noqa: E402
from rejoinder.types import Item, Pair, Response, Turn  # noqa: E402

SAID = [
    (["the cat sat on the mat", "what do you think?"], "i think the cat is fast"),
    (["how are you?"], "fine, thanks!"),
    (["how are you?"], "no"),
    (["a dog ran", "so fast", "very fast"], "yes it was"),
]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_THREADS", "1")


def pair(context: Sequence[str], reply: str) -> Pair:
    return Pair(Item("i", tuple(Turn(text) for text in context)), Response("r", "i", "s", reply))


PAIRS = [pair(*one) for one in SAID]


def direct(folder: Path, context: Sequence[str], reply: str) -> list[float]:
    """The log-probability of each of a reply's tokens, by transformers alone: one pass over the whole text."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    roles = ["user" if back % 2 == 0 else "assistant" for back in range(len(context))][::-1]
    messages = [{"role": role, "content": text} for role, text in zip(roles, context, strict=True)]
    prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    after = tokenizer(reply, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logs = network(torch.tensor([before + after])).logits[0].log_softmax(dim=-1)
    return [float(logs[len(before) - 1 + i, token]) for i, token in enumerate(after)]


def by_hand(values: Sequence[float]) -> list[float]:
    """Appendix D.1; the percentile interpolates between the two nearest values."""
    ordered = sorted(values)
    place = 0.05 * (len(ordered) - 1)
    low = int(place)
    fifth = ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])
    return [-(max(fifth, value) - fifth) / fifth for value in values]


@pytest.mark.parametrize("per", ["token", "reply"])
def test_the_statistic_is_the_log_probability_that_transformers_gives(per: str, own_cache: Path) -> None:
    folder = tiny_language_model.install(own_cache)
    metric = NormProb(per=per)  # type: ignore[arg-type]
    tokens = [direct(folder, *one) for one in SAID]
    expected = [sum(values) / (len(values) if per == "token" else 1) for values in tokens]
    assert metric.statistic(PAIRS) == pytest.approx(expected, abs=1e-5)
    assert NormProb(str(folder), per).statistic(PAIRS) == metric.statistic(PAIRS)  # type: ignore[arg-type]
    assert metric.score(PAIRS) == pytest.approx(by_hand(expected), abs=1e-5)


def rows(values: Sequence[float | None]) -> list[Row]:
    return [Row(f"r{i}", "i", "s", value) for i, value in enumerate(values)]


def test_the_least_likely_twentieth_of_the_set_is_0_and_certainty_is_1() -> None:
    # 21 values from -10 to 0 by halves: the 5th percentile is the second lowest, -9.5.
    values = [-10 + i / 2 for i in range(21)]
    expected = [max(0.0, (value + 9.5) / 9.5) for value in values]
    assert NormProb().settle(rows(values)) == pytest.approx(expected, abs=1e-12)
    assert NormProb().settle(rows(values[::-1])) == pytest.approx(expected[::-1], abs=1e-12)
    # Two values: the percentile lies a twentieth of the way from -4 to -2, at -3.9.
    assert NormProb().settle(rows([-4, -2])) == pytest.approx([0.0, 1.9 / 3.9], abs=1e-12)
    assert NormProb().settle(rows([-3.0])) == [0.0]
    assert NormProb().settle(rows([])) == []


def test_what_cannot_be_said_is_left_out_of_the_percentile() -> None:
    found = NormProb().settle(rows([None, -4, None, -2]))
    assert math.isnan(found[0])
    assert math.isnan(found[2])
    assert [found[1], found[3]] == pytest.approx([0.0, 1.9 / 3.9], abs=1e-12)
    assert all(map(math.isnan, NormProb().settle(rows([None, None]))))
    assert all(map(math.isnan, NormProb().settle(rows([0.0, 0.0]))))  # nothing to set them against


def test_a_blank_context_or_reply_has_no_statistic(own_cache: Path) -> None:
    tiny_language_model.install(own_cache)
    pairs = [
        pair([], "yes"),
        pair(["", " "], "yes"),
        pair(["yes"], " \n"),
        pair(["", "yes"], "no"),
        pair(["yes"], "no"),
    ]
    found = NormProb().statistic(pairs)
    assert found[:3] == [None] * 3
    assert found[3] == found[4] is not None  # a turn that says nothing is no turn


def test_half_a_character_is_read_as_a_question_mark(own_cache: Path) -> None:
    tiny_language_model.install(own_cache)
    broken, whole = pair(["so \ud83d fast"], "yes \ud83d"), pair(["so ? fast"], "yes ?")
    assert NormProb().statistic([broken]) == NormProb().statistic([whole])


def test_a_long_context_loses_its_beginning_and_is_counted(own_cache: Path) -> None:
    tiny_language_model.install(own_cache, window=64)
    long = pair(["the cat sat on the mat " * 30], "yes it was")
    assert NormProb().cut([long, *PAIRS]) == [True, False, False, False, False]
    assert NormProb().statistic([long]) != [None]


def test_the_signature_names_the_weights_and_how_turns_are_joined(own_cache: Path) -> None:
    tiny_language_model.install(own_cache)
    assert NormProb().details().keys() == {"weights", "join", "window"}
    assert NormProb().details()["join"] == "chat"


def test_an_absent_model_names_the_command() -> None:
    with pytest.raises(ModelMissingError, match=r"get it with: rejoinder models get smollm2-135m$"):
        NormProb().details()
    with pytest.raises(ModelMissingError, match=r"get it with: rejoinder models get gpt2-medium$"):
        NormProb("gpt2-medium").score(PAIRS)
    with pytest.raises(SpecError, match=r"per must be one of 'token', 'reply', not 'word'"):
        rejoinder.parse("norm_prob(per='word')")
