# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""tinygrad: a softmax of a product"""

import numpy
from tinygrad import Tensor

PACKAGES = ("tinygrad", "numpy")
REACHES = "NVRTC, by ctypes"


def on_gpu(number=1):
    given = numpy.arange(1024, dtype=numpy.float32).reshape(32, 32) / 1024
    x = Tensor(given, device="CUDA")
    result = ((x @ x.T).softmax() * (1 + number) + x.sin()).numpy()
    powers = numpy.exp(given @ given.T)
    assert numpy.allclose(result, powers / powers.sum(axis=1, keepdims=True) * (1 + number) + numpy.sin(given), rtol=1e-3)
    return [result]


if __name__ == "__main__":
    print(on_gpu())
