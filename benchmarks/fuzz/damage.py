"""Structured damage to one file: to its bytes, its lines, its values, or to the file itself."""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

_RAW = "raw:"  # a text that stands in JSON as it is, without quotes: what Python cannot hold
_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, -0.0, 1.5, 2**53, 2**70, 1e308, -1e308, 5e-324, f"{_RAW}1e400", f"{_RAW}NaN",
    f"{_RAW}-Infinity", f"{_RAW}1{'0' * 400}", "", " ", "x", "NaN", "1e999", "\x00", "\x1b[31mred\x07", "\u202eturned",
    f'{_RAW}"\\ud800"', "é\r\n\t|", "a" * 20_000, "=1+1", "../../x", "true", "i0", "i0/a", "d0", "aggregate:mean",
    [], [None], [[]], ["x", 3], {}, {"": {}}, {"text": 1}, {"text": "x", "speaker": "y"}, [{}],
)  # fmt: skip
_KEYS = ("x", "kind", "id", "text", "value", "turns", "meta", "item", "response", "context", "", "__class__", "é")
_BYTES = (
    b"\xff",
    b"\xc3",
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\r",
    b"\n\n",
    b'"',
    b",",
    b"{",
    b"\x1b[2J",
    b"1e999",
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value that can be written to."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


def _deep(r: random.Random) -> Any:
    """A value nested far deeper than anybody means."""
    depth = r.choice([20, 100, 500, 3_000])
    opening, closing = r.choice([("[", "]"), ('{"a":', "}")])
    return f"{_RAW}{opening * depth}1{closing * depth}"


def _change(values: Any, r: random.Random) -> None:
    """Change one place of a JSON value: drop, rename, double, move, or put something odd there."""
    holders = list(places(values))
    if not holders:
        return
    holder, key = r.choice(holders)
    what = r.randrange(8)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        holder[r.choice([*_KEYS, str(key).upper()])] = holder.pop(key)
    elif what == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif what == 3:
        other, place = r.choice(holders)
        holder[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(holder[key])
    elif what == 4:
        holder[key] = _deep(r)
    elif what == 5 and isinstance(holder[key], (dict, list)):
        holder[key] = type(holder[key])()
    elif what == 6 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] = r.choice(
            [v for v in _ODD if isinstance(v, (int, float)) or str(v)[:5] in (_RAW + "1", _RAW + "N")]
        )
    else:
        holder[key] = copy.deepcopy(r.choice(_ODD))


def _dump(value: Any, **how: Any) -> str:
    """JSON with the raw texts in it as they are; now and then with a key twice."""
    text = json.dumps(value, ensure_ascii=False, **how)
    while (start := text.find(f'"{_RAW}')) >= 0:
        end = json.JSONDecoder().raw_decode(text, start)[1]
        text = text[:start] + json.loads(text[start:end]).removeprefix(_RAW) + text[end:]
    return text


def damage_json(raw: bytes, r: random.Random) -> bytes:
    """Changes in the values of JSON: one value, or one per line."""
    try:
        text = raw.decode()
        if (one := text.lstrip()[:1]) == "[" or (one == "{" and text.count("\n") != text.count("\n{") + 1):
            value = json.loads(text)
            for _ in range(r.randint(1, 3)):
                _change(value, r)
            return _dump(value, indent=r.choice([None, 1])).encode("utf-8", "surrogatepass")
        lines = text.splitlines()
        for _ in range(r.randint(1, 3)):
            at = r.randrange(len(lines))
            value = [json.loads(lines[at])]
            _change(value, r)
            lines[at] = _dump(value[0]) if value else ""
            if r.random() < 0.05:
                lines[at] = lines[at].replace("{", '{"id": "twice", "text": "twice", ', 1)
        return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError, IndexError):
        return damage_bytes(raw, r)


