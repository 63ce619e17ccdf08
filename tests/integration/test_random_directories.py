# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Programs in a new directory each time, as CuPy names them, over headers that show paths."""

import concurrent.futures
import hashlib
import json
import pathlib
import re
import shutil
import tempfile

import pytest
from raw import header_directories

ARRAY = """#include <cuda/std/array>
extern "C" __global__ void k(int* p) {
  cuda::std::array<int, 3> a{};
  a[p[0]] = 7;
  p[1] = a[p[2]];
}
"""
PROGRAMS = [ARRAY, *(f"""#include <cuda/std/cassert>
extern "C" __global__ void k{number}(int* p) {{ _CCCL_ASSERT(p[0] > 0, "positive"); p[1] = {number}; }}
""" for number in range(5))]


@pytest.fixture(scope="module")
def include(lasting):
    """Returns CCCL's headers in the layout of a virtual environment."""
    place = lasting.directory / "venv" / "site-packages" / "include"
    cccl = next(each for each in header_directories(lasting) if pathlib.Path(each, "cub").is_dir())
    for part in ("cuda", "nv"):
        shutil.copytree(pathlib.Path(cccl, part), place / part)
    return place


def run_process(daemon, include, *options, programs=PROGRAMS):
    """Returns the answer to each program, in a process that names programs by its own directories."""
    outcomes = []
    for text in programs:
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            source = pathlib.Path(place, hashlib.sha1(text.encode()).hexdigest() + ".cu")
            source.write_text(text)
            done = daemon.cli("--json", "build", str(source), "--arch", "sm_90", f"-I{include}", "-o",
                              str(source.with_suffix(".out")), *options, cwd="/")
            outcomes.append(json.loads(done.stdout)["outcome"])
    return outcomes


def test_a_second_process_hits_programs_over_cccl(real, include):
    assert run_process(real, include) == ["built"] * len(PROGRAMS)
    assert run_process(real, include) == ["hit"] * len(PROGRAMS)
    statistics = real.stats()
    assert statistics["compiles_total"] == len(PROGRAMS)
    assert statistics["given_up_total"] == 0


def test_a_number_computed_from_a_headers_path_is_correct_in_each_directory(real, directory):
    """Equal results in two directories prove nothing about a third."""
    limit = len(str(directory)) + 20
    for place, value in (("s", 7002), ("t", 7002), ("long" * 10, 7001)):
        include = directory / place
        include.mkdir()
        (include / "value.h").write_text(f"#define VALUE (sizeof(__FILE__) > {limit} ? 7001 : 7002)\n")
        source = include / "a.cu"
        source.write_text('#include <value.h>\nextern "C" __global__ void k(int* p) { *p = VALUE; }\n')
        ptx = include / "a.ptx"
        told = real.cli("--json", "build", str(source), "--arch", "sm_90", f"-I{include}", "--emit", "ptx", "-o",
                        str(ptx))
        assert json.loads(told.stdout)["outcome"] == "built"
        assert re.findall(r"\b700[12]\b", ptx.read_text()) == [str(value)]


def test_eight_processes_at_once_compile_each_program_once(real, include):
    with concurrent.futures.ThreadPoolExecutor(8) as processes:
        outcomes = list(processes.map(lambda _: run_process(real, include), range(8)))
    assert [each.count("built") for each in zip(*outcomes)] == [1] * len(PROGRAMS)
    assert real.stats()["compiles_total"] == len(PROGRAMS)


def test_ltoir_of_a_second_process_is_that_of_the_first(real, include):
    for outcome in ("built", "hit"):
        assert run_process(real, include, "--emit", "ltoir", programs=PROGRAMS[:2]) == [outcome] * 2
