# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A program whose kernel calls an object that generates code. Says what that took. Started by tests.

Usage: linked_program.py BACKEND FACTOR [callback|nvmath]
"""

import ctypes
import hashlib
import json
import sys

import numpy
from numba_backends import BACKENDS, compiled

from cccl_cache._plugin.leases import Deposits, Settings
from cccl_cache._plugin.link_lists import NAMESPACE
from cccl_cache._plugin.report import Report


class Scale:
    def __init__(self, numba, factor, callback):
        self.numba, self.factor, self.callback = numba, factor, callback

    def __numba_cuda_signature__(self, kind):
        return "scale", kind(kind)

    def __numba_cuda_link_key__(self, *kinds):
        return b"times %d" % self.factor

    def __numba_cuda_link__(self, kind):
        code = compiled(f'extern "C" __device__ float scale(float value) {{ return {self.factor} * value; }}')
        return self.numba.linkable.LTOIR(code, setup_callback=print) if self.callback else code


def scaling(numba, factor, callback):
    scale = Scale(numba, factor, callback)

    def kernel(data):
        data[0] = scale(data[0])

    return numba.cubin(kernel, numba.types.float32[::1])


def transforming(numba):
    """The FFT of numba-cuda's issue 67 as nvmath-python 1.0 has it: small, for a thread."""
    import nvidia

    ctypes.CDLL(f"{nvidia.__path__[0]}/cu13/lib/libmathdx.so.0")  # which is looked for in site-packages alone
    from nvmath.device import FFT, common_cuda

    capability = common_cuda.ComputeCapability(9, 0)
    common_cuda.get_current_device_cc = lambda: capability
    fft = FFT(fft_type="c2c", size=2, precision=numpy.float32, direction="forward", execution="Thread", sm=capability)
    cuda, value_type, size = numba.cuda, fft.value_type, fft.storage_size

    def kernel(data):
        thread_data = cuda.local.array(shape=(size,), dtype=value_type)
        fft.execute(thread_data)

    return numba.cubin(kernel, numba.types.complex64[:, ::1])


def main(backend, factor, how=None):
    numba = BACKENDS[backend]()
    report = Report(numba.plugin, ("links_generated", "links_hit", "published"))
    numba.hooks()(numba.release, report, Deposits(NAMESPACE, Settings(wait=60), report)).attach()
    cubin = transforming(numba) if how == "nvmath" else scaling(numba, int(factor), how == "callback")
    json.dump({**report.snapshot(), "cubin": hashlib.sha256(cubin).hexdigest()}, sys.stdout)


main(*sys.argv[1:])
