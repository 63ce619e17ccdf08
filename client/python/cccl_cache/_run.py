# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m cccl_cache run`` and ``env``, by the command line program in the package. That program sets variables
that the loader reads before a process starts, so it replaces this process."""

from __future__ import annotations

import os
import sys

from ._library import PLACE

COMMANDS = ("run", "env")
_PROGRAM = os.path.join(PLACE, "cccl-cache-cli")
_WITH_VALUE = ("--how", "--socket", "--wait")


def start(command: str, words: list[str]) -> int:
    """Returns an exit code if the program can't be started."""
    if command == "run":
        own = _own_count(words)
        words = [*words[:own], "--", sys.executable, *words[own:]]
    try:
        os.execv(_PROGRAM, [_PROGRAM, command, *words])
    except OSError as error:
        print(f"{command}: can't start {_PROGRAM}: {error.strerror}: install the package from its wheel", file=sys.stderr)
    return 5


def _own_count(words: list[str]) -> int:
    """How many of the words are options of `run`. Those of Python follow them, and are short."""
    count = 0
    while count < len(words) and words[count].startswith("--") and words[count] != "--":
        count += 2 if words[count] in _WITH_VALUE else 1
    return count
