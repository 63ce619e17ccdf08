# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Directories as values of steps.

    value = a tar archive of regular files, in the order of their names: the same files have the same bytes

The bytes of a value count as hostile, because a group may share values.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import uuid
from typing import Iterator, Optional

_MOST = 10_000  # files, and directories
_LONGEST_NAME = 1024  # characters, of a path below the directory
_DEEPEST = 64  # directories, one in the other


class _Names:
    """The paths of a tree below its directory, within the limits of a tree."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._directories: set[str] = set()

    def add(self, name: str) -> None:
        """Adds a file. Raises ValueError if a tree can't have it."""
        parts = name.split("/")
        if len(name) > _LONGEST_NAME or len(parts) > _DEEPEST:
            raise ValueError(f"{name!r} has more than {_LONGEST_NAME:,} characters or {_DEEPEST} directories")
        if "\0" in name or any(part in ("", ".", "..") for part in parts):
            raise ValueError(f"the tree has {name!r}, a path that is not allowed")
        above = {"/".join(parts[:count]) for count in range(1, len(parts))}
        if name in self._files or name in self._directories or not above.isdisjoint(self._files):
            raise ValueError(f"the tree has {name!r} twice")
        self._files.add(name)
        self._directories |= above
        if max(len(self._files), len(self._directories)) > _MOST:
            raise ValueError(f"the tree has more than {_MOST:,} files or directories")


def pack_tree(directory: str) -> bytes:
    """Returns a directory as a value. Of each file it has the path below the directory, the bytes, and whether the file
    may be executed. Empty directories are left out.

    Parameters
    ----------
    directory : str
        The directory.

    Raises
    ------
    ValueError
        The directory has something that is no regular file or directory, such as a link; a path of more than 1,024
        characters or 64 directories; or more than 10,000 files or directories.
    OSError
        A file can't be read.
    """
    packed, names = io.BytesIO(), _Names()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, path in _files(directory, ""):
            names.add(name)
            with open(path, "rb") as file:
                data = file.read()
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(data), 0o755 if os.fstat(file.fileno()).st_mode & 0o100 else 0o644
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def unpack_tree(value: bytes, directory: str, *, staging: Optional[str] = None) -> None:
    """Makes the directory of a value. It appears with all its files or not at all.

    Parameters
    ----------
    value : bytes
        What `pack_tree` has returned.
    directory : str
        The directory, which must not exist. Its parent must exist.
    staging : str, optional
        An existing directory in the same file system in which the files are written first. Default: the parent.

    Raises
    ------
    ValueError
        The value is no such archive: it has a link or a device, a path that leaves the directory, a path twice, or more
        than `pack_tree` allows.
    FileExistsError
        The directory exists.
    OSError
        A file can't be written.
    """
    if os.path.lexists(directory):
        raise FileExistsError(f"{directory} exists")
    temporary = os.path.join(staging or os.path.dirname(os.path.abspath(directory)), f".{uuid.uuid4().hex}")
    os.mkdir(temporary)
    try:
        for member, data in _members(value):
            path = os.path.join(temporary, member.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            mode = 0o777 if member.mode & 0o100 else 0o666
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(data)
        os.rename(temporary, directory)
    except OSError as error:
        if os.path.isdir(directory):  # made since
            raise FileExistsError(f"{directory} exists") from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _files(directory: str, name: str) -> Iterator[tuple[str, str]]:
    """Yields (path below the directory, path) of each file, in a fixed order."""
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if len(name) + len(entry.name) > _LONGEST_NAME or name.count("/") >= _DEEPEST:
            raise ValueError(f"{entry.path} has more than {_LONGEST_NAME:,} characters or {_DEEPEST} directories")
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path, f"{name}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            yield name + entry.name, entry.path
        else:
            raise ValueError(f"{entry.path} is neither a regular file nor a directory")


def _members(value: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Yields the files of an archive. Raises ValueError for all that `pack_tree` does not write."""
    names = _Names()
    try:
        with tarfile.open(fileobj=io.BytesIO(value), mode="r:") as archive:
            for member in archive:
                if member.type != tarfile.REGTYPE or member.issparse():
                    raise ValueError(f"the tree has {member.name!r}, which is no regular file")
                names.add(member.name)
                file = archive.extractfile(member)
                data = file.read() if file is not None else b""
                if len(data) != member.size:
                    raise ValueError(f"the tree has {member.name!r} incomplete")
                yield member, data
    except (tarfile.TarError, UnicodeError, OverflowError, MemoryError, RecursionError) as error:
        raise ValueError(f"the tree is damaged: {error}") from None

