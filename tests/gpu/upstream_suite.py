# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a package's own tests without the cache and some times with it.

Usage: upstream_suite.py [--of PACKAGE] [--cli CLI] [--processes N] [--select EXPRESSION] [--again N] SUITE SOCKET

PACKAGE is cuda.compute, cupy, triton or torch. SUITE is python/cuda_cccl/tests of a checkout of CCCL, tests of CuPy's sdist
(beside the sdist's pyproject.toml but not its sources), python/test of a checkout of Triton, or test of a checkout of
PyTorch, each of the installed release. SOCKET is that of an unused daemon. Needs pytest, pytest-xdist and the package:
cuda-cccl with its compiler and CuPy, CuPy, Triton with PyTorch and expecttest, or PyTorch. The cache is the package's
plug-in. With --cli it is `CLI run` instead, where CLI is cccl-cache-cli. The first run with the cache fills the daemon; N more
(default: 1) find it filled. Prints the passed and failed tests, the time of each run and the daemon's work. Exit status 1 if a test that passes without the cache fails with it.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from typing import NamedTuple

import cccl_cache

_CUPY = "cupy_tests/core_tests"
# For each package: the variable that turns its plug-in on, if it has a plug-in, the part of its suite to run, and the
# tests of that part, as pytest's -k. Jitify reads CCCL's headers for minutes in each process, and nvcc is not served. Triton
# has thousands of matrix products and variants of one operation, which take half an hour, three tests that look for
# warnings or prints of a compile after they emptied Triton's directory, and one that needs the checkout's third_party and, if it
# fails, leaves a hook with which test_namedtuple fails in the same process.
SUITES = {
    "cuda.compute": ("CCCL_CACHE_COMPUTE", ("compute",), ""),
    "cupy": ("CCCL_CACHE_CUPY", (
        f"{_CUPY}/test_raw.py", f"{_CUPY}/test_elementwise.py", f"{_CUPY}/test_userkernel.py",
        f"{_CUPY}/test_reduction.py", f"{_CUPY}/test_cub_reduction.py", f"{_CUPY}/fusion_tests"),
        "(not jitify or no-jitify) and not NVCC"),
    "triton": ("CCCL_CACHE_TRITON", ("unit/runtime", "unit/language"),
               "not (matmul or scaled_dot or bitwise_op or compare_op or scan2d or dot3d or descriptor_reduce or _nd or "
               "where_warning or fp8_support or higher_order_kernel or launch_with_options)"),
    "torch": (None, ("test_jiterator.py",), ""),
}


class Outcome(NamedTuple):
    """What a test did."""

    word: str  # passed, failed or skipped
    message: str  # why it failed


def outcomes(report):
    """Returns {test: Outcome} of a report in JUnit's format."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        word = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        message = "".join(child.get("message", "") for child in case if word == "failed")
        found[f"{case.get('classname')}::{case.get('name')}"] = Outcome(word, message)
    return found


def run(given, name, report, environment, behind=()):
    """Runs the suite once. Prints the outcomes in one line and returns them. `behind` is a program that runs the
    suite."""
    _, parts, tests = SUITES[given.of]
    command = [
        *behind, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", f"--junitxml={report}",
        "-n", str(given.processes), *parts, "-k", given.select or tests,
    ]
    begun = time.monotonic()
    with open(report.with_suffix(".log"), "wb") as log, open(report.with_suffix(".err"), "wb") as errors:
        status = subprocess.run(
            command, cwd=given.suite, stdout=log, stderr=errors,
            env={**os.environ, "CUDA_CACHE_DISABLE": "1", "CUPY_CACHE_DIR": str(report.with_suffix(".cupy")),
                 "TRITON_CACHE_DIR": str(report.with_suffix(".triton")), "USE_PYTORCH_KERNEL_CACHE": "0",
                 "PYTHONPATH": f"{given.suite}:{os.environ.get('PYTHONPATH', '')}",
                 **environment}).returncode
    took = time.monotonic() - begun
    if not report.exists():
        sys.exit(f"{name}: pytest ended with {status}\n{report.with_suffix('.log').read_text(errors='replace')[-4000:]}")
    found = outcomes(report)
    words = [outcome.word for outcome in found.values()]
    counts = {each: words.count(each) for each in ("passed", "failed", "skipped")}
    print(f"{name}: {', '.join(f'{count} {each}' for each, count in counts.items())} in {took:.0f} s", flush=True)
    return found


def reported(report):
    """Returns the counts in the report of `run`, except those that are 0."""
    text = report.with_suffix(".err").read_text(errors="replace")
    told = json.loads(text[text.rindex("\n{\n") if "\n{\n" in text else text.index("{"):])
    return {name: value for name, value in {**told, **told["forwarded"]}.items() if value and name != "forwarded"}


def done_by(daemon):
    """Returns the daemon's counters of compiles and of spared compiles."""
    told = daemon.stats()
    return {"compiles": told["compiles_total"], "hits": sum(told["hits_total"].values()),
            "deposits found": told["deposit_hits_total"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", choices=SUITES, default="cuda.compute")
    parser.add_argument("--cli", type=pathlib.Path, help="cccl-cache-cli: under its `run`, instead of with the plug-in")
    parser.add_argument("--processes", type=int, default=min(14, os.cpu_count()))
    parser.add_argument("--select", help="as pytest's -k, instead of what is chosen here")
    parser.add_argument("--again", type=int, default=1, metavar="N", help="runs with a filled daemon (default: 1)")
    parser.add_argument("suite", type=pathlib.Path)
    parser.add_argument("socket")
    given = parser.parse_args()
    given.suite = given.suite.resolve()
    variable = SUITES[given.of][0]
    if variable is None and given.cli is None:
        parser.error(f"{given.of} has no plug-in: give --cli")
    behind = [] if given.cli is None else [given.cli, "--socket", given.socket, "--json", "run", "--report", "--"]
    plugged = {"CCCL_CACHE_SOCKET": given.socket, **({} if given.cli else {variable: "1"})}
    daemon = cccl_cache.Client(given.socket, fallback="error")
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        without = run(given, "without the cache", place / "without.xml", {})
        worse = False
        for number in range(1, given.again + 2):
            before, report = done_by(daemon), place / f"run-{number}.xml"
            found = run(given, f"run {number} with it", report, plugged, behind)
            print(f"  the daemon: {', '.join(f'{value - before[each]:.0f} {each}' for each, value in done_by(daemon).items())}")
            if behind:
                print(f"  the report: {reported(report)}", flush=True)
            for each, outcome in sorted(found.items()):
                if outcome.word == "failed" and each in without and without[each].word == "passed":
                    worse = True
                    print(f"  fails with the cache alone: {each}: {outcome.message}", flush=True)
    return 0 if not worse and any(outcome.word == "passed" for outcome in without.values()) else 1


sys.exit(main())
