"""Long replies in windows: what is read, how the windows are combined, and that nothing else changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_aptness
import tiny_models

from rejoinder.metrics.aptness import Aptness
from rejoinder.models import aptness_card
from rejoinder.models.aptness.model import AptnessModel
from rejoinder.models.aptness.windows import split_into_windows, split_text
from rejoinder.models.tokenization import read_tokenizer
from rejoinder.types import Item, Pair, Response, Turn

WORDS = [word for word in tiny_models.WORDS if word.isalpha()]
LIMITS = {"utterances": 6, "utterance_tokens": 34, "context_tokens": 40, "reply_tokens": 32}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Networks that read 32 tokens of a reply and no more."""
    folder = tiny_aptness.write(tmp_path_factory.mktemp("aptness") / "plain")
    return change_limits(folder, LIMITS)


@pytest.fixture(scope="module")
def folder(plain: Path) -> Path:
    """The same networks with windows."""
    copied = plain.with_name("windows")
    shutil.copytree(plain, copied)
    return change_limits(copied, {**LIMITS, "windows": True})


def change_limits(folder: Path, limits: dict[str, Any]) -> Path:
    card = json.loads((folder / "aptness.json").read_text())
    (folder / "aptness.json").write_text(json.dumps({**card, "limits": limits}))
    return folder


def say(count: int, seed: int = 0) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, count))


