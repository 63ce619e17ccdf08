# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Stale trials on a GPU: what decides a compile is changed, and the new code runs; what does not is changed, and it is found.

Usage: trials/run.py SOCKET [PACKAGE...]

Runs copies of the programs in this folder, of which each multiplies by FACTOR on the GPU, with the plug-in of its package, in
processes with empty caches over the unused daemon at SOCKET. Between the runs it changes the directory, the lines, the source,
a header, flags, variables, ptxas. Trials of a package run in turn, packages at once. Needs the packages (default: all), torch,
nvcc in CUDA_HOME, and the package installed with its .pth file. Prints a line for each trial. Exit status 1 if a number is
wrong, if a process finds what it must make or makes what it must find, or if a plug-in is off or has errors.
"""

import concurrent.futures
import importlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent
CUDA = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
FACTOR, MORE = 3, 1  # MORE is what the header adds


class Trial(NamedTuple):
    """A run, with its changes and what it must do."""

    name: str
    found: bool = False
    factor: int = FACTOR
    more: int = MORE
    extra: int = 0  # what flags or variables add
    place: str = "here"
    lines: int = 0  # in front of the source
    environment: dict[str, str] = {}


def others(cuda):
    """Returns the trials with other flags, variables and tools of each package. `cuda` has another ptxas, of the same version."""
    add = {"FLAGS": "-DEXTRA=2"}
    nvcc = [Trial("flags", extra=2, environment=add), Trial("ptxas", environment={"CUDA_HOME": str(cuda)}),
            Trial("variable", extra=2, environment={"NVCC_APPEND_FLAGS": "-DEXTRA=2"})]
    ptxas, fusion = {"TRITON_PTXAS_PATH": str(cuda / "bin/ptxas")}, {"TRITON_DEFAULT_FP_FUSION": "0"}
    lines = {"FLAGS": "--generate-line-info"}
    return {
        "cute": [Trial("flags", environment={"FLAGS": "--ptxas-options=-O1"}),
                 Trial("variable", environment={"CUTE_DSL_ENABLE_ASSERTIONS": "1"}),
                 Trial("line information", environment=lines), Trial("lines with it", environment=lines, lines=5)],
        "flashinfer": nvcc,
        "jax": [Trial("flags", environment={"XLA_FLAGS": "--xla_gpu_ftz=true"}),
                Trial("ptxas", environment={"PATH": f"{cuda}/bin:{os.environ['PATH']}"}),
                Trial("variable", environment={"NVIDIA_TF32_OVERRIDE": "0"})],
        "tilelang": nvcc,
        "torch": [Trial("flags", environment={"FLAGS": '{"max_autotune_pointwise": true}'}), Trial("ptxas", environment=ptxas),
                  Trial("variable", environment=fusion)],
        # Triton's key has the version of ptxas and the first line of a kernel.
        "triton": [Trial("flags", environment={"FLAGS": "8"}), Trial("variable", environment=fusion), Trial("lines", lines=3),
                   Trial("ptxas", environment={"TRITON_PTXAS_PATH": str(CUDA / "bin/ptxas")})],
        "tvm_ffi": nvcc,
        "warp": [Trial("flags", environment={"FLAGS": "fast_math"}),
                 Trial("variable", environment={"NVRTC_DISABLE_CONCURRENT_NVVM": "1"})],
    }


WITH_LINES = ("flashinfer", "triton", "tvm_ffi")  # whose keys have the lines of the source
WITH_PLACE = ("tilelang", "warp")  # whose own keys have the names of directories in flags
WITH_HEADER = ("flashinfer", "tilelang", "tvm_ffi", "warp")


def trials(package, cuda):
    yield Trial("first")
    yield Trial("again", found=True)
    yield Trial("moved", found=package not in WITH_PLACE, place="elsewhere", lines=0 if package in WITH_LINES else 3)
    yield Trial("source", factor=5)
    if package in WITH_HEADER:
        yield Trial("header", more=4)
    yield from others(cuda)[package]
    yield Trial("back", found=True)


def measure(package, file):
    """Runs one program. Prints its number and the plug-in's counts."""
    spec = importlib.util.spec_from_file_location("trial", file)
    program = sys.modules["trial"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    began = time.perf_counter()
    numbers = set(program.run())
    seconds = time.perf_counter() - began
    status = importlib.import_module(f"cccl_cache.{package}").status()
    print(json.dumps({"numbers": sorted(numbers), "seconds": seconds, "on": status["on"], "why_off": status["why_off"],
                      "made": status["builds" if package == "triton" else "made"], "hits": status["hits"],
                      "not_cached": status["not_cached"], "errors": status["errors"]}))


def run(package, trial, place, socket):
    """Runs a trial. Prints its outcome, and returns whether it is right."""
    here = place / package / trial.place
    here.mkdir(parents=True, exist_ok=True)
    for file in (f"{package}_scale.py", "scale.cu"):
        source = (HERE / file).read_text()
        comment = "#" if file.endswith(".py") else "//"
        (here / file).write_text(f"{comment} a line\n" * trial.lines
                                 + source.replace(f"FACTOR = {FACTOR}", f"FACTOR = {trial.factor}"))
    (here / "headers").mkdir(exist_ok=True)
    (here / "headers/more.h").write_text(f"#define MORE {trial.more}\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CCCL_CACHE", "TRITON_CACHE"))}
    with tempfile.TemporaryDirectory() as empty:
        for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "WARP_CACHE_PATH", "TILELANG_CACHE_DIR",
                     "FLASHINFER_WORKSPACE_BASE", "TVM_FFI_CACHE_DIR"):
            environment[name] = f"{empty}/{name}"
        environment |= {"CCCL_CACHE_SOCKET": socket, f"CCCL_CACHE_{package.upper()}": "1", "CUDA_HOME": str(CUDA),
                        "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TORCHINDUCTOR_COMPILE_THREADS": "1", **trial.environment}
        told = subprocess.run([sys.executable, __file__, "--measure", package, here / f"{package}_scale.py"], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    name = f"{package}, {trial.name}"
    if told.returncode:
        print(f"{name}: FAILED, exit status {told.returncode}\n{told.stderr[-2000:]}", flush=True)
        return False
    answer = json.loads(told.stdout.splitlines()[-1])
    wanted = trial.factor + (trial.more + trial.extra if package in WITH_HEADER else 0)
    outcome = answer["on"] and not answer["errors"] and bool(answer["made"]) != trial.found and (answer["hits"] or not trial.found)
    right = answer["numbers"] == [wanted] and bool(outcome)
    print(f"{name}: {answer['seconds']:.1f} s, {answer['made']} made, {answer['hits']} found, number {answer['numbers']}"
          f"{'' if right else f': FAILED, wanted {wanted}: {answer}'}", flush=True)
    return right


def other_toolkit(place):
    """Makes a toolkit whose ptxas has other bytes. nvcc looks for its tools beside its own file."""
    (place / "bin").mkdir(parents=True)
    for folder, copy in ((CUDA, place), (CUDA / "bin", place / "bin")):
        for each in folder.iterdir():
            if not (copy / each.name).exists():
                (copy / each.name).symlink_to(each)
    for name in ("nvcc", "ptxas"):
        (place / "bin" / name).unlink()
        shutil.copy(CUDA / "bin" / name, place / "bin")
    with open(place / "bin/ptxas", "ab") as ptxas:
        ptxas.write(b"\n")
    return place


def main(socket, *packages):
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        cuda = other_toolkit(place / "cuda")
        with concurrent.futures.ThreadPoolExecutor(len(others(cuda))) as threads:
            right = threads.map(lambda package: [run(package, each, place, socket) for each in trials(package, cuda)],
                                packages or others(cuda))
            return 0 if all(map(all, list(right))) else 1


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(*sys.argv[2:])
    else:
        sys.exit(main(*sys.argv[1:]))
