"""A folder of parts with a manifest: a part is written once and never changed, the manifest says which parts count.

A part is a folder named after its role and the digest of its content. The manifest is replaced atomically, last: a
process that is stopped before that leaves the index as it was.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import orjson

from rejoinder.data.shape import fits_shape
from rejoinder.errors import InputError, SpecError, brief
from rejoinder.files import atomic_write, put_in_place, sha256_of, sha256_of_bytes

MANIFEST = "manifest.json"
VERSION = 1  # of the folder's layout
T = TypeVar("T")
_DIGITS = 16
_SHAPE = {
    "kind": str, "settings": {str: object}, "counts": {str: float},
    "parts": [{"role": str, "name": str, "files": {str: [(int, str)]}}],
}  # fmt: skip
_REBUILD_HINT = "rebuild the index"


@dataclass(frozen=True)
class IndexPart:
    """One part: its role, its name in the folder, and the size and sha256 of each of its files."""

    role: str
    name: str
    files: Mapping[str, tuple[int, str]]


@dataclass(frozen=True)
class IndexManifest:
    """The parts of an index, and its settings."""

    kind: str
    settings: Mapping[str, Any]
    counts: Mapping[str, int]
    parts: tuple[IndexPart, ...]
    version: int = field(default=VERSION)

    def folders(self, folder: Path, role: str) -> list[Path]:
        """Return the folders of the parts with a role, in order."""
        matching = [folder / part.name for part in self.parts if part.role == role]
        if not matching:
            raise index_damage_error(folder / MANIFEST, f"it names no {role}")
        return matching


def parse_index_settings(manifest: IndexManifest, folder: Path, form: type[T]) -> T:
    """Return the settings of an index as the dataclass of its kind."""
    for name, hint in get_type_hints(form).items():
        value = manifest.settings.get(name)
        arguments = get_args(hint)
        shape = [arguments[0]] if get_origin(hint) is list else hint
        if name in manifest.settings and not (
            value in arguments if get_origin(hint) is Literal else fits_shape(value, shape)
        ):
            raise index_damage_error(folder / MANIFEST, f"its setting {name} is {brief(value)}")
    try:
        return form(**manifest.settings)
    except TypeError as error:
        raise index_damage_error(folder / MANIFEST, str(error)) from None


@contextmanager
def new_index_folder(target: Path) -> Iterator[Path]:
    """Provide a folder to fill, which gets its name only if the block succeeds."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: already exists; name another folder, or add to an index with: rejoinder index add")
    with _scratch_folder(target.parent, target.name) as folder:
        yield folder
        put_in_place(folder, target)


@contextmanager
def new_index_part(folder: Path, role: str) -> Iterator[Path]:
    """Provide a folder for the files of a part; ``seal_part`` completes it."""
    with _scratch_folder(folder, role) as part:
        yield part


@contextmanager
def _scratch_folder(parent: Path, name: str) -> Iterator[Path]:
    folder = parent / f".{name}.{secrets.token_hex(4)}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        yield folder
    except OSError as error:
        raise InputError(f"{parent / name}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def seal_index_part(written: Path, role: str) -> IndexPart:
    """Give a written part its name, which depends only on its content."""
    files = {path.name: (path.stat().st_size, sha256_of(path)) for path in sorted(written.iterdir())}
    digest = sha256_of_bytes(orjson.dumps(files))[:_DIGITS]
    name = f"{role}-{digest}"
    target = written.parent / name
    if not target.exists():  # else the same content is already there, or an append was stopped
        try:
            put_in_place(written, target)
        except OSError:
            if not target.exists():  # else another process has written the same in the meantime
                raise
    return IndexPart(role, name, files)


def write_index_manifest(folder: Path, manifest: IndexManifest, before: IndexManifest | None = None) -> None:
    """Make these the parts of the index, atomically, and delete those that no longer belong to it."""
    if before is not None and (current := read_index_manifest(folder)) != before:
        remove_index_parts(folder, manifest, current)
        raise InputError(f"{folder}: was changed by another process in the meantime; open it again and retry")
    with atomic_write(folder / MANIFEST) as file:
        file.write(orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    if before is not None:
        remove_index_parts(folder, before, manifest)


def remove_index_parts(folder: Path, manifest: IndexManifest, keep: IndexManifest) -> None:
    """Delete the parts of one manifest that another does not name."""
    for name in {part.name for part in manifest.parts} - {part.name for part in keep.parts}:
        shutil.rmtree(folder / name, ignore_errors=True)


def read_index_manifest(folder: Path, kind: str | None = None) -> IndexManifest:
    """Return the manifest of an index (of one kind); all files must be there and have the right size."""
    try:
        content = orjson.loads((folder / MANIFEST).read_bytes())
        version = content["version"]
        if version != VERSION:
            raise InputError(f"{folder}: has layout {version!r}, but this version reads {VERSION}; {_REBUILD_HINT}")
        parts = tuple(
            IndexPart(p["role"], p["name"], {name: (size, digest) for name, (size, digest) in p["files"].items()})
            for p in content["parts"]
        )
        manifest = IndexManifest(content["kind"], content["settings"], content["counts"], parts)
    except FileNotFoundError:
        raise InputError(f"{folder}: holds no index (no {MANIFEST}); build one with: rejoinder index build") from None
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{folder / MANIFEST}: is damaged; {_REBUILD_HINT}") from None
    if not fits_shape(content, _SHAPE):
        raise InputError(f"{folder / MANIFEST}: is damaged; {_REBUILD_HINT}")
    if kind not in (None, manifest.kind):
        raise SpecError(f"{folder}: is a {brief(manifest.kind)} index, not a {kind!r} one; name another folder")
    for part in parts:
        for name, (size, _) in part.files.items():
            if any(Path(one).name != one or one == ".." for one in (part.name, name)):
                raise index_damage_error(
                    folder / MANIFEST, f"it points outside the folder, to {brief(f'{part.name}/{name}')}"
                )
            _check_size(folder / part.name / name, size)
    return manifest


def verify_index_files(folder: Path) -> IndexManifest:
    """Compare all files of an index with their sha256."""
    manifest = read_index_manifest(folder)
    for part in manifest.parts:
        for name, (_, digest) in part.files.items():
            if sha256_of(folder / part.name / name) != digest:
                raise index_damage_error(folder / part.name / name, "its sha256 differs")
    return manifest


def is_complete_part(folder: Path, part: IndexPart) -> bool:
    """Whether all files of a part are there and have the right size."""
    paths = {folder / part.name / name: size for name, (size, _) in part.files.items()}
    return all(path.is_file() and path.stat().st_size == size for path, size in paths.items())


def index_damage_error(path: Path, what: str) -> InputError:
    """Return the error for a file that is not as it was written."""
    return InputError(f"{path}: is damaged ({what}); {_REBUILD_HINT}")


def _check_size(path: Path, size: int) -> None:
    try:
        actual = path.stat().st_size
    except OSError:
        raise index_damage_error(path, "it is missing") from None
    if actual != size:
        raise index_damage_error(path, f"it has {actual:,} bytes instead of {size:,}")
