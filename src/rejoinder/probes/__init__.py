"""Probes: what fools a metric (``attack``), and what a score rests on (``explain``).

exchange, sampling           contexts with their true replies, sampled evenly over corpora
attacks, words               worse replies, which the true reply should beat
edits                        harmless changes of the true reply, which should hardly move the score
variants, result, tables     scoring all of it as one set, counting, tables
attack                       the function behind ``rejoinder attack``
occlusion, segments          scores with parts of a context or words of a reply left out
explanation, explanation_view   what each part contributes, for a program and for a reader
"""

from rejoinder.probes.attack import AttackPlan, attack
from rejoinder.probes.attacks import ATTACKS, Attack
from rejoinder.probes.edits import EDITS, Edit
from rejoinder.probes.exchange import Exchange, ReplyPool
from rejoinder.probes.explanation import Explanation
from rejoinder.probes.result import Robustness, TrialOutcome, WorstCase

__all__ = [
    "ATTACKS",
    "EDITS",
    "Attack",
    "AttackPlan",
    "Edit",
    "Exchange",
    "Explanation",
    "ReplyPool",
    "Robustness",
    "TrialOutcome",
    "WorstCase",
    "attack",
]
