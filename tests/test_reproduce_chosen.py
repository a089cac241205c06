"""`rejoinder reproduce chosen` on made-up sets and answers: the arithmetic behind its tables."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import orjson
import pytest
from scipy import stats

from rejoinder.errors import InputError
from rejoinder.papers.chosen import chosen, jobs, measures, tables
from rejoinder.papers.chosen import ladders as rungs
from rejoinder.papers.chosen.answers import (
    NetworkAnswers,
    candidate_texts,
    chosen_answers_home,
    load_answers,
    make_loss_request,
    save_answers,
)
from rejoinder.papers.chosen.chosen import list_chosen_notes
from rejoinder.papers.chosen.figures import draw_boxes
from rejoinder.papers.chosen.measures import CandidateKind, Ladder
from rejoinder.papers.chosen.sets import ChosenSets
from rejoinder.selection.build import BuiltTestSet
from rejoinder.types import Candidate, Item, Question, Reference, Turn

CONTEXTS = 40


def question(number: int, kind: str, seed: int) -> Question:
    candidates = [Candidate(f"the true answer {number}", grade="true")]
    candidates += [Candidate(f"{kind} {seed} {number} {place} answer", grade="false") for place in range(3)]
    turn = (number + seed) % 4
    return Question(f"q{number}", (Turn(f"context {number}"),), tuple(candidates[turn:] + candidates[:turn]))


def made_sets() -> ChosenSets:
    items = [
        Item(f"q{n}", (Turn(f"context {n}"),), (Reference(f"the true answer {n}"),), dialogue=f"q{n}")
        for n in range(CONTEXTS)
    ]
    # A context may lack a question in a chosen set: its pool was too small.
    picked = [
        BuiltTestSet(tuple(question(n, "chosen", s) for n in range(CONTEXTS) if (n + s) % 9), {}) for s in range(4)
    ]
    return ChosenSets(items, picked, [[question(n, "random", s) for n in range(CONTEXTS)] for s in range(5)])


def all_questions(sets: ChosenSets) -> list[Question]:
    return [q for built in sets.chosen for q in built.questions] + [q for one in sets.random for q in one]


def answers_of(skill: float, asked, seed: int) -> NetworkAnswers:  # type: ignore[no-untyped-def]
    """Losses of a network that finds true replies likelier the more skill it has."""
    random = np.random.default_rng(seed)
    losses = random.normal(0, 1, len(asked.places)).astype(np.float32)
    for (_, text), place in asked.places.items():
        losses[place] -= skill if text.startswith("the true") else 0.0
    replies = [f"the true answer {n}" if random.random() < skill / 4 else "i do not know" for n in range(CONTEXTS)]
    return NetworkAnswers(losses, replies)


@pytest.fixture(scope="module")
def measured() -> tuple[object, ChosenSets]:
    sets = made_sets()
    asked = make_loss_request(all_questions(sets))
    skills = {rung.name: 1.0 for rung in rungs.list_rungs()}
    for ladder in rungs.list_ladders().values():
        skills |= {rung.name: 0.5 + 0.6 * rung.place for rung in ladder}
    answers = {name: answers_of(skill, asked, seed) for seed, (name, skill) in enumerate(skills.items())}
    before = dict(chosen.METRICS)
    del chosen.METRICS["aptness of the replies"]  # the networks have their own tests
    found = chosen.ChosenMeasurement(sets, asked, answers).measure()
    chosen.METRICS.update(before)
    return found, sets


def test_the_lowest_loss_is_chosen_ties_share_and_a_missing_loss_is_never_chosen() -> None:
    losses = np.array([1.0, 2.0, 3.0, 1.0, np.nan], np.float32)
    at = np.array([[0, 1, 2, 4], [0, 3, 1, 2], [1, 0, 2, 3], [4, 1, 2, 0], [0, 4, 4, 4]])
    assert measures.score_choices(losses, at).tolist() == [1.0, 0.5, 0.0, 0.0, 1.0]


def test_spearman_equals_scipys() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        values = random.integers(0, 4, 7).astype(float)
        expected = stats.spearmanr(values, np.arange(7)).statistic if np.ptp(values) else np.nan
        assert measures.spearman_with_places(values, range(7)) == pytest.approx(expected, nan_ok=True)


def test_the_interval_of_a_clear_order_is_narrow_and_that_of_noise_is_wide() -> None:
    random = np.random.default_rng(1)
    clear = (random.random((5, 400)) < np.linspace(0.2, 0.9, 5)[:, None]).astype(float)
    clear[:, ::7] = np.nan
    found = measures.rank_correlation(clear, range(5))
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low > 0.8
    noise = measures.rank_correlation((random.random((5, 400)) < 0.5).astype(float), range(5))
    assert noise.high - noise.low > 0.8


def test_a_smaller_share_of_spoilt_contexts_lies_within_a_larger_one() -> None:
    names = [str(n) for n in range(1_000)]
    parts = [measures.draw_corrupted(names, share, "x") for share in (0.1, 0.4, 1.0)]
    assert not (parts[0] & ~parts[1]).any()
    assert 60 < parts[0].sum() < 140
    assert parts[2].all()
    replies = measures.corrupt_replies(names, parts[0])
    assert all((reply == name) != bad for reply, name, bad in zip(replies, names, parts[0], strict=True))
    owners = np.arange(1_000)
    losses = np.arange(1_000, dtype=np.float32) + 5
    assert ((measures.corrupt_losses(losses, owners, parts[0]) < 1) == parts[0]).all()


def test_what_is_asked_holds_each_text_once_and_answers_belong_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = made_sets()
    asked = make_loss_request(all_questions(sets))
    assert len(asked.contexts) == CONTEXTS
    assert all(len(set(texts)) == len(texts) for texts in asked.texts)
    one = sets.random[2][3]
    flat = [text for texts in asked.texts for text in texts]
    assert [flat[place] for place in asked.at([one])[0]] == list(candidate_texts(one))
    assert candidate_texts(one)[0] == "the true answer 3"
    save_answers(tmp_path / "a", answers_of(1.0, asked, 0))
    assert np.array_equal(load_answers(tmp_path / "a", asked).losses, answers_of(1.0, asked, 0).losses)
    other = make_loss_request(all_questions(sets)[:50])
    assert other.digest != asked.digest
    with pytest.raises(InputError, match="answers to another request"):
        load_answers(tmp_path / "a", other)
    with pytest.raises(InputError, match="has no answers"):
        load_answers(tmp_path / "b", asked)
    monkeypatch.setenv("REJOINDER_CACHE", str(tmp_path / "cache"))
    assert chosen_answers_home(asked).is_relative_to(tmp_path)
    with pytest.raises(InputError, match=r"papers\.chosen\.jobs"):
        chosen._read_cached_answers("gru-1-256", asked)


def test_ladders_climb_and_every_table_has_its_figures(measured: tuple[object, ChosenSets]) -> None:
    found, sets = measured
    figures = [
        *tables.system_figures(found),
        *tables.ladder_figures(found),
        *tables.spread_figures(found),
        *tables.tfidf_figures(sets),
    ]  # type: ignore[arg-type]
    for name in ("CHOSEN", "RANDOM"):
        climbed = [f for f in figures if f.row == name and f.column.startswith("checkpoints") and "order" in f.table]
        assert len(climbed) == 3
        assert all(figure.measured > 0.7 for figure in climbed)
    spoken = [f.measured for f in figures if f.column == "BLEU-1" and "ten systems" in f.table]
    assert len(spoken) == 10
    assert all(value > 0.01 for value in spoken)
    corrupted = next(f for f in figures if f.row == "RANDOM" and f.column.startswith("corrupted"))
    assert corrupted.measured > 0.7
    assert {f.row for f in figures if "ten systems of Table 6" in f.table} == {size.name for size in rungs.TEN_SIZES}
    assert {f.published for f in figures if "TF-IDF" in f.table} == {0.461, 0.671}
    told = list_chosen_notes(found, sets, [300, 300])  # type: ignore[arg-type]
    assert any(", 300 steps, " in note for note in told)
    assert any("human ranking" in note for note in told)
    assert any("Standard deviation over sets" in note for note in told)


def test_kappas_come_from_the_released_file(tmp_path: Path) -> None:
    file = tmp_path / tables.SCORES
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\n".join(orjson.dumps([[5, 5, 5, 4, 4], [1, 1, 1, 2, 1]]) for _ in range(6)))
    six, two = tables.agreement_figures(tmp_path)
    assert two.measured == pytest.approx(1.0)
    assert 0 < six.measured < 1


def test_the_drawing_is_well_formed_and_escapes_names() -> None:
    drawn = draw_boxes("Spearman <&>", {"a & b": ([0.1, 0.5, 0.9], [0.7, 0.8]), "none": ([], [])})
    root = ElementTree.fromstring(drawn)
    assert len([e for e in root.iter() if e.tag.endswith("circle")]) == 2


def test_a_ladder_leaves_the_set_of_the_whole_repository_out_of_its_spread() -> None:
    right = {kind: np.random.default_rng(0).random((4, 6, 30)) for kind in CandidateKind}
    ladder = Ladder("l", right)
    assert len(ladder.coefficients(CandidateKind.CHOSEN)) == 5
    assert len(ladder.coefficients(CandidateKind.RANDOM)) == 6


def test_every_network_is_trained_once_with_the_paper_sizes(tmp_path: Path) -> None:
    commands = rungs.list_training_commands(tmp_path, 100, ["d.jsonl"], ["rejoinder"])
    assert len(commands) == 13
    assert len({command[command.index("-o") + 1] for command in commands}) == 13
    folders = {rung.folder for rung in rungs.list_rungs()}
    assert len(folders) == 10 + 3 * len(rungs.SNAPSHOTS) + len(rungs.FRACTIONS)
    written = {Path(c[c.index("-o") + 1]).name for c in commands}
    assert {folder.partition("/")[0] for folder in folders} == written
    assert [size.number for size in rungs.TEN_SIZES] == list(range(1, 11))


def test_how_long_a_network_was_trained_is_read_off_its_card(tmp_path: Path) -> None:
    (tmp_path / "generator.json").write_bytes(orjson.dumps({"about": {"recipe": {"steps": 700}}}))
    assert chosen.read_steps(tmp_path) == 700
    (tmp_path / "generator.json").write_text("{}")
    with pytest.raises(InputError, match="no card of a generator"):
        chosen.read_steps(tmp_path)


def test_what_was_dumped_is_read_back(tmp_path: Path) -> None:
    import gzip

    asked = make_loss_request(all_questions(made_sets()))
    (tmp_path / "asked").write_bytes(gzip.compress(orjson.dumps([asked.contexts, asked.texts])))
    assert jobs.read_request(tmp_path / "asked") == asked
