# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What a client does with files of what was compiled."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._snapshot import Path, SnapshotSummary, Time


class SnapshotCalls:
    """The part of `Client` that is about snapshots."""

    _handle: int

    def snapshot(self, path: Path, *, toolchain: str | None = None, arch: str | None = None,
                 after: Time | None = None, before: Time | None = None, namespace: str | None = None,
                 uids: Sequence[int] = (), all_users: bool = False, timeout: float | None = None) -> SnapshotSummary:
        """Writes what this user was answered and deposited to a file that other daemons take in. The same has the same
        bytes.

        Parameters
        ----------
        path : str or path-like
            The file. It is there once it is whole.
        toolchain : str, optional
            Only what this one made: a major (``"13"``), a version (``"12.9"``) or the beginning of an id.
        arch : str, optional
            Only what was made for it: ``"sm_90"``.
        after, before : float or datetime, optional
            Only what was answered last at or after, or before, this time: seconds since 1970, or a datetime.
        namespace : str, optional
            Only deposits of this namespace.
        uids : sequence of int
            What these users were answered, for root and the daemon's user.
        all_users : bool
            What anybody was answered, for the same.
        timeout : float, optional
            Seconds; an hour if not given.

        Returns
        -------
        SnapshotSummary

        Examples
        --------
        >>> client.snapshot("kernels.snap", arch="sm_90").records
        """
        from . import _snapshot

        chosen = _snapshot.snapshot_filter(toolchain, arch, after, before, namespace, uids, all_users)
        return _snapshot.create(self._handle, path, chosen, timeout)

    def delta(self, path: Path, since: Path, *, toolchain: str | None = None, arch: str | None = None,
              after: Time | None = None, before: Time | None = None, namespace: str | None = None,
              uids: Sequence[int] = (), all_users: bool = False, timeout: float | None = None) -> SnapshotSummary:
        """The same as `snapshot` without what an earlier snapshot holds.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        since : str or path-like
            The earlier snapshot.
        toolchain, arch, after, before, namespace, uids, all_users, timeout
            As in `snapshot`.

        Returns
        -------
        SnapshotSummary
        """
        from . import _snapshot

        chosen = _snapshot.snapshot_filter(toolchain, arch, after, before, namespace, uids, all_users)
        return _snapshot.delta(self._handle, since, path, chosen, timeout)

    def insert(self, path: Path, *, timeout: float | None = None) -> SnapshotSummary:
        """Hands a snapshot to the daemon: for everybody if this is root or the daemon's user, else for this user alone,
        who is answered from it before anything that all share.

        Parameters
        ----------
        path : str or path-like
            The file.
        timeout : float, optional
            Seconds; an hour if not given.

        Returns
        -------
        SnapshotSummary

        Raises
        ------
        Error
            ``status`` is ``"invalid-request"`` where the file was cut off or altered: nothing of it was inserted.
        """
        from . import _snapshot

        return _snapshot.insert(self._handle, path, timeout)
