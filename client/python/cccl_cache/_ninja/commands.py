# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of a build.ninja, as ninja itself expands them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from typing import NamedTuple

from .._plugin.canonical import Refused

_SHELL = re.compile(r"[$`;&|<>]")  # what a shell would expand, or another command


class Command(NamedTuple):
    """A command that makes one file. All words are as the command has them."""

    words: list[str]
    output: str


class Commands(NamedTuple):
    """All commands of a build, which runs in `directory`. The last file is `library`."""

    directory: str
    commands: list[Command]
    library: str

    def path(self, name: str) -> str:
        """Returns the path of a file that a command names."""
        return os.path.join(self.directory, name)

    def made(self) -> list[str]:
        """Returns the paths of all that ninja makes, its logs included."""
        return [*(self.path(each.output) for each in self.commands), self.path(".ninja_log"), self.path(".ninja_deps")]


def commands_of(directory: str) -> Commands:
    """Returns the commands of the build.ninja of a directory. Raises Refused if they do not make one library."""
    commands = []
    for each in json.loads(ask_ninja(directory, "-t", "compdb")):
        if _SHELL.search(each["command"]):
            raise Refused("a command of more than words")
        commands.append(Command(shlex.split(each["command"]), each["output"]))
    outputs = [each.output for each in commands]
    used = {word for each in commands for word in each.words if word != each.output}
    last = [each for each in outputs if each not in used]
    if len(last) != 1:
        raise Refused(f"{len(last)} results")
    return Commands(directory, commands, last[0])


def is_up_to_date(directory: str) -> bool:
    """Returns whether ninja would run no command."""
    return "no work to do" in ask_ninja(directory, "-n")


def files_read(directory: str) -> list[str]:
    """Returns the paths of the sources and headers that the last build has read, as the compilers told ninja."""
    lines = ask_ninja(directory, "-t", "deps").splitlines()
    return [os.path.join(directory, line.strip()) for line in lines if line.startswith(" ")]


def ask_ninja(directory: str, *arguments: str) -> str:
    return subprocess.run(["ninja", *arguments], cwd=directory, capture_output=True, text=True, check=True).stdout
