# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Daemons for tests. Each has its own files, and ends with its test."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
from fake_toolkit import FakeToolkit
from places import PLACES
from running_daemon import Daemon

PYTHON = pathlib.Path(__file__).parents[2] / "client/python/cccl_cache"


@pytest.fixture
def directory():
    """A directory with a short path, because the path of a Unix socket has at most 107 bytes. Root or the caller
    owns it, and no other user can write to it."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


@pytest.fixture
def make_daemon(directory):
    """Makes daemons and ends them with the test."""
    made = []

    def make(*flags, roots=(PLACES.fake13,), name="d", **keywords):
        place = directory / name
        place.mkdir(exist_ok=True)
        daemon = Daemon(place, roots, *flags, **keywords)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()


@pytest.fixture
def toolkit(directory):
    """A fake CUDA 13 for this test alone."""
    return FakeToolkit(PLACES.fake13, directory / "cuda")


@pytest.fixture
def fake(make_daemon, toolkit):
    """A running daemon over the test's fake toolchain."""
    return make_daemon(roots=(toolkit.root,)).start()


@pytest.fixture
def real(make_daemon):
    """A running daemon over CUDA 13."""
    return make_daemon(roots=(PLACES.cuda13,)).start()


@contextlib.contextmanager
def lasting_daemon(*roots):
    """A running daemon with its own directory, for all tests of a file."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        os.chmod(place, 0o755)
        daemon = Daemon(place, roots).start()
        yield daemon
        daemon.stop()


@pytest.fixture(scope="module")
def lasting():
    """A running daemon over CUDA 13 for all tests of a file. Each test has its own directory."""
    with lasting_daemon(PLACES.cuda13) as daemon:
        yield daemon


@pytest.fixture
def package(directory):
    """The Python package with the library of this build, and a home for its files."""
    site = directory / "site"
    shutil.copytree(PYTHON, site / "cccl_cache", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PLACES.library, site / "cccl_cache")

    def ask(code, *arguments):
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "XDG_CACHE_HOME": str(directory / "cache"),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, text=True,
                              stdout=subprocess.PIPE, env=environment).stdout.split()

    return ask
