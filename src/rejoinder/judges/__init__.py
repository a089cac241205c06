"""Judges: a language model that says how good a reply is, or which of two is better.

>>> from rejoinder.judges import compare_pair, open_judge
>>> verdict = compare_pair(open_judge("embedded"), ["How are you?"], "Fine, and you?", "Bananas.")
"""

from rejoinder.errors import JudgeError
from rejoinder.judges.factory import Judge, compare_pair, open_judge
from rejoinder.judges.pairs import PairComparison, order_consistency
from rejoinder.judges.rubric import Rubric, load_rubric, rubric_names

__all__ = [
    "Judge",
    "JudgeError",
    "PairComparison",
    "Rubric",
    "compare_pair",
    "load_rubric",
    "open_judge",
    "order_consistency",
    "rubric_names",
]
