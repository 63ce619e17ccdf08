#!/usr/bin/env python3
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of this folder, which know nothing of the cache, alone and under `cccl-cache-cli run`.

Usage: run.py [--without-gpu] [--at-once N] [--record FILE] CLI SOCKET [PROGRAM...]

CLI is cccl-cache-cli, and SOCKET that of an unused daemon. Each program runs on the GPU and checks its numbers; with
--without-gpu it only compiles, if it can. It runs alone, then in two processes under `run`, one after the other, each with
an empty HOME and with the own caches of its package and of the driver off or empty. With --at-once, it then runs in N
processes at once with other kernels, each with an own empty HOME of the same name, as in containers.

Prints the time of each, without imports, and the report of `run`. --record writes both into a file, beside what it has of
other programs; `page.py` makes docs/programs.md of tests/programs/measured.json. Exit status 1 if a program fails or has
other results than alone, if it reaches no stand-in, if its second process compiles, or if two of the processes at once
compile the same. COMPILE_AGAIN has the exceptions. Default: all programs whose packages are installed.
"""

import argparse
import datetime
import hashlib
import importlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import site
import subprocess
import sys
import tempfile
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
# The programs, in the order of the page.
NAMES = ("cupy_kernels", "torch_jiterator", "torch_kernel", "torch_compile", "torch_aotinductor", "torch_attention",
         "torch_convolution", "torch_extension", "cudnn_graph", "triton_kernel", "jax_jit", "jax_pallas", "mlx_arrays",
         "tinygrad_tensors", "cuda_core_link", "cuda_compute_reduce", "cuda_tile_add", "numba_kernel", "nvmath_fft",
         "tilelang_nvcc", "tilelang_nvrtc", "flashinfer_kernels", "pycuda_module", "deep_gemm_product")


class Again(typing.NamedTuple):
    """What a program compiles again, and why."""

    second: dict[str, int]  # the most compiles of a second process, by the name of the process that asks for them
    at_once: int  # the most compiles that each further process at once adds to those of a first process
    why: str


COMPILE_AGAIN = {
    "cupy_kernels": Again({}, 16, "CuPy names programs by random directories, so processes at once use idle processors to "
                                  "compile one program under several names"),
    "cuda_compute_reduce": Again({"python3": 2}, 3, "two programs of CuPy over CCCL, in directories of random name, until the "
                                                    "daemon has proved in idle time that the names do not matter"),
    "mlx_arrays": Again({}, 2, "processes at once with mount namespaces of their own compile each; the cause is not known"),
    "deep_gemm_product": Again({"nvcc": 1, "cicc": 1, "ptxas": 1}, 3,
                               "the name of the source's directory has the number of a process, and one with another number of "
                               "digits is another key"),
}
COUNTS = ("calls", "hits", "joined", "compiled", "failed", "uncacheable")
NOT_INSTALLED = 77
# The own caches of the packages and of the driver, below HOME where they can't be turned off.
CACHES_BELOW_HOME = ("CUPY_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "NUMBA_CACHE_DIR",
                     "XDG_CACHE_HOME", "FLASHINFER_WORKSPACE_BASE", "TILELANG_CACHE_DIR", "DG_JIT_CACHE_DIR", "MLX_PTX_CACHE_DIR",
                     "TMPDIR")
CACHES_OFF = {"CUDA_CACHE_DISABLE": "1", "USE_PYTORCH_KERNEL_CACHE": "0", "CUDA_TILE_CACHE_DIR": "off", "CACHELEVEL": "0",
              "TILELANG_DISABLE_CACHE": "1", "CCCL_CACHE": "0", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
# Gives a process an own empty directory of the same name as that of others.
OWN_HOME = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "sh", "-c",
            'mount -t tmpfs none "$0" && mkdir "$TMPDIR" && exec "$@"']


def measure(name, how, number):
    """Runs one program in this process. Prints its time, version, and a digest of its results."""
    for folder in filter(None, os.environ.get("PYTHONPATH", "").split(":")):
        site.addsitedir(folder)  # some packages need their .pth file
    try:
        program = importlib.import_module(name)
        version = importlib.metadata.version(program.PACKAGES[0].partition("[")[0])
    except ImportError as error:
        print(error, file=sys.stderr)
        return NOT_INSTALLED
    if not hasattr(program, how):
        print(f"{name} has no {how}", file=sys.stderr)
        return NOT_INSTALLED
    began = time.perf_counter()
    results = getattr(program, how)(number)
    took = time.perf_counter() - began
    digest = hashlib.sha256()
    for each in results:
        digest.update(each if isinstance(each, bytes) else bytes_of(each))
    print("\n" + json.dumps({"took": round(took, 3), "version": version, "digest": digest.hexdigest()}), flush=True)
    return 0


def bytes_of(array):
    if hasattr(array, "cpu"):
        import torch

        array = array.cpu().contiguous().view(torch.uint8).numpy()
    return array.tobytes()


class Runner:
    def __init__(self, given, place):
        self.how = "without_gpu" if given.without_gpu else "on_gpu"
        self.behind = [str(given.cli), "--socket", given.socket, "--json", "run", "--report=each", "--"]
        self.home = place / "home"
        self.at_once = given.at_once

    def start(self, name, number, behind=(), together=False):
        if not together:
            shutil.rmtree(self.home, ignore_errors=True)
            (self.home / "tmpdir").mkdir(parents=True)
        variables = {each: str(self.home / each.lower()) for each in CACHES_BELOW_HOME}
        own_home = [*OWN_HOME, str(self.home)] if together else []
        return subprocess.Popen([*own_home, *behind, sys.executable, __file__, "--measure", name, self.how, str(number)],
                                cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **variables, **CACHES_OFF, "HOME": str(self.home)})

    def run(self, name, number, behind=()):
        return finish(self.start(name, number, behind))

    def check(self, name):
        """Returns what is to be recorded of a program, or null if it can't run here."""
        row = {"alone": self.run(name, 1)}
        if row["alone"] is None:
            return None
        for which in ("first", "second"):
            row[which] = self.run(name, 1, self.behind)
        if self.at_once > 1:
            shutil.rmtree(self.home, ignore_errors=True)
            self.home.mkdir(parents=True)
            together = [finish(each) for each in [self.start(name, 2, self.behind, True) for _ in range(self.at_once)]]
            row["at_once"] = summed(together)
        return row


