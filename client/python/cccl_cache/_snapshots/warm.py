# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots that a package contains and inserts into the daemon when it is imported."""

from __future__ import annotations

import hashlib
import logging
import os
import time

from .. import _kept
from .._client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from .files import Path

_KIND = "warmed"
_BOOT = "/proc/sys/kernel/random/boot_id"
# Seconds after which a snapshot is inserted again, because the daemon may have dropped its entries.
_COUNTS_FOR = 86_400
_logger = logging.getLogger("cccl_cache")


def warm(path: Path, *, client: Optional[Client] = None, wait: float = 2.0) -> bool:
    """Inserts the snapshot of a package into the daemon, unless this daemon got it within the last day.

    For the top of a package's ``__init__.py``. The call raises nothing, and takes microseconds if the daemon has the
    snapshot. If no daemon answers, kernels are compiled as without the snapshot. As with `Client.insert`, the entries
    are for this user alone unless the user is an administrator.

    Parameters
    ----------
    path : str or path-like
        The file.
    client : Client, optional
        The client that inserts the file. Default: a client of the default daemon.
    wait : float
        Seconds to wait for the daemon.

    Returns
    -------
    bool
        Whether the daemon has the snapshot. If not, the logger ``cccl_cache`` has the reason at level info.
    """
    try:
        client = client or Client(fallback="error")
        name = _name(path, client.socket)
        told = _kept.read(_KIND, name)
        if told is not None and 0 <= time.time() - float(told) < _COUNTS_FOR:
            return True
        client.insert(path, timeout=wait)
        _kept.keep(_KIND, name, str(int(time.time())))
        return True
    except Exception as error:  # an import must not fail for a cache
        _logger.info("%s was not inserted: %s", path, error)
        return False


def _name(path: Path, socket: str) -> str:
    """Returns a name for this file and this daemon. A restarted daemon has another name."""
    file, place = os.stat(path), os.stat(socket)
    with open(_BOOT, encoding="ascii") as boot:
        parts = (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, socket, place.st_dev, place.st_ino,
                 place.st_ctime_ns, boot.read(), os.geteuid())
    return hashlib.sha256(repr(parts).encode()).hexdigest()
