"""FED: follow-up likelihoods against transformers' own loss on a tiny chat model, and the file of follow-ups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import tiny_language_model  # noqa: E402
from rejoinder_lab.metrics import fed  # noqa: E402
from rejoinder_lab.metrics.fed import Aspect, Fed  # noqa: E402

import rejoinder  # noqa: E402
from rejoinder.errors import SpecError  # noqa: E402
from rejoinder.models.catalog.manifest import ModelMissingError  # noqa: E402
from rejoinder.models.language_model import likelihood  # noqa: E402
from rejoinder.types import Item, Pair, Response, Turn  # noqa: E402

SAID = [
    (["the cat sat on the mat", "what do you think?"], "i think the cat is fast"),
    (["how are you?"], "fine, thanks!"),
    (["how are you?"], "no"),
]
FOLLOWUPS = fed._read_followups().aspects


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_THREADS", "1")


def pair(context: Sequence[str], reply: str, speakers: Sequence[str | None] = ()) -> Pair:
    named = [*speakers, *[None] * len(context)]
    turns = tuple(Turn(text, speaker) for text, speaker in zip(context, named, strict=False))
    return Pair(Item("i", turns), Response("r", "i", "s", reply))


PAIRS = [pair(*one) for one in SAID]


class Direct:
    """transformers alone: the whole conversation and a follow-up in one pass, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def losses(self, context: Sequence[str], reply: str, followup: str) -> tuple[float, float]:
        """-log P(follow-up | conversation), and the library's own loss per token over everything."""
        texts = [*context, reply]
        roles = ["user" if back % 2 == 0 else "assistant" for back in range(len(texts))][::-1]
        messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
        prompt = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before = self.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        after = self.tokenizer(followup, add_special_tokens=False)["input_ids"]
        ids = torch.tensor([before + after])
        own = ids.clone()
        own[0, : len(before)] = -100  # not counted
        with torch.no_grad():
            return (
                float(self.network(ids, labels=own).loss) * len(after),
                float(self.network(ids, labels=ids).loss),
            )

    def mean(self, one: tuple[Sequence[str], str], followups: Sequence[str], over: str) -> float:
        found = [self.losses(*one, text)[over == "conversation"] for text in followups]
        return sum(found) / len(found) if found else 0.0


@pytest.mark.parametrize("over", ["followup", "conversation"])
@pytest.mark.parametrize("aspect", ["relevant", "correct"])
def test_it_is_the_mean_loss_of_the_negative_followups(aspect: Any, over: Any, own_cache: Path) -> None:
    direct = Direct(tiny_language_model.install(own_cache))
    expected = [direct.mean(one, FOLLOWUPS[aspect]["negative"], over) for one in SAID]
    assert Fed(aspect, over=over).score(PAIRS) == pytest.approx(expected, abs=1e-4)
    assert Fed(aspect, over=over, followups="both").score(PAIRS) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("over", ["followup", "conversation"])
def test_with_both_kinds_the_loss_of_the_positive_ones_is_taken_off(over: Any, own_cache: Path) -> None:
    direct = Direct(tiny_language_model.install(own_cache))
    texts = FOLLOWUPS["understandable"]
    expected = [direct.mean(one, texts["negative"], over) - direct.mean(one, texts["positive"], over) for one in SAID]
    metric = Fed("understandable", followups="both", over=over)
    assert metric.score(PAIRS) == pytest.approx(expected, abs=1e-4)
    assert metric.range == (-math.inf, math.inf)
    assert Fed().range == (0.0, math.inf)


def test_a_conversation_is_read_once_for_all_followups(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_language_model.install(own_cache)
    read: list[int] = []
    one = likelihood.read_token_rows
    monkeypatch.setattr(
        likelihood, "read_token_rows", lambda network, rows: (read.append(len(rows)), one(network, rows))[1]
    )
    Fed().score([*PAIRS, *PAIRS])
    assert sum(read) == len(PAIRS)


def test_several_aspects_read_a_conversation_once_and_score_as_alone(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_language_model.install(own_cache)
    metrics = [Fed(), Fed("correct"), Fed("understandable", followups="both"), Fed("correct", over="conversation")]
    given = [*PAIRS, pair([" "], "yes")]
    alone = [metric.score(given) for metric in metrics]
    read: list[int] = []
    one = likelihood.read_token_rows
    monkeypatch.setattr(
        likelihood, "read_token_rows", lambda network, rows: (read.append(len(rows)), one(network, rows))[1]
    )
    together = fed.score_together(metrics[:3], given)
    assert sum(read) == len(PAIRS)
    for mine, theirs in zip([*together, *fed.score_together(metrics[3:], given)], alone, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-4, nan_ok=True)
        assert math.isnan(mine[-1])


def test_the_followup_is_said_by_the_party_that_the_reply_was_made_to(own_cache: Path) -> None:
    given = pair(["be short", "hi", "hello", "how are you?"], "fine", ["system", "user", "assistant", "user"])
    roles = [turn.speaker for turn in fed.conversation_turns(given)]
    assert roles == ["system", "assistant", "user", "assistant", "user"]  # so that the model speaks for the user
    tiny_language_model.install(own_cache)
    named = pair(["hi", "hello", "how are you?"], "fine", ["Ann", "Bob", "Ann"])
    roles_given = pair(["hi", "hello", "how are you?"], "fine", ["user", "assistant", "user"])
    assert Fed().score([named]) == pytest.approx(Fed().score([roles_given]), abs=1e-5)


def test_the_file_has_followups_for_every_aspect() -> None:
    assert set(FOLLOWUPS) == set(get_args(Aspect))
    for aspect, kinds in FOLLOWUPS.items():
        assert kinds.keys() == {"positive", "negative"}
        assert kinds["negative"]
        assert bool(kinds["positive"]) == (aspect not in ("relevant", "correct"))
    assert "Why are you changing the topic?" in FOLLOWUPS["relevant"]["negative"]  # printed in the IDK paper


def test_blank_texts_have_no_score_and_long_ones_are_counted(own_cache: Path) -> None:
    tiny_language_model.install(own_cache, window=96)
    long = pair(["the cat sat on the mat " * 30], "yes it was")
    found = Fed().score([pair([], "yes"), pair([" "], "yes"), pair(["yes"], " "), long])
    assert [math.isnan(value) for value in found] == [True, True, True, False]
    assert Fed().cut([long, PAIRS[1]]) == [True, False]
    assert Fed(over="conversation").score([long])[0] > 0


def test_the_signature_names_the_weights_and_the_followups(own_cache: Path) -> None:
    tiny_language_model.install(own_cache)
    assert Fed().details().keys() == {"weights", "join", "window", "utterances"}


def test_an_absent_model_names_the_command() -> None:
    with pytest.raises(ModelMissingError, match=r"get it with: rejoinder models get smollm2-135m$"):
        Fed().details()
    with pytest.raises(ModelMissingError, match=r"get it with: rejoinder models get DialoGPT-large$"):
        Fed(model="DialoGPT-large").score(PAIRS)
    with pytest.raises(SpecError, match=r"aspect must be one of 'relevant', 'correct', .*, not 'funny'"):
        rejoinder.parse("fed(aspect='funny')")
