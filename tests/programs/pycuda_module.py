# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""PyCUDA: two source modules"""

import numpy

PACKAGES = ("pycuda", "numpy")
REACHES = "nvcc, in a directory of random name"
SOURCE = "__global__ void k(float* a) {{ a[threadIdx.x] *= {}.0f; }}"


def on_gpu(number=1):
    import pycuda.autoinit  # noqa: F401  makes a context
    from pycuda import gpuarray
    from pycuda.compiler import SourceModule

    results = []
    for factor in (2 * number, 2 * number + 1):
        x = gpuarray.to_gpu(numpy.ones(64, numpy.float32))
        SourceModule(SOURCE.format(factor), cache_dir=False).get_function("k")(x.gpudata, block=(64, 1, 1))
        results.append(x.get())
        assert (results[-1] == factor).all()
    return results


def without_gpu(number=1):
    from pycuda.compiler import compile

    return [compile(SOURCE.format(factor), arch="sm_90", cache_dir=False) for factor in (2 * number, 2 * number + 1)]


if __name__ == "__main__":
    print(on_gpu())
