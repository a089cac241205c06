"""SSREM, RSREM and RUBER as metrics: f and g mixed by hand, bounds and clipping, missing references, odd folders."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import tiny_models
from rejoinder_lab.training.speaker.trainer import ScorerRecipe, train_scorer
from tiny_talks import talks

import rejoinder
from rejoinder.errors import InputError, SpecError
from rejoinder.metrics._speaker_scoring import Mix, mix_scores
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_model_available
from rejoinder.models.speaker.model import CARD_FILE, TENSORS, ContextView, open_scorer
from rejoinder.models.speaker.vectors import open_turn_encoder
from rejoinder.models.weight_sets import weights_folder
from rejoinder.scoring import compute
from rejoinder.types import Item, Pair, Reference, Response, Turn

WORDS = "glove-6b-50d"
REFERENCE = f"sentence_mover(encoder='{WORDS}')"
KINDS = ("ssrem", "rsrem", "ruber")


@pytest.fixture
def folder(tmp_path: Path, own_cache: Path) -> Path:
    tiny_models.install(own_cache)
    recipe = ScorerRecipe("ssrem", epochs=2, batch=16, rate=0.02, views=(ContextView(1.0, 1), ContextView(0.7, 12)))
    train_scorer(talks(60), tmp_path / "m", recipe, WORDS, reference=REFERENCE, log=lambda line: None)
    return tmp_path / "m"


def pair(reply: str, *references: str, context: tuple[str, ...] = ("the cat sat", "dog ran fast")) -> Pair:
    item = Item("i", tuple(Turn(text) for text in context), tuple(Reference(text) for text in references))
    return Pair(item, Response("r", "i", "s", reply))


@pytest.mark.parametrize("mix", ["mean", "min", "max", "geometric"])
def test_f_and_g_are_scaled_and_mixed_by_hand(folder: Path, mix: str) -> None:
    given = pair("cat sat on the mat", "the dog sat", "train leaves soon")
    card = json.loads((folder / CARD_FILE).read_bytes())
    raw = open_scorer("ssrem", folder).raw_of_texts([["the cat sat", "dog ran fast"]], ["cat sat on the mat"])[0]
    low, high = card["bounds"]["f"]
    f = min(max((raw - low) / (high - low), 0), 1)
    low, high = card["bounds"][REFERENCE]
    g = min(max((rejoinder.parse(REFERENCE).score([given])[0] - low) / (high - low), 0), 1)
    by_hand = {"mean": (f + g) / 2, "min": min(f, g), "max": max(f, g), "geometric": math.sqrt(f * g)}
    metric = rejoinder.parse(f"ssrem(folder={str(folder)!r}, reference={REFERENCE!r}, mix={mix!r})")
    assert metric.score([given])[0] == pytest.approx(by_hand[mix])
    assert rejoinder.parse(f"ssrem_f(folder={str(folder)!r})").score([given])[0] == pytest.approx(f)


def test_f_by_hand_from_the_files_alone(folder: Path) -> None:
    scorer = open_scorer("ssrem", folder)
    opened = open_turn_encoder(WORDS)
    vectors, counts = opened.encode_turns(["dog ran fast", "the cat sat", "cat sat on the mat"])
    last, all_of_it = (
        vectors[0],
        (counts[0] * vectors[0] + 0.7 * counts[1] * vectors[1]) / (counts[0] + 0.7 * counts[1]),
    )
    parts = [view - scorer.weights["mean"] for view in (last, all_of_it, vectors[2])]
    first, second, reply = (part / np.linalg.norm(part) for part in parts)
    context = np.concatenate([first, second])
    by_hand = np.tanh(context @ scorer.weights["matrix"] @ reply)
    assert scorer.raw_of_texts([["the cat sat", "dog ran fast"]], ["cat sat on the mat"])[0] == pytest.approx(
        by_hand, abs=1e-6
    )


def test_without_a_reference_only_f_is_given(folder: Path) -> None:
    whole = rejoinder.parse(f"ssrem(folder={str(folder)!r}, reference={REFERENCE!r})")
    alone = rejoinder.parse(f"ssrem_f(folder={str(folder)!r})")
    bare = pair("the cat ran")
    assert compute.missing_part(whole, bare) == "references"
    assert compute.measure_pairs(whole, [bare]) == [None]
    assert compute.measure_pairs(alone, [bare])[0] is not None
    assert "ssrem_f" in (type(whole).__doc__ or "")


def test_what_says_nothing_known_has_no_score(folder: Path) -> None:
    alone = rejoinder.parse(f"ssrem_f(folder={str(folder)!r})")
    given = [
        pair("zzzzunknown"),
        pair("the cat", context=("zzzzunknown", " ")),
        pair("the cat", context=("the dog", " ")),
        pair("the cat", context=("the dog",)),
    ]
    found = alone.score(given)
    assert [math.isnan(value) for value in found] == [True, True, False, False]


def test_scores_are_clipped_to_the_bounds_of_training(folder: Path) -> None:
    scorer = open_scorer("ssrem", folder)
    low, high = scorer.card.bounds["f"]
    assert scorer.scale(np.array([low - 1, low, (low + high) / 2, high, high + 1]), "f") == pytest.approx(
        [0, 0, 0.5, 1, 1]
    )


def test_mixing_with_nothing_gives_nothing() -> None:
    for mix in get_args(Mix):
        found = mix_scores(np.array([0.25, np.nan, 0.25]), np.array([1.0, 1.0, np.nan]), mix)
        assert np.isnan(found).tolist() == [False, True, True]


# Folders


def test_a_reference_without_bounds_names_the_cure(folder: Path) -> None:
    metric = rejoinder.parse(f"ssrem(folder={str(folder)!r}, reference='chrf')")
    with pytest.raises(InputError, match=r"has no bounds for the reference 'chrf'.*--reference 'chrf'"):
        metric.score([pair("the cat", "the dog")])


def test_parameters_that_mean_nothing_are_refused() -> None:
    with pytest.raises(SpecError, match="mix must be one of 'mean', 'min', 'max', 'geometric'"):
        rejoinder.parse("ruber(mix='median')")
    with pytest.raises(SpecError, match="needs only references"):
        rejoinder.parse("ssrem(reference='length')")


def test_a_folder_of_another_kind_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="of the kind ssrem, not ruber"):
        open_scorer("ruber", folder)
    with pytest.raises(InputError, match=r"cannot be read.*rejoinder train"):
        open_scorer("ssrem", folder / "none")


def test_a_changed_file_is_refused(folder: Path, tmp_path: Path) -> None:
    raw = (folder / TENSORS).read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    (other / CARD_FILE).write_bytes((folder / CARD_FILE).read_bytes())
    (other / TENSORS).write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    with pytest.raises(InputError, match="does not match its card"):
        open_scorer("ssrem", other)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"format": 99}, "is not the card of a scorer in format 1"),
        ({"kind": "bleu"}, "is not the card of a scorer in format 1"),
        ({"views": 3}, "a key is missing or wrong"),
        ({"features": "0" * 64}, "was trained on different vectors"),
    ],
)
def test_an_odd_card_is_refused(folder: Path, tmp_path: Path, changed: dict[str, Any], match: str) -> None:
    other = tmp_path / "odd"
    other.mkdir()
    (other / TENSORS).write_bytes((folder / TENSORS).read_bytes())
    (other / CARD_FILE).write_text(json.dumps({**json.loads((folder / CARD_FILE).read_bytes()), **changed}))
    with pytest.raises(InputError, match=match):
        open_scorer("ssrem", other)
    (other / CARD_FILE).write_text("no json")
    with pytest.raises(InputError, match="is not JSON"):
        open_scorer("ssrem", other)


def test_the_signature_names_weights_bounds_and_reference(folder: Path, tmp_path: Path) -> None:
    metric = rejoinder.parse(f"ssrem(folder={str(folder)!r}, reference={REFERENCE!r})")
    first = metric.details()
    assert {"weights", "reference model"} <= first.keys()
    told = json.loads((folder / CARD_FILE).read_bytes())
    other = tmp_path / "other"
    other.mkdir()
    (other / TENSORS).write_bytes((folder / TENSORS).read_bytes())
    (other / CARD_FILE).write_text(json.dumps({**told, "bounds": {**told["bounds"], "f": [-1, 1]}}))
    moved = rejoinder.parse(f"ssrem(folder={str(other)!r}, reference={REFERENCE!r})")
    assert moved.details()["weights"] != first["weights"]


# What is shipped


@pytest.mark.skipif(not is_model_available(MODELS["aptness"]), reason="the weights of aptness are not in the package")
@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_scorers_are_small_and_know_a_fitting_reply(kind: Any) -> None:
    place = weights_folder(kind)
    assert sum(path.stat().st_size for path in place.iterdir()) < 1.5 * 2**20
    assert (place / "README.md").is_file()
    card = open_scorer(kind).card
    assert card.encoder == "aptness"
    assert card.about["licence"] == "CC-BY-SA-4.0"
    context = ["Shall we go to the cinema tonight?", "Yes, what is on?"]
    given = [
        pair("There is a new film with Tom Hanks.", context=tuple(context)),
        pair("My horse has been ill since the harvest.", context=tuple(context)),
    ]
    fits, does_not = rejoinder.parse(f"{kind}_f").score(given)
    assert fits > does_not


def test_ruber_g_pools_the_largest_and_the_smallest(own_cache: Path) -> None:
    tiny_models.install(own_cache)
    metric = rejoinder.parse(f"ruber_g(encoder='{WORDS}')")
    words = dict(zip("the cat dog sat".split(), _words("the cat dog sat".split()), strict=True))

    def pooled(text: str) -> Any:
        stack = np.array([words[word] for word in text.split()])
        return np.concatenate([stack.max(axis=0), stack.min(axis=0)])

    first, second = pooled("the cat sat"), pooled("the dog")
    by_hand = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert metric.score([pair("the cat sat", "the dog")])[0] == pytest.approx(by_hand, abs=1e-6)
    assert math.isnan(metric.score([pair("zzzzunknown", "the dog")])[0])


def _words(words: list[str]) -> Any:
    from rejoinder.models.word_vectors.model import load_word_vectors

    return load_word_vectors(WORDS).vectors(words)[0].astype(np.float64)
