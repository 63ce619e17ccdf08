# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel beside wheels of CUDA alone: no daemon, and no program of ours on the PATH."""

import hashlib
import pathlib
import subprocess
import sys

import cccl_cache
import pytest
from patience import PATIENCE
from places import PLACES

PLACE = pathlib.Path(sys.prefix).parent
SOURCE = """#include <cuda/std/cstdint>
template <typename T> __global__ void scale(T* data, cuda::std::uint32_t n) { data[threadIdx.x] *= n; }
"""
# A compile and a link: the call and its arguments.
BUILDS = {
    "build": ([SOURCE], {"arch": "sm_90", "options": ["--std=c++17"], "name_expressions": ["scale<float>"]}),
    "link": ([[("a.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f() { ret; }\n", "ptx")]],
             {"arch": "sm_90"}),
}
PROGRAM = f"""if True:
    import cccl_cache, hashlib
    client = cccl_cache.Client()
    for call, (given, named) in {BUILDS!r}.items():
        made = getattr(client, call)(*given, toolchain="12.9", **named)
        print(made.outcome, made.key, hashlib.sha256(made.cubin).hexdigest(), *made.lowered_names.values())
"""


@pytest.fixture
def python(directory):
    """Returns the Python of an environment with our wheel and the tests' CUDA 12, as pip installs both."""
    venv = directory / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=PATIENCE)
    [wheel] = (PLACE / "repaired").glob("*.whl")
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", venv / "bin/python3",
                    "install", "--no-deps", "--no-index", wheel], check=True, timeout=PATIENCE)
    [site] = venv.glob("lib/python*/site-packages")
    (site / "nvidia").symlink_to(pathlib.Path(PLACES.cuda12) / "nvidia")
    return venv / "bin/python3"


def test_a_local_build_equals_a_daemons(python, directory, make_daemon):
    alone = subprocess.run([python, "-c", PROGRAM], text=True, capture_output=True, timeout=PATIENCE,
                           env={"XDG_RUNTIME_DIR": str(directory), "XDG_CACHE_HOME": str(directory)})
    assert alone.returncode == 0, alone.stderr
    daemon = cccl_cache.Client(make_daemon(roots=(PLACES.cuda12,)).start().socket)
    for line, (call, (given, named)) in zip(alone.stdout.splitlines(), BUILDS.items(), strict=True):
        made = getattr(daemon, call)(*given, toolchain="12.9", **named)
        assert made.outcome == "built"
        digest = hashlib.sha256(made.cubin).hexdigest()
        assert line.split() == ["local", made.key, digest, *made.lowered_names.values()]
