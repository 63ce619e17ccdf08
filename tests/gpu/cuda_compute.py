# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cuda.compute on a GPU with the plug-in: right numbers, no second build, and how long that takes.

Usage: cuda_compute.py [--leases DIRECTORY]

Starts itself: without the plug-in, as a first and as a second process, and eight times at once. Needs CuPy, cuda-cccl with
its compiler, and a daemon that CCCL_CACHE_SOCKET names; with --leases none, but a directory that stands in for it.
Prints what it saw; exit status 1 if a number was wrong, or if the second process built anything that it could have had.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

AT_ONCE = 8


def measure(leases):
    """One process: makes everything, checks it, and reports."""
    import cccl_cache.compute as plugin

    started = time.perf_counter()
    import cuda_compute_cases

    imported = time.perf_counter()
    if leases != "off":
        assert plugin.install(client=_client(leases)), plugin.status()
    checked = list(cuda_compute_cases.results())
    report = {
        "import_s": imported - started,
        "cases_s": time.perf_counter() - imported,
        "cases": len(checked),
        "wrong": [name for name, right in checked if not right],
        "status": plugin.status(),
    }
    json.dump(report, sys.stdout)


def _client(leases):
    if leases == "daemon":
        return None
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "plugins"))
    from directory_leases import DirectoryLeases

    return lambda: DirectoryLeases(leases)


def start(leases):
    return subprocess.Popen([sys.executable, __file__, "--measure", leases], stdout=subprocess.PIPE, text=True)


def finish(process):
    told, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"a process ended with {process.returncode}")
    return json.loads(told)


def show(name, report):
    status = report["status"]
    print(f"{name}: {report['cases']} cases, {len(report['wrong'])} wrong, {report['cases_s']:.2f} s and "
          f"{report['import_s']:.2f} s for imports; {status['builds']} builds, {status['hits']} hits, "
          f"{status['hits_in_process']} in the process", flush=True)
    for kind in ("not_cached", "errors"):
        for reason, times in status[kind].items():
            print(f"    {kind}: {reason} ({times})")
    for wrong in report["wrong"]:
        print(f"    wrong: {wrong}")
    return not report["wrong"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--leases")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        return measure(chosen.measure)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        first, fresh = _places(chosen.leases, pathlib.Path(scratch))
        right = show("without the plug-in", finish(start("off")))
        right &= show("first process", finish(start(first)))
        second = finish(start(first))
        right &= show("second process", second)
        began = time.perf_counter()
        together = [finish(process) for process in [start(fresh) for _ in range(AT_ONCE)]]
        right &= all([show(f"{AT_ONCE} at once, {number + 1}", each) for number, each in enumerate(together)])
        print(f"{AT_ONCE} at once: {time.perf_counter() - began:.2f} s, "
              f"{sum(each['status']['builds'] for each in together)} builds in all")
    uncached = sum(second["status"]["not_cached"].values())
    return 0 if right and second["status"]["builds"] == uncached else 1


def _places(leases, scratch):
    """Where the first two processes and where the eight find builds: a daemon keeps one store for both."""
    if leases is None:
        return "daemon", "daemon"
    pathlib.Path(leases).mkdir(parents=True, exist_ok=True)
    (scratch / "fresh").mkdir()
    return leases, str(scratch / "fresh")


if __name__ == "__main__":
    sys.exit(main())
