"""Basic English grammar from word lists: words, negations, subject, tense; None where the lists cannot decide."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from rejoinder.text.english.contractions import expand_contractions
from rejoinder.text.english.verbs import is_adverb, is_third_person, load_verbs
from rejoinder.text.tokens import tokenize

NEGATIONS = frozenset("not no never nothing nobody none nowhere neither cannot without".split())
OPENERS = frozenset(
    "well yes yeah no oh ah so and but or then now sure ok okay maybe perhaps please sorry right hey look because that "
    "if when where what why how who which do not really also just still yet of course indeed actually".split()
)
AUXILIARIES = frozenset(
    "am is are was were do does did have has had will would can could shall should may might must".split()
)
SPEAKER, OTHERS = frozenset(("i", "we")), frozenset(("he", "she", "they"))
_NEGATED_QUESTION = re.compile(
    r"\b(do|does|did|is|are|was|were|has|have|had|could|would|should|must)n['’]t\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


def split_english_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, with contractions written out (also in "didn't you")."""
    return tokenize(_NEGATED_QUESTION.sub(r"\1 not", expand_contractions(text)), "words")


def split_english_sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part]


def count_negations(text: str) -> int:
    """Return the number of negations in a text; a leading "No" or "Not" is an answer and does not count."""
    words = split_english_words(text)
    return sum(word in NEGATIONS for word in (words[1:] if words[:1] in (("no",), ("not",)) else words))


def find_answer(text: str) -> Literal["yes", "no"] | None:
    """Return whether a text begins with a yes or a no; None if with neither."""
    first = split_english_words(text)[:1]
    if first and first[0] in ("yes", "yeah", "yep", "sure", "certainly"):
        return "yes"
    return "no" if first and first[0] in ("no", "nope", "never") else None


def stem_english_word(word: str) -> str:
    """Return the stem of a lower-case English word by Porter's second algorithm, Snowball's English stemmer."""
    return _stemmer()(word)


@functools.cache
def _stemmer() -> Callable[[str], str]:
    # Not snowballstemmer.stemmer(), which would use another package's stemmer if one is installed.
    from snowballstemmer.english_stemmer import EnglishStemmer

    stemmer = EnglishStemmer()
    return functools.lru_cache(maxsize=2**14)(lambda word: str(stemmer.stemWord(word)))


Person: TypeAlias = Literal["speaker", "hearer", "others"]
# A sentence that begins with one of these has a noun as its subject.
_DETERMINERS = frozenset("a an the this that these those my your his her its our their some any no every".split())
_PHRASES = re.compile(r"\b(?:thank you|see you|excuse me|you know|i mean|i see)\b[,.]?", re.IGNORECASE)  # about no one
_ADDRESS = re.compile(r"^\w+,\s+(?=\w)")  # "Tom, you ..."
_ANSWERING_PERSON: dict[Person | None, Person | None] = {
    "hearer": "speaker",
    "speaker": "hearer",
    "others": "others",
    None: None,
}


def find_subject(text: str) -> Person | None:
    """Return whom a text is about, by its first sentence that shows it: speaker, hearer or other people (not "it")."""
    sentences = (_ADDRESS.sub("", _PHRASES.sub("", sentence)) for sentence in split_english_sentences(text))
    return next(
        (subject for sentence in sentences if (subject := _subject_of_words(split_english_words(sentence)))), None
    )


def find_expected_subject(text: str) -> Person | None:
    """Return whom the answer to a question is about, if the question shows it: "do you" is answered with "I"."""
    questions = [sentence for sentence in split_english_sentences(text) if sentence.endswith("?")][-1:]
    subject = find_subject(questions[0].rpartition(", ")[2]) if questions else None
    return _ANSWERING_PERSON[subject]


