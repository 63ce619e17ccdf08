# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The change to TVM-FFI: its run of ninja is a step.

TVM-FFI has written the sources and build.ninja before, and holds its lock.
"""

from __future__ import annotations

import functools
import os

from .._ninja.steps import NinjaSteps
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches


class TvmFfiHooks:
    """Makes and undoes the change. For one thread at a time; builds may run on any thread."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._steps = NinjaSteps(namespace, settings, report)
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect earlier results."""
        from tvm_ffi.cpp import extension

        original = extension.build_ninja

        @functools.wraps(original)
        def build_ninja(build_dir: str) -> None:
            self._steps.run(os.path.realpath(build_dir), lambda: original(build_dir))

        self._patches.replace(extension, "build_ninja", build_ninja)

    def detach(self) -> None:
        """Undoes the change."""
        self._patches.undo()
