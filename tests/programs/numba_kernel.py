# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""numba-cuda: a kernel that calls a device function"""

import numpy
from numba import cuda, types

PACKAGES = ("numba-cuda[cu13]",)
REACHES = "libNVVM and nvJitLink, by `dlopen`"


def functions(number):
    def inner(x):
        return x * number

    called = cuda.jit(device=True)(inner)

    def kernel(data):
        data[cuda.grid(1)] = called(data[cuda.grid(1)])

    return inner, kernel


def on_gpu(number=3):
    data = numpy.arange(64, dtype=numpy.float32)
    array = cuda.to_device(data)
    cuda.jit(functions(number)[1])[1, 64](array)
    result = array.copy_to_host()
    assert (result == data * number).all()
    return [result]


def without_gpu(number=3):
    inner, _ = functions(number)
    made = [cuda.compile(inner, types.float32(types.float32), cc=(9, 0), abi="c", output=output)[0] for output in ("ptx", "ltoir")]
    return [made[0].encode(), made[1]]


if __name__ == "__main__":
    print(on_gpu())
