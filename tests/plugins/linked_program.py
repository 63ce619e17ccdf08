# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A program whose kernel calls an object that generates code. It reports its calls. Started by tests.

Usage: linked_program.py BACKEND FACTOR [whole|callback|nvmath]
"""

import ctypes
import hashlib
import importlib
import json
import pathlib
import sys

import numpy
from numba_backends import BACKENDS, compiled


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


def scaling(numba, factor, how):
    scale = Scale(numba, factor, how == "callback")

    def kernel(data):
        data[0] = scale(data[0])

    compile = numba.whole if how == "whole" else numba.cubin
    return compile(kernel, numba.types.float32[::1])


def transforming(numba):
    """Returns the FFT of numba-cuda's issue 67 with nvmath-python 1.0: a small FFT for a thread."""
    import nvidia

    [library] = [found for place in nvidia.__path__ for found in pathlib.Path(place).glob("cu13/lib/libmathdx.so.0")]
    ctypes.CDLL(str(library))  # nvmath looks for it in site-packages alone
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
    plugin = importlib.import_module(numba.plugin)
    assert plugin.install(wait=60), plugin.status()
    cubin = transforming(numba) if how == "nvmath" else scaling(numba, int(factor), how)
    json.dump({**plugin.status(), "cubin": hashlib.sha256(cubin).hexdigest()}, sys.stdout)


main(*sys.argv[1:])
