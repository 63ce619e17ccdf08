# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compile steps of any program, each made once for all processes of this user.

    >>> from cccl_cache.steps import Steps
    >>> steps = Steps("org.example.tool")
    >>> value = steps.make({"source": source, "options": options, "compiler": version}, lambda: compile(source, options))

A step is a function whose result, some bytes, depends only on the fields that the program names. The daemon of the node
keeps the result. While one process makes it, all others wait for it. A step that finds no daemon is made as without this
module: no call raises an error of the daemon.
"""

from __future__ import annotations

from ._steps import Step, Steps, counts
from ._trees import pack_tree, unpack_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._asynchronous import AsyncStep, AsyncSteps

__all__ = ["AsyncStep", "AsyncSteps", "Step", "Steps", "counts", "pack_tree", "unpack_tree"]


if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> object:
        """Imports asyncio at the first use of its classes."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import _asynchronous

        return getattr(_asynchronous, name)
