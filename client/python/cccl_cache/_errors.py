# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package, and the calls of the library that raise them."""

from __future__ import annotations

from ctypes import byref, c_char_p, c_int, c_uint32, c_void_p

from ._library import Received, function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ._result import Result

_error_status = function("error_status", c_int, c_void_p)
_error_message = function("error_message", Received, c_void_p)
_error_retry_after_ms = function("error_retry_after_ms", c_uint32, c_void_p)
_error_free = function("error_free", None, c_void_p)
_status_name = function("status_name", c_char_p, c_int)


class Error(Exception):
    """A failed call. The text is for a person and names the remedy.

    Attributes
    ----------
    status : str
        ``"no-daemon"``, ``"overloaded"``, ``"invalid-request"``, ``"toolchain-not-found"``, ``"files-needed"``,
        ``"denied"``, ``"timed-out"``, ``"deadline"``, ``"worker-crashed"``, ``"out-of-memory"``, ``"cancelled"``,
        ``"unavailable"``, ``"upload-needed"``, ``"protocol"``, ``"too-large"``, ``"lease-lost"``, ``"not-cached"``, or
        ``"does-not-compile"``.
    retry_after : float or None
        Seconds after which the caller may try again, if the daemon gave a hint.
    """

    def __init__(self, message: str, status: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.status, self.retry_after)


class NoDaemonError(Error):
    """No daemon listens on the socket, or no socket may be trusted. The caller should compile by itself."""


class DeadlineError(Error, TimeoutError):
    """The caller's timeout has passed."""


class NotCachedError(Error):
    """The build is a miss, and its `on_miss` is ``"refuse"``."""


class CompileError(Error):
    """The code does not compile.

    Attributes
    ----------
    log : str
        The compiler's messages.
    result : Result or None
        The result, with the timing and the key of the build. None if the error was pickled by another process.
    """

    log: str
    result: Result | None

    def __init__(self, result: Result) -> None:
        text = result.log.rstrip("\0\n") or result.reason
        super().__init__("\n".join(filter(None, (text, result._info.hint.text()))), "does-not-compile")
        self.log = result.log
        self.result = result

    def __reduce__(self) -> tuple[object, ...]:
        return _from_another_process, (str(self), self.log)


def _from_another_process(message: str, log: str) -> CompileError:
    error = CompileError.__new__(CompileError)
    Error.__init__(error, message, "does-not-compile")
    error.log, error.result = log, None
    return error


def call(function: Callable[..., int], *arguments: Any) -> int:
    """Calls a function whose last two arguments are the places of its handle and its error. Returns the handle, or raises
    the error."""
    handle, error = c_void_p(), c_void_p()
    if function(*arguments, byref(handle), byref(error)):
        raise take_error(error)
    return handle.value or 0


def take_error(error: c_void_p) -> Error:
    """Returns the exception for an error of the library, and frees the library's error."""
    try:
        return _error_of(str(_status_name(_error_status(error)).decode()), _error_message(error).text(),
                         _error_retry_after_ms(error))
    finally:
        _error_free(error)


_CLASSES = {"no-daemon": NoDaemonError, "deadline": DeadlineError, "not-cached": NotCachedError}


def _error_of(status: str, message: str, retry_after_ms: int) -> Error:
    """Returns the exception for a status of the library."""
    return _CLASSES.get(status, Error)(message, status, retry_after_ms / 1000 if retry_after_ms else None)
