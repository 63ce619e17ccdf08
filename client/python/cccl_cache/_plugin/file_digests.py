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
import time
from typing import Callable, Iterator

from .. import _kept

_KIND = "digests"
_SETTLED_NS = 2_000_000_000
_CHUNK = 1 << 20


def contents_digest(root: str) -> str:
    """SHA-256, in hexadecimal, over the names and bytes of a file or of all files of a directory.

    Compiled Python (`__pycache__`) does not count. Raises OSError if something can't be read.
    """
    return _digest_kept_for(list(_files(os.path.realpath(root))), _digest)


def file_digest(path: str) -> str:
    """SHA-256, in hexadecimal, of the bytes of a file. Raises OSError if it can't be read."""
    # A name that no file of a directory has, for this digest is another than that of `contents_digest`.
    return _digest_kept_for([("/", os.path.realpath(path))], lambda files: _bytes_digest(files[0][1]))


def _digest_kept_for(files: list[tuple[str, str]], digest_of: Callable[[list[tuple[str, str]]], str]) -> str:
    stamp, newest = _stamp(files)
    digest = _kept.read(_KIND, stamp)
    if digest is not None and len(digest) == 64:
        return digest
    digest = digest_of(files)
    if _stamp(files)[0] == stamp and time.time_ns() - newest > _SETTLED_NS:
        _kept.keep(_KIND, stamp, digest)
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
        hasher.update(repr((name, _bytes_digest(path))).encode())
    return hasher.hexdigest()


def _bytes_digest(path: str) -> str:
    hasher = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            hasher.update(chunk)
    return hasher.hexdigest()
