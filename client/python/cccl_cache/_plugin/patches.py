# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Changes to the attributes of modules and classes that are not ours, and the way back."""

from __future__ import annotations

from typing import Any, Callable


_MISSING = object()


class Patches:
    """The changes that were made, undone in the opposite order. Made and removed by one thread at a time."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of a module or class. One that it only inherited is deleted again by `undo`."""
        own = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self.afterwards(lambda: delattr(owner, name) if own is _MISSING else setattr(owner, name, own))

    def afterwards(self, undo: Callable[[], Any]) -> None:
        """Has `undo` call this as well."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Puts everything back as it was."""
        while self._undo:
            self._undo.pop()()
