# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The change to FlashInfer: its run of ninja for one module is a step.

FlashInfer has written the module's build.ninja before, and holds its lock.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from .._ninja.steps import NinjaSteps
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches


class FlashInferHooks:
    """Makes and undoes the change. For one thread at a time; builds may run on any thread."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        self._steps = NinjaSteps(namespace, settings, report)
        self._report = report
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect earlier results."""
        from flashinfer.jit import core

        original = core.run_ninja

        @functools.wraps(original)
        def run_ninja(workdir: Any, ninja_file: Any, *more: Any, **named: Any) -> None:
            def build() -> None:
                original(workdir, ninja_file, *more, **named)

            if os.path.join(workdir, "build.ninja") != str(ninja_file):
                self._report.not_cached(str(ninja_file), "modules of an ahead-of-time build")
                return build()
            self._steps.run(os.path.realpath(workdir), build)

        self._patches.replace(core, "run_ninja", run_ninja)

    def detach(self) -> None:
        """Undoes the change."""
        self._patches.undo()
