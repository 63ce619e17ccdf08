# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon cccl-cached, which ``python -m cccl_cache serve`` and the command ``cccl-cached`` start."""

import os
import sys

PLACE = os.path.dirname(os.path.abspath(__file__))


def main():
    """The command ``cccl-cached`` of an environment. Returns an exit code if the daemon can't be started."""
    program = os.path.join(PLACE, "cccl-cached")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        print(f"cccl-cached: can't start {program}: {error.strerror}", file=sys.stderr)
    return 3
