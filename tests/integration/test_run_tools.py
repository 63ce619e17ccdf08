# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli run`: a ptxas that the program starts goes to the daemon, by any path and any call."""

import errno
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import PATIENCE, PLACES, run_cli, wait_for
from standin import PTXAS13, ptx

SOURCE = pathlib.Path(__file__).with_name("start_tool.c")
BY_PATH = ["execve", "execv", "execl", "execle", "posix_spawn"]
BY_NAME = ["execvp", "execvpe", "execlp", "posix_spawnp"]


class Tools:
    """A directory in PATH with a ptxas that counts its runs, and a program that starts it."""

    def __init__(self, directory, socket):
        self.directory, self.socket = directory, str(socket)
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.ptxas = self.bin / "ptxas"
        shutil.copy(PLACES.counted_tool, self.ptxas)
        self.starter = directory / "start_tool"
        subprocess.run(["cc", "-w", "-D_GNU_SOURCE", SOURCE, "-o", self.starter], check=True)
        (directory / "k.ptx").write_text(ptx())
        self._counted = directory / "counted"
        # The counting tool starts the real tool by a name that `run` does not redirect.
        real = directory / "assembler"
        real.symlink_to(PTXAS13)
        self.environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "REAL": str(real),
                            "COUNTED": str(self._counted), "XDG_RUNTIME_DIR": str(directory)}

    def alone(self, *words):
        return subprocess.run(list(map(str, words)), cwd=self.directory, env=self.environment, capture_output=True,
                              timeout=PATIENCE)

    def under_run(self, *words):
        return run_cli("--socket", self.socket, "run", "--", *words, cwd=self.directory, environment=self.environment,
                       check=False)

    def runs(self):
        return len(self._counted.read_text().split()) if self._counted.exists() else 0


@pytest.fixture
def tools(directory, fake):
    return Tools(directory, fake.socket)


def test_each_way_to_start_ptxas_leads_to_the_daemon(tools):
    words = ["-arch=sm_90", "k.ptx", "-o"]
    assert tools.alone(tools.ptxas, *words, "real.cubin").returncode == 0
    expected, alone = (tools.directory / "real.cubin").read_bytes(), tools.runs()
    starts = [(way, tools.ptxas) for way in BY_PATH + BY_NAME] + [(way, "ptxas") for way in BY_NAME]
    for number, (way, name) in enumerate(starts):
        done = tools.under_run(tools.starter, way, name, *words, f"{number}.cubin")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), way
        assert (tools.directory / f"{number}.cubin").read_bytes() == expected
    assert tools.runs() == alone + 1


@pytest.mark.parametrize("words", [
    ["sh", "-c", "ptxas -arch=sm_90 k.ptx -o made.cubin"],
    [sys.executable, "-c", "import subprocess; subprocess.run('ptxas -arch=sm_90 k.ptx -o made.cubin'.split(), check=True)"],
    ["ptxas", "-arch=sm_90", "k.ptx", "-o", "made.cubin"],
], ids=["a shell", "Python", "run itself"])
def test_a_second_run_starts_no_ptxas(tools, words):
    for _ in range(2):
        assert tools.under_run(*words).returncode == 0
        assert (tools.directory / "made.cubin").read_bytes()[:4] == b"\x7fELF"
    assert tools.runs() == 1


def test_the_report_counts_runs_of_ptxas(tools, directory):
    (directory / "broken.ptx").write_text("broken")
    command = "ptxas -arch=sm_90 k.ptx -o made; ptxas -arch=sm_90 k.ptx -o made; " \
              "ptxas -arch=sm_90 broken.ptx -o made 2>/dev/null; ptxas --help; ptxas --version"
    done = run_cli("--socket", tools.socket, "--json", "run", "--report", "--", "sh", "-c", command, cwd=directory,
                   environment=tools.environment)
    report = json.loads(done.stderr)
    counts = {name: report[name] for name in ("calls", "hits", "compiled", "failed")}
    assert counts == {"calls": 4, "hits": 1, "compiled": 1, "failed": 1}
    assert report["forwarded"]["call not served"] == 1


