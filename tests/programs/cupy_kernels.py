# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy: ten element-wise kernels, a reduction, and a raw module"""

import cupy
import numpy

PACKAGES = ("cupy-cuda13x",)
REACHES = "NVRTC"
RAW = "template <typename T> __global__ void add(T* p) {{ p[threadIdx.x] += {}; }}"


def on_gpu(number=1):
    x = cupy.arange(1000, dtype=cupy.float32)
    results = []
    for each in range(10):
        kernel = cupy.ElementwiseKernel("float32 x", "float32 z", f"z = x * {number}.5f + {each}", f"k{number}_{each}")
        results.append(kernel(x).get())
        assert numpy.allclose(results[-1], numpy.arange(1000, dtype=numpy.float32) * (number + 0.5) + each)
    module = cupy.RawModule(code=RAW.format(number), name_expressions=["add<int>", "add<double>"])
    data = cupy.zeros(64, cupy.int32)
    module.get_function("add<int>")((1,), (64,), (data,))
    assert (data == number).all() and float((x + x).sum()) == 999000
    return [*results, data.get()]


def without_gpu(number=1):
    from cupy._core.core import assemble_cupy_compiler_options
    from cupy.cuda.compiler import _NVRTCProgram  # the functions above it ask for the GPU

    complex_source = f'#include <cupy/complex.cuh>\nextern "C" __global__ void f(complex<float>* p) {{ *p = exp(*p) + {number}.0f; }}'
    return [_NVRTCProgram(source, name_expressions=names, method="cubin").compile(
                (*assemble_cupy_compiler_options(()), "-arch=sm_90", "--device-as-default-execution-space"))[0]
            for source, names in ((RAW.format(number), ("add<int>", "add<double>")), (complex_source, None))]


if __name__ == "__main__":
    print(on_gpu())
