# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Digests of files and directories, kept under stamps so that a second process does not read them again.

The library's `cccl_cache_files_stamp` returns the stamp of files, which covers the boot and the mount too. Files have no
stamp if it would prove nothing: if one of them changed just now, or lies in an image. A digest is kept in the user's cache
directory under the digest of the files' names and stamps.
"""

from __future__ import annotations

import hashlib
import os
from ctypes import POINTER, c_char_p, c_int32, c_size_t, create_string_buffer
from typing import Callable, Iterator, Optional

from .. import _kept, _library

_KIND = "digests"
_CHUNK = 1 << 20
_files_stamp = _library.function("files_stamp", c_int32, POINTER(_library.Given), c_size_t, c_char_p)


def contents_digest(root: str) -> str:
    """Returns the SHA-256, in hexadecimal, over the names and bytes of a file or of all files of a directory.

    Compiled Python (`__pycache__`) does not count. Raises OSError if something can't be read.
    """
    return _digest_kept_for(list(_files(os.path.realpath(root))), _digest)


def file_digest(path: str) -> str:
    """Returns the SHA-256, in hexadecimal, of the bytes of a file. Raises OSError if it can't be read."""
    # The digest differs from that of `contents_digest`, so it is kept under "/", a name that no file has.
    return _digest_kept_for([("/", os.path.realpath(path))], lambda files: _bytes_digest(files[0][1]))


def _digest_kept_for(files: list[tuple[str, str]], digest_of: Callable[[list[tuple[str, str]]], str]) -> str:
    stamp = _stamp(files)
    if stamp is None:
        return digest_of(files)
    digest = _kept.read(_KIND, stamp)
    if digest is not None and len(digest) == 64:
        return digest
    digest = digest_of(files)
    if _stamp(files) == stamp:
        _kept.keep(_KIND, stamp, digest)
    return digest


def _files(root: str) -> Iterator[tuple[str, str]]:
    """Yields (name below the root, path) of each file, in a fixed order."""
    if os.path.isdir(root):
        yield from _below(root, "", ())
    else:
        yield "", root


def _below(directory: str, name: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Follows links, except a link to a directory that contains this one: the files of that directory have names already."""
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


def _stamp(files: list[tuple[str, str]]) -> Optional[str]:
    """Returns None if the files have no stamp. The C++ client computes the same for one file."""
    stamp = create_string_buffer(65)
    if not _files_stamp(*_library.texts([os.fsencode(path) for _, path in files]), stamp):
        return None
    return hashlib.sha256(repr([name for name, _ in files]).encode() + stamp.value).hexdigest()


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
