# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CCCL's own tests of cuda.compute, without the plug-in and twice with it.

Usage: upstream_suite.py [--processes N] [--select EXPRESSION] SUITE SOCKET

SUITE: python/cuda_cccl/tests of a checkout of CCCL, of the release that is installed. SOCKET: a daemon that was asked for
nothing yet. Needs pytest, pytest-xdist, CuPy and cuda-cccl with its compiler. Runs the suite three times: without the
plug-in, as a first run with it, and as a second. Prints what passed, failed and how long each run took; exit status 1 if a
test fails with the plug-in that passes without it.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree


def outcomes(report):
    """{test: passed, failed or skipped} of a report in JUnit's format."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return found


def run(given, name, report, environment):
    """The outcomes of one run of the suite, printed in one line."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", f"--junitxml={report}",
        "-n", str(given.processes), "compute",
    ]
    if given.select:
        command += ["-k", given.select]
    begun = time.monotonic()
    with open(report.with_suffix(".log"), "wb") as log:
        status = subprocess.run(
            command, cwd=given.suite, stdout=log, stderr=log,
            env={**os.environ, "CUDA_CACHE_DISABLE": "1", "PYTHONPATH": f"{given.suite}:{os.environ.get('PYTHONPATH', '')}",
                 **environment}).returncode
    took = time.monotonic() - begun
    if not report.exists():
        sys.exit(f"{name}: pytest ended with {status}\n{report.with_suffix('.log').read_text(errors='replace')[-4000:]}")
    found = outcomes(report)
    counts = {each: list(found.values()).count(each) for each in ("passed", "failed", "skipped")}
    print(f"{name}: {', '.join(f'{count} {each}' for each, count in counts.items())} in {took:.0f} s", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=min(14, os.cpu_count()))
    parser.add_argument("--select", help="as pytest's -k")
    parser.add_argument("suite", type=pathlib.Path)
    parser.add_argument("socket")
    given = parser.parse_args()
    given.suite = given.suite.resolve()
    plugged = {"CCCL_CACHE_COMPUTE": "1", "CCCL_CACHE_SOCKET": given.socket}
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        without = run(given, "without the plug-in", place / "without.xml", {})
        worse = set()
        for name in ("first", "second"):
            found = run(given, f"{name} run with it", place / f"{name}.xml", plugged)
            worse |= {each for each, outcome in found.items() if outcome == "failed" and without.get(each) == "passed"}
    for each in sorted(worse):
        print(f"fails with the plug-in alone: {each}")
    return 1 if worse or "passed" not in without.values() else 0


sys.exit(main())
