# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""launch_kernel.py [SOCKET] does the same as launch_kernel.cc, from Python. It builds kernels through the daemon for this
machine's GPU, launches them with cuda.core, and compares their numbers with NumPy's.

Needs cccl_cache, cuda-core with cuda-bindings, and NumPy. Exit status 1 if a number is wrong.
"""

import os
import sys
import time

import cccl_cache
import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, launch

ELEMENTS, THREADS = 1 << 20, 256
SOURCE = """
template <typename T>
__global__ void scale(T* values, T factor) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = values[i] * factor + T(i % 7);
}
"""
TYPES = {"scale<float>": np.float32, "scale<double>": np.float64, "scale<int>": np.int32}


def wrong_numbers(device, stream, kernel, dtype):
    """Returns how many numbers differ from NumPy's."""
    values = (np.arange(ELEMENTS) % 1000).astype(dtype)
    expected = values * dtype(3) + (np.arange(ELEMENTS) % 7).astype(dtype)
    buffer = device.allocate(values.nbytes, stream=stream)
    stream.sync()
    must(driver.cuMemcpyHtoD(int(buffer.handle), values.ctypes.data, values.nbytes))
    launch(stream, LaunchConfig(grid=ELEMENTS // THREADS, block=THREADS), kernel, buffer, dtype(3))
    stream.sync()
    must(driver.cuMemcpyDtoH(values.ctypes.data, int(buffer.handle), values.nbytes))
    return int(np.count_nonzero(values != expected))


def must(answer):
    if answer[0] != driver.CUresult.CUDA_SUCCESS:
        raise SystemExit(f"the driver answers {answer[0]!r}")


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    client = cccl_cache.Client(*sys.argv[1:2])
    # The line is unique to this process, so that the first build of each form is compiled.
    source = f"{SOURCE}// process {os.getpid()}, {time.time_ns()}\n"
    wrong = 0
    for emit in ("cubin", "ptx"):
        for _ in range(2):
            started = time.perf_counter()
            result = client.build(source, arch=f"sm_{device.arch}", name="launch_kernel.cu", emit=emit,
                                  name_expressions=list(TYPES))
            took = time.perf_counter() - started
            code = result.to_object_code()
            found = sum(wrong_numbers(device, stream, code.get_kernel(name), dtype) for name, dtype in TYPES.items())
            print(f"{emit}, {result.outcome} {result.tier}, {took * 1e6:.0f} us: {found} wrong numbers", flush=True)
            wrong += found
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
