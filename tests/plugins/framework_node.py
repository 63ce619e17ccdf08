# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The processes of a framework that the tests of its plug-in command."""

import os
import pathlib
import shutil
import subprocess
import sys

from asked_process import AskedProcess
from patience import PATIENCE

HERE = pathlib.Path(__file__).parent
MADE, FOUND = {"made": 1, "published": 1}, {"hits": 1}


class FrameworkNode:
    """Processes of one program, which share a daemon. Each of their compiles adds a word to the file $COMPILED.

    A subclass names the program, and the file that it compiles if there is one. `file` is a copy of that.
    """

    program = ""
    original = ""

    def __init__(self, directory, daemon):
        self.directory, self.daemon = directory, daemon
        if self.original:
            self.file = pathlib.Path(shutil.copy(HERE / self.original, directory))
        self._compiled = directory / "compiled"
        self._processes = []

    def variables(self):
        """Returns what the next process has in its environment besides the variables of each node."""
        return {}

    def environment(self, **more):
        own = {"CCCL_CACHE": "1", "CCCL_CACHE_SOCKET": self.daemon.socket, "HOME": str(self.directory),
               "COMPILED": str(self._compiled)}
        return {**os.environ, **own, **self.variables(), **more}

    def start(self, count=1, **environment):
        return self.start_each(*[environment] * count)

    def start_each(self, *environments):
        """Starts a process with each of these additions to the environment."""
        started = []
        for each in environments:
            started.append(AskedProcess(self.environment(**each), HERE / self.program))
            self._processes.append(started[-1])
        for process in started:
            assert process.hear() == "ready"
        return started

    def run(self, *command, before=(), **environment):
        """Runs Python to its end. Returns what it has printed."""
        told = subprocess.run([*before, sys.executable, *command], capture_output=True, text=True, timeout=PATIENCE * 4,
                              env=self.environment(**environment))
        assert told.returncode == 0, told.stderr
        return told.stdout

    def compiled(self):
        """Returns the number of compiles of all processes."""
        return words_in(self._compiled)

    def gate(self, name):
        path = self.directory / name
        os.mkfifo(path)
        return str(path)

    def file_with(self, name, *changes, shifted=0):
        """Returns a copy of the file, in a directory of its own, with changes."""
        return self.write(f"{name}/copy.py", changed(self.file.read_text(), *changes, shifted=shifted))

    def write(self, name, text):
        """Returns a file in a new directory."""
        file = self.directory / name
        file.parent.mkdir()
        file.write_text(text)
        return file

    def end(self):
        for process in self._processes:
            process.end()


def changed(text, *changes, shifted=0):
    """Returns a text with pairs of an old and a new part exchanged, and its lines shifted."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return "# a line\n" * shifted + text


def words_in(file):
    return len(file.read_text().split()) if file.exists() else 0


def counts(process):
    status = process.ask("status")
    assert status["on"] and not status["errors"], status
    return {name: status[name] for name in ("hits", "made", "published", "released")}


def changes(process, *words):
    """Returns the answer, and how the counts of the process have changed."""
    before = counts(process)
    answer = process.ask(*words)
    return answer, {name: count - before[name] for name, count in counts(process).items() if count != before[name]}
