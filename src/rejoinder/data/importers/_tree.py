"""Conversations with branches: the path from the first message to the current one, and other replies beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Branch(NamedTuple):
    """The nodes of the current branch in order, those that answer the same node as each, and how many are elsewhere."""

    path: list[str]
    siblings: dict[str, list[str]]
    elsewhere: int


def find_branch(parents: Mapping[str, str | None], leaf: str | None) -> Branch:
    """Return the branch that ends with a leaf; without a leaf, the one that ends with the last node.

    - ``parents``: the parent of each node, in the order of the file; one that is not a node is none.
    """
    path: list[str] = []
    seen: set[str] = set()
    node = leaf if leaf in parents else next(reversed(list(parents)), None)
    while node is not None and node in parents and node not in seen:
        seen.add(node)
        path.append(node)
        node = parents[node]
    path.reverse()
    children: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    siblings = {name: _others(children[parents[name]], name) for name in path}
    return Branch(path, siblings, len(parents) - len(seen))


def _others(names: Sequence[str], name: str) -> list[str]:
    return [other for other in names if other != name]
