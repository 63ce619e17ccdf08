# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Runs CuTe DSL's own examples on a GPU without the plug-in and twice with it.

Usage: cute_examples.py [--at-once N] [--only PART] EXAMPLES SOCKET

EXAMPLES is examples/python/CuTeDSL of a checkout of CUTLASS that fits the installed nvidia-cutlass-dsl. SOCKET is that of an
unused daemon. Runs the examples that need no Blackwell, of which each checks its numbers, N at once, each in a process of its
own with an empty cache directory. --only takes the examples with PART in their names. Needs torch, nvidia-cutlass-dsl, and the
package installed with its .pth file. Prints for each example the time of its process alone, the first time and again, with
what it made and found, and the sums. Exit status 1 if an example that passes alone fails with the plug-in, if one has errors,
or if one compiles again what could be kept.
"""

import argparse
import atexit
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

RUNS = {"alone": "0", "first": "1", "again": "1"}  # whether the plug-in is on
# Folders of other devices, of other languages, and of what needs several devices or leaves files. The last are examples that
# each process compiles for itself: CuTe DSL's names of their functions have the addresses of events or values of tensors. (A
# name can also have an address below 0x10000000, such as that of a stream: 1 of 15 processes of dense_gemm_fp8_2xacc.py had it.)
_LEFT_OUT = {"blackwell", "blackwell_geforce", "tcgen05", "task_scheduling", "export", "ffi", "jax",
             "launch_completion_and_programmatic_events.py", "elementwise_add.py", "elementwise_add_autotune.py"}
_SMALL = "--mnkl=1024,768,512,2"
_GEMM = "cute/hopper/kernel/dense_gemm"
ARGUMENTS = {  # each a run; the products of the default sizes take long to check
    f"{_GEMM}/dense_gemm.py": (
        _SMALL, f"{_SMALL} --cluster_shape_mn=2,1 --tile_shape_mn=128,256", f"{_SMALL} --cluster_shape_mn=2,2 --c_dtype=Float32"),
    f"{_GEMM}/dense_gemm_persistent.py": (
        _SMALL, f"{_SMALL} --cluster_shape_mn=1,2 --swizzle_size=2", f"{_SMALL} --a_dtype=Float8E4M3FN --b_dtype=Float8E4M3FN"),
    f"{_GEMM}/dense_gemm_fp8_2xacc.py": (_SMALL,),
    f"{_GEMM}/dense_gemm_fp8_gelu_persistent.py": (_SMALL,),
    "cute/hopper/kernel/grouped_gemm/grouped_gemm.py": (
        "--num_groups=2 --problem_sizes_mnkl=(512,256,512,1),(256,512,256,1) --cluster_shape_mn=2,1",),
    "cute/hopper/kernel/attention/fmha.py": ("", "--is_persistent", "--is_causal"),
    "cute/ampere/kernel/attention/flash_attention_v2.py": (
        "--seqlen_q=1024 --seqlen_k=1024", "--seqlen_q=512 --seqlen_k=512 --is_causal"),
}


def measure(report, file, *arguments):
    """Runs an example as the main module of this process. Writes the plug-in's counts at the end."""
    import __main__

    def write():
        import cccl_cache.cute

        pathlib.Path(report).write_text(json.dumps(cccl_cache.cute.status()))

    atexit.register(write)
    sys.argv, sys.path[0], __main__.__file__ = [file, *arguments], os.path.dirname(file), file
    exec(compile(pathlib.Path(file).read_text(), file, "exec"), __main__.__dict__)


def run(given, plugin, file, arguments, place):
    """Runs an example once. Returns its seconds, whether it passed, and the plug-in's counts."""
    report = place / "report"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, __file__, "--measure", report, given.examples / file, *arguments.split()], cwd=place,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env={**os.environ, "CCCL_CACHE": "0", "CCCL_CACHE_CUTE": plugin, "CCCL_CACHE_SOCKET": given.socket,
             "CUTE_DSL_CACHE_DIR": str(place), "PYTHONPATH": f"{given.examples}:{os.environ.get('PYTHONPATH', '')}"})
    status = json.loads(report.read_text()) if report.exists() else {}
    return time.monotonic() - began, done.returncode == 0, status, done.stdout


def run_all(given, name, chosen):
    """Runs the examples once. Returns the outcomes."""
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(given.at_once) as threads:
        places = [pathlib.Path(directory) / str(number) for number in range(len(chosen))]
        for place in places:
            place.mkdir()
        return list(threads.map(lambda each, place: run(given, RUNS[name], *each, place), chosen, places))


def find(examples, part):
    """Returns the runs of examples: (file, arguments)."""
    files = sorted(path for path in examples.rglob("*.py") if not _LEFT_OUT & set(path.relative_to(examples).parts)
                   and part in str(path) and "__main__" in path.read_text())
    names = [str(path.relative_to(examples)) for path in files]
    return [(name, arguments) for name in names for arguments in ARGUMENTS.get(name, ("",))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    parser.add_argument("--only", default="", metavar="PART")
    parser.add_argument("examples", type=pathlib.Path)
    parser.add_argument("socket")
    given = parser.parse_args()
    given.examples = given.examples.resolve()
    chosen = find(given.examples, given.only)
    outcomes, failed = {}, 0
    for name in RUNS:
        began = time.monotonic()
        outcomes[name] = run_all(given, name, chosen)
        passed = sum(outcome[1] for outcome in outcomes[name])
        made, found = (sum(outcome[2].get(count, 0) for outcome in outcomes[name]) for count in ("made", "hits"))
        seconds = time.monotonic() - began
        print(f"{name}: {passed} of {len(chosen)} passed in {seconds:.0f} s, {made} made, {found} found", flush=True)
    for (file, arguments), alone, first, again in zip(chosen, *outcomes.values()):
        told = ", ".join(
            f"{seconds:.1f} s" + (f" ({status.get('made')} made, {status.get('hits')} found)" if status.get("on") else "")
            for seconds, _, status, _ in (alone, first, again))
        reasons = {**first[2].get("not_cached", {}), **first[2].get("errors", {}), **again[2].get("errors", {})}
        wrong = alone[1] and not all(
            passed and status.get("on") and not status["errors"] for _, passed, status, _ in (first, again))
        wrong |= alone[1] and again[2].get("made", 0) > 0
        failed += wrong
        told = told if alone[1] else "fails alone"
        print(f"{file} {arguments}: {told}{f'; {reasons}' if reasons else ''}{': FAILED' if wrong else ''}")
        if wrong or not alone[1]:
            print("    " + "\n    ".join((alone if not alone[1] else again if first[1] else first)[3].splitlines()[-4:]))
    return 1 if failed or not any(outcome[1] for outcome in outcomes["alone"]) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
    else:
        sys.exit(main())
