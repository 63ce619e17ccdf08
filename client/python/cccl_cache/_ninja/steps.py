# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A run of ninja in a build directory as a step.

ninja goes by the times of files, so all that it made is removed before a library is built for others, and before a found
library takes its place: it could be of other sources. A file in the build directory has the key and the digest of the
library there. A later process with this key keeps the library. A directory without this file is the framework's own: it is
left alone while ninja finds it up to date.
"""

from __future__ import annotations

import contextlib
import os
from typing import Callable, Optional

from .._plugin.canonical import Refused, digest
from .._plugin.compile_steps import CompileSteps
from .._plugin.file_digests import file_digest
from .._plugin.leases import Settings
from .._plugin.report import Report
from .commands import Commands, commands_of, is_up_to_date
from .key import Inputs

_MARK = ".cccl-cache"


class NinjaSteps:
    """The builds of one framework. Thread-safe for builds in different directories: the framework locks a directory."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._steps = CompileSteps(namespace, settings, report)
        self._report = report

    def run(self, directory: str, build: Callable[[], None]) -> None:
        """Puts the library of a directory's build.ninja into this directory. `build` runs ninja there."""
        step = _Step(directory, build, self._report)
        self._steps.run(step.name, step.describe, step.make, step.pack, step.place)


class _Step:
    """One build."""

    def __init__(self, directory: str, build: Callable[[], None], report: Report):
        self.name = os.path.basename(directory)
        self._directory, self._build, self._report = directory, build, report
        self._commands: Optional[Commands] = None
        self._key = ""
        self._left: Optional[str] = None  # a file of an earlier build, from which ninja may have made the library

    def describe(self) -> dict[str, str]:
        """Returns the fields. Raises Refused if the build is the framework's alone."""
        if not os.path.exists(self._mark) and is_up_to_date(self._directory):
            raise Refused("up to date in its directory")
        commands = commands_of(self._directory)
        self._key = _key_of(Inputs(commands))
        self._commands = commands
        return {"build": self._key}

    def make(self) -> None:
        if self._commands is not None:  # None for a build that is not described
            if self._is_there():
                return
            self._left = self._remove()
        self._build()

    def pack(self, made: None) -> Optional[bytes]:
        """Returns the library, or None if the key does not describe all that it is made of."""
        assert self._commands is not None
        if reason := self._why_not_shared(self._commands):
            self._report.not_cached(self.name, reason)
            return None
        with open(self._library, "rb") as file:
            library = file.read()
        self._write_mark()
        return library

    def place(self, library: bytes) -> None:
        if self._is_there():
            return
        if (left := self._remove()) is not None:
            raise OSError(f"{left} can't be removed")
        staged = f"{self._library}.{os.getpid()}"
        with open(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o777), "wb") as file:
            file.write(library)
        os.replace(staged, self._library)
        self._write_mark()

    @property
    def _library(self) -> str:
        assert self._commands is not None
        return self._commands.path(self._commands.library)

    @property
    def _mark(self) -> str:
        return os.path.join(self._directory, _MARK)

    def _is_there(self) -> bool:
        """Returns whether the directory has a library of this key, as it was made or placed."""
        with contextlib.suppress(OSError), open(self._mark, "rb") as file:
            return file.read() == self._mark_of_library()
        return False

    def _write_mark(self) -> None:
        with contextlib.suppress(OSError), open(self._mark, "wb") as file:
            file.write(self._mark_of_library())

    def _mark_of_library(self) -> bytes:
        return f"{self._key} {file_digest(self._library)}".encode()

    def _remove(self) -> Optional[str]:
        """Removes all that ninja makes. Returns a file that can't be removed, or None."""
        assert self._commands is not None
        left = None
        for path in (self._mark, *self._commands.made()):
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
            except OSError:
                left = path
        return left

    def _why_not_shared(self, commands: Commands) -> str:
        """Returns why the library that was made is for this directory alone; empty if it is for others too."""
        if self._left is not None:
            return f"{self._left} can't be removed"
        inputs = Inputs(commands)
        if (unknown := inputs.unknown_file()) is not None:
            return f"the build reads {unknown}"
        return "" if _key_of(inputs) == self._key else "its files changed during the build"


def _key_of(inputs: Inputs) -> str:
    return digest(tuple(sorted(inputs.fields.items())))
