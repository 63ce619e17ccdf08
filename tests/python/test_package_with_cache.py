# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""examples/package_with_cache, built, installed, and imported on a machine that has compiled nothing."""

import os
import pathlib
import shutil
import subprocess
import sys

import cccl_cache
import pytest
from patience import PATIENCE
from places import PLACES

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/package_with_cache"
GUIDE = ROOT / "docs/guide-ship-a-cache.md"
USE = "import scaled; made = scaled.build('sm_90'); print(made.outcome, made.lowered_names['scale<float>'])"


def run(*command, socket, directory, **environment):
    told = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=PATIENCE * 5,
                          cwd=directory, env={**os.environ, "CCCL_CACHE_SOCKET": str(socket), "XDG_CACHE_HOME": str(directory / "home"),
                               **environment})
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


@pytest.fixture(scope="module")
def package(lasting, tmp_path_factory):
    """The directory of the installed package, from a wheel that was built beside a daemon."""
    directory = tmp_path_factory.mktemp("package")
    source = directory / "source"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    pip = ("-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", directory / "wheel", source,
        socket=lasting.socket, directory=directory)
    run(*pip, "install", "--no-index", "--no-deps", "--target", directory / "installed",
        *(directory / "wheel").glob("*.whl"), socket=lasting.socket, directory=directory)
    return directory / "installed"


def test_a_fresh_daemon_compiles_nothing_of_the_package(package, make_daemon, directory):
    fresh = make_daemon(roots=(PLACES.cuda13,), name="fresh").start()
    for _ in range(2):
        told = run("-c", USE, socket=fresh.socket, directory=directory, PYTHONPATH=str(package))
        assert told == "hit _Z5scaleIfEvPT_S0_x\n"
    figures = cccl_cache.Client(fresh.socket).stats()
    assert figures["compiles_total"] == 0 and figures["entries"] >= 2


def test_without_a_daemon_the_package_can_be_imported(package, directory):
    told = run("-c", "import scaled; print(scaled.SNAPSHOT)", socket=directory / "nobody", directory=directory,
               PYTHONPATH=str(package))
    assert told == "kernels.snap\n"


def test_the_guide_shows_the_actual_package():
    text = GUIDE.read_text()
    for name in ("setup.py", "scaled/__init__.py"):
        shown = (EXAMPLE / name).read_text().partition('"""\n')[2].lstrip("\n")
        assert f"```python\n{shown}```\n" in text, name
