"""Cross-encoders that learn from teachers: from the scores of trained pairs of networks, and from the truth.

All students of a run read the same steps, so that the teachers read them only once. One of the false replies of each
place is mined: it fits best, by the first teacher's bi-encoder, among random ones; the more the teachers doubt that
it is false, the less it counts as such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.models.aptness.network import CrossEncoder
from rejoinder_lab.training.aptness.bi_encoder import BiTeacher
from rejoinder_lab.training.aptness.cross_encoder import MINED, CrossEncoderStep, draw_cross_encoder_step, gold_loss
from rejoinder_lab.training.optimizer import LearningRateSchedule, WeightAverage, build_optimizer
from rejoinder_lab.training.packing import packed_pair_log_odds, packed_turn_vectors
from rejoinder_lab.training.recipes import CrossRecipe
from rejoinder_lab.training.sampling import ResponsePlaces, TokenCorpus, TokenProperties

_FARTHEST = 10.0  # log-odds of a teacher are clipped to this


@dataclass(frozen=True)
class DistillationRecipe:
    """What decides the students, besides the data, their starts, the teachers and the seed."""

    cross: CrossRecipe = field(default_factory=lambda: CrossRecipe(places=192, rate=2e-4))
    gold: float = 0.3  # the weight of the truth
    among: float = 0.7  # of the teachers' distribution over a place's replies
    odds: float = 0.1  # of the squared distance to their log-odds
    pool: int = 24  # random replies of which the mined one fits best; 0 mines none


@dataclass(frozen=True)
class AptnessTeacher:
    """A trained pair of networks and the weights that turn their scores into calibrated log-odds."""

    bi: BiTeacher
    cross: CrossEncoder
    calibration: Mapping[str, float]  # of ``both``: bi, cross and bias

    @torch.no_grad()
    def log_odds(self, batch: CrossEncoderStep) -> Tensor:
        """Return the teacher's log-odds of each pair of a step: (kinds, places)."""
        kinds, places = batch.weight.shape
        replies = self.bi.network.reply(packed_turn_vectors(self.bi.network, batch.replies))
        cosines = (replies.view(kinds, places, -1) * self.bi.contexts(batch.places)).sum(-1)
        odds = packed_pair_log_odds(self.cross, batch.pairs).view(kinds, places)
        weights = self.calibration
        total: Tensor = weights["bi"] * cosines + weights["cross"] * odds + weights["bias"]
        return total


def distill_cross_encoders(
    students: Sequence[CrossEncoder],
    teachers: Sequence[AptnessTeacher],
    corpus: TokenCorpus,
    weights: Tensor,
    words: TokenProperties,
    recipe: DistillationRecipe,
    generator: torch.Generator,
    log_step: Callable[[int, list[float]], None],
) -> None:
    """Train the students in place; their word embeddings, which are shared with the bi-encoder, do not change."""
    cross = recipe.cross
    learners = []
    for student in students:
        student.trunk.embeddings.word_embeddings.weight.requires_grad_(False)
        heads = [*student.gather.parameters(), *student.head.parameters()]
        optimizer = build_optimizer([(list(student.trunk.parameters()), cross.rate), (heads, cross.head_rate)])
        learners.append(
            (student.train(), LearningRateSchedule(optimizer, cross.steps), WeightAverage(student, cross.average))
        )

    def mine(places: ResponsePlaces, which: Tensor) -> Tensor:
        return teachers[0].bi.nearest(corpus, places, which, recipe.pool, generator)

    for step in range(cross.steps):
        batch = draw_cross_encoder_step(corpus, weights, words, cross, generator, mine if recipe.pool else None)
        teacher_odds = torch.stack([teacher.log_odds(batch) for teacher in teachers]).mean(0)
        teacher_odds = teacher_odds.clamp(-_FARTHEST, _FARTHEST)
        weight = batch.weight
        if recipe.pool:
            weight[MINED] *= torch.sigmoid(-teacher_odds[MINED])
        losses = []
        for student, schedule, average in learners:
            student_odds = packed_pair_log_odds(student, batch.pairs).view_as(teacher_odds)
            loss = taught_loss(student_odds, teacher_odds, weight, recipe)
            schedule.step(loss, student)
            average.update(student)
            losses.append(loss.detach())
        if step % 100 == 99 or step + 1 == cross.steps:
            log_step(step + 1, [float(loss) for loss in losses])
    for student, _, average in learners:
        average.copy_to(student)
        student.eval()


def taught_loss(student_odds: Tensor, teacher_odds: Tensor, weight: Tensor, recipe: DistillationRecipe) -> Tensor:
    """Return the mean loss of the places: the truth, the teachers' distribution over replies, and their log-odds."""
    among = functional.kl_div(
        functional.log_softmax(student_odds, 0),
        functional.log_softmax(teacher_odds, 0),
        reduction="sum",
        log_target=True,
    )
    distance = (student_odds - teacher_odds).square().mean()
    return (
        recipe.gold * gold_loss(student_odds, weight, recipe.cross)
        + recipe.among * among / student_odds.shape[1]
        + recipe.odds * distance
    )
