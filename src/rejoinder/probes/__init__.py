"""Robustness: what fools a metric, and what upsets it though it should not.

exchange, drawing                                contexts with their true replies, drawn evenly over corpora
attacks, words                                   worse replies, which the true reply should beat
edits, synonyms, contractions, punctuation       harmless changes of the true reply, which should hardly move the score
variants, measuring, result, tables              all of it scored as one set, counted, told
attacking                                        ``attack``, the function behind ``rejoinder attack``

The operations on texts know nothing of metrics, so that training can use them too.
"""

from rejoinder.probes.attack import AttackPlan, attack
from rejoinder.probes.attacks import ATTACKS, Attack
from rejoinder.probes.edits import EDITS, Edit
from rejoinder.probes.exchange import Exchange, Pool
from rejoinder.probes.result import Example, Outcome, Robustness

__all__ = [
    "ATTACKS",
    "EDITS",
    "Attack",
    "AttackPlan",
    "Edit",
    "Example",
    "Exchange",
    "Outcome",
    "Pool",
    "Robustness",
    "attack",
]
