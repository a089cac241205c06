"""Which of the usable false candidates stand in a question, and in which order: the seed draws, and sources are mixed.

The first is drawn. Each other is one of the source that has given fewest so far, and of these the one that was found
first, which is most like the true reply; where nothing says what was found first, the one that is least like those that
stand there already. What is alike in all goes by the draw.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rejoinder.data.questions import FALSE, TRUE
from rejoinder.errors import InputError
from rejoinder.seeded import stable_shuffle
from rejoinder.selection.acceptability import Acceptability
from rejoinder.selection.acceptability_rules import CandidateVerdict, judge_candidate, judge_truth
from rejoinder.selection.human_scores import get_ratings
from rejoinder.selection.model_pass import ACCEPTABILITY_KEY, is_acceptable
from rejoinder.selection.pools import LEFT_OUT_KEY
from rejoinder.selection.settings import SelectionSettings
from rejoinder.text.normalise import normalise_text
from rejoinder.text.similarity import dice_similarity, extract_ngrams
from rejoinder.types import Candidate, Question


def draw_candidates(usable: Sequence[Candidate], n: int, *names: object) -> list[Candidate]:
    """So many of some candidates (told apart by their ids), by the draw that belongs to these names."""
    by_id = {str(one.id): one for one in usable}
    remaining = [by_id[name] for name in stable_shuffle(by_id, *names)]
    words = {str(one.id): extract_ngrams(one.text) for one in usable}
    chosen: list[Candidate] = []
    source_counts: Counter[str | None] = Counter()
    similarity = dict.fromkeys(words, 0.0)
    while remaining and len(chosen) < n:
        best = remaining[0]
        if chosen:
            best = min(
                remaining,
                key=lambda one: (source_counts[one.source], one.meta.get("place", 0), similarity[str(one.id)]),
            )
        remaining.remove(best)
        chosen.append(best)
        source_counts[best.source] += 1
        for name in similarity:
            similarity[name] = max(similarity[name], dice_similarity(words[name], words[str(best.id)]))
    return chosen


def shuffle_candidates(candidates: Sequence[Candidate], *names: object) -> tuple[Candidate, ...]:
    """Candidates in the order that belongs to these names."""
    by_id = {str(one.id): one for one in candidates}
    return tuple(by_id[name] for name in stable_shuffle(by_id, *names))


SECOND_SUFFIX = "-2"  # behind the id of a second question


@dataclass(eq=False)
class QuestionAssembler:
    """Makes questions of pools, one after the other, and counts what becomes of everything.

    ``by_people`` says that people have scored the pools: then they decide alone, and what they did not score is out.
    Otherwise the model decides where there is one (``known``), else nobody does.
    """

    settings: SelectionSettings
    by_people: bool
    known: Acceptability | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def questions(self, pool: Question) -> list[Question]:
        """No question, one, or two."""
        self.counts["pools"] += 1
        truth = find_truth(pool)
        others = [one for one in pool.candidates if one is not truth and self._differs_from(one, truth)]
        verdicts = {str(one.id): self._verdict(one) for one in others}
        self.counts["candidates"] += len(others)
        self.counts.update(f"candidates {verdict}" for verdict in verdicts.values())
        if self.by_people and (truth_verdict := judge_truth(get_ratings(truth), self.settings.least_raters)) != TRUE:
            self.counts[f"pools with a truth that is {truth_verdict}"] += 1
            return []
        usable = [one for one in others if verdicts[str(one.id)] == FALSE]
        if len(usable) < self.settings.false:
            self.counts["pools with too few false candidates"] += 1
            return []
        first = draw_candidates(usable, self.settings.false, self.settings.seed, "pick", pool.id)
        new_questions = [self._make_question(pool, pool.id, truth, first)]
        rest = [one for one in usable if one not in first]
        accepted = [one for one in others if verdicts[str(one.id)] == "acceptable"]
        if len(rest) >= self.settings.false and (second_truth := self._choose_second_truth(accepted)) is not None:
            second_false = draw_candidates(rest, self.settings.false, self.settings.seed, "second", pool.id)
            new_questions.append(self._make_question(pool, pool.id + SECOND_SUFFIX, second_truth, second_false))
            self.counts["second questions"] += 1
        self.counts["questions"] += len(new_questions)
        return new_questions

    def _differs_from(self, candidate: Candidate, truth: Candidate) -> bool:
        """Whether a candidate says something else than the true reply; proposing sees to it, a file need not."""
        differs = normalise_text(candidate.text) != normalise_text(truth.text)
        self.counts["candidates that say the same as the truth"] += not differs
        return differs

    def _verdict(self, candidate: Candidate) -> CandidateVerdict:
        if self.by_people:
            return judge_candidate(get_ratings(candidate), self.settings.least_raters)
        if self.known is None:
            return "false"
        accepted = is_acceptable(candidate, self.known)
        if accepted is None:
            return "unjudged"
        return "acceptable" if accepted else "false"

    def _choose_second_truth(self, accepted: Sequence[Candidate]) -> Candidate | None:
        """The utterance that was accepted most clearly, where whoever accepted it may decide on a truth."""
        if not accepted or self.settings.second != ("people" if self.by_people else "model"):
            return None
        if self.by_people:
            return max(accepted, key=lambda one: (_mean(get_ratings(one)), -_pool_place(one)))
        return max(accepted, key=lambda one: (one.meta[ACCEPTABILITY_KEY], -_pool_place(one)))

    def _make_question(self, pool: Question, name: str, truth: Candidate, false: Sequence[Candidate]) -> Question:
        ordered = shuffle_candidates([truth, *false], self.settings.seed, "order", name)
        return dataclasses.replace(
            pool,
            id=name,
            candidates=tuple(dataclasses.replace(one, grade=TRUE if one is truth else FALSE) for one in ordered),
            meta={key: value for key, value in pool.meta.items() if key != LEFT_OUT_KEY},
        )


def find_truth(pool: Question) -> Candidate:
    """The true reply of a pool."""
    true_candidates = [one for one in pool.candidates if one.grade == TRUE]
    ids = {one.id for one in pool.candidates}
    if len(true_candidates) != 1 or len(ids) != len(pool.candidates) or None in ids:
        raise InputError(
            f"question {pool.id}: is no pool: one candidate must have the grade 'true' (found {len(true_candidates)}), and each "
            "an id of its own; write pools with --write-csv or --write-project"
        )
    return true_candidates[0]


def _mean(scores: Sequence[int]) -> float:
    return sum(scores) / len(scores)


def _pool_place(candidate: Candidate) -> int:
    return int(candidate.meta.get("place", 0))
