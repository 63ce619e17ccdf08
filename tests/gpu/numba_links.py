# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that link the code of objects, on a GPU: checks the numbers, and that a second process generates no code.

Usage: numba_links.py SOCKET

Starts itself three times for each compiler that is installed (numba-cuda, numba-cuda-mlir): twice over the daemon at SOCKET,
and once without a daemon. Each process launches the FFT of numba-cuda's issue 67 and an object that two types and a device
function use. If nvmath-python is installed, it launches an FFT of nvmath too. Prints its findings. Exit status 1 if a number
is wrong, or if the second process generates code.
"""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time

import numpy

SIZE, PER_THREAD, PER_BLOCK = 128, 8, 2
COMPILERS = {"numba-cuda": ("numba.cuda", "cccl_cache.numba"),
             "numba-cuda-mlir": ("numba_cuda_mlir.cuda", "cccl_cache.numba_mlir")}


def compiled(cuda, source):
    """Returns LTO-IR that NVRTC makes for the current device."""
    from cuda.core import Program, ProgramOptions

    arch = "sm_%d%d" % tuple(cuda.get_current_device().compute_capability)
    options = ProgramOptions(arch=arch, relocatable_device_code=True, link_time_optimization=True)
    return bytes(Program(source, "c++", options).compile("ltoir").code)


class FFT:
    """The object of the issue. Each thread has every 16th element of one of the block's FFTs."""

    def __init__(self, cuda, fft_type, size, precision, direction, elements_per_thread, ffts_per_block, execution,
                 compiler):
        self.cuda, self.size, self.elements = cuda, size, elements_per_thread
        self.sign = -1 if direction == "forward" else 1

    def __numba_cuda_signature__(self, thread_data, shared_mem):
        return f"fft_{self.size}", "void(CPointer(complex64), CPointer(complex64))"

    def __numba_cuda_link_key__(self, *types):
        return f"fft {self.size} {self.elements} {self.sign}".encode()

    def __numba_cuda_link__(self, thread_data, shared_mem):
        return compiled(self.cuda, f"""
            extern "C" __device__ void fft_{self.size}(float2* mine, float2* shared) {{
              constexpr int size = {self.size}, elements = {self.elements}, stride = size / elements;
              float2* line = shared + threadIdx.y * size;
              for (int e = 0; e < elements; ++e) line[threadIdx.x + e * stride] = mine[e];
              __syncthreads();
              for (int e = 0; e < elements; ++e) {{
                float2 sum = {{0, 0}};
                for (int n = 0; n < size; ++n) {{
                  float s, c;
                  sincospif({self.sign * 2}.f * ((threadIdx.x + e * stride) * n % size) / size, &s, &c);
                  sum.x += line[n].x * c - line[n].y * s;
                  sum.y += line[n].x * s + line[n].y * c;
                }}
                mine[e] = sum;
              }}
              __syncthreads();
            }}""")


class Scale:
    """An object with code for each type of its argument, and no typing of its own."""

    def __init__(self, cuda, factor):
        self.cuda, self.factor = cuda, factor

    def __numba_cuda_signature__(self, kind):
        return f"scale_{kind}_{self.factor}", kind(kind)

    def __numba_cuda_link_key__(self, *kinds):
        return b"scale %d" % self.factor

    def __numba_cuda_link__(self, kind):
        of_c = {"float32": "float", "float64": "double"}[str(kind)]
        name = f"scale_{kind}_{self.factor}"
        return compiled(self.cuda, f'extern "C" __device__ {of_c} {name}({of_c} v) {{ return {self.factor} * v; }}')


def signals():
    random = numpy.random.default_rng(1)
    shape = (PER_BLOCK, SIZE)
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(numpy.complex64)


def launch_fft(cuda):
    fft = FFT(cuda, fft_type="c2c", size=SIZE, precision=numpy.float32, direction="forward",
              elements_per_thread=PER_THREAD, ffts_per_block=PER_BLOCK, execution="Block", compiler="numba")
    stride, room = SIZE // PER_THREAD, SIZE * PER_BLOCK

    @cuda.jit(cache=True)
    def f(data):
        thread_data = cuda.local.array(PER_THREAD, numpy.complex64)
        shared_mem = cuda.shared.array(room, numpy.complex64)
        for e in range(PER_THREAD):
            thread_data[e] = data[cuda.threadIdx.y, cuda.threadIdx.x + e * stride]
        fft(thread_data, shared_mem)
        for e in range(PER_THREAD):
            data[cuda.threadIdx.y, cuda.threadIdx.x + e * stride] = thread_data[e]

    given = signals()
    data = cuda.to_device(given)
    f[1, (stride, PER_BLOCK)](data)
    return bool(numpy.allclose(data.copy_to_host(), numpy.fft.fft(given), atol=1e-3))


