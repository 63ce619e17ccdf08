# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cuda.compute: a reduction"""

import cuda.compute
import numpy

PACKAGES = ("cuda-cccl[cu13]", "cupy-cuda13x")
REACHES = "NVRTC and nvJitLink, in `libcccl.c.parallel.so`"


def on_gpu(number=1):
    import cupy

    data = cupy.arange(1000 + number, dtype=cupy.int32)
    result = cupy.zeros(1, cupy.int32)
    cuda.compute.reduce_into(d_in=data, d_out=result, num_items=len(data), op=cuda.compute.OpKind.PLUS,
                             h_init=numpy.zeros(1, numpy.int32))
    assert int(result[0]) == int(data.sum())
    return [result.get()]


if __name__ == "__main__":
    print(on_gpu())
