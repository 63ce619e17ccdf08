# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Where numba-cuda-mlir is changed: functions ask for their kernels first, and objects bring their code."""

from __future__ import annotations

from .._plugin.leases import Deposits, Settings
from .._plugin.link_lists import NAMESPACE as LINKS
from .._plugin.patches import Patches
from .._plugin.report import Report
from ._links import LinkHooks


class MlirHooks:
    """The changes, and the way back. Made and removed by one thread at a time."""

    def __init__(self, settings: Settings, release: str, report: Report):
        self._links = LinkHooks(release, report, Deposits(LINKS, settings, report))
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Functions that were made before keep the cache that they have."""
        self._links.attach()
        self._patches.afterwards(self._links.detach)

    def detach(self) -> None:
        """Puts the package back as it was."""
        self._patches.undo()