def test_a_run_waits_for_another_runs_ptxas_up_to_its_limit(tools, directory):
    os.mkfifo(directory / "gate")
    assembler = pathlib.Path(tools.environment["REAL"])
    assembler.unlink()
    assembler.write_text(f"#!/bin/sh\nmkdir {directory}/first 2>/dev/null && read line < {directory}/gate\n"
                         f'exec {PTXAS13} "$@"\n')
    assembler.chmod(0o755)
    words = ("ptxas", "-arch=sm_90", "k.ptx", "-o", "made")
    first = subprocess.Popen([PLACES.cli, "--socket", tools.socket, "run", "--", *words], cwd=directory,
                             env=tools.environment)
    wait_for(lambda: (directory / "first").exists(), "the first run")
    for wait, longest, runs in (("100ms", 1.9, 2), ("2500ms", 4.4, 3)):
        done = run_cli("--socket", tools.socket, "--json", "run", "--report", "--wait", wait, "--", *words, cwd=directory,
                       environment=tools.environment)
        report = json.loads(done.stderr)
        assert (report["forwarded"]["longer than --wait"], tools.runs()) == (1, runs)
        assert report["call_us"] - report["forwarded_us"] < longest * 1e6
    (directory / "gate").write_text("go on\n")
    assert first.wait(PATIENCE) == 0


def test_a_frozen_daemon_delays_only_the_first_run(tools, fake, directory):
    fake.freeze()
    words = ("ptxas", "-arch=sm_90", "k.ptx", "-o", "made")
    for longest in (4, 1):
        done = run_cli("--socket", tools.socket, "--json", "run", "--report", "--wait", "100ms", "--", *words, cwd=directory,
                       environment=tools.environment)
        report = json.loads(done.stderr)
        assert report["forwarded"]["no daemon"] == 1
        assert report["call_us"] - report["forwarded_us"] < longest * 1e6


def test_a_tool_that_is_missing_fails_as_without_run(tools):
    tools.ptxas.chmod(0o644)
    tools.environment["PATH"] = str(tools.bin)
    for way, name in [("execv", tools.ptxas), ("posix_spawn", "/nowhere/ptxas"), ("execvp", "ptxas"), ("posix_spawnp", "ptxas")]:
        words = (tools.starter, way, name, "a", "b", "c", "d")
        assert tools.under_run(*words).returncode == tools.alone(*words).returncode > 100


@pytest.mark.parametrize("contents", [b"echo a script", b"#!/no/such/interpreter", b"", b"\x7fELF" + bytes(96)],
                         ids=["no interpreter", "missing interpreter", "empty", "damaged"])
def test_a_file_that_is_no_program_is_left_to_the_kernel_and_to_shells(tools, contents):
    tools.ptxas.write_bytes(contents)
    for way, name in [(way, tools.ptxas) for way in BY_PATH + BY_NAME] + [(way, "ptxas") for way in BY_NAME]:
        words = (tools.starter, way, name, "a", "b", "c", "d")
        done, expected = tools.under_run(*words), tools.alone(*words)
        assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout), way


def test_a_tool_that_is_started_without_arguments_is_the_real_one(tools):
    for number, way in enumerate(("no words", "execl without words", "null"), 1):
        words = (tools.starter, way, tools.ptxas, "a")
        assert tools.under_run(*words).returncode == tools.alone(*words).returncode
        assert tools.runs() == 2 * number


def test_pointers_that_lead_nowhere_have_the_same_effect_as_without_run(tools):
    wrong = [("bad", "a"), ("unending", "a"), (tools.ptxas, "bad words"), (tools.ptxas, "unending words"),
             (tools.ptxas, "bad variables")]
    failed = 0
    for way in BY_PATH + BY_NAME:
        for words in wrong:
            expected = tools.alone(tools.starter, way, *words, "b", "c", "d").returncode
            assert tools.under_run(tools.starter, way, *words, "b", "c", "d").returncode == expected, (way, words)
            failed += expected == 100 + errno.EFAULT
    assert failed > 20


