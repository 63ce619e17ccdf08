# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._result import Result


class Error(Exception):
    """Why a call failed; its text is for a person and names the way out.

    Attributes
    ----------
    status : str
        ``"no-daemon"``, ``"overloaded"``, ``"invalid-request"``, ``"toolchain-not-found"``, ``"files-needed"``,
        ``"denied"``, ``"timed-out"``, ``"deadline"``, ``"worker-crashed"``, ``"out-of-memory"``, ``"cancelled"``,
        ``"unavailable"``, ``"upload-needed"``, ``"protocol"``, ``"too-large"``, ``"lease-lost"``, or ``"does-not-compile"``.
    retry_after : float or None
        Seconds after which to come back, where the daemon gave a hint.
    """

    def __init__(self, message: str, status: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.status, self.retry_after)


class NoDaemonError(Error):
    """Nobody listens on the socket, or no socket may be trusted: the moment to compile by oneself."""


class DeadlineError(Error, TimeoutError):
    """The timeout that the caller gave has passed."""


class CompileError(Error):
    """The code does not compile.

    Attributes
    ----------
    log : str
        What the compiler said.
    result : Result or None
        Everything else that is known about the build; None where the error came from another process.
    """

    log: str
    result: Result | None

    def __init__(self, result: Result) -> None:
        super().__init__(result.log.rstrip("\0\n") or result.reason, "does-not-compile")
        self.log = result.log
        self.result = result

    def __reduce__(self) -> tuple[object, ...]:
        return _from_another_process, (str(self), self.log)


def _from_another_process(message: str, log: str) -> CompileError:
    error = CompileError.__new__(CompileError)
    Error.__init__(error, message, "does-not-compile")
    error.log, error.result = log, None
    return error


_CLASSES = {"no-daemon": NoDaemonError, "deadline": DeadlineError}


def error_of(status: str, message: str, retry_after_ms: int) -> Error:
    """The exception for a status of the library."""
    return _CLASSES.get(status, Error)(message, status, retry_after_ms / 1000 if retry_after_ms else None)
