"""Our own COMET: triples as they are read, the addition on a tiny language model, and its folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rejoinder.data.knowledge import KnowledgeTriple, read_triples
from rejoinder.errors import InputError
from rejoinder.models.weight_sets import WEIGHTS

torch = pytest.importorskip("torch")

from rejoinder_lab.training.comet import CometRecipe, tokenize_triples, train_comet  # noqa: E402
from rejoinder_lab.training.prompt_rows import mean_loss  # noqa: E402
from tiny_language_model import write_language_model  # noqa: E402

from rejoinder.models.comet import model as comet  # noqa: E402
from rejoinder.models.language_model import lora_folder  # noqa: E402
from rejoinder.models.language_model.lora import attach_lora, extract_lora, merge_lora  # noqa: E402
from rejoinder.models.language_model.model import load_language_model  # noqa: E402

TRIPLES = [
    KnowledgeTriple("PersonX calls PersonY", "oReact", "happy"),
    KnowledgeTriple("PersonX goes home", "xWant", "to sleep"),
    KnowledgeTriple("PersonX sings", "oWant", "to listen"),
    KnowledgeTriple("buy bread", "HasFirstSubevent", "go out"),
]
HELD = [KnowledgeTriple("PersonX drinks tea", "xReact", "warm")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_language_model(folder)
    return folder


def test_both_layouts_are_read_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    atomic, conceptnet = tmp_path / "a.tsv", tmp_path / "c.txt"
    atomic.write_text("personx~calls~persony\toreact\tnone\npersonx 's cat\toReact\tfond of~personx\n\n")
    conceptnet.write_text("CausesDesire\tbe cold\tput on coat\t1\nCausesDesire\tbe cold\tfly\t0\n")

    assert list(read_triples(atomic)) == [KnowledgeTriple("PersonX's cat", "oReact", "fond of PersonX")]
    assert list(read_triples(conceptnet)) == [KnowledgeTriple("be cold", "CausesDesire", "put on coat")]


@pytest.mark.parametrize("line", ["only one cell", "a\tb", "a\t\tc", "a\tb\tc\td"])
def test_a_broken_line_names_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "broken.tsv"
    path.write_text(f"personx sings\toreact\thappy\n{line}\n")
    with pytest.raises(InputError, match=r"broken\.tsv, line 2: is not a triple"):
        list(read_triples(path))


def test_an_addition_is_nothing_before_training_and_the_same_inside_the_matrices(base: Path) -> None:
    model, plain = load_language_model(base), load_language_model(base)
    rows = tokenize_triples(plain, TRIPLES)
    before = mean_loss(plain, rows, 2)

    parameters = attach_lora(model.network, rank=2, scale=3.0, seed=1)
    assert mean_loss(model, rows, 2) == pytest.approx(before, abs=1e-6)

    with torch.no_grad():
        for number, parameter in enumerate(parameters):
            parameter += 0.01 * (number % 5)
    merge_lora(plain.network, extract_lora(model.network))
    assert mean_loss(plain, rows, 2) == pytest.approx(mean_loss(model, rows, 2), rel=1e-4)
    assert mean_loss(plain, rows, 2) != pytest.approx(before, abs=1e-4)


def test_only_the_tail_counts_for_the_loss(base: Path) -> None:
    model = load_language_model(base)
    row = tokenize_triples(model, TRIPLES[:1])[0]
    ids = torch.tensor([row.ids])
    scores = torch.log_softmax(model.network(ids).logits[0].float(), dim=-1)
    told = [float(scores[place - 1, row.ids[place]]) for place in range(row.prompt, len(row.ids))]

    assert mean_loss(model, [row], 1) == pytest.approx(-sum(told) / len(told), rel=1e-5)


def test_training_learns_and_twice_gives_the_same_file(base: Path, tmp_path: Path) -> None:
    said: list[str] = []
    recipe = CometRecipe(rank=2, rate=0.05, epochs=20, batch=2)
    train = [*TRIPLES, KnowledgeTriple("PersonX Drinks Tea", "xReact", "cold")]  # its head is held out
    for name in ("one", "two"):
        train_comet(train, [*HELD, *TRIPLES[:1]], tmp_path / name, recipe, {}, (), str(base), "cpu", said.append)

    assert said[0].startswith("3 triples to train on, 2 held out")
    first, second = ((tmp_path / name / lora_folder.WEIGHTS_FILE).read_bytes() for name in ("one", "two"))
    assert first == second
    measured = lora_folder.read_lora_card(tmp_path / "one", comet.COMET_LORA).about["measured"]
    assert measured["valid_loss"] < measured["valid_loss_before"]


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comet") / "own"
    model = load_language_model(base)
    attach_lora(model.network, 1, 1.0, 0)
    card = comet.write_comet(folder, extract_lora(model.network), model, {})
    text = (folder / comet.CARD_FILE).read_text().replace(f'"{card.base}"', f'"{base}"')
    (folder / comet.CARD_FILE).write_text(text)
    return folder


def test_tails_are_lines_and_do_not_depend_on_the_batch(trained: Path) -> None:
    opened = comet.open_comet(trained)
    heads = ["PersonX sings", "PersonX goes to the market early in the morning", "PersonX sings"]

    together = opened.tails(heads, "oWant", 2)

    assert together == [opened.tails([head], "oWant", 2)[0] for head in heads]
    assert all("\n" not in tail for tails in together for tail in tails)
    with pytest.raises(InputError, match="has no relation 'isAfter'"):
        opened.tails(heads, "isAfter")


def test_the_published_base_is_accepted_however_it_was_converted(
    trained: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, copy = tmp_path / "other", tmp_path / "copy"
    write_language_model(other)
    config = json.loads((other / "config.json").read_text()) | {"transformers_version": "0.0.1"}
    (other / "config.json").write_text(json.dumps(config))
    copy.mkdir()
    (copy / comet.CARD_FILE).write_text((trained / comet.CARD_FILE).read_text().replace(str(base), str(other)))
    (copy / lora_folder.WEIGHTS_FILE).write_bytes((trained / lora_folder.WEIGHTS_FILE).read_bytes())
    with pytest.raises(InputError, match="was trained on different weights"):
        comet.open_comet(copy)
    monkeypatch.setattr(lora_folder, "is_from_origin", lambda name: name == str(other))
    assert comet.open_comet(copy).tails(["PersonX sings"], "oWant", 2)


def test_a_changed_file_and_another_base_are_refused(trained: Path, base: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_language_model(other, seed=5)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / comet.CARD_FILE).write_text((trained / comet.CARD_FILE).read_text().replace(str(base), str(other)))
    (copy / lora_folder.WEIGHTS_FILE).write_bytes((trained / lora_folder.WEIGHTS_FILE).read_bytes())
    with pytest.raises(InputError, match="was trained on different weights"):
        comet.open_comet(copy)
    (copy / lora_folder.WEIGHTS_FILE).write_bytes(b"12345678")
    with pytest.raises(InputError, match="does not match its card"):
        comet.open_comet(copy)
    with pytest.raises(InputError, match="cannot be read"):
        comet.open_comet(tmp_path / "nowhere")


def test_the_shipped_addition_is_whole_and_small() -> None:
    card = lora_folder.read_lora_card(comet.SHIPPED_FOLDER, comet.COMET_LORA)
    from rejoinder.files import sha256_of

    assert sha256_of(comet.SHIPPED_FOLDER / lora_folder.WEIGHTS_FILE) == card.parts
    assert (comet.SHIPPED_FOLDER / lora_folder.WEIGHTS_FILE).stat().st_size < 8 * 2**20
    assert sum(path.stat().st_size for path in WEIGHTS.rglob("*") if path.is_file()) < 95 * 2**20