def _subject_of_words(words: tuple[str, ...]) -> Person | None:
    start = next((n for n, word in enumerate(words) if word not in OPENERS), len(words))
    clause = words[start:]
    if clause[:2] == ("let", "us"):
        return "speaker"
    if clause and (clause[0] in _DETERMINERS or not _may_begin(clause[0])):
        return None
    for index, word in enumerate(words):
        if word in SPEAKER or word in OTHERS:
            return "speaker" if word in SPEAKER else "others"
        previous = words[index - 1] if index else ""
        if word == "you" and (not previous or previous in OPENERS or previous in AUXILIARIES):
            return "hearer"
        if word == "it" and (not previous or previous in OPENERS or previous in AUXILIARIES):
            return None
        if index >= start and word in load_verbs() and word not in AUXILIARIES:
            following = words[index + 1] if index + 1 < len(words) else ""
            is_noun = following in AUXILIARIES or is_third_person(following)  # "Water costs ..."
            return "hearer" if index == start and not is_noun else None  # a verb without a subject is a request
    return None


def _may_begin(word: str) -> bool:
    """Whether a clause can begin with this word as a pronoun, an auxiliary, a request or an adverb."""
    return word in SPEAKER | OTHERS | AUXILIARIES | {"you", "it"} or word in load_verbs() or is_adverb(word)


Tense: TypeAlias = Literal["past", "present", "future"]
_PRESENT = frozenset("am is are do does has have can may must".split())
_PAST_AUXILIARIES = frozenset("was were did had".split())
_PAST = frozenset(
    """
    ate beat became began bent blew bought broke brought built burnt came caught chose crept dealt died drank
    dreamt drew drove dug fed fell felt fled flew fought found forgave forgot froze gave got grew heard held hid hung
    kept knelt knew laid led lent lit lost made meant met paid ran rang rode said sang sank sat saw sent
    shook shone slept slid sold spent spoke stole stood stuck struck swam swept swore taught thought threw told
    took tore understood was went were woke won wore wrote
    """.split()
)
# Also nouns, adjectives or a direction: verbs only after a pronoun.
_AMBIGUOUS_PAST = frozenset("bit bound lay left rose shot".split())
_DOUBLED_CONSONANT = re.compile(r"([bdgklmnprt])\1ed$")
_PRONOUNS = SPEAKER | OTHERS | {"you", "it"}


def find_tense(text: str) -> Tense | None:
    """Return the tense of the first verb that shows one."""
    return next(
        (
            tense
            for sentence in split_english_sentences(text)
            if (tense := _tense_of_words(split_english_words(sentence)))
        ),
        None,
    )


def _tense_of_words(words: tuple[str, ...]) -> Tense | None:
    for index, word in enumerate(words):
        following = words[index + 1 : index + 4]
        if word in ("will", "shall") or (word == "going" and following[:1] == ("to",)):
            return "future"
        if word in ("would", "could", "should", "might") or (word in ("have", "has") and _is_participle(following)):
            return None  # what might be, and what has been, goes with any tense
        if word in ("am", "is", "are") and "going" in following[:2]:
            continue
        follows_pronoun = index > 0 and words[index - 1] in _PRONOUNS
        if word in _PAST_AUXILIARIES or word in _PAST or base_of_past(word):
            return "past"
        if follows_pronoun and (word in _AMBIGUOUS_PAST or word.endswith("ed")):
            return "past"
        if word in _PRESENT or is_third_person(word) or (word in load_verbs() and _follows_subject(words, index)):
            return "present"
    return None


def _follows_subject(words: tuple[str, ...], index: int) -> bool:
    """Whether a base form is a verb here: it follows a pronoun, adverbs aside, or begins the clause."""
    previous = [word for word in words[:index] if not is_adverb(word) and word not in OPENERS]
    return not previous or previous[-1] in _PRONOUNS - {"it"}


@functools.cache
def base_of_past(word: str) -> str | None:
    """Return the verb of which a word is the regular past form; None if it is not one."""
    if not word.endswith("ed") or len(word) < 4:
        return None
    candidates = [word[:-2], word[:-1], *([word[:-3] + "y"] if word.endswith("ied") else [])]
    candidates += [word[:-3]] if _DOUBLED_CONSONANT.search(word) else []
    return next((candidate for candidate in candidates if candidate in load_verbs()), None)


def _is_participle(words: tuple[str, ...]) -> bool:
    verbs = [word for word in words if not is_adverb(word) and word not in NEGATIONS][:1]
    return any(w in _PAST or base_of_past(w) or w in ("been", "done", "gone", "seen", "had") for w in verbs)
