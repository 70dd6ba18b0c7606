"""Getting declared files: verified, retried, atomic, from upstream or from a mirror; by pooch."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import pooch
import requests

from dicelab.atomic import atomic

pooch.get_logger().setLevel("WARNING")

RETRIES = 2
SUMS = "SHA256SUMS"  # in the format of sha256sum -c


class FetchError(RuntimeError):
    """A file could not be had, or is not the file that was declared."""


@dataclass(frozen=True)
class RemoteFile:
    """One upstream file.

    Args:
        name: Its name in the raw folder.
        url: The upstream address, at a pinned commit or version.
        sha256: Its hash in hexadecimal; None when the bytes were never at hand: then the hash is
            recorded when the first download has been converted, and compared from then on.
        mirror_names: Other names that a mirror may keep it under.
    """

    name: str
    url: str
    sha256: str | None = None
    mirror_names: Sequence[str] = ()


def fetch(
    file: RemoteFile,
    raw: Path,
    *,
    mirror: str | None = None,
    folders: tuple[str, ...] = (),
    progress: bool = True,
) -> Path:
    """Have one file in the raw folder, verified.

    A file that is there already is verified and not fetched again. A download that fails is tried
    twice more. The file gets its name only when it is whole and verified.

    Args:
        file: What to get.
        raw: Folder it goes to; made if missing.
        mirror: Folder or URL used in place of the upstream address, with one folder a corpus.
        folders: The corpus's folder names on a mirror, tried in turn.
        progress: Whether to show a progress bar.

    Returns:
        ``raw / file.name``.

    Raises:
        FetchError: No network and no mirror, the file is not at the mirror, or its hash is wrong.
    """
    target = raw / file.name
    recorded = recorded_sums(raw).get(file.name)
    known = file.sha256 or recorded
    by = "" if file.sha256 or not recorded else f", as {raw / SUMS} recorded it"
    if target.exists():
        actual = pooch.file_hash(str(target))
        if known and actual != known:
            raise FetchError(
                f"{target}: expected sha256 {known}{by}, got {actual}. Nothing was deleted; remove "
                f"or rename this file to get it again{' (or the line in that file)' * bool(by)}."
            )
        return target

    # Partial files live apart, so that a kill leaves nothing half-written among the raw files.
    incoming = raw / ".incoming"
    problems = []
    try:
        for source in _sources(file, mirror, folders):
            try:
                _retrieve(source, known, by, file.name, incoming, progress)
                break
            except _NotThereError as error:
                problems.append(str(error))
        else:
            raise FetchError(f"{file.name}: not found; " + "; ".join(problems))
        os.replace(incoming / file.name, target)
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
    return target


class _NotThereError(Exception):
    """One source does not have the file; another may."""


def _sources(file: RemoteFile, mirror: str | None, folders: tuple[str, ...]) -> Iterator[str]:
    if mirror is None:
        yield file.url
        return
    base = mirror.rstrip("/")
    remote = base.startswith(("http://", "https://"))
    for folder in folders:
        for name in (file.name, *file.mirror_names):
            yield f"{base}/{quote(folder)}/{quote(name)}" if remote else f"{base}/{folder}/{name}"


def _retrieve(
    source: str, known: str | None, by: str, name: str, folder: Path, progress: bool
) -> None:
    remote = source.startswith(("http://", "https://"))
    getter = pooch.create(
        folder,
        base_url="",
        registry={name: known},
        urls={name: source},
        retry_if_failed=RETRIES if remote else 0,
    )
    download = pooch.HTTPDownloader(progressbar=progress, timeout=30) if remote else _copy
    try:
        getter.fetch(name, downloader=download)
    except FileNotFoundError:
        raise _NotThereError(f"no file {source}") from None
    except requests.HTTPError as error:
        status = None if error.response is None else error.response.status_code
        if status in (403, 404, 410):
            raise _NotThereError(f"{source} answers {status}") from None
        raise FetchError(f"{source}: the server answers {status}") from None
    except requests.RequestException as error:
        reason = "no answer in time" if isinstance(error, requests.Timeout) else "no connection"
        raise FetchError(
            f"{source}: cannot be reached ({reason}). Without a network, give a folder that holds "
            "the file with --mirror or DICEBOOK_MIRROR."
        ) from None
    except ValueError as error:  # pooch's word for a wrong hash
        raise FetchError(
            f"{source}: {name} does not have the expected sha256 {known}{by} ({error}). What was "
            "downloaded was discarded; no other file was touched."
        ) from None


def _copy(url: str, output_file: str, pooch: object, check_only: bool = False) -> None:
    """A downloader of pooch's for a mirror that is a folder."""
    if not Path(url).is_file():
        raise FileNotFoundError(url)
    shutil.copyfile(url, output_file)


def recorded_sums(raw: Path) -> dict[str, str]:
    """The hashes recorded at first downloads: file name to sha256."""
    path = raw / SUMS
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines if line)}


def unverified(files: Iterable[RemoteFile], raw: Path) -> list[str]:
    """The names of the files whose bytes nothing vouches for yet."""
    known = recorded_sums(raw)
    return [file.name for file in files if not file.sha256 and file.name not in known]


def record_sums(files: Iterable[RemoteFile], raw: Path) -> None:
    """Record the hashes of files that have none, once they have proved to be the right ones."""
    names = unverified(files, raw)
    if not names:
        return
    sums = recorded_sums(raw) | {name: pooch.file_hash(str(raw / name)) for name in names}
    with atomic(raw / SUMS) as path:
        path.write_text("".join(f"{sums[n]}  {n}\n" for n in sorted(sums)), encoding="utf-8")


def unpack(archive: Path, folder: Path, *, limit: int = 4 << 30) -> Path:
    """Unpack a zip or tar archive, so that no member lands outside the folder.

    Pooch's processors extract as well, but check neither links nor sizes.

    Args:
        archive: A ``.zip`` or a tar file, compressed or not.
        folder: Where to; it appears only when everything is unpacked, and replaces an earlier one.
        limit: The most bytes it may unpack to.

    Returns:
        ``folder``.

    Raises:
        FetchError: It is no such archive, is damaged or too large, or a member is a link, a device
            or a path outside the folder. Then nothing of it stays.
    """
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                for entry in zipped.infolist():
                    plain = not stat.S_ISLNK(entry.external_attr >> 16)
                    limit = _checked(archive, entry.filename, entry.file_size, plain, limit)
                zipped.extractall(temporary)
        elif tarfile.is_tarfile(archive):
            with tarfile.open(archive) as tarred:
                for member in tarred:
                    plain = member.isfile() or member.isdir()
                    limit = _checked(archive, member.name, member.size, plain, limit)
                tarred.extractall(temporary, filter="data")
        else:
            raise FetchError(f"{archive}: expected a zip or tar archive")
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(temporary, folder)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise FetchError(f"{archive}: cannot be unpacked ({error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _checked(archive: Path, name: str, size: int, plain: bool, limit: int) -> int:
    """What is left of the limit after a member that may be unpacked."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0]:
        raise FetchError(f"{archive}: refused the member {name!r}, which leaves the folder")
    if not plain:
        raise FetchError(f"{archive}: refused {name!r}, neither file nor folder")
    if size > limit:
        raise FetchError(f"{archive}: would unpack to more than the limit, {size - limit:,} bytes")
    return limit - size
