# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions of the Julia that scripts/setup has unpacked, with the package as its users have it."""

import os
import pathlib
import shutil
import subprocess

import pytest
from patience import PATIENCE
from places import PLACES

SOURCES = pathlib.Path(__file__).parents[2]
ROOT = pathlib.Path(os.environ["CCCL_CACHED_TEST_JULIA"])
# Julia's package manager downloads a registry unless there is one.
REGISTRY = """
name = "None"
uuid = "5f1d6c4e-0c8f-4e0b-8a55-0d8a4e5d9e11"
repo = ""
[packages]
"""


class Depot:
    """The packages of a user: copies of ours, and their compiled files."""

    def __init__(self, place):
        self.place = pathlib.Path(place)
        registry = self.place / "depot/registries/None"
        registry.mkdir(parents=True)
        (registry / "Registry.toml").write_text(REGISTRY)
        shutil.copytree(SOURCES / "client/julia", self.place / "CcclCache")
        shutil.copytree(SOURCES / "examples/julia-package", self.place / "ScaleKernels")

    def run(self, code, socket, *, project=None, check=True, **environment):
        """Runs a session. Returns its output. `project` is a folder of packages."""
        libraries = [next(ROOT.glob("usr/lib/*-linux-gnu")), *ROOT.glob("usr/lib/*-linux-gnu/julia"),
                     *ROOT.glob("lib/*-linux-gnu")]
        done = subprocess.run(
            [ROOT / "usr/bin/julia", "--startup-file=no", f"--project={project or self.place / 'project'}", "-e", code],
            capture_output=True, text=True, timeout=PATIENCE * 10, cwd=self.place,
            env={"PATH": os.environ["PATH"], "HOME": str(self.place), "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
                 "JULIA_DEPOT_PATH": str(self.place / "depot"), "CCCL_CACHE_SOCKET": str(socket),
                 "CCCL_CACHE_LIBRARY": os.environ["CCCL_CACHED_TEST_LIBRARY"],
                 "CCCL_CACHED_TOOLCHAIN_SEARCH": "roots", "CCCL_CACHED_TOOLCHAIN_ROOT": str(PLACES.cuda13),
                 **environment})
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def install(self, *packages):
        """Installs the package as users do."""
        wanted = ", ".join(f'Pkg.PackageSpec(path = "{self.place / each}")' for each in packages)
        self.run(f"import Pkg; Pkg.develop([{wanted}])", "")

    def forget_compiled(self):
        """Removes compiled files, as on a machine that never loaded the packages."""
        shutil.rmtree(self.place / "depot/compiled")


@pytest.fixture(scope="module")
def depot(tmp_path_factory):
    made = Depot(tmp_path_factory.mktemp("julia"))
    made.install("CcclCache", "ScaleKernels")
    return made
