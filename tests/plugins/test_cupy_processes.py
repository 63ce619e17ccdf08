# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy in several processes. The daemon compiles for the first, the others compile nothing, and all have the same
code."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from patience import PATIENCE
from places import PLACES

PROGRAM = pathlib.Path(__file__).with_name("cupy_program.py")
NAMES = ["plain", "static", "template", "complex", "header", "warning"]
GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide-cupy.md"
WRONG = ["wrong", "undefined", "no_instance"]


@pytest.fixture
def start(directory):
    """Runs a process with its own caches and its own temporary directory."""
    headers = directory / "headers"
    headers.mkdir()
    (headers / "value.h").write_text("#define VALUE 1\n")
    count = 0

    def run(socket, *names, nvrtc=PLACES.cuda13, path=(), plugged=True, cache=None, behind=(), **environment):
        nonlocal count
        count += 1
        place = directory / f"process{count}"
        (place / "tmp").mkdir(parents=True)
        told = subprocess.run(
            [*behind, sys.executable, PROGRAM, *names], capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "CCCL_CACHE": "1" if plugged else "0", "CCCL_CACHE_SOCKET": str(socket),
                 "CUPY_CACHE_DIR": str(cache or place / "cache"), "TMPDIR": str(place / "tmp"),
                 "CUPY_PROGRAM_NVRTC": str(nvrtc), "CUPY_PROGRAM_HEADERS": str(headers),
                 "PYTHONPATH": ":".join([*map(str, path), os.environ["PYTHONPATH"]]), **environment})
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)

    run.headers = headers
    return run


def test_the_guide_shows_the_real_output(real, directory):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    prepared = f"import cupy_program; cupy_program.load_nvrtc({str(PLACES.cuda13)!r}); cupy_program.without_a_gpu()\n"
    for outcome in ("'builds': 1", "'hits': 1"):
        told = subprocess.run(
            [sys.executable, "-c", prepared + example], capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "CCCL_CACHE_SOCKET": str(real.socket),
                 "PYTHONPATH": f"{PROGRAM.parent}:{os.environ['PYTHONPATH']}"})
        assert told.returncode == 0, told.stderr
        assert told.stdout.startswith("_Z5scaleIfEvPT_S0_ b'\\x7fELF'") and outcome in told.stdout


@pytest.fixture(scope="module")
def copied_package(tmp_path_factory):
    """Makes a copy of CuPy at another path, with its headers."""
    from importlib.metadata import distribution

    place = tmp_path_factory.mktemp("elsewhere")
    place.chmod(0o755)
    package = pathlib.Path(str(distribution("cupy-cuda13x").locate_file("cupy")))

    def place_file(source, target):
        (shutil.copy if "/_core/include/" in source else os.symlink)(source, target)

    shutil.copytree(package, place / "cupy", copy_function=place_file)
    return place


def test_a_second_process_compiles_nothing(start, real, copied_package):
    first = start(real.socket, *NAMES)
    assert first["compiles"] == 0 and first["status"]["errors"] == first["status"]["not_cached"] == {}
    assert first["status"]["builds"] >= len(NAMES)
    for path in ((), (copied_package,)):
        second = start(real.socket, *reversed(NAMES), path=path)
        assert second["made"] == first["made"]
        assert second["compiles"] == second["status"]["builds"] == 0, second["status"]
    assert all(first["made"][name]["said"] == (name == "warning") for name in NAMES)


def test_ltoir_is_compiled_once(start, real):
    first, second = (start(real.socket, "ltoir") for _ in range(2))
    assert first["made"] == second["made"] and first["status"]["builds"] == second["status"]["hits"] == 1
    assert first["compiles"] == second["compiles"] == 1  # the empty program, of which this process has no copy


def test_a_kernel_equals_that_of_cupy_without_the_plug_in(start, real):
    names = [name for name in NAMES if name != "static"]
    alone = start(real.socket, *names, plugged=False)
    assert alone["compiles"] >= len(names) and not alone["status"]["on"]
    assert start(real.socket, *names)["made"] == alone["made"]


def test_a_program_that_does_not_compile_raises_cupys_error(start, real):
    alone = start(real.socket, *WRONG, plugged=False)["made"]
    for _ in range(2):
        served = start(real.socket, *WRONG)
        assert served["made"] == alone
        assert served["compiles"] == 0 and served["status"]["failures"] == len(WRONG)


def test_a_changed_header_is_a_miss(start, real):
    first = start(real.socket, "header", "plain")
    (start.headers / "value.h").write_text("#define VALUE 2\n")
    second = start(real.socket, "header", "plain")
    assert second["status"]["builds"] == 1 and second["compiles"] == 0
    assert second["made"]["header"] != first["made"]["header"] and second["made"]["plain"] == first["made"]["plain"]


def test_cupys_own_disk_cache_is_asked_first(start, real, directory):
    for _ in range(2):
        again = start(real.socket, "plain", "template", cache=directory / "kept")
    assert again["status"]["hits"] == 1 and again["status"]["builds"] == 0  # the empty program of CuPy's key


def test_kernels_that_cupy_keeps_in_memory_are_served(start, real):
    for _ in range(2):
        again = start(real.socket, "plain", "template", CUPY_CACHE_IN_MEMORY="1")
    assert again["compiles"] == again["status"]["builds"] == 0


def test_another_build_of_nvrtc_is_left_to_cupy(start, make_daemon):
    daemon = make_daemon(roots=(PLACES.cuda12,)).start()
    told = start(daemon.socket, "plain", "template")
    assert told["compiles"] == told["status"]["left_to_cupy"] == 3
    [reason] = told["status"]["not_cached"]
    assert "no toolchain with the NVRTC of this process" in reason


def test_without_a_daemon_cupy_compiles(start, directory):
    told = start(directory / "nobody", "plain", *WRONG[1:])
    assert told["compiles"] == told["status"]["left_to_cupy"] == 4 and told["status"]["errors"]
    assert told["made"] == start(directory / "nobody", "plain", *WRONG[1:], plugged=False)["made"]
