"""Threads: utterances that reply to one another, as a tree that may branch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rejoinder.data.importers._contract import Tally
from rejoinder.types import Turn


class Utterance(NamedTuple):
    """An utterance as it was stored; its turn is None where it has no text."""

    id: str
    turn: Turn | None
    reply_to: str | None


class Node(NamedTuple):
    """An utterance with a text, and the one with a text that it replies to."""

    id: str
    turn: Turn
    parent: str | None


@dataclasses.dataclass(frozen=True)
class Thread:
    """One tree of replies; its nodes stand so that each comes after the one it replies to."""

    conversation: str
    # Whether the conversation is this one thread.
    alone: bool
    nodes: dict[str, Node]
    replies: dict[str, list[Node]]

    def before(self, node: Node) -> tuple[Turn, ...]:
        """The turns from the first one to this one."""
        found = [node]
        while (parent := found[-1].parent) is not None:
            found.append(self.nodes[parent])
        return tuple(n.turn for n in reversed(found))

    def after(self, node: Node) -> tuple[Turn, ...]:
        """The turns that follow, until there are several replies to choose from or none."""
        found: list[Turn] = []
        while len(self.replies[node.id]) == 1:
            node = self.replies[node.id][0]
            found.append(node.turn)
        return tuple(found)

    def paths(self) -> Iterator[tuple[str, tuple[Turn, ...]]]:
        """Every way from the first turn to a last one, with a name."""
        leaves = [node for node in self.nodes.values() if not self.replies[node.id]]
        for leaf in leaves:
            name = self.conversation if self.alone and len(leaves) == 1 else f"{self.conversation}/{leaf.id}"
            yield name, self.before(leaf)


def threads(conversation: str, utterances: Sequence[Utterance], tally: Tally) -> Iterator[Thread]:
    """The threads of a conversation; where nothing replies to anything, the order of the file makes one."""
    nodes = _nodes(utterances, tally)
    if not nodes:
        tally.left_out["conversations without a turn"] += 1
        return
    if len(nodes) > 1 and all(u.reply_to is None for u in utterances):
        nodes = [Node(n.id, n.turn, nodes[i - 1].id if i else None) for i, n in enumerate(nodes)]
    replies: dict[str, list[Node]] = {node.id: [] for node in nodes}
    for node in nodes:
        if node.parent is not None:
            replies[node.parent].append(node)
    roots = [node for node in nodes if node.parent is None]
    reached = 0
    for root in roots:
        found = [root]
        for node in found:  # grows while it is gone through
            found.extend(replies[node.id])
        reached += len(found)
        own = {node.id: node for node in found}
        yield Thread(conversation, len(roots) == 1, own, {name: replies[name] for name in own})
    if reached < len(nodes):
        tally.left_out["utterances that reply to each other in a circle"] += len(nodes) - reached


def _nodes(utterances: Sequence[Utterance], tally: Tally) -> list[Node]:
    by_id = {u.id: u for u in utterances}
    found: list[Node] = []
    for utterance in utterances:
        if utterance.turn is None:
            tally.left_out["utterances without text"] += 1
            continue
        parent, passed = utterance.reply_to, {utterance.id}
        # A reply to an utterance without text is taken as a reply to what that one answered.
        while parent in by_id and by_id[parent].turn is None and parent not in passed:
            passed.add(parent)
            parent = by_id[parent].reply_to
        if parent is not None and parent not in by_id:
            tally.left_out["links to utterances that are not there"] += 1
            parent = None
        if parent is not None and by_id[parent].turn is None:
            parent = None
        found.append(Node(utterance.id, utterance.turn, parent))
    return found
