# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles of a framework as steps of cccl_cache.steps. No error of the cache reaches the program."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, TypeVar

from ..steps import Steps
from .canonical import Refused, digest
from .leases import LEASE_LIMIT, Settings
from .report import Report

_Result = TypeVar("_Result")


class CompileSteps:
    """The compiles of one framework, each made once for all processes of this user. Thread-safe.

    `hold` is the longest time that this process may keep others waiting for a compile, in seconds.
    """

    def __init__(self, namespace: str, settings: Settings, report: Report, hold: float = LEASE_LIMIT) -> None:
        self._steps = Steps(namespace, group=settings.group, wait=settings.wait, hold=hold, client=settings.connect)
        self._report = report

    def run(self, name: str, fields_of: Callable[[], Mapping[str, Any]], compile: Callable[[], _Result],
            pack: Callable[[_Result], Optional[bytes]], load: Callable[[bytes], _Result]) -> _Result:
        """Returns the result of `load` for a found value, or else that of `compile`.

        `name` is the compile's name in the log. `fields_of` returns all that decides the result; if it raises Refused or
        any other error, the compile is left to the framework. `pack` returns the value of a result, or None if others
        can't use it. A value that `load` can't use is compiled and replaced. Only errors of `compile` reach the caller.
        """
        try:
            # The digest refuses a field of an unknown type here, where a step would raise an error.
            fields = {"compile": digest(tuple(sorted(fields_of().items())))}
        except Refused as reason:
            self._report.not_cached(name, str(reason))
            return compile()
        except Exception as error:
            self._report.error(name, error)
            return compile()
        return self._step(name, fields, compile, pack, load, None)

    def _step(self, name: str, fields: Mapping[str, Any], compile: Callable[[], _Result],
              pack: Callable[[_Result], Optional[bytes]], load: Callable[[bytes], _Result], damaged: Optional[bytes]) -> _Result:
        with self._steps.get(fields, replace=damaged is not None) as step:
            if step.value is not None and step.value != damaged:
                try:
                    return load(step.value)
                except Exception as error:
                    self._report.error(name, error)
                    if damaged is None:  # the next value takes its place
                        return self._step(name, fields, compile, pack, load, step.value)
            made = compile()
            if step.value is None:
                packed = self._packed(name, pack, made)
                if packed is not None:
                    step.put(packed)
                else:
                    step.fail()
            return made

    def _packed(self, name: str, pack: Callable[[_Result], Optional[bytes]], made: _Result) -> Optional[bytes]:
        try:
            return pack(made)
        except Exception as error:
            self._report.error(name, error)
            return None
