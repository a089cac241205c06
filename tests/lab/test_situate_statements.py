"""Writers of statements: the prompt of SUGAR's Figure 3, the addition on a tiny language model, and its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rejoinder.data.inputs.seeds import Seed, read_seeds, write_seeds
from rejoinder.errors import InputError
from rejoinder.models.statements.model import MAX_WORDS, StatementRequest
from rejoinder.types import Statement

torch = pytest.importorskip("torch")

from rejoinder_lab.training.prompt_rows import mean_loss  # noqa: E402
from rejoinder_lab.training.statements import (  # noqa: E402
    StatementRecipe,
    measure_statement_hits,
    tokenize_statements,
    train_statements,
)
from test_knowledge_comet import write_sequence_model  # noqa: E402
from tiny_language_model import write_language_model  # noqa: E402

from rejoinder.models.language_model import lora_folder  # noqa: E402
from rejoinder.models.language_model.lora import attach_lora, extract_lora  # noqa: E402
from rejoinder.models.language_model.model import load_language_model  # noqa: E402
from rejoinder.models.statements.model import (  # noqa: E402
    SHIPPED_FOLDER,
    STATEMENTS_LORA,
    LoraStatementWriter,
    SequenceStatementWriter,
    first_lines_of_outputs,
    open_lora_writer,
    open_statement_writer,
)
from rejoinder.situation.statement_writer import add_statements  # noqa: E402

WATER = Seed(
    "1",
    "Please open the window.",
    "to cool off",
    "Sure, shall I bring cold water, too?",
    (Statement("The room is hot.", "environment"), Statement("There is water in the fridge.", "possession")),
    "yes",
)
TEA = Seed(
    "2", "Can I have tea?", "to relax", "Sure. Shall I turn off the lights?", (Statement("It is late.", "time"),)
)
HELD = Seed("3", "Bring the book.", "to read", "Sure. Do you want a lamp?", (Statement("It is dark.", "environment"),))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_language_model(folder)
    return folder


def test_the_prompt_is_that_of_figure_3() -> None:
    asked = StatementRequest(WATER.request, WATER.goal, WATER.reply, "possession")
    told = "[u]Please open the window. [g]to cool off [r]Sure, shall I bring cold water, too? [possession]"
    assert asked.prompt == told
    assert asked.input_text + " " + asked.mark == told


def test_a_long_text_is_cut_and_an_unknown_category_is_named() -> None:
    long = StatementRequest("word " * 5_000, "to\nsleep", "Sure.", "time")
    assert long.input_text == f"[u]{' '.join(['word'] * MAX_WORDS)} [g]to sleep [r]Sure."
    with pytest.raises(InputError, match="no category is called 'weather'; known: behavior, date"):
        StatementRequest("a", "b", "c", "weather")


def test_what_is_written_is_one_line_each_once() -> None:
    assert first_lines_of_outputs([" It is late.\nmore", "It is  late.", "", "a", "b", "\n c"], 3) == [
        ["It is late."],
        ["a", "b", "c"],
    ]


def test_only_the_statement_counts_for_the_loss_and_a_long_one_is_left_out(base: Path) -> None:
    model = load_language_model(base)
    rows, left_out = tokenize_statements(model, [WATER])
    texts = [model.tokenizer.decode(row.ids[row.prompt :]) for row in rows]
    assert (texts, left_out) == ([" The room is hot.\n", " There is water in the fridge.\n"], 0)
    long = Seed("4", "a", "b", "c", (Statement("word " * 5_000, "time"), Statement("It is late.", "time")))
    kept, left_out = tokenize_statements(model, [long])
    assert (len(kept), left_out) == (1, 1)
    assert tokenize_statements(model, [Seed("5", "a", "b", "c")]) == ([], 0)


def test_training_learns_keeps_the_best_epoch_and_twice_gives_the_same_file(base: Path, tmp_path: Path) -> None:
    said: list[str] = []
    recipe = StatementRecipe(rank=2, rate=0.05, epochs=6, batch=2, written=2)
    again = Seed("9", HELD.request, HELD.goal, HELD.reply, HELD.statements)  # is held out under another id
    for name in ("one", "two"):
        train_statements(
            [WATER, TEA, again],
            [HELD, WATER],
            tmp_path / name,
            recipe,
            {"x": "none"},
            "none",
            str(base),
            "cpu",
            said.append,
        )

    assert said[0] == "1 statements of 1 seeds to train on (0 too long), 3 held out"
    assert (tmp_path / "one" / lora_folder.WEIGHTS_FILE).read_bytes() == (
        tmp_path / "two" / lora_folder.WEIGHTS_FILE
    ).read_bytes()
    about = lora_folder.read_lora_card(tmp_path / "one", STATEMENTS_LORA).about
    measured = about["measured"]
    assert measured["valid_loss"] == min(measured["valid_losses"])
    assert measured["epoch"] == 1 + measured["valid_losses"].index(measured["valid_loss"])
    assert len(measured["valid_losses"]) == 6
    assert (about["licence"], about["data"]) == ("none", {"x": "none"})


def test_what_is_kept_has_the_loss_of_its_epoch(base: Path, tmp_path: Path) -> None:
    recipe = StatementRecipe(rank=2, rate=0.05, epochs=8, batch=2, written=0)
    measured = train_statements(
        [WATER, TEA], [HELD], tmp_path / "w", recipe, {}, base=str(base), device="cpu", log=lambda line: None
    )
    text = (tmp_path / "w" / STATEMENTS_LORA.card).read_text().replace(f'"base": "{base.name}"', f'"base": "{base}"')
    (tmp_path / "w" / STATEMENTS_LORA.card).write_text(text)
    writer = open_lora_writer(tmp_path / "w", "cpu")
    rows, _ = tokenize_statements(writer.model, [HELD])
    assert mean_loss(writer.model, rows, 2) == pytest.approx(measured["valid_loss"], abs=0.01)  # half precision


def test_nothing_to_learn_from_is_an_error(base: Path, tmp_path: Path) -> None:
    empty = Seed("5", "a", "b", "c")
    with pytest.raises(InputError, match="0 statements to train on and 1 held out"):
        train_statements([empty], [HELD], tmp_path / "w", StatementRecipe(), {}, base=str(base), log=lambda line: None)


@pytest.fixture(scope="module")
def writer(base: Path) -> LoraStatementWriter:
    model = load_language_model(base, device="cpu")
    attach_lora(model.network, 1, 1.0, 0)
    return LoraStatementWriter(model, lora_folder.LoraCard("", "", "abc"))


def test_statements_do_not_depend_on_the_batch_and_a_beam_has_its_width(writer: LoraStatementWriter) -> None:
    asked = [StatementRequest(s.request, s.goal, s.reply, c) for s in (WATER, TEA, WATER) for c in ("time", "location")]
    together = writer.write(asked)
    assert together == [writer.write([one])[0] for one in asked]
    assert all(1 <= len(texts) <= 3 and all("\n" not in text for text in texts) for texts in together)
    assert writer.details()["additions"] == "abc"
    with pytest.raises(InputError, match="a beam of width 3 cannot give 4 statements"):
        writer.write(asked, n=4)


def test_found_counts_those_that_people_wrote(writer: LoraStatementWriter) -> None:
    asked = StatementRequest(WATER.request, WATER.goal, WATER.reply, "time")
    own = writer.write([asked])[0][0].upper()
    seeds = [
        Seed("1", WATER.request, WATER.goal, WATER.reply, (Statement(own, "time"),)),
        Seed("2", TEA.request, TEA.goal, TEA.reply, (Statement("no such line is ever written", "time"),)),
    ]
    assert measure_statement_hits(writer, seeds, StatementRecipe(written=9)) == {"asked": 2, "found_in_3": 0.5}


def test_a_folder_that_was_changed_or_is_not_there_is_refused(base: Path, tmp_path: Path) -> None:
    model = load_language_model(base)
    attach_lora(model.network, 1, 1.0, 0)
    lora_folder.write_lora(tmp_path, STATEMENTS_LORA, extract_lora(model.network), model, {})
    card = (tmp_path / STATEMENTS_LORA.card).read_text().replace(f'"base": "{base.name}"', f'"base": "{base}"')
    (tmp_path / STATEMENTS_LORA.card).write_text(card)
    assert open_lora_writer(tmp_path).write([StatementRequest("a", "b", "c", "time")])
    other = tmp_path / "other"
    write_language_model(other / "tiny", seed=5)
    for name in (STATEMENTS_LORA.card, lora_folder.WEIGHTS_FILE):
        (other / name).write_bytes((tmp_path / name).read_bytes())
    (other / STATEMENTS_LORA.card).write_text(card.replace(str(base), str(other / "tiny")))
    with pytest.raises(InputError, match="was trained on different weights"):
        open_lora_writer(other)
    (other / lora_folder.WEIGHTS_FILE).write_bytes(b"12345678")
    with pytest.raises(InputError, match="does not match its card"):
        open_lora_writer(other)
    with pytest.raises(InputError, match="train one with: rejoinder train statements"):
        open_lora_writer(tmp_path / "nowhere")


def test_the_command_trains_and_says_what_is_missing(base: Path, tmp_path: Path) -> None:
    from rejoinder_lab.cli.train import command

    write_seeds([WATER, TEA], tmp_path / "train.jsonl")
    write_seeds([HELD], tmp_path / "held.jsonl")
    given = ["statements", str(tmp_path / "train.jsonl"), "-o", str(tmp_path / "out")]
    options = ["--base", str(base), "--rank", "1", "--epochs", "1", "--batch", "2", "--written", "1", "--device", "cpu"]
    done = CliRunner().invoke(command, [*given, "--valid", str(tmp_path / "held.jsonl"), *options])
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {STATEMENTS_LORA.card, lora_folder.WEIGHTS_FILE}
    without = CliRunner().invoke(command, [*given[:-1], str(tmp_path / "more"), *options])
    assert "no held-out files are named" in str(without.exception)
    twice = CliRunner().invoke(command, [*given, "--valid", str(tmp_path / "held.jsonl"), *options])
    assert "already exists and is not empty" in str(twice.exception)


class Listening:
    """A writer that says what it was asked."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.asked: list[StatementRequest] = []

    def write(self, asked: Sequence[StatementRequest], n: int = 3, beam: int = 3) -> list[list[str]]:
        self.asked += asked
        return [self.texts[:n] for _ in asked]

    def details(self) -> dict[str, str]:
        return {}


