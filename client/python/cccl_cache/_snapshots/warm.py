# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots that a package carries, handed to the daemon when the package is imported."""

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
# The daemon may have dropped it meanwhile.
_COUNTS_FOR = 86_400
_logger = logging.getLogger("cccl_cache")


def warm(path: Path, *, client: Optional[Client] = None, wait: float = 2.0) -> bool:
    """Hands the daemon the snapshot that a package carries, unless this daemon has had it within a day.

    For the top of a package's ``__init__.py``: raises nothing, and takes microseconds where there is nothing to do.
    Where no daemon answers, kernels are compiled as without the snapshot. What it holds is for this user alone, as with
    `Client.insert`, if that is not root.

    Parameters
    ----------
    path : str or path-like
        The file.
    client : Client, optional
        Its daemon gets the file. Default: a client of the daemon that is found.
    wait : float
        Seconds after which the daemon is not waited for any longer.

    Returns
    -------
    bool
        Whether the daemon has been given it, now or before. The log of ``cccl_cache`` has the reason, at level info.
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
    """Stands for this file and for the daemon that has this socket since it was started."""
    file, place = os.stat(path), os.stat(socket)
    with open(_BOOT, encoding="ascii") as boot:
        parts = (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, socket, place.st_dev, place.st_ino,
                 place.st_ctime_ns, boot.read(), os.geteuid())
    return hashlib.sha256(repr(parts).encode()).hexdigest()
