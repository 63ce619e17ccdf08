# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cccl-cache-cli at a terminal."""

import os
import subprocess

from patience import PATIENCE
from places import PLACES


def at_a_terminal(*arguments, answer=b"", meanwhile=lambda: None, **environment):
    """(exit code, standard output, what the terminal showed). `answer`: what the person types; `meanwhile`: what
    happens while it runs."""
    person, terminal = os.openpty()
    os.write(person, answer)
    program = subprocess.Popen(
        [PLACES.cli, *arguments], stdin=terminal, stdout=subprocess.PIPE, stderr=terminal,
        env={"PATH": os.environ["PATH"], **environment})
    os.close(terminal)
    meanwhile()
    output = program.communicate(timeout=PATIENCE)[0].decode()
    shown = b""
    try:
        while piece := os.read(person, 4096):
            shown += piece
    except OSError:
        pass  # the other end was closed, and all was read
    os.close(person)
    return program.returncode, output, shown.decode()
