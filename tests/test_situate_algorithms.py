"""Algorithms 1 and 2 of SUGAR on cases computed by hand, and the regression against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from situated_seeds import axes, known, seeds, spread

from rejoinder.data.inputs.seeds import Seed
from rejoinder.situation.distractors import (
    DistractorRegression,
    draw_distractors,
    filter_adversarially,
    fit_distractor_regression,
    logistic_curve,
    score_possible_distractors,
)
from rejoinder.situation.overlap import OverlapIndex, extract_statement_words, overlap_coefficient
from rejoinder.situation.seed_vectors import encode_seeds
from rejoinder.situation.settings import SituationSettings


def test_overlap_is_what_is_shared_over_the_smaller_set() -> None:
    # {open, window, kitchen} and {open, window}: two shared, the smaller has two.
    assert overlap_coefficient("Open the window in the kitchen!", "please open a window") == 1.0
    # {open, window} and {close, window, door}: one of two.
    assert overlap_coefficient("Open the window.", "Close the window and the door.") == 0.5
    assert extract_statement_words("[user]'s car is in [someone]'s garage.") == {"car", "garage"}


def test_overlap_without_content_words_is_nothing_but_for_equal_texts() -> None:
    assert overlap_coefficient("It is.", "Open the window.") == 0.0
    assert overlap_coefficient("It  is.", "it is.") == 1.0
    many = OverlapIndex(["It is.", "Open the window.", "Open a door."])
    assert many.overlaps("it IS.").tolist() == [1.0, 0.0, 0.0]
    assert many.overlaps("Open the window.").tolist() == [0.0, 1.0, 0.5]
    assert many.near("Open the window.", 0.5).tolist() == [False, True, True]


def _named(*rows: tuple[str, str, str, str]) -> list[Seed]:
    return [Seed(str(n), request, goal, reply, (), polarity) for n, (request, goal, reply, polarity) in enumerate(rows)]


def test_the_pool_leaves_out_like_requests_like_goals_like_replies_and_the_other_polarity() -> None:
    given = _named(
        ("Open the window.", "to cool off", "Sure, cold water?", "yes"),
        ("Please open a window now.", "to hear birds", "Sure, binoculars?", "yes"),  # the same request
        ("Bring ice.", "to cool off quickly", "Sure, lemon?", "yes"),  # the same goal
        ("Call Tom.", "to chat", "Sure, chilled drinks?", "yes"),  # the reply is alike by its vector
        ("Call Ann.", "to gossip", "Sorry, the phone is broken.", "no"),
        ("Read the news.", "to learn", "Sure, the weather too?", "yes"),
    )
    vectors = {text: [1.0, 0.0, 0.0] for seed in given for text in (seed.request,)}
    vectors |= {seed.reply: [0.0, 1.0, 0.0] for seed in given}
    vectors[given[0].reply], vectors[given[3].reply] = [0.0, 0.0, 1.0], [0.0, np.sqrt(0.75), 0.5]
    matter = encode_seeds(given, SituationSettings(), known(vectors))
    assert matter.pool(0).tolist() == [False, False, False, False, False, True]
    below = encode_seeds(
        given, SituationSettings(similarity=0.51), known(vectors)
    )  # the cosine is .5: at the bound it is out
    assert below.pool(0).tolist() == [False, False, False, True, False, True]


def test_replies_that_say_nearly_the_same_are_not_picked_together() -> None:
    given = _named(
        ("Open the window.", "to cool off", "Sure, cold water?", "yes"),
        ("Call Tom.", "to chat", "Sure, shall I bring the long ladder?", "yes"),
        ("Read news.", "to learn", "Sure, shall I bring the long ladder today?", "yes"),
        ("Bake bread.", "to eat", "Sure, shall I BRING the long ladder?", "yes"),
    )
    picked = draw_distractors(encode_seeds(given, SituationSettings(), axes))
    assert len(picked[0]) == 1  # all three others say the same, so the pool is dry after one
    assert picked[0][0] in (1, 2, 3)


def test_distractors_are_drawn_by_the_seed_and_never_the_reply_itself() -> None:
    given = seeds(14, "yes")
    first, again, other = (draw_distractors(encode_seeds(given, SituationSettings(seed=n), axes)) for n in (0, 0, 1))
    assert first == again != other
    assert all(len(picked) == len(set(picked)) == 2 and n not in picked for n, picked in enumerate(first))


def test_a_small_pool_gives_fewer_and_candidates_have_one_polarity() -> None:
    given = seeds(5)  # two say yes, three say no
    picked = draw_distractors(encode_seeds(given, SituationSettings(), axes))
    assert [len(one) for one in picked] == [2, 1, 2, 1, 2]
    assert all(given[other].polarity == given[n].polarity for n, one in enumerate(picked) for other in one)


def test_the_regression_is_where_the_gradient_vanishes_and_that_of_scikit_learn() -> None:
    random = np.random.default_rng(3)
    rows = random.normal(size=(60, 4))
    labels = rows[:, 0] - rows[:, 2] + random.normal(size=60) > 0.3
    found = fit_distractor_regression(rows, labels, penalty=2.0)
    error = logistic_curve(rows @ found.weights + found.intercept) - labels
    assert np.abs(rows.T @ error + 2.0 * found.weights).max() < 1e-4
    assert abs(error.sum()) < 1e-4
    linear = pytest.importorskip("sklearn.linear_model")
    theirs = linear.LogisticRegression(C=0.5, tol=1e-10, max_iter=2_000).fit(rows, labels)
    assert found.weights == pytest.approx(theirs.coef_[0], abs=1e-4)
    assert found.intercept == pytest.approx(theirs.intercept_[0], abs=1e-4)


def test_the_regression_of_two_points_is_computed_by_hand() -> None:
    # Rows 1 and -1 with labels yes and no: 2 log(1 + e^-w) + w^2 / 2 is least where w = 2 / (1 + e^w).
    found = fit_distractor_regression(np.array([[1.0], [-1.0]]), np.array([True, False]))
    assert found.intercept == pytest.approx(0.0, abs=1e-6)
    assert found.weights[0] == pytest.approx(2 / (1 + np.exp(found.weights[0])), abs=1e-5)


def test_probabilities_do_not_overflow() -> None:
    assert logistic_curve(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]


def _scored(
    scores: list[float], chosen: list[list[int]], settings: SituationSettings, monkeypatch: pytest.MonkeyPatch
) -> object:
    """One round over seeds whose replies get these probabilities."""
    from rejoinder.situation import distractors

    given = seeds(len(scores), "yes")
    matter = encode_seeds(given, settings, axes)
    regression = DistractorRegression(np.zeros(3 * matter.replies.shape[1]), 0.0)
    monkeypatch.setattr(distractors, "_train_regression", lambda *_: regression)
    monkeypatch.setattr(distractors, "score_possible_distractors", lambda *_: np.array(scores))
    return filter_adversarially(matter, tuple(map(tuple, chosen)))


def test_an_easy_distractor_gives_way_to_one_above_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    # Seed 0 (f .50) has seed 1 (.45: .45 + .05 <= .50, easy) and seed 2 (.46: not easy). Only seed 3 (.56 - .05 > .50)
    # can take its place; seed 4 (.55 - .05 is not above .50) cannot.
    scores = [0.50, 0.4499999, 0.46, 0.56, 0.5499999]
    chosen, rounds = _scored(scores, [[1, 2], [], [], [], [0]], SituationSettings(rounds=1, folds=2), monkeypatch)  # type: ignore[misc]
    assert chosen[0] == (3, 2)
    assert chosen[4] == (0,)  # .50 + .05 is above .5499999
    assert (rounds[0].distractors, rounds[0].easy, rounds[0].replaced) == (3, 1, 1)


def test_a_distractor_stays_where_nothing_qualifies(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [0.9, 0.1, 0.2, 0.94]  # .94 - .05 is not above .9
    chosen, rounds = _scored(scores, [[1, 2], [2], [], []], SituationSettings(rounds=2, folds=2), monkeypatch)  # type: ignore[misc]
    assert chosen[0] == (1, 2)
    assert [one.replaced for one in rounds] == [0, 0]
    assert [one.easy for one in rounds] == [2, 2]
    assert rounds[0].right == 0.5  # seed 0 is above both, seed 1 below


def test_a_replacement_obeys_the_first_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.situation import distractors

    given = _named(
        ("Open the window.", "to cool off", "Sure, cold water?", "yes"),
        ("Call Tom.", "to chat", "Sure, the red phone?", "yes"),
        ("Read news.", "to learn", "Sure, the long ladder?", "yes"),
        ("Bake bread.", "to eat", "Sure, that long ladder today?", "yes"),  # too near the other distractor
        ("Sing a song.", "to relax", "Sorry, the guitar is gone.", "no"),  # the other polarity
        ("Open this window.", "to sneeze", "Sure, a handkerchief?", "yes"),  # the same request
    )
    matter = encode_seeds(given, SituationSettings(rounds=1, folds=2), axes)
    regression = DistractorRegression(np.zeros(3 * matter.replies.shape[1]), 0.0)
    monkeypatch.setattr(distractors, "_train_regression", lambda *_: regression)
    monkeypatch.setattr(distractors, "score_possible_distractors", lambda *_: np.array([0.5, 0.1, 0.5, 0.9, 0.9, 0.9]))
    chosen, rounds = filter_adversarially(matter, ((1, 2), (2,), (), (), (), ()))
    assert chosen[0] == (1, 2)
    assert (rounds[0].easy, rounds[0].replaced) == (1, 0)


def test_filtering_trains_on_the_other_folds_and_is_the_same_twice() -> None:
    given = seeds(20, "yes")
    matter = encode_seeds(given, SituationSettings(rounds=2, folds=4), spread())
    first = draw_distractors(matter)
    once, rounds = filter_adversarially(matter, first)
    assert (once, rounds) == filter_adversarially(matter, first)
    assert [one.distractors for one in rounds] == [40, 40]
    assert all(matter.pool(n)[list(picked)].all() for n, picked in enumerate(once))


def test_f_is_the_probability_after_request_statements_and_reply() -> None:
    given = seeds(3, "yes")
    matter = encode_seeds(given, SituationSettings(), spread(4))
    trained = DistractorRegression(np.arange(12.0), -2.0)
    row = np.concatenate([matter.requests[1], matter.situations[1], matter.replies[2]])
    assert score_possible_distractors(matter, trained, 1)[2] == pytest.approx(
        1 / (1 + np.exp(2.0 - row @ np.arange(12.0)))
    )


def test_without_rounds_or_with_one_question_nothing_is_filtered() -> None:
    given = seeds(6, "yes")
    matter = encode_seeds(given, SituationSettings(rounds=0), axes)
    assert filter_adversarially(matter, ((1,), (2,), (), (), (), ())) == (((1,), (2,), (), (), (), ()), [])
    alone = encode_seeds(given, SituationSettings(), axes)
    assert filter_adversarially(alone, ((1,), (), (), (), (), ()))[1] == []
