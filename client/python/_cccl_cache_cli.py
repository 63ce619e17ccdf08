# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``cccl-cache-cli`` of a Python environment. The package's program replaces this process at once. The module
lies beside the package, so that a command does not load the client library."""

from __future__ import annotations

import os
import sys

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cccl_cache", "cccl-cache-cli")


def main() -> int:
    """Returns an exit code if the program can't be started."""
    try:
        os.execv(_PROGRAM, [_PROGRAM, *sys.argv[1:]])
    except OSError as error:
        print(f"cccl-cache-cli: can't start {_PROGRAM}: {error.strerror}: install the package from its wheel", file=sys.stderr)
    return 5
