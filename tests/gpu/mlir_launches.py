# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""numba-cuda-mlir on a GPU with the plug-in: checks the numbers, and that a second process compiles nothing.

Usage: mlir_launches.py SOCKET

Starts itself without the plug-in, then twice with it and cache=True, over an unused daemon at SOCKET. Needs numba-cuda-mlir,
cuda-core and NumPy. Prints its findings. Exit status 1 if a number is wrong, or if the second process compiles.
"""

import json
import os
import subprocess
import sys
import time

import numpy

FACTOR = 3


class Scale:
    """An object with the code that its calls use."""

    def __numba_cuda_signature__(self, kind):
        return "scale", kind(kind)

    def __numba_cuda_link_key__(self, *kinds):
        return b"times 3"

    def __numba_cuda_link__(self, kind):
        from cuda.core import Device, Program, ProgramOptions

        arch = "sm_" + "".join(map(str, Device().compute_capability))
        options = ProgramOptions(arch=arch, relocatable_device_code=True, link_time_optimization=True)
        source = 'extern "C" __device__ float scale(float value) { return 3 * value; }'
        return bytes(Program(source, "c++", options).compile("ltoir").code)


scale = Scale()


def measure(mode):
    import cccl_cache.numba_mlir as plugin

    if mode == "plugged":
        assert plugin.install(), plugin.status()
    from numba_cuda_mlir import cuda

    def plain(data):
        data[0] = FACTOR * data[1]

    def shared(data):
        room = cuda.shared.array(32, numpy.float32)
        room[cuda.threadIdx.x] = data[cuda.threadIdx.x]
        cuda.syncthreads()
        data[cuda.threadIdx.x] = room[31 - cuda.threadIdx.x]

    def linked(data):
        data[0] = scale(data[1])

    given = numpy.arange(1, 33, dtype=numpy.float32)
    expected = {plain: numpy.concatenate([[6], given[1:]]), shared: given[::-1], linked: numpy.concatenate([[6], given[1:]])}
    took = {}
    for kernel, right in expected.items():
        if kernel is linked and mode != "plugged":
            continue  # the plug-in adds the links
        array = cuda.to_device(given)
        began = time.perf_counter()
        cuda.jit(cache=mode == "plugged")(kernel)[1, 1 if kernel is not shared else 32](array)
        cuda.synchronize()
        took[kernel.__name__] = round(time.perf_counter() - began, 3)
        assert (array.copy_to_host() == right).all(), kernel.__name__
    print(json.dumps({"took": took, "status": plugin.status()}))


def main(socket):
    statuses = []
    for name, mode in (("alone", "alone"), ("first", "plugged"), ("second", "plugged")):
        done = subprocess.run([sys.executable, __file__, "--measure", mode], stdout=subprocess.PIPE, check=True,
                              env={**os.environ, "CCCL_CACHE_SOCKET": socket, "CUDA_CACHE_DISABLE": "1"})
        report = json.loads(done.stdout.splitlines()[-1])
        statuses.append(report["status"])
        print(f"{name}: {report['took']}; {report['status']}", flush=True)
    return 0 if statuses[1]["compiles"] and not statuses[2]["compiles"] and statuses[2]["hits"] else 1


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(sys.argv[2])
    else:
        sys.exit(main(*sys.argv[1:]))
