# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Digests of files and directories, kept under stamps so that a second process does not read them again.

The stamp of a file is its device, inode, size and times of change; that of a directory, those of all its files with
their names. A digest is kept in the user's cache directory under the digest of the stamp, unless a file changed so
lately that it could change again under the same stamp.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import Iterator

_SETTLED_NS = 2_000_000_000
_MOST_KEPT = 512
_CHUNK = 1 << 20


def contents_digest(root: str) -> str:
    """SHA-256, in hexadecimal, over the names and bytes of a file or of all files of a directory.

    Compiled Python (`__pycache__`) does not count. Raises OSError if something can't be read.
    """
    files = list(_files(os.path.realpath(root)))
    stamp, newest = _stamp(files)
    kept = _kept_at(stamp)
    digest = _read_kept(kept)
    if digest is not None:
        return digest
    digest = _digest(files)
    if _stamp(files)[0] == stamp and time.time_ns() - newest > _SETTLED_NS:
        _keep(kept, digest)
    return digest


def _files(root: str) -> Iterator[tuple[str, str]]:
    """(name below the root, path), in an order of their own."""
    if os.path.isdir(root):
        yield from _below(root, "", ())
    else:
        yield "", root


def _below(directory: str, name: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Links are followed, but to a directory that this one lies in: what is there has its names already."""
    real = os.path.realpath(directory)
    if real in above:
        return
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if not entry.is_dir():
            yield name + entry.name, entry.path
        elif entry.name != "__pycache__":
            yield from _below(entry.path, f"{name}{entry.name}/", (*above, real))


def _stamp(files: list[tuple[str, str]]) -> tuple[str, int]:
    hasher = hashlib.sha256()
    newest = 0
    for name, path in files:
        status = os.stat(path)
        newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
        fields = (name, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        hasher.update(repr(fields).encode())
    return hasher.hexdigest(), newest


def _digest(files: list[tuple[str, str]]) -> str:
    hasher = hashlib.sha256()
    for name, path in files:
        with open(path, "rb") as file:
            contents = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                contents.update(chunk)
        hasher.update(repr((name, contents.hexdigest())).encode())
    return hasher.hexdigest()


def _directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "cccl-cache" / "digests"


def _kept_at(stamp: str) -> Path:
    return _directory() / stamp


def _read_kept(path: Path) -> str | None:
    """Returns the stored digests if only this user could have written them."""
    try:
        for place in (path.parent, path):
            status = os.stat(place)
            if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
                return None
        text = path.read_text()
    except OSError:
        return None
    return text if len(text) == 64 else None


def _keep(path: Path, digest: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", delete=False) as file:
            file.write(digest)
        os.replace(file.name, path)
        _drop_oldest(path.parent)
    except OSError:
        pass  # the next process reads the files again


def _drop_oldest(directory: Path) -> None:
    kept = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in kept[: max(0, len(kept) - _MOST_KEPT)]:
        path.unlink(missing_ok=True)
