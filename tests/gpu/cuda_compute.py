# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cuda.compute on a GPU with the plug-in: checks the numbers and the number of builds, and measures the time.

Usage: cuda_compute.py [--types NAME...] FRESH_SOCKET

Starts itself twice without the plug-in, the second time with the driver's cache of the first. Then starts itself twice with
the plug-in, over the daemon at CCCL_CACHE_SOCKET, and eight times at once, over an unused daemon at FRESH_SOCKET. Each
process runs all cases twice, the second time with the package's own in-memory cache. Needs CuPy and cuda-cccl with its
compiler. Prints its findings. Exit status 1 if a number is wrong, if the second process with the plug-in builds an algorithm
that it could have got, or if two of the eight build the same.
"""

import argparse
import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

AT_ONCE = 8
TYPES = ("int32", "int64", "float32", "float64")


class Clock:
    """The time that this process spends on making algorithms: in builds, or in waits for the daemon."""

    def __init__(self):
        self.seconds = 0.0
        self._inside = False

    def watch(self, kind):
        """Measures the constructor of this class, from the outermost call to its end."""
        original = kind.__init__

        @functools.wraps(original)
        def __init__(*args, **kwargs):
            with self._counted():
                original(*args, **kwargs)

        kind.__init__ = __init__

    @contextlib.contextmanager
    def _counted(self):
        outermost, self._inside = not self._inside, True
        started = time.perf_counter()
        try:
            yield
        finally:
            if outermost:
                self.seconds += time.perf_counter() - started
                self._inside = False


def measure(turned_on, types):
    """Runs one process: makes every algorithm twice, checks it, and reports."""
    import cccl_cache.compute as plugin

    started = time.perf_counter()
    import cuda_compute_cases
    from cuda.compute._serialization.serializable import Serializable

    imported = time.perf_counter() - started
    if turned_on:
        assert plugin.install(), plugin.status()
    clock = Clock()
    for kind in set(Serializable._registry.values()):
        clock.watch(kind)
    checked, passes = [], []
    for _ in range(2):
        started, before = time.perf_counter(), clock.seconds
        checked += cuda_compute_cases.results(types)
        passes.append({"cases_s": time.perf_counter() - started, "made_s": clock.seconds - before})
    json.dump({"import_s": imported, "passes": passes, "cases": len(checked) // 2,
               "wrong": [name for name, right in checked if not right], "status": plugin.status()}, sys.stdout)


def start(types, turned_on=True, **environment):
    mode = "on" if turned_on else "off"
    return subprocess.Popen([sys.executable, __file__, "--measure", mode, "--types", *types], stdout=subprocess.PIPE,
                            text=True, env={**os.environ, **environment})


def finish(process):
    told, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"a process ended with {process.returncode}")
    return json.loads(told)


def show(name, report):
    status, (first, again) = report["status"], report["passes"]
    print(f"{name}: {report['cases']} cases, {len(report['wrong'])} wrong, {first['cases_s']:.2f} s, of which "
          f"{first['made_s']:.2f} s in builds; again in the process {again['cases_s']:.2f} s, {again['made_s']:.2f} s in builds; "
          f"{report['import_s']:.2f} s for imports; {status['builds']} builds, {status['hits']} hits, "
          f"{status['hits_in_process']} in the process", flush=True)
    for kind in ("not_cached", "errors"):
        for reason, times in status[kind].items():
            print(f"    {kind}: {reason} ({times})")
    for wrong in report["wrong"]:
        print(f"    wrong: {wrong}")
    return not report["wrong"]


def kept(report):
    """Returns the number of builds of a process that other processes can use."""
    return report["status"]["builds"] - sum(report["status"]["not_cached"].values())


def eight_at_once(types, socket, keys):
    """Returns whether one of the processes built each key, and whether all numbers were right."""
    began = time.perf_counter()
    together = [finish(process) for process in [start(types, CCCL_CACHE_SOCKET=socket) for _ in range(AT_ONCE)]]
    took = time.perf_counter() - began
    right = all([show(f"{AT_ONCE} at once, {number + 1}", each) for number, each in enumerate(together)])
    built, published = sum(map(kept, together)), sum(each["status"]["published"] for each in together)
    print(f"{AT_ONCE} at once: {took:.2f} s, {built} builds and {published} deposits in all for {keys} keys")
    return right and built == published == keys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fresh_socket", nargs="?")
    parser.add_argument("--types", nargs="*", default=TYPES, choices=TYPES)
    parser.add_argument("--measure", choices=("on", "off"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        return measure(chosen.measure == "on", chosen.types)
    if chosen.fresh_socket is None:
        parser.error("FRESH_SOCKET is missing")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(XDG_CACHE_HOME=scratch, CUDA_CACHE_PATH=str(pathlib.Path(scratch) / "driver"))
        right = show("without the plug-in", finish(start(chosen.types, False)))
        right &= show("without it, the driver's cache warm", finish(start(chosen.types, False)))
        first = finish(start(chosen.types))
        right &= show("first process", first)
        second = finish(start(chosen.types))
        right &= show("second process", second)
        right &= eight_at_once(chosen.types, chosen.fresh_socket, kept(first))
    return 0 if right and kept(second) == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
