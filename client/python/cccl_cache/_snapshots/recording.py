# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings: snapshots of the results that a part of a program got."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Optional

    from .._client import Client
    from .files import Path, SnapshotSummary

_lock = threading.Lock()
# The open recordings of this process. The tuple is replaced and never changed, so `note` reads it without the lock.
open_now: tuple[Recording, ...] = ()


def note(key: str) -> None:
    """Adds the key of a result that this process got, or of a deposit that it published, to the open recordings."""
    for each in open_now:
        each._keys.add(key)


class Recording:
    """The keys of the results that this process gets while the block runs. `record` returns it.

    Attributes
    ----------
    keys : tuple of str
        The keys of builds, and of deposits that were found or published, in hexadecimal.
    summary : SnapshotSummary or None
        The counts of the file, after the block. ``left_out`` counts keys that have no entry in the daemon.
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
    """Writes the results that this process gets while the block runs to a snapshot.

    The snapshot has the builds and deposits of all clients of this process, those of plug-ins included, on all threads.
    It has no earlier results and no results of other processes. A block that raises writes no file.

    Parameters
    ----------
    path : str or path-like
        The file. It appears only when it is complete.
    client : Client, optional
        The client that asks for the file. Default: a client of the default daemon.
    timeout : float, optional
        Seconds for writing the file. Default: an hour.

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