def summed(together):
    """Returns one row for processes that ran at once."""
    forwarded = {}
    for each in together:
        for reason, count in each.get("forwarded", {}).items():
            forwarded[reason] = forwarded.get(reason, 0) + count
    return {"count": len(together), "took": max(each.get("took", 0) for each in together),
            **{key: sum(each.get(key, 0) for each in together) for key in COUNTS}, "forwarded": forwarded,
            **{key: next((each[key] for each in together if each.get(key)), "") for key in ("error", "refusal", "uncacheable_reason")}}


def compiled_again(row):
    """Returns the compiles of the second process by the names of processes, and those that processes at once repeat."""
    second = {process: each["compiled"] for process, each in row["second"].get("by", {}).items() if each["compiled"]}
    at_once = row.get("at_once", {}).get("compiled", 0) - row["first"].get("compiled", 0)
    return second, max(at_once, 0)


def wrong(name, row):
    """Returns what is not as expected, or an empty string."""
    for which in ("alone", "first", "second", "at_once"):
        if row.get(which, {}).get("error"):
            return f"{which}: {row[which]['error']}"
    if not row["first"]["digest"] == row["second"]["digest"] == row["alone"]["digest"]:
        return "other results than alone"
    if row["first"].get("calls", 0) == 0:
        return "the first process reached no stand-in"
    allowed = COMPILE_AGAIN.get(name, Again({}, 0, ""))
    second, at_once = compiled_again(row)
    if any(count > allowed.second.get(process, 0) for process, count in second.items()):
        return f"the second process compiles again: {words(second)}"
    if at_once > allowed.at_once * (row.get("at_once", {}).get("count", 1) - 1):
        return f"processes at once compile the same: {at_once}"
    return ""


def words(counted):
    return ", ".join(f"{count} {each}" for each, count in counted.items())


def finish(process):
    """Waits for the program. Returns its times and the report of `run`, if there is one, or its error."""
    out, err = process.communicate()
    report = err.rpartition("\n{\n")[2] if "\n{\n" in err else err[2:] if err.startswith("{\n") else ""
    if process.returncode == NOT_INSTALLED:
        return None
    told = [line for line in out.splitlines() if line.startswith('{"took"')]
    if process.returncode != 0 or not told:
        print(out[-2000:], err[-4000:], sep="\n", file=sys.stderr)
        return {"error": f"exit status {process.returncode}", **counts(report)}
    return {**json.loads(told[-1]), **counts(report)}


def counts(report):
    if not report:
        return {}
    report = json.loads("{" + report)
    by = {}
    for process in report["processes"]:
        served = by.setdefault(process["program"], {"calls": 0, "hits": 0, "compiled": 0})
        for key in served:
            served[key] += process[key]
    return {**{key: report[key] for key in COUNTS}, "call_ms": round(report["call_us"] / 1e3, 1), "by": by,
            "forwarded": {reason: count for reason, count in report["forwarded"].items() if count},
            "forwarded_ms": round(report["forwarded_us"] / 1e3, 1), "refusal": report["refusal"],
            "uncacheable_reason": report["uncacheable_reason"]}


def show(name, row):
    for which in ("alone", "first", "second", "at_once"):
        told = row.get(which)
        if told:
            text = f"{name:20} {which:7} {told.get('took', 0):7.2f} s"
            if "calls" in told:
                text += "; " + ", ".join(f"{told[key]} {key}" for key in COUNTS if told[key] or key == "calls")
            if "call_ms" in told:
                text += f", {told['call_ms']} ms; {told['by']}"
            for each in (told.get("forwarded"), told.get("refusal"), told.get("uncacheable_reason")):
                text += f"; {str(each)[:200]}" if each else ""
            print(text.rstrip(), flush=True)
    if wrong(name, row):
        print(f"{name}: FAILED: {wrong(name, row)}", flush=True)


def machine(how):
    """Returns the words for this machine."""
    processors = f"{os.cpu_count()} processors"
    if how == "without_gpu":
        return f"no GPU, {processors}"
    words = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True)
    name, driver = words.stdout.splitlines()[0].split(", ")
    return f"{name}, driver {driver}, {processors}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-gpu", action="store_true")
    parser.add_argument("--at-once", type=int, default=0)
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("cli", type=pathlib.Path)
    parser.add_argument("socket")
    parser.add_argument("programs", nargs="*", choices=[[], *NAMES], metavar="PROGRAM")
    given = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="programs") as place:  # a name of another form than those of the programs' own
        runner = Runner(given, pathlib.Path(place))
        for name in given.programs or NAMES:
            row = runner.check(name)
            if row is None:
                print(f"{name:20} is not installed", flush=True)
                good = good and name not in given.programs
                continue
            show(name, row)
            good = good and not wrong(name, row)
            if given.record:
                rows = json.loads(given.record.read_text()) if given.record.exists() else {}
                rows.setdefault(name, {})[runner.how] = {**row, "machine": machine(runner.how),
                                                         "date": datetime.date.today().isoformat()}
                given.record.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        sys.exit(measure(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    sys.exit(main())
