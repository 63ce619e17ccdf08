# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Starts processes of the tests under `cccl-cache-cli run`."""

import json
import os
import pathlib

from places import PLACES

HOW = ("audit", "preload")
_LIBRARIES = (str(path.parent) for path in pathlib.Path(PLACES.cuda13).resolve().rglob("lib*/lib*.so.13")
              if path.name in ("libnvrtc.so.13", "libnvJitLink.so.13"))
# With LD_PRELOAD, `run` serves the library that the loader finds.
OWN_LIBRARIES = {"LD_LIBRARY_PATH": ":".join([*dict.fromkeys(_LIBRARIES), os.environ["LD_LIBRARY_PATH"]])}


def behind(how=None, report=False):
    """Returns the words of `run`, which go before the command of the process."""
    return (PLACES.cli, *(("--json",) if report else ()), "run", *(("--report=each",) if report else ()),
            *(("--how", how) if how else ()), "--")


def reported(stderr):
    """Returns (the counts, those of forwarded calls by reason) from the output of `--json run --report=each` after
    the program's own."""
    told = json.loads(stderr[stderr.rindex("\n{\n"):] if "\n{\n" in stderr else stderr)
    return told, {reason: count for reason, count in told["forwarded"].items() if count}
