# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Short texts that are kept in the user's cache directory from one process to the next.

Each has a kind, which is a directory, and a name. Those that were not written for longest go first.
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
    """Returns a text if only this user could have written it."""
    path = _directory() / kind / name
    try:
        if not (_is_own(path.parent) and _is_own(path)):
            return None
        with open(path, encoding="utf-8") as file:
            return file.read(_LONGEST)
    except (OSError, UnicodeError):
        return None


def keep(kind: str, name: str, text: str) -> None:
    """Keeps a text, or nothing if that can't be written."""
    path = _directory() / kind / name
    try:
        # One call for each directory, because parents get the mode of the umask; never the home itself.
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
    """Whether only this user can change it. A link is another's to lead."""
    status = os.lstat(path)
    return not stat.S_ISLNK(status.st_mode) and status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o022


def _drop_oldest(directory: Path) -> None:
    kept = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in kept[: max(0, len(kept) - _MOST_KEPT)]:
        path.unlink(missing_ok=True)
