# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Short texts that processes keep for later ones, in the user's cache directory.

Each text has a kind, which is a directory, and a name. The texts that were written longest ago are removed first.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_MOST_KEPT = 512
_LONGEST = 4096


def read(kind: str, name: str) -> Optional[str]:
    """Returns a text, or None if another user could have written it or there is none."""
    path = _directory() / kind / name
    try:
        if not (_is_own(path.parent) and _is_own(path)):
            return None
        with open(path, encoding="utf-8") as file:
            return file.read(_LONGEST)
    except (OSError, UnicodeError):
        return None


def keep(kind: str, name: str, text: str) -> None:
    """Keeps a text. Does nothing if the file can't be written."""
    path = _directory() / kind / name
    try:
        # mkdir(parents=True) gives parents the mode of the umask, so each has its own call. The home is never made.
        for directory in reversed(list(path.parents)[:3]):
            directory.mkdir(mode=0o700, exist_ok=True)
        if not _is_own(path.parent):
            return
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", delete=False, encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, path)
        _drop_oldest(path.parent)
    except OSError:
        pass


def _directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "cccl-cache"


def _is_own(path: Path) -> bool:
    """Returns whether only this user can change a file. A symbolic link does not count: its target may be another's."""
    status = os.lstat(path)
    return not stat.S_ISLNK(status.st_mode) and status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o022


def _drop_oldest(directory: Path) -> None:
    kept = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in kept[: max(0, len(kept) - _MOST_KEPT)]:
        path.unlink(missing_ok=True)
