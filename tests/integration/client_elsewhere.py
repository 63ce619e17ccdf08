# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A client in a mount namespace of its own, whose files the daemon can't open, and the same client in the daemon's
namespace. Only root can make a namespace."""

import json
import pathlib
import subprocess

import pytest
from patience import PATIENCE
from places import PLACES

KERNEL = '#include <value.h>\nextern "C" __global__ void k(int* p) { *p = VALUE; }\n'
ONE, TWO = "#define VALUE 7001\n", "#define VALUE 7002\n"


def tree(place, **headers):
    """Writes headers[name] to place/first/name.h. place/second is searched before place/first."""
    for name in ("first", "second"):
        (place / name).mkdir(parents=True, exist_ok=True)
    for name, text in headers.items():
        (place / "first" / f"{name}.h").write_text(text)


def build_command(daemon, place, *options):
    return [
        PLACES.cli, "--socket", daemon.socket, "--json", "build", "-", "--name", "k.cu", "--arch", "sm_90", "-o",
        str(place / "out.cubin"), f"--option=-I{place / 'second'}", f"--option=-I{place / 'first'}",
        *(f"--option={option}" for option in options),
    ]


def run(command, source=KERNEL, **keywords):
    return subprocess.run(command, input=source.encode(), capture_output=True, timeout=PATIENCE, **keywords)


def told(done):
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def build_here(daemon, place, source=KERNEL, *options, **keywords):
    """Returns (`build --json`, the cubin) of a client in the daemon's own namespace."""
    done = run(build_command(daemon, place, *options), source, cwd=place, **keywords)
    return told(done), (place / "out.cubin").read_bytes()


class Elsewhere:
    """A mount namespace in which `place` is a tmpfs that the daemon does not see."""

    def __init__(self, place):
        self.place = place
        place.mkdir(parents=True)
        script = 'mount -t tmpfs none "$0" && echo ready && exec cat'
        self.shell = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(place)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        assert self.shell.stdout.readline() == b"ready\n"
        self.inside = pathlib.Path(f"/proc/{self.shell.pid}/root{place}")

    def command(self, *words):
        return ["nsenter", f"--mount=/proc/{self.shell.pid}/ns/mnt", f"--wd={self.place}", *words]

    def build(self, daemon, source=KERNEL, *options):
        """Returns (`build --json`, the cubin) of a client in this namespace."""
        done = run(self.command(*build_command(daemon, self.place, *options)), source)
        return told(done), (self.inside / "out.cubin").read_bytes()

    def close(self):
        self.shell.stdin.close()
        self.shell.wait(PATIENCE)
        self.shell.stdout.close()


@pytest.fixture
def elsewhere(directory):
    made = Elsewhere(directory / "work")
    yield made
    made.close()
