"""Which columns of a table hold ratings, by their names: one per rating, per rater, or per aspect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

RATING = "rating"
PLAIN_NAMES = ("rating", "score", "thumbs", "feedback", "stars")
RATER_NAMES = (
    *("rater", "rater_id", "rater_name", "annotator", "annotator_id", "annotator_name", "worker", "worker_id"),
    *("coder", "coder_id", "judge", "judge_id", "judge_name", "reviewer", "reviewer_id", "evaluator", "evaluator_id"),
    *("assessor", "assessor_id", "labeler", "labeler_id", "labeller", "participant", "participant_id", "rated_by"),
    *("annotated_by", "prolific_pid"),
)
ASPECT_NAMES = ("aspect", "criterion", "criteria", "dimension", "rated_aspect", "quality_dimension")
# What people rate in studies of dialogue. Names that programs give to their own scores (faithfulness, toxicity) are
# not here: a column of them would be taken for people's judgements.
_ASPECTS = frozenset(
    "appropriate appropriateness adequacy clarity coherence coherent completeness conciseness consistency consistent "
    "correctness depth diversity empathy empathetic engaging engagement engagingness fluency fluent friendliness "
    "grammar grammaticality harmlessness helpful helpfulness honesty humanlikeness humanness inquisitive "
    "inquisitiveness informative informativeness interesting interestingness knowledgeable likability likeable "
    "natural naturalness overall persona politeness quality readability relevance relevant safety satisfaction "
    "sensible sensibleness specific specificity tone understandability understandable understanding usefulness".split()
)
_ROLES = "rater|annotator|worker|coder|judge|reviewer|evaluator|assessor|labell?er|participant|human|person"
_ROLE_THEN_ASPECT = re.compile(rf"((?:{_ROLES}) ?(?:\d+|[a-z]))(?: (.+))?")
_ASPECT_THEN_ROLE = re.compile(rf"(.+?) ((?:{_ROLES}) ?(?:\d+|[a-z]))")
_REPEATED = re.compile(r"\.\d+\Z")
_COUNTED = re.compile(r" ?\d+| [a-z]\b")
_NUMBERED = re.compile(r"(.+?) ?(\d+)")
_LETTERED = re.compile(r"(rating|score) ([a-z])")
_NOT_ASPECTS = frozenset("id scale count time date timestamp comment comments reason text note notes by source".split())


def fold_name(name: str) -> str:
    """Return the name of a column without what makes no difference: case, spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).casefold()


class RatingSource(NamedTuple):
    """A column of ratings: its aspect, the system (None if there is one reply per row), and whose ratings it holds."""

    aspect: str
    system: str | None
    column: str
    rater: str | None = None


def find_rating_columns(columns: Iterable[str]) -> tuple[list[RatingSource], list[RatingSource]]:
    """Return the columns of ratings of which a table has one per aspect, and those of which it has one per rater."""
    plain: list[RatingSource] = []
    by_rater: list[RatingSource] = []
    for column in columns:
        words = _fold_words(column)
        source = _find_rater(column, words)
        if source is not None:
            by_rater.append(source)
        elif (aspect := _find_aspect(words)) is not None:
            plain.append(RatingSource(aspect, None, column))
    return plain, by_rater


def _fold_words(column: str) -> str:
    return re.sub(r"[\s_-]+", " ", str(column)).strip().casefold()


def _find_aspect(words: str) -> str | None:
    """Return the aspect of a column such as "rating", "helpfulness", "rating:quality" or "user rating"."""
    repeated = _REPEATED.search(words)
    if repeated:  # a second column of one name
        aspect = _find_aspect(words[: repeated.start()])
        return aspect and aspect + repeated[0]
    if words in PLAIN_NAMES or words in _ASPECTS:
        return words
    before, _, after = re.sub(r"^ratings?:", "rating ", words).partition(" ")
    if before in ("rating", "ratings") and after:
        return None if after in _NOT_ASPECTS else after
    rest, _, last = words.rpartition(" ")
    if rest and (last == "rating" or (last == "score" and rest in _ASPECTS)):
        return rest if rest in _ASPECTS else words
    if rest in ("user", "human", "customer") and last in PLAIN_NAMES:
        return words
    return words.removeprefix("human ") if words.removeprefix("human ") in _ASPECTS else None


def _find_rater(column: str, words: str) -> RatingSource | None:
    """Return the ratings of one of several people: "rater 1", "rating 1", "helpfulness 2", "annotator 1 fluency"."""
    words = _REPEATED.sub("", words)
    lettered = _LETTERED.fullmatch(words)
    if lettered:
        return RatingSource(RATING, None, column, str(column).strip())
    role = _ROLE_THEN_ASPECT.fullmatch(words)
    if role:
        aspect = _name_aspect(role[2])
        return (
            None if aspect is None else RatingSource(aspect, None, column, role[1] if role[2] else str(column).strip())
        )
    role = _ASPECT_THEN_ROLE.fullmatch(words)
    if role:
        aspect = _name_aspect(role[1])
        return None if aspect is None else RatingSource(aspect, None, column, role[2])
    numbered = _NUMBERED.fullmatch(words)
    if numbered:
        aspect = _name_aspect(numbered[1])
        if aspect is not None:
            return RatingSource(
                aspect, None, column, str(column).strip() if aspect == RATING else f"rater {numbered[2]}"
            )
    return None


def _name_aspect(words: str | None) -> str | None:
    """Return the aspect that the rest of a name stands for; None where it names none."""
    if words is None or words in PLAIN_NAMES:
        return RATING
    rest = words.removesuffix(" rating").removesuffix(" score").removeprefix("rating ")
    return rest if rest in _ASPECTS else None


def find_doubles(plain: Sequence[RatingSource], by_rater: Sequence[RatingSource]) -> list[RatingSource]:
    """Return columns that could hold the same ratings twice: of one aspect, or one rater's names, marks and scores."""
    groups: dict[str, list[RatingSource]] = {}
    for source in plain:
        groups.setdefault(_REPEATED.sub("", source.aspect), []).append(source)
    for group in groups.values():
        if len(group) > 1:
            return group
    groups.clear()
    for source in by_rater:
        groups.setdefault(source.aspect, []).append(source)
    for group in groups.values():
        names = [_REPEATED.sub("", _fold_words(source.column)) for source in group]
        # "rater 1" beside "rating 1" may be the rater's name, and "score 1" is another thing than "rating 1".
        if len({_COUNTED.sub("", name).strip() for name in names}) > 1 or len(set(names)) < len(names):
            return group
    return []


def is_general(source: RatingSource) -> bool:
    """Whether the name of a column of ratings leaves their aspect open, as "rating" and "user score" do."""
    return source.aspect == "value" or source.aspect.rpartition(" ")[2] in PLAIN_NAMES


def describe_sources(sources: Sequence[RatingSource]) -> str:
    """Return the names of columns for a message."""
    return ", ".join(str(source.column) for source in sources)
