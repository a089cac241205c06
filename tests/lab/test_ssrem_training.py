"""Training SSREM, RSREM and RUBER: what they learn, the same bytes twice and after a kill, splits, and odd logs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from click.testing import CliRunner
from rejoinder_lab.cli import train as cli
from rejoinder_lab.training.speaker.checkpoint import CHECKPOINT
from rejoinder_lab.training.speaker.evaluation import evaluate_scores, score_sets
from rejoinder_lab.training.speaker.places import select_complete
from rejoinder_lab.training.speaker.trainer import (
    ScorerRecipe,
    assign_split,
    make_scorer_recipe,
    paper_recipe,
    prepare_places,
    read_scorer_corpus,
    train_scorer,
)
from rejoinder_lab.training.turn_vectors import open_turn_vectors
from scipy.special import log_softmax
from tiny_talks import talks

from rejoinder.data.writer import write
from rejoinder.errors import InputError, SpecError
from rejoinder.metric import parse
from rejoinder.models.speaker.model import CARD_FILE, TENSORS, ContextView, open_scorer
from rejoinder.models.speaker.network import build_scorer_network
from rejoinder.models.speaker.vectors import open_turn_encoder
from rejoinder.models.tensors import read_tensors
from rejoinder.types import Dialogue, Item, Pair, Response, Turn

WORDS = "glove-6b-50d"
REFERENCE = f"sentence_mover(encoder='{WORDS}')"


@pytest.fixture(autouse=True)
def models(own_cache: Path) -> None:
    tiny_models.install(own_cache)


def quick(kind: Any = "ssrem", **chosen: Any) -> ScorerRecipe:
    return ScorerRecipe(kind, **{"epochs": 3, "batch": 16, "rate": 0.02, "pull": 0.0, **chosen})


def train(target: Path, recipe: ScorerRecipe, dialogues: Sequence[Dialogue] | None = None, **given: Any) -> Any:
    given = {"encoder": WORDS, "reference": REFERENCE, "log": lambda line: None, **given}
    return train_scorer(talks() if dialogues is None else dialogues, target, recipe, **given)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# Learning


@pytest.mark.parametrize("kind", ["ssrem", "rsrem", "ruber"])
def test_the_true_reply_comes_out_above_random_ones(tmp_path: Path, kind: Any) -> None:
    card = train(tmp_path / "m", quick(kind, epochs=5))
    told = card.about["measured"]["talks"]
    assert told["auc"]["random"] > 0.7
    assert set(files(tmp_path / "m")) == {CARD_FILE, TENSORS}
    assert (tmp_path / "m" / TENSORS).stat().st_size < 1.5 * 2**20
    history = [epoch["valid"] for epoch in card.about["history"]]
    assert min(history) == history[card.about["best_epoch"] - 1]


def test_what_is_measured_is_what_the_folder_scores(tmp_path: Path) -> None:
    card = train(tmp_path / "m", quick())
    scorer = open_scorer("ssrem", tmp_path / "m")
    corpus = read_scorer_corpus(talks())
    vectors = open_turn_vectors(corpus, open_turn_encoder(WORDS), lambda line: None)
    told = score_sets(scorer, vectors, "test")
    turn = int(told.turns[7])
    start = int(corpus.starts[corpus.dialogue[turn]])
    context = [corpus.text(t) for t in range(start, turn)]
    assert scorer.raw_of_texts([context], [corpus.text(turn)])[0] == pytest.approx(told.scores[7, 0], abs=1e-6)
    assert evaluate_scores(told).first == pytest.approx(card.about["measured"]["talks"]["first_of_five"], abs=1e-4)
    low, high = card.bounds["f"]
    assert low < high
    assert scorer.f([context], [corpus.text(turn)])[0] == pytest.approx(
        (told.scores[7, 0] - low) / (high - low), abs=1e-6
    )


def test_a_ranking_loss_and_copies_are_options_of_ssrem(tmp_path: Path) -> None:
    plain = train(tmp_path / "a", quick(epochs=6))
    ranked = train(tmp_path / "b", quick(epochs=6, loss="ranking"))
    against = train(tmp_path / "c", quick(epochs=6, copies=True))
    assert ranked.about["recipe"]["loss"] == "ranking"
    assert ranked.about["measured"]["talks"]["auc"]["random"] > 0.65
    assert len({plain.weights, ranked.weights, against.weights}) == 3
    context = ["the cat sat", "cat dog ran fast"]

    def ahead(folder: str) -> float:
        true, copy = open_scorer("ssrem", tmp_path / folder).raw_of_texts([context] * 2, ["fast dog sat", context[-1]])
        return float(true - copy)

    assert ahead("c") > ahead("a")


def test_a_recipe_refuses_what_does_not_go_together() -> None:
    with pytest.raises(InputError, match="rsrem is trained with the loss classification, not 'ranking'"):
        ScorerRecipe("rsrem", loss="ranking")
    with pytest.raises(InputError, match="one of ssrem, rsrem, ruber"):
        ScorerRecipe("bleu")  # type: ignore[arg-type]


def test_it_stops_when_the_held_out_loss_no_longer_falls(tmp_path: Path) -> None:
    card = train(tmp_path / "m", quick(epochs=40, rate=0.3, patience=1))
    assert len(card.about["history"]) < 40
    assert card.about["best_epoch"] == len(card.about["history"]) - 1


def test_an_encoder_can_be_v(tmp_path: Path) -> None:
    card = train(tmp_path / "m", quick(), encoder="minilm")
    assert card.encoder == "minilm"
    assert card.about["licence"] == "not known"  # the corpus is nobody's that we know
    assert open_scorer("ssrem", tmp_path / "m").weights["matrix"].shape == (48, 16)


def test_published_corpora_decide_the_licence(tmp_path: Path) -> None:
    renamed = [replace(dialogue, corpus="irc_ubuntu") for dialogue in talks()]
    assert train(tmp_path / "m", quick(), renamed).about["licence"] == "CC-BY-SA-4.0"
    mixed = [replace(dialogue, corpus="friends") for dialogue in talks()]
    assert train(tmp_path / "n", quick(), mixed).about["licence"] == "CC-BY-NC-SA-4.0"


# The paper's recipe


def paper(kind: Any = "ssrem", **chosen: Any) -> ScorerRecipe:
    return paper_recipe(kind, **{"epochs": 3, "batch": 64, "rate": 0.02, **chosen})


def test_the_paper_s_settings_are_the_same_for_all_three() -> None:
    recipes = [paper_recipe(kind).plain() for kind in ("ssrem", "rsrem", "ruber")]
    for one in recipes:
        assert (one["rate"], one["batch"], one["clip"], one["pull"], one["temperature"]) == (1e-4, 5000, 1.0, 0.0, 1.0)
        assert one["views"] == [[1.0, 40]]
        assert one["paper"] is True
        assert {**one, "kind": "", "loss": ""} == {**recipes[0], "kind": "", "loss": ""}
    assert make_scorer_recipe("rsrem", WORDS, paper=True) == paper_recipe("rsrem")


def test_the_paper_s_f_by_hand_from_the_vectors_of_words(tmp_path: Path) -> None:
    card = train(tmp_path / "m", paper())
    assert card.about["recipe"]["paper"] is True
    weights = read_tensors(tmp_path / "m" / TENSORS)
    assert set(weights) == {"matrix"}
    words = open_turn_encoder(WORDS)
    context, reply = ["the cat sat", "a dog"], "dog ran fast"
    said = words.encode_turns(["the", "cat", "sat", "a", "dog", "ran", "fast"]).vectors.astype(np.float64)
    by_hand = np.tanh(said[:5].mean(axis=0) @ weights["matrix"].astype(np.float64) @ said[4:].mean(axis=0))
    assert open_scorer("ssrem", tmp_path / "m").raw_of_texts([context], [reply])[0] == pytest.approx(by_hand, abs=1e-6)
    item = Item("i", tuple(Turn(text) for text in context))
    (score,) = parse(f"ssrem_f(folder={str(tmp_path / 'm')!r})").score([Pair(item, Response("r", "i", "s", reply))])
    low, high = card.bounds["f"]
    assert score == pytest.approx(np.clip((by_hand - low) / (high - low), 0, 1), abs=1e-4)


def test_the_paper_s_loss_is_that_of_a_softmax_over_raw_products(tmp_path: Path) -> None:
    vectors = open_turn_vectors(read_scorer_corpus(talks()), open_turn_encoder(WORDS), lambda line: None)
    recipe = paper()
    places = prepare_places(recipe, vectors, tmp_path, lambda line: None)
    corpus, network = places.corpus, build_scorer_network("ssrem", raw=True)
    assert set(places.train.tolist()) == set(select_complete(corpus, places.train).tolist())
    matrix = np.random.default_rng(0).normal(size=(vectors.matrix.shape[1],) * 2).astype(np.float32)
    some = np.arange(5)
    negatives = places.negatives(some, epoch=0)
    assert (negatives == places.negatives(some, epoch=7)).all()
    rows = places.rows(some, negatives)
    output = network.scores({"matrix": matrix}, rows.contexts, rows.replies)
    by_hand = []
    for place, wrong in zip(places.train[some].tolist(), negatives.tolist(), strict=True):
        first = int(corpus.starts[corpus.dialogue[place]])
        context = vectors.contexts(np.array([place]), 1.0, 40).vectors[0]
        words = open_turn_encoder(WORDS).encode_turns([" ".join(corpus.text(t) for t in range(first, place))])
        assert context == pytest.approx(words.vectors[0], abs=1e-5)
        candidates = open_turn_encoder(WORDS).encode_turns([corpus.text(t) for t in (place, *wrong)]).vectors
        by_hand.append(-log_softmax(candidates @ (context @ matrix))[0])
    result = places.loss(output.scores, rows)
    assert result.loss == pytest.approx(np.mean(by_hand), rel=1e-4)
    # The slopes are those of the sum, not of the mean.
    chances = np.exp(log_softmax(output.scores, axis=1))
    assert result.slopes == pytest.approx(chances - np.eye(5)[0], abs=1e-5)


@pytest.mark.parametrize("kind", ["ssrem", "rsrem", "ruber"])
def test_the_paper_s_recipe_learns_and_trains_all_kinds_on_the_same_places(tmp_path: Path, kind: Any) -> None:
    told: list[str] = []
    card = train(tmp_path / "m", paper(kind, epochs=8), log=told.append)
    assert card.about["history"][-1]["valid"] < card.about["history"][0]["valid"]
    assert any("have a reply from each of the four sets" in line for line in told)
    assert card.about["places"]["train"] == train(tmp_path / "n", paper()).about["places"]["train"]


def test_the_paper_s_recipe_has_a_ranking_loss_too(tmp_path: Path) -> None:
    ranked = train(tmp_path / "m", paper(loss="ranking"))
    assert ranked.weights != train(tmp_path / "n", paper()).weights


def test_labels_that_do_not_last_leave_the_paper_s_recipe_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has a reply from each speaker set; train without paper"):
        train(tmp_path / "m", paper(), talks(names=("user", "assistant")))


# The same bytes


@pytest.mark.parametrize("kind", ["ssrem", "ruber"])
def test_one_seed_gives_the_same_files_twice_and_another_gives_others(tmp_path: Path, kind: Any) -> None:
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(tmp_path / folder, quick(kind, seed=seed))
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a")[TENSORS] != files(tmp_path / "c")[TENSORS]


def test_a_killed_training_goes_on_to_the_same_files(tmp_path: Path, own_cache: Path) -> None:
    script = f"""
        import os, signal, sys
        sys.path[:0] = {[str(Path(__file__).parents[n]) for n in range(3)]!r}
        from pathlib import Path
        from test_ssrem_training import quick, train
        from rejoinder_lab.training.speaker import steps, trainer
        steps._CHECKPOINT_SECONDS = 0.0
        kept = []
        save = trainer.save_scorer_state
        def kill(path, state, of):
            save(path, state, of)
            kept.append(state.begin)
            if state.epoch == 1 and state.begin == 160:
                os.kill(os.getpid(), signal.SIGKILL)
        trainer.save_scorer_state = kill
        train(Path(sys.argv[1]), quick())
    """
    target = tmp_path / "killed"
    environment = {**os.environ, "REJOINDER_CACHE": str(own_cache)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(target)], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (target / CHECKPOINT).is_file()
    told: list[str] = []
    train(target, quick(), resume=True, log=told.append)
    assert any("continuing in epoch 2, after 160 of" in line for line in told)
    train(tmp_path / "whole", quick())
    assert files(target) == files(tmp_path / "whole")


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rejoinder_lab.training.speaker.trainer.compute_scorer_bounds", stop)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "m", quick())
    with pytest.raises(InputError, match="belongs to another training"):
        train(tmp_path / "m", quick(rate=0.01), resume=True)
    whole = (tmp_path / "m" / CHECKPOINT).read_bytes()
    for damaged in (b"no checkpoint", whole[: len(whole) // 2]):
        (tmp_path / "m" / CHECKPOINT).write_bytes(damaged)
        with pytest.raises(InputError, match="is not a checkpoint"):
            train(tmp_path / "m", quick(), resume=True)
    # What another training left behind is not taken for its own.
    train(tmp_path / "m", quick("rsrem"))
    train(tmp_path / "n", quick("rsrem"))
    assert files(tmp_path / "m") == files(tmp_path / "n")


# Splits


def test_dialogues_without_a_split_are_split_by_their_id(tmp_path: Path) -> None:
    names = [assign_split(f"d{i}", 3) for i in range(5_000)]
    assert names == [assign_split(f"d{i}", 3) for i in range(5_000)]
    assert names != [assign_split(f"d{i}", 4) for i in range(5_000)]
    shares = {split: names.count(split) / 5_000 for split in ("train", "valid", "test")}
    assert shares == pytest.approx({"train": 0.8, "valid": 0.1, "test": 0.1}, abs=0.02)
    card = train(tmp_path / "m", quick(), talks(split=False))
    assert card.about["places"]["train"] > 6 * card.about["places"]["valid"] > 0


def test_too_few_dialogues_to_hold_some_out_are_an_error(tmp_path: Path) -> None:
    only = [replace(dialogue, split="train") for dialogue in talks(10)]
    with pytest.raises(InputError, match="no dialogue of the split 'valid'"):
        train(tmp_path / "m", quick(), only)
    with pytest.raises(InputError, match="no dialogues to make a corpus from"):
        train(tmp_path / "n", quick(), [])
    with pytest.raises(InputError, match="no dialogues of the corpora elsewhere"):
        train(tmp_path / "o", quick(), corpora=["elsewhere"])


# Odd logs


def test_logs_without_speakers_are_for_rsrem_and_ruber_only(tmp_path: Path) -> None:
    bare = [replace(d, turns=tuple(Turn(t.text) for t in d.turns)) for d in talks()]
    with pytest.raises(InputError, match="name the speakers of the turns, or train rsrem"):
        train(tmp_path / "m", quick(), bare)
    assert train(tmp_path / "r", quick("rsrem", epochs=5), bare).about["measured"]["talks"]["auc"]["random"] > 0.7
    train(tmp_path / "u", quick("ruber"), bare)


@pytest.mark.parametrize("kind", ["ssrem", "rsrem", "ruber"])
def test_logs_of_one_speaker_are_refused(tmp_path: Path, kind: Any) -> None:
    with pytest.raises(InputError, match="by one speaker"):
        train(tmp_path / "m", quick(kind), talks(names=("Ann",)))


def test_labels_that_do_not_last_leave_the_same_conversation(tmp_path: Path) -> None:
    told: list[str] = []
    roles = talks(names=("user", "assistant"))
    train(tmp_path / "m", quick(), roles, log=told.append)
    assert any("same partner 0%, same speaker 0%, random 100%" in line for line in told)
    (warning,) = [part for line in told for part in line.splitlines() if part.startswith("warning: ")]
    assert "places have a negative of same partner (0) and same speaker (0)" in warning
    assert "or train rsrem" in warning


def test_speakers_who_last_are_no_reason_to_warn(tmp_path: Path) -> None:
    told: list[str] = []
    train(tmp_path / "m", quick(), log=told.append)
    assert "warning" not in "".join(told)


def test_empty_turns_are_passed_over(tmp_path: Path) -> None:
    holes = [replace(d, turns=(Turn("", "Ann"), *d.turns[:2], Turn("  ", "Bob"), *d.turns[2:])) for d in talks()]
    holes.append(Dialogue("none", (), "talks", "train"))
    holes.append(Dialogue("blank", (Turn("", "Ann"), Turn(" ", "Bob")), "talks", "train"))
    card = train(tmp_path / "m", quick(), holes)
    assert card.about["places"] == train(tmp_path / "n", quick()).about["places"]


def test_a_script_without_known_words_says_so_and_an_encoder_reads_it(tmp_path: Path) -> None:
    table = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопярстувщьъз")
    cyrillic = [replace(d, turns=tuple(Turn(t.text.translate(table), t.speaker) for t in d.turns)) for d in talks(60)]
    with pytest.raises(InputError, match="has two turns with known words"):
        train(tmp_path / "m", quick(), cyrillic)
    from rejoinder.models.catalog.entries import MODELS
    from rejoinder.models.catalog.manifest import is_model_available

    if is_model_available(MODELS["aptness"]):
        card = train(tmp_path / "n", quick(), cyrillic, encoder="aptness", reference="chrf")
        assert np.isfinite(card.about["measured"]["talks"]["auc"]["random"])


def test_a_hundred_thousand_speakers_who_speak_once_do_no_harm(tmp_path: Path) -> None:
    def crowd() -> Iterator[Dialogue]:
        yield from talks(60)
        for number in range(25_000):  # enough: work that grew by the square of it would take hours
            four = tuple(Turn("cat sat", f"x{number}{letter}") for letter in "abcd")
            yield Dialogue(f"c{number}", four, "crowd", "other")

    card = train(tmp_path / "m", quick(), crowd())  # type: ignore[arg-type]
    assert card.about["places"] == train(tmp_path / "n", quick(), talks(60)).about["places"]


# The command


def test_the_command_takes_files_and_corpora(tmp_path: Path) -> None:
    write(talks(), tmp_path / "talks.jsonl")
    shared = ["--encoder", WORDS, "--reference", REFERENCE, "--epochs", "2"]
    for number, given in enumerate(
        (
            [str(tmp_path / "talks.jsonl")],
            ["--corpus", str(tmp_path / "talks.jsonl")],
            ["--corpus", "talks", str(tmp_path / "talks.jsonl")],
        )
    ):
        done = CliRunner().invoke(cli.command, ["ssrem", *given, "-o", str(tmp_path / f"m{number}"), *shared])
        assert done.exit_code == 0, done.output
        assert "first of five" in done.output
        assert f"ssrem(folder={str(tmp_path / f'm{number}')!r})" in done.output
    assert files(tmp_path / "m0") == files(tmp_path / "m1") == files(tmp_path / "m2")
    again = CliRunner().invoke(
        cli.command, ["ssrem", str(tmp_path / "talks.jsonl"), "-o", str(tmp_path / "m0"), *shared]
    )
    assert isinstance(again.exception, InputError)
    assert "name a new folder, or set resume to continue there" in str(again.exception)


@pytest.mark.parametrize("kind", ["rsrem", "ruber"])
def test_the_other_two_are_commands_as_well(tmp_path: Path, kind: str) -> None:
    write(talks(), tmp_path / "talks.jsonl")
    done = CliRunner().invoke(
        cli.command,
        [
            kind,
            str(tmp_path / "talks.jsonl"),
            "-o",
            str(tmp_path / "m"),
            "--encoder",
            WORDS,
            "--reference",
            REFERENCE,
            "--epochs",
            "1",
            "--copies",
            "--paper",
        ],
    )
    assert done.exit_code == 0, done.output
    recipe = json.loads((tmp_path / "m" / CARD_FILE).read_bytes())["about"]["recipe"]
    assert (recipe["copies"], recipe["paper"], recipe["batch"]) == (True, True, 5000)


def test_g_must_be_a_metric_of_reply_and_reference(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="references only"):
        train(tmp_path / "m", quick(), reference="length")


def test_other_views_of_the_context_are_a_matter_of_the_recipe(tmp_path: Path) -> None:
    card = train(tmp_path / "m", quick(views=(ContextView(1.0, 40),)))
    assert card.views == (ContextView(1.0, 40),)
    assert open_scorer("ssrem", tmp_path / "m").weights["matrix"].shape == (12, 12)
