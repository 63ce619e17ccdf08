# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""How the tests start a process under `cccl-cache-cli run`."""

import os
import pathlib

from places import PLACES

HOW = ("audit", "preload")
_LIBRARIES = (str(path.parent) for path in pathlib.Path(PLACES.cuda13).resolve().rglob("lib*/lib*.so.13")
              if path.name in ("libnvrtc.so.13", "libnvJitLink.so.13"))
# By LD_PRELOAD `run` serves what the loader finds.
OWN_LIBRARIES = {"LD_LIBRARY_PATH": ":".join([*dict.fromkeys(_LIBRARIES), os.environ["LD_LIBRARY_PATH"]])}


def behind(how=None):
    """The words before those of the process."""
    return (PLACES.cli, "run", *(("--how", how) if how else ()), "--")