def launch_scale(cuda):
    three, four = Scale(cuda, 3), Scale(cuda, 4)

    @cuda.jit(device=True)
    def inner(value):
        return three(value) + four(value)

    @cuda.jit
    def kernel(data):
        data[cuda.threadIdx.x] = inner(data[cuda.threadIdx.x]) + three(data[cuda.threadIdx.x])

    right = True
    for kind in (numpy.float32, numpy.float64, numpy.float32):
        data = cuda.to_device(numpy.arange(32, dtype=kind))
        kernel[1, 32](data)
        right = right and bool((data.copy_to_host() == 10 * numpy.arange(32)).all())
    return right


def launch_nvmath(cuda):
    """Launches nvmath-python's own example for a block."""
    from nvmath.device import FFT as Nvmath

    fft = Nvmath(fft_type="c2c", size=SIZE, precision=numpy.float32, direction="forward",
                 elements_per_thread=PER_THREAD, ffts_per_block=PER_BLOCK, execution="Block")
    value_type, storage, stride = fft.value_type, fft.storage_size, fft.stride
    bytes_shared = fft.shared_memory_size

    @cuda.jit
    def f(data):
        thread_data = cuda.local.array(shape=(storage,), dtype=value_type)
        shared_mem = cuda.shared.array(shape=(0,), dtype=value_type)
        for e in range(PER_THREAD):
            thread_data[e] = data[cuda.threadIdx.y, cuda.threadIdx.x + e * stride]
        fft.execute(thread_data, shared_mem)
        for e in range(PER_THREAD):
            data[cuda.threadIdx.y, cuda.threadIdx.x + e * stride] = thread_data[e]

    given = signals()
    data = cuda.to_device(given)
    f[1, fft.block_dim, 0, bytes_shared](data)
    return bool(numpy.allclose(data.copy_to_host(), numpy.fft.fft(given), atol=1e-3))


def measure(compiler):
    """Runs one process: launches every kernel, checks it, and reports."""
    module, plugin = COMPILERS[compiler]
    cuda, plugin = importlib.import_module(module), importlib.import_module(plugin)
    assert plugin.install(), plugin.status()
    cuda.to_device(numpy.zeros(1))
    cases = {"fft of the issue": launch_fft, "scale": launch_scale}
    if importlib.util.find_spec("nvmath") and importlib.util.find_spec("cffi"):
        cases["nvmath"] = launch_nvmath
    right, seconds = {}, {}
    for name, launch in cases.items():
        started = time.perf_counter()
        right[name] = launch(cuda)
        seconds[name] = round(time.perf_counter() - started, 3)
    print(json.dumps({"right": right, "seconds": seconds, "status": plugin.status()}))


def run(compiler, socket):
    answer = subprocess.run([sys.executable, __file__, "--measure", compiler], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "CCCL_CACHE_SOCKET": socket}, check=True)
    return json.loads(answer.stdout.splitlines()[-1])


def main(socket):
    failed = False
    for compiler, (module, _) in COMPILERS.items():
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            print(f"{compiler}: not installed")
            continue
        answers = {"first": run(compiler, socket), "second": run(compiler, socket),
                   "without a daemon": run(compiler, socket + ".nobody")}
        for name, answer in answers.items():
            status = {key: count for key, count in answer["status"].items() if count and key != "errors"}
            print(f"{compiler}, {name}: {answer['right']} {answer['seconds']} s {status}", flush=True)
            failed = failed or not all(answer["right"].values())
        failed = failed or answers["first"]["status"]["links_generated"] == 0
        failed = failed or answers["second"]["status"]["links_generated"] > 0
        for name in ("first", "second"):
            if answers[name]["status"]["errors"]:
                failed = True
                print(f"{compiler}, {name}: {answers[name]['status']['errors']}")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1]))
