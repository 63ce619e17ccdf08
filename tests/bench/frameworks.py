# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that compile the same with a framework at once: without us, and with an empty and a filled daemon."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from control_groups import ControlGroup
from figures import Row

TESTS = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = TESTS / "plugins"
sys.path.append(str(TESTS / "integration"))

from asked_process import AskedProcess, ForkedProcess  # noqa: E402

FUNCTION_OF_JAX = """import jax.numpy as jnp

def scale(x, n):
    for at in range(n):
        x = jnp.tanh(x @ x) + jnp.sort(x * at)
    return x
"""
KERNELS_OF_WARP = "import warp as wp\n" + "".join(f"""
@wp.kernel
def turn{at}(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    b[i] = wp.normalize(wp.inverse(a[i]) @ b[i]) * {at}.0
""" for at in range(20))
KERNEL = """#include <cub/block/block_reduce.cuh>
extern "C" int __tvm_ffi_scale(void*, const void*, int, void*) { return 0; }
__global__ void scale(float* x) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ Reduce::TempStorage storage;
  float sum = Reduce(storage).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) *x = sum;
}
"""
# Counts the builds for which ninja ran a command. The plug-in asks ninja with other options than the packages' -v.
NINJA = """#!/bin/sh
said=$({ninja} "$@")
status=$?
printf '%s\\n' "$said"
case "$1$said" in -v*"no work to do"*) ;; -v*) echo one >>"$COMPILED" ;; esac
exit $status
"""


@dataclasses.dataclass
class Framework:
    """A framework, with the words that have a program of tests/plugins compile."""

    title: str
    release: str  # the folder of .toolchains
    program: str
    words: tuple  # FILE: the file of `sources`
    own: str = ""  # the variable that names the framework's directory, which serves this compile
    environment: dict = dataclasses.field(default_factory=dict)


NINJA_PROGRAM = "flashinfer_program.py"
FRAMEWORKS = (
    Framework("CuTe DSL", "cute", "cute_program.py", ("compile", "cute_kernels.py", 2000), environment={"CUTE_DSL_ARCH": "sm_90a"}),
    Framework("FlashInfer", "flashinfer", NINJA_PROGRAM, ("flashinfer", "kernel", "kernel.cu", {}), "FLASHINFER_WORKSPACE_BASE",
              {"FLASHINFER_CUDA_ARCH_LIST": "9.0a"}),
    Framework("TVM-FFI", "flashinfer", NINJA_PROGRAM, ("tvm", "kernel", "kernel.cu", {}), "TVM_FFI_CACHE_DIR",
              {"TVM_FFI_CUDA_ARCH_LIST": "9.0a"}),
    Framework("JAX", "jax", "jax_program.py", ("compute", "jax_function.py", 100), "JAX_COMPILATION_CACHE_DIR",
              {"JAX_PLATFORMS": "cpu", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}),
    Framework("TileLang", "tilelang", "tilelang_program.py", ("compile", "tilelang_kernels.py", 3, "real=1"), "TILELANG_CACHE_DIR"),
    Framework("torch.compile", "torch", "torch_program.py", ("own", "torch_steps.py", 3), "TORCHINDUCTOR_CACHE_DIR",
              {"TORCHINDUCTOR_COMPILE_THREADS": "1"}),
    Framework("Warp", "warp", "warp_program.py", ("compile", "many_kernels.py")),
)


@dataclasses.dataclass
class Cost:
    wall: float  # seconds from the first command to the last answer
    cpu: float  # seconds of processor time, with that of the daemon
    made: int  # compiles

    def __str__(self):
        return f"{self.wall:.2f} s, processor {self.cpu:.2f} s, {self.made} made"


