# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""``pip install cccl-cache[daemon]``: a daemon from a wheel, for an ordinary user."""

import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from importlib import metadata

import pytest
from elftools.elf.elffile import ELFFile
from patience import PATIENCE, wait_for
from places import PLACES

PLACE = pathlib.Path(sys.prefix).parent
# Not root, whose daemon would serve the node.
USER = 65534 if os.geteuid() == 0 else None
AS_USER = {} if USER is None else {"user": USER, "group": USER, "extra_groups": []}
BUILD = """
import cccl_cache
print(cccl_cache.Client(fallback="error").build("__global__ void kernel(int* at) { *at = 1; }", arch="sm_90").outcome)
"""
SYSTEMCTL = """#!/bin/sh
echo "$*" >>"$HOME/asked"
"""


@pytest.fixture(scope="module")
def venv():
    """A fresh environment with both wheels, for all tests of this file."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as path:
        os.chmod(path, 0o755)
        # The system's Python, which every user may start.
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", path], check=True)
        wheels = [*(PLACE / "repaired").glob("*.whl"), *(PLACE / "daemon").glob("*.whl")]
        subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", f"{path}/bin/python3",
                        "install", "--no-index", *wheels], check=True)
        yield pathlib.Path(path)


class Installation:
    """The environment, and an empty home for its user."""

    def __init__(self, venv, home):
        self.python = venv / "bin/python3"
        [self.site] = venv.glob("lib/python*/site-packages")
        self.home = home
        self.home.mkdir(mode=0o700)
        if USER is not None:
            os.chown(self.home, USER, USER)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home)}

    def start(self, *words):
        return subprocess.Popen([self.python, "-m", "cccl_cache", *map(str, words)], env=self.environment, cwd=self.home,
                                **AS_USER)

    def run(self, *words):
        return subprocess.run([self.python, *map(str, words)], env=self.environment, cwd=self.home, **AS_USER,
                              capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture
def installation(venv, directory):
    return Installation(venv, directory / "home")


@pytest.fixture
def serving(installation):
    """Starts the daemon, waits until it serves, and ends it with the test."""
    started = []

    def serve(*flags):
        started.append(installation.start("serve", *flags))
        wait_for(lambda: installation.run("-m", "cccl_cache").returncode == 0, "the daemon")
        return started[-1]

    yield serve
    for process in started:
        process.kill()
        process.wait()


def test_a_user_serves_builds_hits_and_stops(installation, serving):
    daemon = serving("--toolchain-root", PLACES.cuda13, "--toolchain-search", "roots")
    done = [installation.run("-c", BUILD) for _ in range(2)]
    assert [each.stdout for each in done] == ["built\n", "hit\n"], done[0].stderr
    assert (installation.home / ".local/state/cccl-cached").is_dir()
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(PATIENCE) == 0
    assert installation.run("-c", BUILD).returncode != 0


def test_run_starts_the_daemon_of_the_other_wheel(installation):
    done = installation.run("-m", "cccl_cache", "run", "--start", "-c", "print('of the program')")
    daemon = int((installation.home / ".local/state/cccl-cached/lock").read_text().split()[0])
    process = os.pidfd_open(daemon)
    try:
        assert (done.stdout, done.stderr.split(",")[0]) == ("of the program\n", "cccl-cache: started a daemon")
        assert os.readlink(f"/proc/{daemon}/exe") == str(installation.site / "cccl_cache_daemon/cccl-cached")
    finally:
        signal.pidfd_send_signal(process, signal.SIGTERM)
        assert select.select([process], [], [], PATIENCE)[0], "the daemon goes on"
        os.close(process)


def test_the_daemon_finds_cuda_among_the_packages_around_it(installation, serving):
    around = installation.site / "nvidia/cu13"
    shutil.copytree(PLACES.fake13, around)
    try:
        serving()
        assert f" in {around}:" in installation.run("-m", "cccl_cache").stdout
    finally:
        shutil.rmtree(around)


def test_the_error_without_the_daemons_wheel_names_the_wheel():
    done = subprocess.run([sys.executable, "-m", "cccl_cache", "serve"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 5 and "cccl_cache_daemon-*.whl" in done.stderr


def test_without_a_daemon_the_remedy_is_a_command_of_the_package(installation):
    told = installation.run("-m", "cccl_cache")
    assert told.returncode == 3 and "systemctl" not in told.stderr, told.stderr
    assert "cccl-cache-cli run --start -- PROGRAM" in told.stderr


def test_the_commands_are_in_the_environment(installation, venv):
    for name, printed in (("cccl-cached", "cccl-cached "), ("cccl-cache-cli", "cccl-cache-cli ")):
        done = subprocess.run([venv / "bin" / name, "--version"], capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout.strip()) == (0, printed + metadata.version("cccl-cache")), done.stderr


def test_without_a_systemd_of_the_user_enable_names_the_remedy(installation):
    done = installation.run("-m", "cccl_cache", "enable")
    assert done.returncode == 5 and "python -m cccl_cache serve" in done.stderr
    assert not (installation.home / ".config").exists()


def test_enable_writes_units_that_systemd_takes_and_starts_the_socket(installation):
    systemctl = installation.home / "systemctl"
    systemctl.write_text(SYSTEMCTL)
    systemctl.chmod(0o755)
    installation.environment["PATH"] = f"{installation.home}:/usr/bin:/bin"
    done = installation.run("-m", "cccl_cache", "enable")
    assert done.returncode == 0, done.stderr
    assert "--user enable --now cccl-cached.socket\n" in (installation.home / "asked").read_text()
    units = installation.home / ".config/systemd/user"
    judged = subprocess.run(["systemd-analyze", "--user", "verify", "--recursive-errors=no", "--man=no",
                             *units.glob("cccl-cached.*")], capture_output=True, text=True, timeout=PATIENCE,
                            env={**os.environ, **installation.environment, "SYSTEMD_LOG_LEVEL": "warning"})
    assert (judged.returncode, judged.stderr) == (0, "")
    [program] = re.findall(r'^ExecStart="(.*)"$', (units / "cccl-cached.service").read_text(), re.MULTILINE)
    assert program == str(installation.site / "cccl_cache_daemon/cccl-cached")
    assert "@CMAKE" not in (units / "cccl-cached.service").read_text()


def test_the_daemon_s_wheel_needs_the_glibc_of_2020_and_the_other_wheel_of_its_version():
    [wheel] = (PLACE / "daemon").glob("*.whl")
    assert "manylinux_2_31" in wheel.name and wheel.stat().st_size < 12_000_000
    with zipfile.ZipFile(wheel) as contents:
        [described] = [name for name in contents.namelist() if name.endswith("/METADATA")]
        required = re.findall("^Requires-Dist: (.*)$", contents.read(described).decode(), re.MULTILINE)
        with contents.open("cccl_cache_daemon/cccl-cached") as program:
            needed = {tag.needed for tag in ELFFile(program).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
        licences = {name.rsplit("/", 1)[1] for name in contents.namelist() if ".dist-info/licenses/" in name}
    version = metadata.version("cccl-cache")
    assert required == [f"cccl-cache=={version}"]
    assert f"cccl-cache-daemon=={version}" in str(metadata.requires("cccl-cache"))
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
    assert {"LICENSE", "libgrpc++", "librocksdb", "libssl", "zig"} <= licences