def pairs_of(contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[Pair]:
    return [
        Pair(Item(str(i), tuple(map(Turn, context))), Response(str(i), str(i), "s", reply))
        for i, (context, reply) in enumerate(zip(contexts, replies, strict=True))
    ]


@pytest.mark.parametrize("tokens", [0, 1, 31, 32, 33, 40, 48, 49, 57, 100, 1_000])
def test_windows_have_the_beginning_and_cover_every_token(tokens: int) -> None:
    windows = split_into_windows(tokens, 32)
    ids = list(range(tokens))
    assert windows[0].read(ids) == ids[:32]
    assert {i for window in windows for i in window.read(ids)} == set(ids)
    if tokens <= 32:
        assert len(windows) == 1
        return
    assert all(window.read(ids)[:16] == ids[:16] and len(window.read(ids)) == 32 for window in windows)
    assert len(windows) == -(-(tokens - 16) // 16)  # no more than needed


def test_a_text_is_split_between_words(folder: Path) -> None:
    tokenizer = read_tokenizer(folder / "tokenizer.json", 34)
    text = "  ".join(f"{word}, {word}unknown" if i % 3 else f"\u00e9t\u00e9{word}" for i, word in enumerate(WORDS * 3))
    tokens = tokenizer.pieces([text])[0]
    parts = tokenizer.pieces(split_text(tokenizer, text, 32))
    assert len(parts) > 3
    head = next(n for n in range(16, 0, -1) if len({tuple(part[:n]) for part in parts}) == 1)
    assert tokens[: len(parts[0])] == parts[0]
    assert all(len(part) <= 32 for part in parts)
    assert [*parts[0][:head], *(i for part in parts for i in part[head:])] == tokens


def test_a_text_that_fits_is_not_split(folder: Path) -> None:
    tokenizer = read_tokenizer(folder / "tokenizer.json", 34)
    for text in ("", "yes", say(32), "é" * 20, "x" * 500):
        assert split_text(tokenizer, text, 32) == [text]


def test_the_score_of_a_long_reply_is_the_mean_over_its_windows(folder: Path) -> None:
    model = AptnessModel(folder)
    context, reply = ["how do you do", "the cat sat"], say(90)
    words = reply.split()
    assert len(model._tokens([context], [reply])[1][0]) == 90  # each word is a token
    parts = [" ".join([*words[:16], *words[start:end]]) for _, start, end in split_into_windows(90, 32)]
    alone = [context] * len(parts)
    assert model.cross_scores([context], [reply])[0] == pytest.approx(model.cross_scores(alone, parts).mean(), abs=1e-6)
    pieces = [" ".join([*words[:16], *words[start : start + 16]]) for start in range(16, 90, 16)]  # in order, for bi
    expected = model.bi_scores([context] * len(pieces), pieces).mean()
    assert model.bi_scores([context], [reply])[0] == pytest.approx(expected, abs=1e-6)
    features = model.cross_features(alone, parts)
    assert model.cross_features([context], [reply])[0] == pytest.approx(features.mean(axis=0), abs=1e-6)


def test_the_end_of_a_long_reply_counts_only_with_windows(folder: Path, plain: Path) -> None:
    replies = [f"{say(60)} {say(40, seed)}" for seed in (1, 2)]
    for where, is_read in ((folder, True), (plain, False)):
        model = AptnessModel(where)
        for score in (model.bi_scores, model.cross_scores):
            first, second = score([["what train"]] * 2, replies)
            assert (abs(first - second) > 1e-6) == is_read


def test_short_replies_have_the_scores_that_they_had(folder: Path, plain: Path) -> None:
    replies = [say(n, n) for n in (1, 5, 20, 32)]
    contexts = [[say(60, 9), say(7, n)] for n in range(4)]
    for model in ("both", "bi", "cross"):
        scores = [Aptness(model, str(f)).score(pairs_of(contexts, replies)) for f in (folder, plain)]  # type: ignore[arg-type]
        assert scores[0] == scores[1]


def test_only_a_context_that_is_too_long_is_counted_as_cut(folder: Path, plain: Path) -> None:
    pairs = pairs_of([["yes"], [say(60)], ["yes"]], [say(90), "no", "no"])
    for model in ("both", "bi", "cross"):
        assert Aptness(model, str(plain)).cut(pairs) == [True, True, False]  # type: ignore[arg-type]
        assert Aptness(model, str(folder)).cut(pairs) == [False, True, False]  # type: ignore[arg-type]


def test_a_card_without_windows_has_the_digest_that_it_had(plain: Path, folder: Path) -> None:
    card = json.loads((plain / "aptness.json").read_text())
    assert "windows" not in card["limits"]
    digest = aptness_card.read_aptness_card(plain).digest()
    change_limits(plain, {**LIMITS, "windows": False})
    try:
        assert aptness_card.read_aptness_card(plain).digest() == digest
    finally:
        change_limits(plain, LIMITS)
    assert aptness_card.read_aptness_card(folder).digest() != digest


def test_batches_order_and_neighbours_change_no_score(folder: Path) -> None:
    random = np.random.default_rng(4)
    contexts = [[say(int(n), i) for i, n in enumerate(random.integers(1, 60, 1 + k % 5))] for k in range(70)]
    replies = [say(int(n), 1_000 + k) for k, n in enumerate(random.integers(1, 120, 70))]
    pairs = list(zip(contexts, replies, strict=True))

    def scores(order: Sequence[int], size: int) -> Any:
        model = AptnessModel(folder)  # nothing of what another batch computed
        values = np.empty((len(pairs), 4))
        for start in range(0, len(order), size):
            chosen = list(order[start : start + size])
            given = [pairs[i][0] for i in chosen], [pairs[i][1] for i in chosen]
            columns = [model.cross_scores(*given), model.bi_scores(*given)]
            columns += [model.probabilities(*given, name) for name in ("both", "cross")]
            values[chosen] = np.stack(columns, axis=1)
        return values

    alone = scores(range(70), 1)
    for size in (7, 64, 70):
        for order in (range(70), random.permutation(70)):
            assert np.abs(scores(order, size) - alone).max() < 1e-5
    longest = [["yes"] * 30], [say(119, 5)]  # beside it, every other row is mostly padding
    for context, reply, expected in zip(contexts[:8], replies[:8], alone[:, 0], strict=False):
        found = AptnessModel(folder).cross_scores([context, *longest[0] * 3], [reply, *longest[1] * 3])
        assert abs(found[0] - expected) < 1e-5