MANY_WORDS = """
import os, sys, threading
def start():
    child = os.posix_spawn(sys.argv[1], ["ptxas"] + ["x"] * 100_000, os.environ)
    print(os.waitpid(child, 0)[1])
threading.stack_size(256 << 10)
threading.Thread(target=start).start()
"""


def test_a_thread_with_a_small_stack_starts_a_tool_with_many_words(tools):
    words = (sys.executable, "-c", MANY_WORDS, tools.ptxas)
    expected = tools.alone(*words)
    assert expected.stdout
    assert tools.under_run(*words).stdout == expected.stdout


START_WITHOUT_STANDIN = """
import os, subprocess, sys
subprocess.run(["mount", "--bind", "/dev/null", sys.argv[1]], check=True)
words = ["ptxas", "-arch=sm_90", "k.ptx", "-o", "made"]
for child in (os.posix_spawn(sys.argv[2], words, os.environ), os.posix_spawnp("ptxas", words, os.environ)):
    assert os.waitpid(child, 0)[1] == 0
for start in (lambda: os.execv(sys.argv[2], words), lambda: os.execvp("ptxas", words)):
    child = os.fork()
    if child == 0:
        start()
    assert os.waitpid(child, 0)[1] == 0
"""
OWN_MOUNTS = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


def test_the_real_tool_is_started_if_the_stand_in_can_not_be(tools):
    """The stand-in can't be started in another root directory, or by another user."""
    done = tools.under_run(*OWN_MOUNTS, sys.executable, "-c", START_WITHOUT_STANDIN, PLACES.standin, tools.ptxas)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert tools.runs() == 4


def test_the_tool_is_found_without_proc(tools):
    command = f"mount -t tmpfs none /proc && exec {tools.starter} execv {tools.ptxas} -arch=sm_90 k.ptx -o made"
    assert tools.under_run(*OWN_MOUNTS, "sh", "-c", command).returncode == 0
    assert (tools.directory / "made").read_bytes()[:4] == b"\x7fELF"


TELLS = """
#include <stdio.h>
#include <string.h>
extern char** environ;
int main(int count, char** words) {
  for (int i = 0; i < count; ++i) printf("<%s>", words[i]);
  for (char** each = environ; *each; ++each) {
    if (strncmp(*each, "LD_", 3) && strncmp(*each, "CCCL_", 5) && strncmp(*each, "GLIBC_TUNABLES=", 15)) puts(*each);
  }
}
"""


def test_the_tool_gets_its_arguments_and_variables_unchanged(tools):
    tools.ptxas.unlink()
    subprocess.run(["cc", "-x", "c", "-", "-o", tools.ptxas], input=TELLS.encode(), check=True)
    words = (tools.starter, "execvp", "ptxas", "with blank", "", "--for", "x")
    done = tools.under_run(*words)
    expected = tools.alone(*words).stdout.replace(b"<ptxas>", f"<{tools.ptxas}>".encode())
    assert sorted(done.stdout.splitlines()) == sorted(expected.splitlines())
    assert done.stdout.startswith(f"<{tools.ptxas}><with blank><><--for><x>".encode())


def test_a_link_to_the_stand_in_that_a_user_made_still_finds_the_tool(tools):
    """The program's own PATH led to the stand-in before `run` did."""
    linked = tools.directory / "linked"
    linked.mkdir()
    (linked / "ptxas").symlink_to(PLACES.standin)
    tools.environment["PATH"] = f"{linked}:{tools.environment['PATH']}"
    for _ in range(2):
        assert tools.under_run("sh", "-c", "ptxas -arch=sm_90 k.ptx -o made.cubin").returncode == 0
    assert tools.runs() == 1
