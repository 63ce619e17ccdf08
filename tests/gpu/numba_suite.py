# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Runs numba-cuda's own tests, which are in its wheel, without the cache and twice with it.

Usage: numba_suite.py [--cli CLI] [--processes N] [--only PART...] SOCKET

SOCKET is that of an unused daemon. Needs numba-cuda, NumPy below 2.5 and pytest, which some of the tests import. Runs
numba.cuda.tests.cudapy. The cache is the plug-in for every kernel. With --cli it is `CLI run` instead, where CLI is
cccl-cache-cli. Prints the passed and failed tests, the time and the hits of each run. Exit status 1 if a test that passes
without the cache fails with it. Leaves out test_caching, which counts the files of numba's own cache, and one test that
counts compiles.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import pkgutil
import subprocess
import sys
import tempfile
import time
import unittest

PACKAGE = "numba.cuda.tests.cudapy"
LEFT_OUT = {"test_caching"}
COUNTS_COMPILES = {"test_launch_config_sensitive_requires_recompile"}
LONGEST = 300


class Outcomes(unittest.TestResult):
    """Returns {test: passed, failed or skipped}."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def _note(self, test, outcome):
        self.found[test.id()] = outcome

    def addSuccess(self, test):
        self._note(test, "passed")

    def addExpectedFailure(self, test, err):
        self._note(test, "passed")

    def addSkip(self, test, reason):
        self._note(test, "skipped")

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "failed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed")

    def addUnexpectedSuccess(self, test):
        self._note(test, "failed")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed")


def run_module(name, path):
    """Runs the tests of a module in one process."""
    outcomes = Outcomes()
    for suite in unittest.defaultTestLoader.loadTestsFromName(f"{PACKAGE}.{name}"):
        unittest.TestSuite(test for test in suite if test._testMethodName not in COUNTS_COMPILES).run(outcomes)
    told = [f"{test.id()}\n{trace}" for test, trace in outcomes.errors + outcomes.failures]
    status = sys.modules["cccl_cache.numba"].status() if "cccl_cache.numba" in sys.modules else {}
    pathlib.Path(path).write_text(json.dumps({"found": outcomes.found, "told": told, "status": status}))


def modules():
    import numba.cuda.tests.cudapy as package

    names = (each.name for each in pkgutil.iter_modules(package.__path__))
    return sorted(name for name in names if name.startswith("test_") and name not in LEFT_OUT)


def start_module(name, path, environment, behind):
    try:
        ended = subprocess.run([*behind, sys.executable, __file__, "--module", name, str(path)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, timeout=LONGEST, env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        return {"found": {name: "took too long"}, "told": [], "status": {}}
    errors = ended.stderr.decode(errors="replace")
    if not path.exists():
        return {"found": {name: f"ended with {ended.returncode}"}, "told": [errors[-2000:]], "status": {}}
    report = json.loads(path.read_text())
    if behind:
        begin = errors.rindex("{", 0, errors.index('"forwarded"') - 1)
        counted, _ = json.JSONDecoder().raw_decode(errors, begin)
        report["status"] = {**counted, **counted["forwarded"]}
    return report


def run(names, processes, title, environment, behind=()):
    """Runs all modules once. Prints the outcomes in one line, and the traces of failures. Returns the outcomes."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(processes) as pool:
        environment = {**environment, "NUMBA_CACHE_DIR": place}
        reports = list(pool.map(lambda name: start_module(name, pathlib.Path(place, name), environment, behind), names))
    found = {test: outcome for report in reports for test, outcome in report["found"].items()}
    told = {text.split("\n")[0]: text for report in reports for text in report["told"]}
    counts = {each: sum(outcome == each for outcome in found.values()) for each in ("passed", "skipped")}
    print(f"{title}: {counts['passed']} passed, {len(found) - sum(counts.values())} failed, {counts['skipped']} skipped "
          f"in {time.monotonic() - began:.0f} s", flush=True)
    counted = {}
    for report in reports:
        for kind, value in report["status"].items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                counted[kind] = counted.get(kind, 0) + value
    print("   ", {kind: value for kind, value in counted.items() if value})
    reasons = {}
    for report in reports:
        for kind in ("errors", "not_cached"):
            for reason, times in report["status"].get(kind, {}).items():
                reasons[f"{kind}: {reason}"[:150]] = reasons.get(f"{kind}: {reason}"[:150], 0) + times
    for reason, times in sorted(reasons.items(), key=lambda each: -each[1])[:25]:
        print(f"    {reason} ({times})")
    return found, told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", help="cccl-cache-cli: under its `run`, instead of with the plug-in")
    parser.add_argument("--processes", type=int, default=min(14, os.cpu_count()))
    parser.add_argument("--only", nargs="*", help="parts of names of modules")
    parser.add_argument("socket")
    given = parser.parse_args()
    names = [name for name in modules() if not given.only or any(part in name for part in given.only)]
    without, _ = run(names, given.processes, "without the cache", {"CCCL_CACHE_NUMBA": "0"})
    plugged = {"CCCL_CACHE_NUMBA": "0" if given.cli else "all", "CCCL_CACHE_SOCKET": given.socket}
    behind = [given.cli, "--socket", given.socket, "--json", "run", "--report", "--"] if given.cli else []
    worse = {}
    for title in ("first", "second"):
        found, told = run(names, given.processes, f"{title} run with it", plugged, behind)
        worse.update({test: told.get(test, outcome) for test, outcome in found.items()
                      if outcome not in ("passed", "skipped") and without.get(test) == "passed"})
    for test, text in sorted(worse.items()):
        print(f"fails with the cache alone: {test}\n{text[-1500:]}")
    return 1 if worse or "passed" not in without.values() else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--module":
        run_module(*sys.argv[2:])
    else:
        sys.exit(main())
