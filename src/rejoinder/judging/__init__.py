"""Judging: a language model asked how good a reply is, or which of two is better.

>>> from rejoinder.judging import compare_pair, open_judge
>>> verdict = compare_pair(open_judge("embedded"), ["How are you?"], "Fine, and you?", "Bananas.")
"""

from rejoinder.judging.comparison import Comparison, compare_pair, order_consistency
from rejoinder.judging.errors import JudgeError
from rejoinder.judging.opening import Judge, open_judge
from rejoinder.judging.rubric import Rubric, load_rubric

__all__ = [
    "Comparison",
    "Judge",
    "JudgeError",
    "Rubric",
    "compare_pair",
    "load_rubric",
    "open_judge",
    "order_consistency",
]
