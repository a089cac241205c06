"""The alignment of a reply's words with a reference's, one to one (Denkowski and Lavie 2014, section 2.1).

Among all ways to pair matching words, the best alignment covers the most words; among those it has the fewest chunks
(runs of pairs that are adjacent in both texts), then the smallest sum of distances between the positions of paired
words, and then (a tie that METEOR leaves open) the matches of the earliest stages. The search goes through the
reference from left to right and keeps the 40 best partial alignments, as METEOR does; usually there are far fewer.

A set of positions in the reply is an integer with those bits set: this is fast and can be a dictionary key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

_BEAM = 40
# The cost of a partial alignment is one integer with four parts: words left uncovered that could have been covered,
# chunks, distances, stages. Each part has room for texts of half a million words.
_DISTANCE = 2**20
_CHUNK = 2**60
_LOSS = 2**80
_NOWHERE = -2  # the last paired position if the previous word was not paired: no position follows it


class WordCandidates(NamedTuple):
    """The positions in the reply that a word of the reference may be paired with: as a set, and each with its stage."""

    places: int
    stages: Sequence[tuple[int, int]]


NO_CANDIDATES = WordCandidates(0, ())
Link: TypeAlias = tuple[int, int, int]  # position in the reply, position in the reference, stage at which they match


class Alignment(NamedTuple):
    """The pairs in the order of the reference, and the number of chunks they form."""

    links: list[Link]
    chunks: int


class _AlignmentRow(NamedTuple):
    """A word of the reference that has candidates, and what is still ahead when the search reaches it.

    Its group is the set of positions that words compete for, directly or through others; a group is even if all of its
    words match all of its positions.
    """

    place: int
    candidates: WordCandidates
    group: int
    is_even: bool
    rows_left: int  # of the group, this one included
    later: int  # the positions that later words may need


# Partial alignments by what matters to the rest of the search (the used positions that later words may need, and the
# last paired position): the cost, and the links as a chain from the last to the first.
_Chain: TypeAlias = tuple["_Chain", Link] | None
_States: TypeAlias = dict[tuple[int, int], tuple[int, _Chain]]


def align_words(reference: Sequence[WordCandidates]) -> Alignment:
    """Return the best alignment, given the candidates of each word of the reference."""
    return _align_unambiguous(reference) or _search_alignment(_alignment_rows(reference))


def _align_unambiguous(reference: Sequence[WordCandidates]) -> Alignment | None:
    """Return the alignment if each word has at most one candidate and no two words share one; otherwise None."""
    links: list[Link] = []
    used = chunks = 0
    previous = (_NOWHERE, _NOWHERE)
    for place, (places, stages) in enumerate(reference):
        if not places:
            continue
        if places & used or len(stages) > 1:
            return None
        used |= places
        i, stage = stages[0]
        if previous != (i - 1, place - 1):
            chunks += 1
        previous = (i, place)
        links.append((i, place, stage))
    return Alignment(links, chunks)


def _alignment_rows(reference: Sequence[WordCandidates]) -> list[_AlignmentRow]:
    """Return the words of the reference that have candidates, in order."""
    wanted = {candidates.places for candidates in reference if candidates.places}
    group_of = _candidate_groups(wanted)
    uneven = {group_of[places] for places in wanted if group_of[places] != places}
    rows_left = dict.fromkeys(wanted, 0) | dict.fromkeys(uneven, 0)
    rows = []
    later = 0
    for place in range(len(reference) - 1, -1, -1):
        candidates = reference[place]
        places = candidates.places
        if places:
            group = group_of[places]
            rows_left[group] += 1
            rows.append(_AlignmentRow(place, candidates, group, group not in uneven, rows_left[group], later))
            later |= places
    rows.reverse()
    return rows


def _candidate_groups(wanted: set[int]) -> dict[int, int]:
    """Return the group of each set of candidates: the union of all that overlap, directly or through others."""
    groups: list[int] = []
    union = 0
    for places in wanted:
        if union & places:
            for group in groups:
                if group & places:
                    places |= group
            groups = [group for group in groups if not group & places]
        groups.append(places)
        union |= places
    if len(groups) == len(wanted):
        return {group: group for group in groups}
    return {places: group for group in groups for places in wanted if places & group}


def _search_alignment(rows: list[_AlignmentRow]) -> Alignment:
    """Return the best alignment that the beam search finds."""
    states: _States = {(0, _NOWHERE): (0, None)}
    place = _NOWHERE
    for row in rows:
        extend = _extend_alignments if row.is_even else _extend_alignments_with_losses
        states = extend(states, row, follows=row.place == place + 1)
        place = row.place
        if len(states) > _BEAM:
            states = dict(sorted(states.items(), key=lambda state: state[1][0])[:_BEAM])
    cost, chain = min(states.values(), key=lambda state: state[0])
    links = []
    while chain is not None:
        chain, link = chain
        links.append(link)
    return Alignment(links[::-1], cost % _LOSS // _CHUNK)


def _extend_alignments(states: _States, row: _AlignmentRow, follows: bool) -> _States:
    """Return the states after one more word of the reference, which is paired in every way or, if allowed, skipped.

    In an even group a word can be skipped without loss only while more words are left than positions are free.
    """
    place, (_, stages), _, _, rows_left, later = row
    extended: _States = {}
    for (used, last), (cost, chain) in states.items():
        free = [candidate for candidate in stages if not used >> candidate[0] & 1]
        if rows_left > len(free):
            key = (used & later, _NOWHERE)
            if key not in extended or cost < extended[key][0]:
                extended[key] = (cost, chain)
        for i, stage in free if len(free) <= _BEAM else _nearest_candidates(free, place, last):
            new_cost = cost + abs(i - place) * _DISTANCE + stage
            if last != i - 1 or not follows:
                new_cost += _CHUNK
            key = ((used | 1 << i) & later, i)
            if key not in extended or new_cost < extended[key][0]:
                extended[key] = (new_cost, (chain, (i, place, stage)))
    return extended


def _extend_alignments_with_losses(states: _States, row: _AlignmentRow, follows: bool) -> _States:
    """The same for groups whose words do not all match each other, so that a choice now may cost a match later.

    At most the smaller of two numbers can still be covered: the group's words left in the reference, and the free
    positions they may use. A step that lowers this bound by more than it covers is a loss.
    """
    place, (places, stages), group, _, rows_left, later = row
    extended: _States = {}
    for (used, last), (cost, chain) in states.items():
        bound = min(rows_left, (group & (later | places) & ~used).bit_count())
        loss = bound - min(rows_left - 1, (group & later & ~used).bit_count())
        key = (used & later, _NOWHERE)
        new_cost = cost + _LOSS * loss
        if key not in extended or new_cost < extended[key][0]:
            extended[key] = (new_cost, chain)
        free = [candidate for candidate in stages if not used >> candidate[0] & 1]
        for i, stage in free if len(free) <= _BEAM else _nearest_candidates(free, place, last):
            used_after = used | 1 << i
            loss = bound - 1 - min(rows_left - 1, (group & later & ~used_after).bit_count())
            new_cost = cost + _LOSS * loss + abs(i - place) * _DISTANCE + stage
            if last != i - 1 or not follows:
                new_cost += _CHUNK
            key = (used_after & later, i)
            if key not in extended or new_cost < extended[key][0]:
                extended[key] = (new_cost, (chain, (i, place, stage)))
    return extended


def _nearest_candidates(free: list[tuple[int, int]], place: int, last: int) -> list[tuple[int, int]]:
    """Return the candidates that could survive the beam: the nearest, and the one that continues a chunk."""
    nearest = sorted(free, key=lambda candidate: abs(candidate[0] - place))[:_BEAM]
    return nearest + [candidate for candidate in free if candidate[0] == last + 1]