def test_seeds_get_what_is_new_of_each_category() -> None:
    writer = Listening(["the room is HOT.", "It is noon.", "A cat."])
    found = add_statements([WATER, TEA], writer, ["environment", "time"], n=2)
    assert [(one.text, one.category) for one in found[0].statements[2:]] == [("It is noon.", "environment")]
    assert [one.text for one in found[1].statements] == ["It is late.", "the room is HOT.", "It is noon."]
    assert [one.category for one in writer.asked] == ["environment", "time"] * 2
    with pytest.raises(InputError, match="no category is called 'mood'"):
        add_statements([WATER], writer, ["mood"])


def test_a_sequence_model_is_given_the_category_as_its_first_word(tmp_path: Path) -> None:
    folder = write_sequence_model(tmp_path / "model")
    writer = open_statement_writer(str(folder))
    assert isinstance(writer, SequenceStatementWriter)
    asked = [StatementRequest(WATER.request, WATER.goal, WATER.reply, c) for c in ("time", "location", "time")]
    found = writer.write(asked)
    assert found[0] == found[2]
    assert all(1 <= len(texts) <= 3 and len(set(texts)) == len(texts) for texts in found)
    assert all("[time]" not in text for text in found[0])  # what was given is not what was written
    given: dict[str, Any] = {}
    inner = writer.network.generate
    object.__setattr__(writer.network, "generate", lambda **options: given.update(options) or inner(**options))
    writer.write(asked[:1], n=1, beam=2)
    begun = writer.tokenizer.decode(given["decoder_input_ids"][0], skip_special_tokens=True)
    assert begun.replace(" ", "") == "[time]"
    assert (given["num_beams"], given["num_return_sequences"]) == (2, 1)
    assert writer.write(
        [StatementRequest("word " * 5_000, "to sleep", "Sure. " * 900, "time")]
    )  # longer than the model's window


