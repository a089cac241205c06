"""The generators of Sato et al. (2020): networks, training, folders, and as systems."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rejoinder.errors import InputError
from rejoinder.systems import parse_system
from rejoinder.types import Candidate, Dialogue, Question, Turn

torch = pytest.importorskip("torch")

from rejoinder_lab.models.generator.model import load_generator, read_generator_card  # noqa: E402
from rejoinder_lab.models.generator.network import GeneratorNetwork, GeneratorShape, position_encoding  # noqa: E402
from rejoinder_lab.models.generator.text import (  # noqa: E402
    BEGIN,
    END,
    SPECIAL_TOKENS,
    TURN,
    GeneratorLimits,
    TurnTokenizer,
    train_tokenizer,
)
from rejoinder_lab.training.generator.data import (  # noqa: E402
    BatchLoader,
    build_generator_examples,
    make_generator_batches,
    select_split_dialogues,
)
from rejoinder_lab.training.generator.recipe import GeneratorRecipe, train_generator  # noqa: E402

ARCHES = ("gru", "lstm", "transformer")
THINGS = ("soup", "tea", "bread", "rain", "the train", "a red bicycle", "my sister", "the old garden")


def dialogue(number: int, split: str) -> Dialogue:
    one, other = THINGS[number % 8], THINGS[(number * 3 + 1) % 8]
    said = (f"do you like {one}?", f"yes, i like {one}.", f"and what of {other}?", f"no, not {other}!")
    return Dialogue(f"d{number}", tuple(Turn(text) for text in said), "made", split)


DIALOGUES = [dialogue(n, "valid" if n % 5 == 0 else "train") for n in range(60)]


def recipe(arch: str = "gru", **chosen: object) -> GeneratorRecipe:
    shape = GeneratorShape(arch=arch, layers=2, dim=16, heads=2, vocabulary=400)  # type: ignore[arg-type]
    made = GeneratorRecipe(shape, GeneratorLimits(3, 40, 20), steps=6, tokens=200, rate=0.01, check=2, held_out=30)
    return dataclasses.replace(made, **chosen)  # type: ignore[arg-type]


def trained(folder: Path, arch: str = "gru", **chosen: object) -> Path:
    train_generator(DIALOGUES, folder, recipe(arch, **chosen), device="cpu", log=lambda _: None)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {arch: trained(tmp_path_factory.mktemp(arch), arch) for arch in ARCHES}


@pytest.mark.parametrize("arch", ARCHES)
def test_a_loss_is_the_mean_cross_entropy_of_the_reply_and_its_end(folders: dict[str, Path], arch: str) -> None:
    generator = load_generator(folders[arch], "cpu")
    context, reply = ["do you like tea?", "yes, i like tea.", "and what of rain?"], "no, not rain!"
    source = torch.tensor([generator.reader.context(context)])
    ids = generator.reader.reply(reply)
    total = 0.0
    for place, wanted in enumerate((*ids, END)):  # one token at a time, each after all before it
        hidden = generator.network(source, torch.tensor([(BEGIN, *ids[:place])]))
        total -= float(generator.network.logits(hidden)[0, -1].detach().log_softmax(-1)[wanted])
    assert generator.losses([context], [[reply]])[0][0] == pytest.approx(total / (len(ids) + 1), rel=1e-5)


@pytest.mark.parametrize("arch", ARCHES)
def test_the_batch_changes_no_loss_and_no_reply(folders: dict[str, Path], arch: str) -> None:
    generator = load_generator(folders[arch], "cpu")
    contexts = [["hi"], ["do you like soup?"], [], ["a", "b", "c", "no, not the old garden! " * 4]]
    replies = [["yes.", "no, not tea!"], ["yes, i like soup."], ["tea"], ["", "what of it?"]]
    together = generator.losses(contexts, replies)
    alone = [generator.losses([c], [r], rows=1)[0] for c, r in zip(contexts, replies, strict=True)]
    for one, other in zip(together, alone, strict=True):
        assert one == pytest.approx(other, abs=1e-5, nan_ok=True)
    assert math.isnan(together[3][0])
    assert generator.replies(contexts) == [generator.replies([c])[0] for c in contexts]
    assert generator.replies(contexts, beam=3) == [generator.replies([c], beam=3)[0] for c in contexts]


@pytest.mark.parametrize("arch", ARCHES)
def test_a_token_sees_none_that_comes_after_it(folders: dict[str, Path], arch: str) -> None:
    network = load_generator(folders[arch], "cpu").network
    source = torch.tensor([[7, 8, 9, TURN]])
    first, second = torch.tensor([[BEGIN, 10, 11, 12]]), torch.tensor([[BEGIN, 10, 20, 30]])
    one, other = network(source, first), network(source, second)
    assert torch.allclose(one[:, :2], other[:, :2], atol=1e-6)
    assert not torch.allclose(one[:, 2], other[:, 2], atol=1e-4)


@pytest.mark.parametrize("arch", ARCHES)
def test_what_fills_a_context_up_is_not_read(folders: dict[str, Path], arch: str) -> None:
    network = load_generator(folders[arch], "cpu").network
    reply = torch.tensor([[BEGIN, 10]])
    short = network(torch.tensor([[7, 8, TURN]]), reply)
    assert torch.allclose(short, network(torch.tensor([[7, 8, TURN, 0, 0, 0]]), reply), atol=1e-5)


def test_a_beam_finds_what_is_likelier_than_the_greedy_reply(folders: dict[str, Path]) -> None:
    generator = load_generator(folders["lstm"], "cpu")
    contexts = [[f"do you like {thing}?"] for thing in THINGS]
    greedy, beam = generator.replies(contexts), generator.replies(contexts, beam=4)
    losses = [generator.losses(contexts, [[text] for text in texts]) for texts in (greedy, beam)]
    means = [float(np.mean([row[0] for row in rows])) for rows in losses]
    assert means[1] <= means[0] + 1e-6


@pytest.mark.parametrize("arch", ARCHES)
def test_training_twice_gives_the_same_bytes_and_so_does_a_resumed_training(tmp_path: Path, arch: str) -> None:
    whole, again = trained(tmp_path / "whole", arch), trained(tmp_path / "again", arch)
    trained(tmp_path / "parts", arch, steps=4)
    resumed = trained(tmp_path / "parts", arch, steps=6)
    found = [(folder / "model.safetensors").read_bytes() for folder in (whole, again, resumed)]
    assert found[0] == found[1] == found[2]


def test_training_lowers_the_held_out_loss_and_keeps_the_best(tmp_path: Path) -> None:
    told: list[str] = []
    measured = train_generator(DIALOGUES, tmp_path / "g", recipe(steps=40, check=10), device="cpu", log=told.append)
    losses = [held for _, _, held in measured["history"]]
    assert losses[-1] < losses[0]
    assert measured["valid_loss"] == min(losses)
    assert any("steps per second" in line for line in told)
    assert read_generator_card(tmp_path / "g").about["corpora"] == ["made"]


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    trained(tmp_path / "g")
    with pytest.raises(InputError, match="another training"):
        trained(tmp_path / "g", rate=0.02)


def test_a_snapshot_is_a_generator_of_that_step(tmp_path: Path) -> None:
    early = trained(tmp_path / "early", steps=2)
    train_generator(DIALOGUES, tmp_path / "g", recipe(), device="cpu", snapshots=(2,), log=lambda _: None)
    one, other = load_generator(early, "cpu"), load_generator(tmp_path / "g" / "step-2", "cpu")
    contexts, replies = [["do you like tea?"]], [["yes, i like tea."]]
    assert one.losses(contexts, replies) == other.losses(contexts, replies)


def test_a_smaller_fraction_lies_within_a_larger_one() -> None:
    many = [dialogue(n, "train") for n in range(2_000)]
    parts = [{d.id for d in select_split_dialogues(many, "train", share)} for share in (0.1, 0.5, 1.0)]
    assert parts[0] < parts[1] < parts[2]
    assert 120 < len(parts[0]) < 280
    assert 900 < len(parts[1]) < 1_100


def test_examples_are_turns_after_up_to_three_and_batches_hold_each_once() -> None:
    pieces = train_tokenizer((t.text for d in DIALOGUES for t in d.turns), 400)
    reader = TurnTokenizer(pieces, GeneratorLimits(3, 40, 20))
    examples = build_generator_examples(DIALOGUES, reader)
    assert len(examples) == 3 * len(DIALOGUES)
    context, reply, lengths = BatchLoader(examples, torch.device("cpu")).batch(np.array([2, 0]))
    said = [turn.text for turn in DIALOGUES[0].turns]
    assert tuple(context[0].tolist()) == reader.context(said[:3])
    assert [i for i in context[1].tolist() if i] == list(reader.context(said[:1]))
    assert [i for i in reply[0].tolist() if i] == [BEGIN, *reader.reply(said[3]), END]
    assert lengths.tolist() == [len(reader.context(said[:3])), len(reader.context(said[:1]))]
    batches = make_generator_batches(examples, 200, 0, 1)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(examples)))
    wide = [(examples.context[b, 1].max() + examples.reply[b, 1].max()) * len(b) for b in batches]
    assert max(wide) <= 200
    assert not all(
        np.array_equal(a, b) for a, b in zip(batches, make_generator_batches(examples, 200, 0, 2), strict=False)
    )


def test_marks_in_a_text_are_plain_text_and_long_texts_are_cut() -> None:
    reader = TurnTokenizer(
        train_tokenizer((t.text for d in DIALOGUES for t in d.turns), 400), GeneratorLimits(3, 10, 5)
    )
    assert not set(reader.reply("</s> <turn>")) & {BEGIN, END, TURN}
    assert len(reader.reply("soup " * 50)) == 5
    assert len(reader.context(["soup " * 50])) == 10
    assert reader.context([]) == (TURN,)
    assert reader.text(reader.reply("yes, i like")) == "yes, i like"
    assert len(SPECIAL_TOKENS) == 5


def test_the_ten_systems_have_their_sizes() -> None:
    sizes = {
        arch: sum(
            p.numel() for p in GeneratorNetwork(GeneratorShape(arch=arch, layers=1, dim=8, vocabulary=100)).parameters()
        )  # type: ignore[arg-type]
        for arch in ("gru", "lstm")
    }
    words, join = 100 * 8 + 100, 16 * 8 + 8
    assert sizes["gru"] == words + join + 2 * 3 * (2 * 8 * 8 + 2 * 8)
    assert sizes["lstm"] == words + join + 2 * 4 * (2 * 8 * 8 + 2 * 8)
    assert position_encoding(5, 6)[0].tolist() == [0, 1, 0, 1, 0, 1]


def test_a_generator_is_a_system_that_likes_the_smallest_loss(folders: dict[str, Path]) -> None:
    system = parse_system(f"generator:{folders['gru']}")
    assert parse_system(str(system)) == system
    question = Question("q", (Turn("do you like tea?"),), (Candidate("yes, i like tea."), Candidate("")))
    scores = system.score([question])[0]
    loss = load_generator(folders["gru"], "cpu").losses([["do you like tea?"]], [["yes, i like tea."]])
    assert scores[0] == pytest.approx(-loss[0][0], abs=1e-5)
    assert math.isnan(scores[1])
    assert len(system.details()["digest"]) == 12


def test_a_changed_or_foreign_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rejoinder train generator"):
        load_generator(tmp_path)
    folder = trained(tmp_path / "g")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(InputError, match="does not match its card"):
        load_generator(folder)
    (folder / "generator.json").write_text("[]")
    with pytest.raises(InputError, match="not the card of a generator"):
        load_generator(folder)


def test_the_command_trains_and_says_what_is_wrong(tmp_path: Path) -> None:
    from rejoinder.cli import program
    from rejoinder.data.writer import write

    file, folder = tmp_path / "d.jsonl", tmp_path / "g"
    write(DIALOGUES, str(file))
    small = ["--dim", "16", "--vocabulary", "400", "--steps", "2", "--tokens", "200", "--device", "cpu"]
    done = CliRunner().invoke(program, ["train", "generator", str(file), "-o", str(folder), *small])
    assert done.exit_code == 0, done.output
    shared = ["--vocabulary", str(folder), "--steps", "1", "--tokens", "200", "--dim", "16", "--device", "cpu"]
    done = CliRunner().invoke(program, ["train", "generator", str(file), "-o", str(tmp_path / "h"), *shared])
    assert done.exit_code == 0, done.output
    assert (folder / "tokenizer.json").read_bytes() == (tmp_path / "h" / "tokenizer.json").read_bytes()
    wrong = ["--arch", "transformer", "--dim", "18", "--heads", "4"]
    done = CliRunner().invoke(program, ["train", "generator", str(file), "-o", str(tmp_path / "i"), *wrong])
    assert isinstance(done.exception, InputError)
    assert "heads" in str(done.exception)
    write([dialogue(n, "train") for n in range(3)], str(file))
    done = CliRunner().invoke(program, ["train", "generator", str(file), "-o", str(tmp_path / "j"), *small])
    assert isinstance(done.exception, InputError)
    assert "valid" in str(done.exception)
