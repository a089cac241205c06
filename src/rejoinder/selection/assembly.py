"""Questions made from pools: acceptable and ungrammatical candidates are dropped, and three false ones are chosen.

How many of the three are longer than the true reply differs from question to question, so that the reply is as often
the longest candidate as the shortest: otherwise length alone would give answers away.

If six or more are left, a second question gets the same context, three other false candidates, and as its true reply an
utterance that was accepted (Sato et al. 2020, section 3.2): by people, or by the model if the settings say so.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rejoinder.data.questions import FALSE, TRUE
from rejoinder.errors import InputError
from rejoinder.seeded import stable_shuffle
from rejoinder.selection.acceptability import Acceptability
from rejoinder.selection.acceptability_rules import CandidateVerdict, judge_candidate, judge_truth
from rejoinder.selection.candidate_filter import draw_longer, is_longer
from rejoinder.selection.human_scores import get_human_scores
from rejoinder.selection.model_pass import ACCEPTABILITY_KEY, is_acceptable
from rejoinder.selection.pools import LEFT_OUT_KEY
from rejoinder.selection.settings import SelectionSettings
from rejoinder.text.normalise import normalise_text
from rejoinder.text.similarity import dice_similarity, extract_ngrams
from rejoinder.types import Candidate, Question


def draw_candidates(
    usable: Sequence[Candidate], n: int, *names: object, longer: frozenset[str] = frozenset(), n_longer: int = 0
) -> list[Candidate]:
    """Choose ``n`` candidates, mixing their sources; ``names`` (the seed among them) decide the random order.

    The first is random. Each of the others comes from the source that has contributed the fewest so far: of its
    candidates the one that was found first, so the most similar to the true reply; if that is not known, the one least
    similar to those chosen already. The random order breaks ties. ``n_longer`` of them have ids in ``longer``.
    """
    by_id = {str(one.id): one for one in usable}
    remaining = [by_id[name] for name in stable_shuffle(by_id, *names)]
    words = {str(one.id): extract_ngrams(one.text) for one in usable}
    room = {True: n_longer, False: n - n_longer}
    chosen: list[Candidate] = []
    source_counts: Counter[str | None] = Counter()
    similarity = dict.fromkeys(words, 0.0)
    while len(chosen) < n and (fitting := [one for one in remaining if room[str(one.id) in longer]]):
        best = fitting[0]
        if chosen:
            best = min(
                fitting,
                key=lambda one: (source_counts[one.source], one.meta.get("place", 0), similarity[str(one.id)]),
            )
        remaining.remove(best)
        chosen.append(best)
        room[str(best.id) in longer] -= 1
        source_counts[best.source] += 1
        for name in similarity:
            similarity[name] = max(similarity[name], dice_similarity(words[name], words[str(best.id)]))
    return chosen


def shuffle_candidates(candidates: Sequence[Candidate], *names: object) -> tuple[Candidate, ...]:
    """Return candidates in a random order that these names decide."""
    by_id = {str(one.id): one for one in candidates}
    return tuple(by_id[name] for name in stable_shuffle(by_id, *names))


SECOND_SUFFIX = "-2"  # at the end of a second question's id
# How frequent a number of longer candidates may be: so many times its equal share of the questions, plus so many.
_SPARE_SHARE, _SPARE_QUESTIONS = 1.1, 5


@dataclass(eq=False)
class QuestionAssembler:
    """Makes questions from pools, one after another, and counts what happens to pools and candidates.

    ``by_people`` means that people have scored the pools: then they alone decide, and what they did not score is out.
    Otherwise the model decides if there is one (``acceptability``), else nobody does.
    """

    settings: SelectionSettings
    by_people: bool
    acceptability: Acceptability | None = None
    counts: Counter[str] = field(default_factory=Counter)
    longer_counts: Counter[int] = field(default_factory=Counter)  # questions by how many candidates outdo the truth

    def questions(self, pool: Question) -> list[Question]:
        """Return the questions of a pool: none, one, or two."""
        self.counts["pools"] += 1
        truth = find_true_reply(pool)
        others = [one for one in pool.candidates if one is not truth and self._differs_from(one, truth)]
        verdicts = {str(one.id): self._verdict(one) for one in others}
        self.counts["candidates"] += len(others)
        self.counts.update(f"candidates {verdict}" for verdict in verdicts.values())
        if (
            self.by_people
            and (truth_verdict := judge_truth(get_human_scores(truth), self.settings.least_raters)) != TRUE
        ):
            self.counts[f"pools with a truth that is {truth_verdict}"] += 1
            return []
        usable = [one for one in others if verdicts[str(one.id)] == FALSE]
        if len(usable) < self.settings.false:
            self.counts["pools with too few false candidates"] += 1
            return []
        first = self._draw(usable, truth, pool.id, "pick")
        if not first:
            self.counts["pools that would let length give the truth away"] += 1
            return []
        new_questions = [self._make_question(pool, pool.id, truth, first)]
        rest = [one for one in usable if one not in first]
        accepted = [one for one in others if verdicts[str(one.id)] == "acceptable"]
        second_truth = self._choose_second_truth(accepted) if len(rest) >= self.settings.false else None
        if second_truth is not None and (second_false := self._draw(rest, second_truth, pool.id, "second")):
            new_questions.append(self._make_question(pool, pool.id + SECOND_SUFFIX, second_truth, second_false))
            self.counts["second questions"] += 1
        self.counts["questions"] += len(new_questions)
        return new_questions

    def _draw(self, usable: Sequence[Candidate], truth: Candidate, pool: str, what: str) -> list[Candidate]:
        """Choose the false candidates of a question, with the least frequent possible number of longer ones.

        None are chosen if even that number is too frequent already: short replies have hardly any shorter candidates.
        """
        n, names = self.settings.false, (self.settings.seed, what, pool)
        if not self.settings.alike:
            return draw_candidates(usable, n, *names)
        longer = frozenset(str(one.id) for one in usable if is_longer(one.text, truth.text))
        possible = range(max(0, n - len(usable) + len(longer)), min(n, len(longer)) + 1)
        wanted = draw_longer(pool, n)
        n_longer = min(possible, key=lambda k: (self.longer_counts[k] - (k == wanted), abs(k - wanted)))
        if self.longer_counts[n_longer] > _SPARE_QUESTIONS + _SPARE_SHARE * self.longer_counts.total() / (n + 1):
            return []
        self.longer_counts[n_longer] += 1
        return draw_candidates(usable, n, *names, longer=longer, n_longer=n_longer)

    def _differs_from(self, candidate: Candidate, truth: Candidate) -> bool:
        """Whether a candidate differs from the true reply; the finder ensures it, but a file of pools may not."""
        differs = normalise_text(candidate.text) != normalise_text(truth.text)
        self.counts["candidates that say the same as the truth"] += not differs
        return differs

    def _verdict(self, candidate: Candidate) -> CandidateVerdict:
        if self.by_people:
            return judge_candidate(get_human_scores(candidate), self.settings.least_raters)
        if self.acceptability is None:
            return "false"
        accepted = is_acceptable(candidate, self.acceptability)
        if accepted is None:
            return "unjudged"
        return "acceptable" if accepted else "false"

    def _choose_second_truth(self, accepted: Sequence[Candidate]) -> Candidate | None:
        """Return the most clearly accepted utterance, if the settings let its judges choose a second true reply."""
        if not accepted or self.settings.second != ("people" if self.by_people else "model"):
            return None
        if self.by_people:
            return max(accepted, key=lambda one: (statistics.fmean(get_human_scores(one)), -_pool_place(one)))
        return max(accepted, key=lambda one: (one.meta[ACCEPTABILITY_KEY], -_pool_place(one)))

    def _make_question(self, pool: Question, name: str, truth: Candidate, false: Sequence[Candidate]) -> Question:
        ordered = shuffle_candidates([truth, *false], self.settings.seed, "order", name)
        return dataclasses.replace(
            pool,
            id=name,
            candidates=tuple(dataclasses.replace(one, grade=TRUE if one is truth else FALSE) for one in ordered),
            meta={key: value for key, value in pool.meta.items() if key != LEFT_OUT_KEY},
        )


def find_true_reply(pool: Question) -> Candidate:
    """Return the true reply of a pool."""
    true_candidates = [one for one in pool.candidates if one.grade == TRUE]
    ids = {one.id for one in pool.candidates}
    if len(true_candidates) != 1 or len(ids) != len(pool.candidates) or None in ids:
        raise InputError(
            f"question {pool.id}: is not a pool: exactly one candidate must have the grade 'true' (found "
            f"{len(true_candidates)}), and each its own id; write pools with: rejoinder build --write-csv or "
            "--write-project"
        )
    return true_candidates[0]


def _pool_place(candidate: Candidate) -> int:
    return int(candidate.meta.get("place", 0))
