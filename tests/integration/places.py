# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The paths of the programs under test."""

import atexit
import functools
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile


def serves(path):
    """Returns whether a daemon of the tests would accept a compiler below this path, and, if this is root, whether
    other users can enter it."""
    path = pathlib.Path(path).resolve()
    for status in (each.stat() for each in (path, *path.parents)):
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
            return False
        if os.geteuid() == 0 and status.st_mode & 0o005 != 0o005:
            return False
    return True


class Places:
    """The paths from CMake of the programs under test. A missing variable is an error, never a skip.

    If a path does not serve, a copy is used. A daemon refuses a compiler that a user other than root and its own
    user can change. Other users can't start a program in a closed home.
    """

    def __init__(self):
        self.stubs = os.environ["CCCL_CACHED_TEST_STUBS"]
        self.fake_driver = os.environ["CCCL_CACHED_TEST_FAKE_DRIVER"]
        self.without_landlock = os.environ["CCCL_CACHED_TEST_WITHOUT_LANDLOCK"]
        self.counted_tool = os.environ["CCCL_CACHED_TEST_COUNTED_TOOL"]
        self.standin = os.environ["CCCL_CACHED_TEST_STANDIN"]
        self._copies = None

    @functools.cached_property
    def _binaries(self):
        names = ("DAEMON", "UPGRADED_DAEMON", "CLI", "LEASE_CLIENT", "STEP_PROGRAM")
        found = {name: pathlib.Path(os.environ[f"CCCL_CACHED_TEST_{name}"]) for name in names}
        daemon = found["DAEMON"]
        build = daemon.parents[1]
        if serves(build):
            return found
        others = [daemon.parent / "worker/cccl-cached-worker", daemon.parent / "local/cccl-cache-compile"]
        for file in [*found.values(), *others, *(build / "client").glob("*.so*"),
                     *(build / "client/interpose").rglob("*.so*")]:
            copy = self._directory() / file.relative_to(build)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        return {name: self._directory() / file.relative_to(build) for name, file in found.items()}

    @property
    def daemon(self):
        return str(self._binaries["DAEMON"])

    @property
    def upgraded_daemon(self):
        return str(self._binaries["UPGRADED_DAEMON"])

    @property
    def cli(self):
        return str(self._binaries["CLI"])

    @property
    def lease_client(self):
        return str(self._binaries["LEASE_CLIENT"])

    @property
    def step_program(self):
        return str(self._binaries["STEP_PROGRAM"])

    @property
    def library(self):
        return str(self._binaries["CLI"].parents[1] / "client/libcccl_cache.so.1")

    @functools.cached_property
    def fake13(self):
        return self._toolkit("FAKE13")

    @functools.cached_property
    def fake12(self):
        return self._toolkit("FAKE12")

    @functools.cached_property
    def cuda13(self):
        return self._toolkit("CUDA13")

    @functools.cached_property
    def cuda12(self):
        return self._toolkit("CUDA12")

    def _toolkit(self, name):
        root = os.environ[f"CCCL_CACHED_TEST_{name}"]
        if serves(root):
            return root
        copy = self._directory() / name.lower()
        subprocess.run(["cp", "-rP", "--preserve=mode,timestamps", root, copy], check=True)
        subprocess.run(["chmod", "-R", "go-w", copy], check=True)
        return str(copy)

    def _directory(self):
        if self._copies is None:
            self._copies = pathlib.Path(tempfile.mkdtemp(prefix="cccl", dir="/tmp"))
            atexit.register(shutil.rmtree, self._copies)
            self._copies.chmod(0o755)
        return self._copies


PLACES = Places()
sys.path.insert(0, PLACES.stubs)
