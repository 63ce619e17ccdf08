# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own, and the text that a person sees there."""

import fcntl
import os
import select
import struct
import subprocess
import termios
import time

import pyte
from patience import PATIENCE


class WatchedTerminal:
    """A terminal of a given size, and a program that draws on it."""

    def __init__(self, *command, columns=80, rows=24, **environment):
        self.person, self.terminal = os.openpty()
        self.set_size(columns, rows)
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.before = termios.tcgetattr(self.terminal)
        # The program has a session of its own, so that the terminal sends it signals.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *command], stdin=self.terminal, stdout=self.terminal, stderr=self.terminal,
            env={"PATH": os.environ["PATH"], "TERM": "linux", "LC_ALL": "C.UTF-8", **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.person)
        os.close(self.terminal)

    def set_size(self, columns, rows):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        self.set_size(columns, rows)  # the kernel tells the program

    def press(self, keys):
        os.write(self.person, keys)

    def shown(self):
        return "\n".join(self.screen.display)

    def read(self, patience):
        """Reads new output. Returns whether there was any."""
        if not select.select([self.person], [], [], patience)[0]:
            return False
        piece = os.read(self.person, 65536)
        self.raw += piece
        self.stream.feed(piece)
        return True

    def await_shown(self, condition, what):
        """Waits until the screen fulfils the condition, a function or a text that it contains. Returns the screen."""
        holds = condition if callable(condition) else lambda shown: condition in shown
        deadline = time.monotonic() + PATIENCE
        while not holds(self.shown()):
            left = deadline - time.monotonic()
            assert left > 0 and self.process.poll() is None, f"waited in vain for {what}:\n{self.shown()}"
            self.read(min(left, 1))
        return self.shown()

    def await_end(self):
        """Reads the output to its end. Returns the exit code."""
        code = self.process.wait(PATIENCE)
        while self.read(0):
            pass
        return code

    def is_as_before(self):
        """Returns whether the terminal echoes, waits for lines and shows its cursor again."""
        return termios.tcgetattr(self.terminal) == self.before and not self.screen.cursor.hidden
