# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""nvcc in a toolkit for tests, with and without the cache."""

import copy
import json
import os
import pathlib
import signal
import subprocess

from patience import PATIENCE
from places import PLACES
from running_daemon import run_cli
from standin import Ended, ended

NVCC = pathlib.Path(os.environ["CCCL_CACHED_TEST_TILEIRAS"]) / "nvidia/cu13"
LIBRARIES = next(pathlib.Path(PLACES.cuda13).rglob("libcudart_static.a")).parent
HEADERS = pathlib.Path(os.environ["CCCL_CACHED_TEST_TRITON"]) / "triton/backends/nvidia/include"
STANDIN = pathlib.Path(PLACES.standin).with_name("cccl-cache-nvcc")

KERNEL = """
#include <value.h>
__global__ void kernel(float* p) { p[threadIdx.x] += VALUE; }
int with_linkage() { return 1; }
"""

# A program, because runs with a compiler that is a script are not kept.
GATE = """
#include <signal.h>
#include <string.h>
#include <unistd.h>
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) if (strcmp(words[i], "-c") == 0) kill(getpid(), SIGSTOP);
  words[0] = "/usr/bin/g++";
  execv(words[0], words);
  return 127;
}
"""


class Toolkit:
    """A CUDA toolkit of links, and a project that it compiles."""

    def __init__(self, directory, socket):
        self.directory = pathlib.Path(directory)
        self.socket = str(socket)
        self.root = self.directory / "cuda"
        (self.root / "bin").mkdir(parents=True)
        for program in (NVCC / "bin").iterdir():
            (self.root / "bin" / program.name).symlink_to(program)
        (self.root / "nvvm").symlink_to(NVCC / "nvvm")
        (self.root / "include").symlink_to(HEADERS)
        (self.root / "lib").symlink_to(LIBRARIES)
        self.nvcc = self.root / "bin/nvcc"
        self.work = self.directory / "work"
        for place in ("first", "second", "temporary"):
            (self.work / place).mkdir(parents=True)
        (self.work / "second/value.h").write_text("#define VALUE 1\n")
        (self.work / "a.cu").write_text(KERNEL)
        self.words = ["-c", "a.cu", "-o", "a.o", "-Ifirst", "-Isecond", "-arch=sm_90"]
        self.environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(self.directory),
                            "HOME": str(self.directory), "TMPDIR": str(self.work / "temporary")}
        self.identity = {}
        self.options = []  # of `run`
        self._last = {}

    def as_user(self, socket=None, options=(), **identity):
        """Returns the same toolkit and project for another user, who has files of its own."""
        other = copy.copy(self)
        other.identity, other.options, other.socket = identity, list(options), str(socket or self.socket)
        home = self.directory / f"home{identity['user']}"
        home.mkdir(mode=0o700, exist_ok=True)
        os.chown(home, identity["user"], identity["group"])
        other.environment = {**self.environment, "XDG_RUNTIME_DIR": str(home), "HOME": str(home)}
        return other

    def gate(self):
        """Returns words with which nvcc's host compiler stops at the last step, until passed() is called."""
        wrapper = self.directory / "gated/g++"
        wrapper.parent.mkdir(exist_ok=True)
        subprocess.run(["cc", "-xc", "-", "-o", wrapper], input=GATE, text=True, check=True)
        return ["-ccbin", str(wrapper)]

    def stopped(self):
        """Returns the processes that wait at the gate."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
                state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue  # it has ended
            if bytes(self.directory / "gated/g++") in words and state == "T":
                found.append(int(process.name))
        return found

    def passed(self):
        for process in self.stopped():
            os.kill(process, signal.SIGCONT)

    def alone(self, *words, **keywords):
        return ended(self.start_words([self.nvcc, *(words or self.words)], **keywords))

    def launch(self, *words, **keywords):
        """Runs nvcc by the launcher, without `run`."""
        return ended(self.start(*words, **keywords))

    def start(self, *words, program=None, **environment):
        return self.start_words([STANDIN, program or self.nvcc, *(words or self.words)], **environment)

    def under_run(self, *words, program=None, place=".", read=None, **environment):
        """Runs nvcc under `run`. Afterwards, report() says how."""
        done = run_cli("--socket", self.socket, "--json", "run", "--report", *self.options, "--", program or self.nvcc,
                       *(words or self.words), cwd=self.work / place, input=read,
                       environment={**self.environment, **environment}, check=False, **self.identity)
        err, _, report = done.stderr.rpartition(b"{\n  \"format_version\"")
        self._last = json.loads(b"{\n  \"format_version\"" + report) if report else {}
        return Ended(done.returncode, done.stdout, err)

    def report(self):
        return self._last

    def how(self, *words, **keywords):
        """Runs nvcc under `run`, which must succeed. Returns "hit", or "made", or why neither."""
        done = self.under_run(*words, **keywords)
        assert done.status == 0, done
        report = self._last
        if report["hits"] == 1 and report["calls"] == 1:
            return "hit"
        return report["uncacheable_reason"] or report["refusal"] or "made"

    def start_words(self, words, place=".", read=None, **environment):
        """Starts a program in a session of its own. It reads the text `read`, which is short."""
        process = subprocess.Popen(
            list(map(str, words)), cwd=self.work / place, stdin=subprocess.DEVNULL if read is None else subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={**self.environment, "CCCL_CACHE_SOCKET": self.socket, **environment}, **self.identity)
        if read is not None:
            process.stdin.write(read.encode())
            process.stdin.close()
            process.stdin = None
        return process
