# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What a part of a program was answered, written to a snapshot."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Optional

    from .._client import Client
    from .files import Path, SnapshotSummary

_lock = threading.Lock()
# Those of this process. Replaced, never changed.
open_now: tuple[Recording, ...] = ()


def note(key: str) -> None:
    """Adds a key that this process was answered under, or published, to the recordings that are open."""
    for each in open_now:
        each._keys.add(key)


class Recording:
    """The keys of this process's results while the block runs. Made by `record`.

    Attributes
    ----------
    keys : tuple of str
        Of builds, and of deposits that were found or published, in hexadecimal.
    summary : SnapshotSummary or None
        Of the file, after the block: ``left_out`` counts keys without an entry in the daemon.
    """

    def __init__(self, path: Path, client: Optional[Client], timeout: Optional[float]) -> None:
        self.summary: Optional[SnapshotSummary] = None
        self._path = path
        self._client = client
        self._timeout = timeout
        self._keys: set[str] = set()

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(sorted(self._keys.copy()))

    def __enter__(self) -> Recording:
        global open_now
        with _lock:
            open_now = (*open_now, self)
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        global open_now
        with _lock:
            open_now = tuple(each for each in open_now if each is not self)
        if error is None:
            self.summary = self._connected().snapshot(self._path, results=self.keys, timeout=self._timeout)

    def _connected(self) -> Client:
        from .._client import Client

        return self._client or Client(fallback="error")


def record(path: Path, *, client: Optional[Client] = None, timeout: Optional[float] = None) -> Recording:
    """Writes what this process is answered while the block runs to a snapshot, and nothing else.

    That is what any client of this process builds, finds or publishes, on any thread, those of plug-ins among them; not
    what was answered before, and not what other processes are answered. A block that raises writes nothing.

    Parameters
    ----------
    path : str or path-like
        The file. It is there once it is whole.
    client : Client, optional
        Asked for the file. Without it one of the daemon that is found.
    timeout : float, optional
        Seconds for the file; an hour if not given.

    Returns
    -------
    Recording

    Examples
    --------
    >>> with cccl_cache.record("kernels.snap") as recording:
    ...     client.build("__global__ void f(int* p) { *p = 1; }", arch="sm_90")
    >>> recording.summary.records
    """
    return Recording(path, client, timeout)