def test_the_command_adds_statements(base: Path, tmp_path: Path) -> None:
    from rejoinder.cli.situate import command

    model = load_language_model(base)
    attach_lora(model.network, 1, 1.0, 0)
    lora_folder.write_lora(tmp_path / "w", STATEMENTS_LORA, extract_lora(model.network), model, {})
    card = (tmp_path / "w" / STATEMENTS_LORA.card).read_text().replace(f'"base": "{base.name}"', f'"base": "{base}"')
    (tmp_path / "w" / STATEMENTS_LORA.card).write_text(card)
    write_seeds([WATER], tmp_path / "seeds.jsonl")
    words = ["statements", str(tmp_path / "seeds.jsonl"), "--writer", str(tmp_path / "w"), "--category", "time"]
    done = CliRunner().invoke(command, [*words, "-o", str(tmp_path / "more.jsonl"), "--device", "cpu"])
    assert done.exit_code == 0, done.output
    (more,) = read_seeds(tmp_path / "more.jsonl")
    assert more.statements[:2] == read_seeds(tmp_path / "seeds.jsonl")[0].statements
    assert {one.category for one in more.statements[2:]} == {"time"}


@pytest.mark.skipif(
    not (SHIPPED_FOLDER / STATEMENTS_LORA.card).exists(), reason="the package has no writer of statements"
)
def test_the_shipped_writer_is_whole_and_small() -> None:
    from rejoinder.files import sha256_of

    card = lora_folder.read_lora_card(SHIPPED_FOLDER, STATEMENTS_LORA)
    assert sha256_of(SHIPPED_FOLDER / lora_folder.WEIGHTS_FILE) == card.parts
    assert (SHIPPED_FOLDER / lora_folder.WEIGHTS_FILE).stat().st_size < 8 * 2**20
    assert card.base == "smollm2-135m"
