# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m cccl_cache run`` and ``env``. The command line program in the package does both: it replaces this process,
because the loader reads the variables that it sets only when a process starts."""

from __future__ import annotations

import os
import sys

from ._library import PLACE

COMMANDS = ("run", "env")
_PROGRAM = os.path.join(PLACE, "cccl-cache-cli")
_WITH_VALUE = ("--group", "--how", "--socket", "--wait")
_HELP = """usage: python -m cccl_cache run [OPTION...] [PYTHON OPTION...] script.py | -m MODULE | -c CODE [ARGUMENT...]

This is `cccl-cache-cli run` with this Python as its program:
"""


def start(command: str, words: list[str]) -> int:
    """Starts the program in place of this process. Returns an exit code only if that fails."""
    if command == "run":
        own = _own_count(words)
        if "--help" in words[:own]:
            print(_HELP, flush=True)
        words = [*words[:own], "--", sys.executable, *words[own:]]
    try:
        os.execv(_PROGRAM, [_PROGRAM, command, *words])
    except OSError as error:
        print(f"{command}: can't start {_PROGRAM}: {error.strerror}: install the package from its wheel", file=sys.stderr)
    return 5


def _own_count(words: list[str]) -> int:
    """Returns the number of leading words that are options of `run`. Options of Python follow them and have one dash."""
    count = 0
    while count < len(words) and words[count].startswith("--") and words[count] != "--":
        count += 2 if words[count] in _WITH_VALUE else 1
    return count