def damage_table(raw: bytes, r: random.Random) -> bytes:
    """Changes in the cells, columns and rows of a table."""
    delimiter = "\t" if raw.count(b"\t") > raw.count(b",") else ","
    try:
        rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), delimiter=delimiter))
    except (ValueError, csv.Error):
        return damage_bytes(raw, r)
    for _ in range(r.randint(1, 3)):
        row = r.choice(rows) if r.random() < 0.7 else rows[0]
        at = r.randrange(len(row) + 1)
        odd = str(r.choice(_ODD)).removeprefix(_RAW)
        match r.randrange(6):
            case 0 if row:
                del row[at - 1]
            case 1:
                row.insert(at, odd)
            case 2:
                for other in rows:
                    del other[at : at + 1]
            case 3 if at < len(row):
                rows.append([*row[:at], *row[at:]][::-1])
            case 4:
                row[:] = row * 2
            case _ if row:
                row[at - 1] = odd
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=r.choice(["\n", "\r\n"])).writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def damage_toml(raw: bytes, r: random.Random) -> bytes:
    """Changes in the lines and values of TOML."""
    lines = raw.decode("utf-8", "replace").splitlines()
    odd = ('""', "[]", "{}", "-1", "0", "1e308", "nan", "inf", "true", '"x"', '["x"]', "[[1]]", "{ a = 1 }",
           "1979-05-27", "9223372036854775807", '"\\u0000"', '"' + "a" * 5_000 + '"')  # fmt: skip
    for _ in range(r.randint(1, 2)):
        at = r.randrange(len(lines))
        key, equals, _ = lines[at].partition(" = ")
        match r.randrange(5):
            case 0:
                del lines[at]
            case 1 if equals:
                lines[at] = f"{key}x = 1"
            case 2:
                lines.insert(at, lines[at])
            case _ if equals:
                lines[at] = f"{key} = {r.choice(odd)}"
            case _:
                r.shuffle(lines)
        if not lines:
            break
    return "\n".join([*lines, ""]).encode()


def damage_bytes(raw: bytes, r: random.Random) -> bytes:
    """Bytes cut off, put in, taken out, doubled or changed; other line ends; another packing."""
    data = bytearray(raw)
    at = r.randrange(len(data) + 1)
    end = min(len(data), at + r.randint(1, 40))
    match r.randrange(9):
        case 0:
            del data[at:]
        case 1:
            del data[at:end]
        case 2:
            data[at:at] = data[at:end] * 2
        case 3:
            data[at:at] = r.choice(_BYTES)
        case 4:
            data[:0] = b"\xef\xbb\xbf"
        case 5:
            data = bytearray(bytes(data).replace(b"\n", r.choice([b"\r\n", b"\r", b"\n\n", b""])))
        case 6:
            lines = bytes(data).splitlines(keepends=True)
            r.shuffle(lines)
            data = bytearray(b"".join(line * r.choice([0, 1, 1, 1, 1, 2]) for line in lines))
        case 7:
            data = bytearray(r.choice([gzip.compress(raw, mtime=0), raw.decode("utf-8", "replace").encode("utf-16")]))
        case _:
            for _ in range(r.randint(1, 12)):
                if data:
                    data[r.randrange(len(data))] = r.randrange(256)
    return bytes(data)


_BY_ENDING: dict[str, Callable[[bytes, random.Random], bytes]] = {
    ".json": damage_json, ".jsonl": damage_json, ".csv": damage_table, ".tsv": damage_table, ".toml": damage_toml
}  # fmt: skip


def damage(path: Path, others: Sequence[Path], r: random.Random) -> str:
    """Damage a file where it lies, and say how; sometimes it becomes another input, a folder, empty or nothing."""
    chance = r.random()
    if chance < 0.06:
        how = r.choice(["empty", "folder", "missing", "swapped"])
        if how == "swapped" and not others:
            how = "empty"
        path.unlink()
        if how == "empty":
            path.touch()
        elif how == "folder":
            path.mkdir()
        elif how == "swapped":
            shutil.copy(r.choice(others), path)
        return how
    raw = path.read_bytes()
    by_kind = _BY_ENDING.get(path.suffix, damage_bytes)
    change = by_kind if raw.strip() and chance < 0.75 else damage_bytes
    path.write_bytes(change(raw, r))
    return change.__name__
