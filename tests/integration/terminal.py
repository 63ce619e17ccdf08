# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cccl-cache-cli at a terminal."""

import os
import subprocess

from patience import PATIENCE
from places import PLACES


def at_a_terminal(*arguments, answer=b"", meanwhile=lambda: None, **environment):
    """Runs a command at a terminal. Returns (exit code, standard output, text on the terminal). `answer` is the
    person's input, and `meanwhile` is called during the run."""
    person, terminal = os.openpty()
    os.write(person, answer)
    program = subprocess.Popen(
        [PLACES.cli, *arguments], stdin=terminal, stdout=subprocess.PIPE, stderr=terminal,
        env={"PATH": os.environ["PATH"], "TERM": "linux", **environment})
    os.close(terminal)
    meanwhile()
    output = program.communicate(timeout=PATIENCE)[0].decode()
    shown = b""
    try:
        while piece := os.read(person, 4096):
            shown += piece
    except OSError:
        pass  # the other end is closed, and all was read
    os.close(person)
    return program.returncode, output, shown.decode()
