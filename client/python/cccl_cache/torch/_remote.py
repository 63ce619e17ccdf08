# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The remote caches of torch over steps: that of Inductor's graphs, and that of AOTAutograd's entries."""

from __future__ import annotations

import base64
from contextvars import ContextVar
from typing import Any, Optional

from .._plugin.canonical import Refused
from .._plugin.report import Report
from ..steps import Step, Steps
from . import _operators
from ._key import assemblers, interpreter, processor, triton_settings, vectors_of


class Compile:
    """A compile of one graph, on the thread that runs it. Other processes wait for it at most until its end.

    `steps` is None if the graph is not shared. `operators` describes the calls of the program's operators.
    """

    def __init__(self, steps: Optional[Steps], operators: tuple[str, ...]) -> None:
        self.steps, self.operators = steps, operators
        self.step: Optional[Step] = None


current: ContextVar[Optional[Compile]] = ContextVar("cccl_cache.torch", default=None)


class Remote:
    """A remote cache of torch, of one kind of entries. Raises no errors, for which torch would warn or stop.

    The lease of a graph lasts from `get` to `put`, or to the end of its compile. An entry of AOTAutograd has none: it is put
    after the backward graph was compiled, thus after code of the program has run. `late` are the steps of what is put
    without a lease. They wait briefly, as nobody waits for the value.

        value = vector instructions of the C++ in the entry, or nothing; a newline; the entry
    """

    def __init__(self, kind: str, steps: Steps, late: Steps, report: Report) -> None:
        self._kind, self._steps, self._late, self._report = kind, steps, late, report
        self._found: set[str] = set()  # one that is put again did not hold here: its guards are those of other shapes
        self._replaced: set[str] = set()  # once each, or programs with other shapes would replace theirs without end
        self._left: dict[str, str] = {}  # the keys of entries that are not shared, and why

    def leave(self, key: str, reason: str) -> None:
        """Leaves the entry of this key to torch. The reason is told when torch asks for the entry here."""
        self._left[key] = reason

    def get(self, key: str) -> Optional[dict[str, bytes]]:
        """Returns the entry as torch has put it."""
        if key in self._left:
            self._report.not_cached(self._kind, self._left[key])
            return None
        try:
            value = self._value(key)
            if value is None:
                return None
            self._found.add(key)
            vectors, _, entry = value.partition(b"\n")
            if vectors == vectors_of(entry):
                return {"data": base64.b64encode(entry)}
            # torch would compile the C++ of the graph for the instructions of this process
            self._report.not_cached(self._kind, f"a graph for the vector instructions {vectors.decode()}")
        except Refused as reason:
            self._report.not_cached(self._kind, str(reason))
        except Exception as error:
            self._report.error(self._kind, error)
        return None

    def put(self, key: str, entry: Any) -> None:
        """Deposits an entry. It takes the place of one that was found and not used, once."""
        if key in self._left:
            return
        try:
            data, step = base64.b64decode(entry["data"]), self._open_step()
            value = vectors_of(data) + b"\n" + data
            if step is not None and step.value is None:
                step.put(value)
                return
            replace = key in self._found
            if replace and key in self._replaced:
                return
            with self._late.get(self._fields(key), replace=replace) as step:
                if step.value is None:
                    step.put(value)
            if replace:
                self._replaced.add(key)
        except Refused as reason:
            self._report.not_cached(self._kind, str(reason))
        except Exception as error:
            self._report.error(self._kind, error)

    def _value(self, key: str) -> Optional[bytes]:
        compile = self._compile()
        if compile is None or compile.steps is None or compile.step is not None:
            return self._steps.wait(self._fields(key))
        compile.step = compile.steps.get(self._fields(key))
        return compile.step.value

    def _open_step(self) -> Optional[Step]:
        compile = self._compile()
        return compile.step if compile is not None else None

    def _compile(self) -> Optional[Compile]:
        return current.get() if self._kind == "graph" else None

    def _fields(self, key: str) -> dict[str, Any]:
        compile = self._compile()
        return {"kind": self._kind, "key": key, "operators": compile.operators if compile is not None else (),
                "rules": _operators.rules(), "assemblers": assemblers(), "triton": triton_settings(), "processor": processor(),
                "python": interpreter()}
