# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Groups: all files of a kernel together, as a directory of Triton that appears at once, or as bytes for the daemon.

    group = zlib(head length(4, little endian) head contents(one after another))
    head  = JSON: [[name, size], ...]

The layout of the directory is that of Triton's FileCacheManager, which torch's bundler and static launcher read too. The
bytes leave out the manifest, because it holds absolute paths.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
import uuid
import zlib
from typing import Mapping, Optional

Files = Mapping[str, bytes]

_STAGES = ".cccl-cache"  # beside the keys: unfinished files
_ABANDONED = 3600.0  # seconds after which a stage counts as abandoned
_LEVEL = 1
_LENGTH = 4
_swept: set[str] = set()


class Directory:
    """Triton's directory of one key."""

    def __init__(self, path: str):
        self.path = path
        self._stages = os.path.join(os.path.dirname(path), _STAGES)

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def manifest(self, name: str) -> str:
        """Returns the path of a group's manifest, which lists the files of the group."""
        return self.file(f"__grp__{name}")

    def group(self, name: str) -> Optional[dict[str, str]]:
        """Returns the paths of a group's files, or None if a file is missing."""
        try:
            with open(self.manifest(name), encoding="utf-8") as manifest:
                paths = json.load(manifest)["child_paths"]
            return dict(paths) if name in paths and all(map(os.path.exists, paths.values())) else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def age(self, name: str) -> float:
        """Returns the seconds since the group was written."""
        try:
            return time.time() - os.stat(self.manifest(name)).st_mtime
        except OSError:
            return 0.0

    def install(self, name: str, files: Files) -> dict[str, str]:
        """Writes a group by one rename, unless another process has written the same group. Returns its paths."""
        group = {each: self.file(each) for each in files}
        manifest = os.path.basename(self.manifest(name))
        everything = {**files, manifest: json.dumps({"child_paths": group}).encode()}
        stage = self._stage(everything)
        try:
            try:
                os.rename(stage, self.path)  # succeeds if there is no directory, or an empty one
            except OSError:
                found = self.group(name)
                if found is not None:
                    return found
                self._replace(stage, manifest, everything)
            return group
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def install_file(self, name: str, contents: bytes) -> str:
        """Writes a file that belongs to no group. Returns its path."""
        stage = self._stage({name: contents})
        try:
            os.makedirs(self.path, exist_ok=True)
            os.replace(os.path.join(stage, name), self.file(name))
            return self.file(name)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _replace(self, stage: str, manifest: str, files: Files) -> None:
        """Completes a group that a killed writer left without its manifest."""
        with contextlib.suppress(FileNotFoundError):  # another process may complete it too
            os.unlink(self.file(manifest))
        for each in files:  # the manifest is the last file
            os.replace(os.path.join(stage, each), self.file(each))

    def _stage(self, files: Files) -> str:
        stage = os.path.join(self._stages, uuid.uuid4().hex)
        os.makedirs(stage)
        for name, contents in files.items():
            with open(os.path.join(stage, name), "wb") as file:
                file.write(contents)
        return stage

    def sweep(self) -> None:
        """Removes the unfinished files of killed processes, for all keys. Runs once per process."""
        if self._stages in _swept:
            return
        _swept.add(self._stages)
        try:
            with os.scandir(self._stages) as stages:
                old = [each.path for each in stages if time.time() - each.stat().st_mtime > _ABANDONED]
        except OSError:
            return  # there are no such files, or another process is removing them
        for stage in old:
            shutil.rmtree(stage, ignore_errors=True)


def pack(files: Files) -> bytes:
    """Returns the bytes of a group's files."""
    head = json.dumps([[name, len(contents)] for name, contents in files.items()]).encode()
    return zlib.compress(len(head).to_bytes(_LENGTH, "little") + head + b"".join(files.values()), _LEVEL)


def unpack(packed: bytes) -> dict[str, bytes]:
    """Returns the files. Raises ValueError if the bytes are no group, or name a file in another directory."""
    try:
        unpacked = zlib.decompress(packed)
        begin = _LENGTH + int.from_bytes(unpacked[:_LENGTH], "little")
        sizes = [(str(name), int(size)) for name, size in json.loads(unpacked[_LENGTH:begin])]
    except (zlib.error, ValueError, TypeError) as error:
        raise ValueError(f"a group is damaged: {error}") from None
    files = {}
    for name, size in sizes:
        if os.path.basename(name) != name or name.startswith("."):
            raise ValueError(f"a group names the file {name!r}")
        files[name], begin = unpacked[begin : begin + size], begin + size
    if begin != len(unpacked):
        raise ValueError("a group is damaged: it has another size than its files")
    return files