def environment_of(build, release):
    """Returns the environment of the plug-ins' tests with a framework."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True).stdout
    for test in json.loads(listed)["tests"]:
        if re.fullmatch(rf"plugins: \w+ \({release}\)", test["name"]):
            return dict(each.split("=", 1) for value in test["properties"] if value["name"] == "ENVIRONMENT" for each in value["value"])
    raise RuntimeError(f"{build} has no test of a plug-in with {release}")


class Processes:
    """Starts the processes of one framework, in a control group that the daemon shares."""

    def __init__(self, servers, python, framework, group):
        self.framework, self.python, self.group = framework, python, group
        self.place = servers.place / framework.title.replace(" ", "_")  # a program takes words
        self.place.mkdir()
        self.socket = servers.daemon("framework", servers.build / "tests/support/fake_cuda13", within=group)
        self.compiled = self.place / "compiled"
        self.compiled.touch()
        sources, programs = self.place / "sources", self.place / "bin"
        shutil.copytree(PROGRAMS, sources, ignore=lambda _, names: [name for name in names if not name.endswith(".py")])
        (sources / "jax_function.py").write_text(FUNCTION_OF_JAX)
        (sources / "many_kernels.py").write_text(KERNELS_OF_WARP)
        (sources / "kernel.cu").write_text(KERNEL)
        self.words = [str(sources / word) if (sources / str(word)).is_file() else word for word in framework.words]
        programs.mkdir()
        (programs / "ninja").write_text(NINJA.format(ninja=shutil.which("ninja")))
        (programs / "ninja").chmod(0o755)
        common = environment_of(servers.build, framework.release)
        self.environment = {
            **os.environ, **common, **framework.environment, "PATH": f"{programs}:{os.environ['PATH']}", "CCCL_CACHE_SOCKET": self.socket,
            "COMPILED": str(self.compiled),
            # The packages have no compiled Python. It halves the time of an import.
            "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self.place / "python")}
        self.directories = 0

    def own(self, directory=None):
        """Returns variables for empty directories, and for the framework's own directory, if it is given."""
        self.directories += 1
        place = self.place / str(self.directories)
        (place / "tmp").mkdir(parents=True)
        directories = {"HOME": str(place), "XDG_CACHE_HOME": str(place / "cache"), "TMPDIR": str(place / "tmp")}
        if self.framework.own:
            directories[self.framework.own] = str(directory or place / "own")
        return directories

    def measure(self, count, plugin, directory=None):
        """Has new processes compile at once. Their imports and directories are made before."""
        of_all = [self.own(directory) for _ in range(count)]
        environment = {**self.environment, "CCCL_CACHE": "1" if plugin else "0"}
        program = str(PROGRAMS / self.framework.program)
        server = None
        if self.framework.program == NINJA_PROGRAM:
            server = self.start({**environment, **of_all[0]}, program, path := str(self.place / f"socket{self.directories}"))
            assert server.process.stdout.readline() == "ready\n", "the program does not start"
            processes = [ForkedProcess(path) for _ in of_all]
            for process, directories in zip(processes, of_all):
                process.ask("set", directories)
        else:
            processes = [self.start({**environment, **directories}, program) for directories in of_all]
            for process in processes:
                assert process.hear() in ("ready", "loaded by torch")
        try:
            return self.cost(processes)
        finally:
            for process in processes:
                process.end()
            if server:
                server.end()

    def start(self, environment, *program):
        shell, *words = self.group.command([self.python, *program])
        return AskedProcess(environment, *words, executable=shell)

    def cost(self, processes):
        made, used, began = len(self.compiled.read_text().split()), self.group.seconds(), time.monotonic()
        for process in processes:
            process.tell(*self.words)
        answers = [process.hear() for process in processes]
        cost = Cost(time.monotonic() - began, self.group.seconds() - used, len(self.compiled.read_text().split()) - made)
        for answer in answers:
            if isinstance(answer, str) and not re.fullmatch("[0-9a-f]{64}", answer):
                raise RuntimeError(f"{self.framework.title} does not compile: {answer}")
        return cost


def rows(framework, processes, at_once):
    alone = processes.measure(1, plugin=False)
    many = processes.measure(at_once, plugin=False)
    shared = processes.place / "shared"
    if framework.own:
        sharing = processes.measure(at_once, plugin=False, directory=shared)
        warm = processes.measure(1, plugin=False, directory=shared)
    empty = processes.measure(at_once, plugin=True)
    second = processes.measure(1, plugin=True)
    filled = processes.measure(at_once, plugin=True)

    def row(what, ours, beside, made):
        return Row(f"{framework.title}, {what}", str(ours), str(beside), f"{ours.wall / beside.wall:.2f}x, processor {ours.cpu / beside.cpu:.2f}x",
                   f"{made} made", "", ours.made == made)

    yield row(f"{at_once} at once, empty daemon: one alone", empty, alone, 1)
    yield row(f"{at_once} at once, empty daemon: {at_once} alone", empty, many, 1)
    if framework.own:
        yield row(f"{at_once} at once, empty daemon: {at_once} that share an empty directory of its own", empty, sharing, 1)
        yield row("second process: one with its own directory warm", second, warm, 0)
    else:
        yield row("second process: one alone", second, alone, 0)
    yield row(f"{at_once} at once, filled daemon: {at_once} alone", filled, many, 0)


def frameworks(servers, python, effort):
    for framework in FRAMEWORKS:
        with ControlGroup("framework") as group:
            processes = Processes(servers, python, framework, group)
            try:
                yield from rows(framework, processes, effort.at_once)
            finally:
                servers.remove("framework")
