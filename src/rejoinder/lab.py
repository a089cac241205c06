"""What comes with rejoinder-lab, by the names that users type: without it, one line says what to install."""

from __future__ import annotations

DISTRIBUTION = "rejoinder-lab"
COMMANDS = frozenset(("reproduce", "train"))
METRICS = frozenset(("adem", "bert_ruber", "dynaeval", "fed", "grade", "moverscore", "ubleu", "usl_h", "usr"))
SYSTEMS = frozenset(("generator",))
LISTS = frozenset(("reproductions",))
# First-level names of ``rejoinder_lab``.
NAMES = frozenset(
    (
        *("AdemRecipe", "AptnessRecipe", "CometRecipe", "DynaEvalRecipe", "GeneratorRecipe", "GradeRecipe"),
        *("HeadRecipe", "IdkRecipe", "NupRecipe", "RankerRecipe", "Reproduction", "ScorerRecipe", "StatementRecipe"),
        *("TrainedModel", "UslHRecipe", "UsrRecipe", "reproduce", "train", "write_rarity"),
    )
)


def explain_absence(what: str) -> str:
    """Return the line about something of the lab that is not installed."""
    return f"{what} comes with {DISTRIBUTION}; install it with: pip install {DISTRIBUTION}"
