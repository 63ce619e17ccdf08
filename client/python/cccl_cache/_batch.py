# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Many builds over one stream of the library, without a thread."""

from __future__ import annotations

import select
from ctypes import byref, c_int, c_size_t, c_uint32, c_uint64, c_void_p

from . import _library
from ._errors import CompileError, Error, call, take_error
from ._programs import Build, Link, Nvvm
from ._result import FAILED, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Union

    from ._programs import Program

    Finished = tuple[int, Union[Result, Error]]

_open = _library.function("batch_open", c_int, c_void_p, c_void_p, c_void_p)
_fd = _library.function("batch_fd", c_int, c_void_p)
_pending = _library.function("batch_pending", c_size_t, c_void_p)
_next = _library.function("batch_next", c_int, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p)
_cancel = _library.function("batch_cancel", None, c_void_p, c_uint64)
_free = _library.function("batch_free", None, c_void_p)


class Batch:
    """Builds that run together. Builds make progress only while a method of the batch runs. For one thread at a time.

    `client` is a handle of the library. The handle must outlive the batch, so the batch keeps the handle's `owner`.
    """

    def __init__(self, client: int, owner: object) -> None:
        self._handle = 0
        self._owner = owner
        self._handle = call(_open, client)

    def __del__(self, free: Any = _free) -> None:
        free(self._handle)

    def add(self, program: Program, number: int) -> None:
        """Starts a build. `next` returns its result with `number`. Raises if the build can't be sent."""
        _library.check_type("each program", "a Build, Link or Nvvm", program, Build, Link, Nvvm)
        error = c_void_p()
        if program.add(self._handle, byref(program.fields), program.options(), number, byref(error)):
            raise take_error(error)

    def fileno(self) -> int:
        """Returns a descriptor that is readable when `next` should be called."""
        return int(_fd(self._handle))

    def pending(self) -> int:
        """Returns the number of builds that `next` has not returned yet."""
        return int(_pending(self._handle))

    def next(self) -> Finished | None:
        """Returns a finished build, or None if no build has finished since the last call."""
        number, result, error = c_uint64(), c_void_p(), c_void_p()
        if _next(self._handle, 0, byref(number), byref(result), byref(error)):
            return number.value, take_error(error)
        return (number.value, _end(Result.of(result.value))) if result.value else None

    def cancel(self, number: int) -> None:
        """Cancels a build. `next` returns it all the same."""
        _cancel(self._handle, number)


def _end(result: Result) -> Result | Error:
    return CompileError(result) if result._info.outcome == FAILED else result


def build_many(client: int, owner: object, programs: Iterable[Program]) -> Iterator[Finished]:
    """Yields the results of `Client.build_many`. The parameters are those of `Batch`."""
    batch = Batch(client, owner)
    refused: list[Finished] = []
    for number, program in enumerate(programs):
        try:
            batch.add(program, number)
        except Error as error:
            refused.append((number, error))
    yield from refused
    # The wait is here and not in the library, so that the interpreter handles signals meanwhile.
    ready = select.poll()
    ready.register(batch, select.POLLIN)
    while batch.pending():
        finished = batch.next()
        if finished is None:
            ready.poll()
        else:
            yield finished
