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

    def describe(self) -> dict[str, str]:
        """Returns the fields. Raises Refused if the build is the framework's alone."""
        if not os.path.exists(self._mark) and is_up_to_date(self._directory):
            raise Refused("up to date in its directory")
        commands = commands_of(self._directory)
        self._key = _key_of(Inputs(commands))
        self._commands = commands
        return {"build": self._key}

    def make(self) -> None:
        if self._commands is None:  # a build that is not described
            self._build()
        elif not self._is_there():
            self._remove()
            self._build()

    def pack(self, made: None) -> Optional[bytes]:
        """Returns the library, or None if the key does not describe all that it is made of."""
        assert self._commands is not None
        inputs = Inputs(self._commands)
        unknown = inputs.unknown_file()
        if unknown is not None or _key_of(inputs) != self._key:
            reason = "its files changed during the build" if unknown is None else f"the build reads {unknown}"
            self._report.not_cached(self.name, reason)
            return None
        with open(self._library, "rb") as file:
            library = file.read()
        self._write_mark()
        return library

    def place(self, library: bytes) -> None:
        if self._is_there():
            return
        self._remove()
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
        with contextlib.suppress(OSError), open(self._mark, encoding="utf-8") as file:
            return file.read() == f"{self._key} {file_digest(self._library)}"
        return False

    def _write_mark(self) -> None:
        with contextlib.suppress(OSError), open(self._mark, "w", encoding="utf-8") as file:
            file.write(f"{self._key} {file_digest(self._library)}")

    def _remove(self) -> None:
        assert self._commands is not None
        for path in (self._mark, *self._commands.made()):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def _key_of(inputs: Inputs) -> str:
    return digest(tuple(sorted(inputs.fields.items())))
