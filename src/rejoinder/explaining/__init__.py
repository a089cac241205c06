"""Why a reply got its score: parts of the context and words of the reply are left out, one at a time.

from rejoinder.explaining import explain, pair_of

found = explain("aptness", pair_of(["Is it open on Sunday?"], "Yes, from ten."))
found.costly()      # the words that cost the reply most
"""

from rejoinder.explaining.explanation import Explanation, Part, Span
from rejoinder.explaining.leaving_out import explain, pair_of

__all__ = ["Explanation", "Part", "Span", "explain", "pair_of"]
