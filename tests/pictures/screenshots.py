# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of commands in docs/pictures, from real runs at a pseudo-terminal: see `scripts/screenshots --help`.

Runs as root in a mount namespace of its own, where it installs what was built, so that the pictures show the paths of an
installation and not those of this machine. With --check it compares the pictures with what is printed now: the commands,
and the words that lines begin with."""

import argparse
import contextlib
import itertools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
import page_picture  # noqa: E402
from places import PLACES  # noqa: E402
from running_daemon import Daemon  # noqa: E402
from terminal_picture import picture  # noqa: E402
from watched_terminal import WatchedTerminal  # noqa: E402

PREFIX = pathlib.Path("/opt/cccl-cached")
CLI = str(PREFIX / "bin/cccl-cache-cli")
USERS = ALICE, BOB, CAROL = 1000, 1001, 1002
NAMES = "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\ncarol:x:1002:1002::/:/bin/sh\n"
TYPES = [f"REDUCE_TYPE={each}" for each in ("float", "double", "int")]  # types of the reduction
COLUMNS = 116  # more than most lines have, so that few are wrapped
SECONDS = 30  # runtime of `top` before its picture is taken
SIMULATION = """
import ctypes
nvrtc = ctypes.CDLL("libnvrtc.so.13")
options = (ctypes.c_char_p * 2)(b"-arch=sm_90", b"-std=c++17")
for order in range(6):
    source = b"template <int n> __device__ float power(float x) { return x * power<n - 1>(x); }" \\
             b"template <> __device__ float power<0>(float) { return 1; }" \\
             b'extern "C" __global__ void step(float* x) { *x = power<%d>(*x); }' % order
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"step.cu", 0, None, None) == 0
    assert nvrtc.nvrtcCompileProgram(program, 2, options) == 0
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
"""


def sources():
    """Writes the sources: a reduction, a program with a compile of seconds, and a program with an error."""
    includes, kernel = re.split("(?=extern)", (ROOT / "tests/bench/sort.cu").read_text())
    kernels = (kernel.replace("SortAndScan", f"SortBy{items}").replace("kItems = 8", f"kItems = {items}") for items in range(4, 16))
    reduction = (ROOT / "examples/reduce.cu").read_text()
    return {"reduce.cu": reduction, "sort.cu": includes + "".join(kernels), "mean.cu": reduction.replace(" float", " flaot")}


# The same sources for the fake CUDA, whose compiles take no time.
FAKE_SOURCES = {"reduce.cu": "constexpr int kItems = 8;\n", "sort.cu": "//fake: hang\n", "mean.cu": "//fake: fail an error\n"}


class Machine:
    """This machine with an installed daemon, in a mount namespace that ends with the block."""

    def __init__(self, place, build, cuda, files):
        installed = place / "installed"
        subprocess.run(["cmake", "--install", build, "--prefix", installed], check=True, stdout=subprocess.DEVNULL)
        for directory in ("/run", "/opt"):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", directory], check=True)
        shutil.copytree(installed, PREFIX, symlinks=True)
        (place / "passwd").write_text(NAMES)
        subprocess.run(["mount", "--bind", place / "passwd", "/etc/passwd"], check=True)
        self.home = place / "home"
        self.home.mkdir()
        for name, text in {**files, "simulation.py": SIMULATION}.items():
            (self.home / name).write_text(text)
        for file in (self.home, *self.home.iterdir()):
            os.chown(file, ALICE, ALICE)
        self.daemon = Daemon(place, [cuda], "--jobs", "2", "--socket-mode", "0666")
        self.daemon.program = str(PREFIX / "bin/cccl-cached")
        self.daemon.socket = "/run/cccl-cached/socket"
        self.environment = {
            "PATH": f"{PREFIX}/bin:/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8", "TERM": "linux", "PYTHONSAFEPATH": "1",
            "LD_LIBRARY_PATH": str(next(pathlib.Path(cuda).rglob("libnvrtc.so.13")).parent)}

    def build(self, uid, source, *defined):
        """Starts a build as a user."""
        return subprocess.Popen(
            [CLI, "build", source, "--arch", "sm_90", *(f"-D{each}" for each in defined), "-o", os.devnull], user=uid, group=uid,
            extra_groups=[], cwd=self.home, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, uid, *command, before=()):
        """Runs a command of the command line as a user."""
        subprocess.run([*before, CLI, *command], user=uid, group=uid, extra_groups=[], cwd=self.home, env=self.environment,
                       stdout=subprocess.DEVNULL, check=True)

    @contextlib.contextmanager
    def terminal(self, command, uid, rows=60):
        as_user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "env", "-C", str(self.home), "--"]
        with WatchedTerminal(*as_user, *command, columns=COLUMNS, rows=rows, **self.environment) as terminal:
            yield terminal

    def session(self, *commands, uid=ALICE):
        """Returns the screen of a user who types these commands."""
        prompt = "#" if uid == 0 else "$"
        script = "".join(f"printf '\\033[1m%s %s\\033[0m\\n' '{prompt}' {shlex.quote(each)}\n{each}\n" for each in commands)
        with self.terminal(["sh", "-c", script], uid) as terminal:
            while terminal.process.poll() is None:
                terminal.read(1)
            terminal.await_end()
            return picture(terminal.screen, commands[0])


def done(*processes):
    for process in processes:
        process.wait()


# The pictures, in the order of their commands to the daemon.
def build(machine, _):
    explained = "cccl-cache-cli explain -- build reduce.cu --arch sm_90"
    return machine.session(
        *["cccl-cache-cli build reduce.cu --arch sm_90 -o reduce.cubin"] * 2, "sed -i 's/kItems = 8/kItems = 16/' reduce.cu", explained)


def report(machine, _):
    return machine.session(*["cccl-cache-cli run --report -- python3 simulation.py"] * 2)


def stats(machine, _):
    done(*(machine.build(uid, "reduce.cu", each) for each in TYPES for uid in USERS))
    for number in range(60):
        done(machine.build((BOB, BOB, CAROL)[number % 3], "reduce.cu", TYPES[number % 3]))
    return machine.session("cccl-cache-cli stats", "cccl-cache-cli stats --by user", uid=0)


def doctor(machine, _):
    return machine.session("cccl-cache-cli doctor")


def top(machine, seconds):
    """Users wait for compiles, some of them for the same compile, after some seconds with hits."""
    done(machine.build(0, "mean.cu"))  # this user gets the error
    with machine.terminal([CLI, "top"], uid=0, rows=18) as terminal:
        over = threading.Event()

        def ask():
            for number in range(1 << 30):
                if over.wait(0.1):
                    return
                done(machine.build(USERS[number % 3], "reduce.cu", TYPES[number % 3]))

        asking = threading.Thread(target=ask)
        asking.start()
        terminal.await_shown(lambda shown: len(re.findall("[▁-█]", shown)) >= seconds, "the hits of some seconds")
        # For each build, first the user who requests it, then those who wait for the same build.
        asked = [(ALICE, 1), (BOB, 2), (ALICE, 3), (BOB, 4), (ALICE, 1), (CAROL, 1), (CAROL, 2), (BOB, 1), (ALICE, 4)]
        waiting = [machine.build(uid, "sort.cu", f"ROUND={round}") for uid, round in asked]
        try:
            terminal.await_shown(lambda shown: re.search(
                r"(?s)\nrunning .*\nrunning .*\nqueued ", shown), "the builds")
            return picture(terminal.screen, "cccl-cache-cli top")
        finally:
            over.set()
            asking.join()
            for each in waiting:
                each.kill()
            done(*waiting)


PICTURES = {each.__name__: each for each in (build, report, stats, doctor, top)}


def labels(svg):
    """Returns the commands of a picture, and the first words of its other lines."""
    rows = {}
    for text in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        rows[text.get("y")] = rows.get(text.get("y"), "") + text.text
    # A line that is too long continues in the next row. A blank at the end is not drawn.
    lines = re.sub(rf"(?m)^(.{{{COLUMNS - 1},{COLUMNS}}})\n", r"\1", "\n".join(rows.values())).split("\n")
    found = [line if line[:2] in ("$ ", "# ") else line.split()[0] for line in lines if re.match(r"[$#A-Za-z]", line)]
    return [label for label, _ in itertools.groupby(found)]  # any number of rows of a table


def differences(made, directory):
    """Returns the differences between the labels of these pictures and those of the files in the folder."""
    for name, svg in made.items():
        then, now = labels((directory / f"{name}.svg").read_text()), labels(svg)
        if then != now:
            yield f"{name}.svg: shows\n  {then}\nprinted now is\n  {now}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="build directory")
    parser.add_argument("--check", action="store_true", help="compare only; exit status 1 if a picture is of other commands")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "docs/pictures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        os.chmod(place, 0o755)
        toolchain = (PLACES.fake13, FAKE_SOURCES) if given.check else (PLACES.cuda13, sources())
        machine = Machine(pathlib.Path(place), given.build, *toolchain)
        machine.daemon.start()
        try:
            made = {name: make(machine, 1 if given.check else SECONDS) for name, make in PICTURES.items()}
            if not given.check:
                given.into.mkdir(parents=True, exist_ok=True)
                page_picture.draw(machine, USERS, given.into)
        finally:
            machine.daemon.kill()
    if not given.check:
        for name, svg in made.items():
            (given.into / f"{name}.svg").write_text(svg)
        return 0
    found = list(differences(made, given.into))
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
