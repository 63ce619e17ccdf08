# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that obey the commands of a test."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys


class AskedProcess:
    """One process, in a session of its own. Answers each line with a line of JSON."""

    def __init__(self, environment, *program, executable=sys.executable):
        self.process = subprocess.Popen([executable, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment, start_new_session=True)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        assert line, "the process ended"
        return json.loads(line)

    def ask(self, *words):
        self.tell(*words)
        return self.hear()

    def signal(self, number):
        """Sends a signal to the process and its children."""
        os.killpg(self.process.pid, number)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class ForkedProcess:
    """A process that a server has forked for this connection, in a session of its own. Answers each line of JSON with another."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._lines = self._socket.makefile("rw")
        self._number = int(self._lines.readline())

    def tell(self, *command):
        print(json.dumps(command, default=str), file=self._lines, flush=True)

    def hear(self):
        line = self._lines.readline()
        assert line, "the process ended"
        return json.loads(line)

    def ask(self, *command):
        self.tell(*command)
        return self.hear()

    def signal(self, number):
        """Sends a signal to the process and its children."""
        os.killpg(self._number, number)

    def end(self):
        self._lines.close()
        self._socket.close()
