# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""JAX: a kernel of Pallas over Triton"""

import jax
import jax.numpy as jnp
import numpy
from jax.experimental import pallas
from jax.experimental.pallas import triton

PACKAGES = ("jax[cuda13]",)
REACHES = "ptxas (XLA)"


def on_gpu(number=1):
    def scale(x, y):
        y[...] = x[...] * (1.0 + number)

    x = jnp.arange(1024, dtype=jnp.float32)
    call = pallas.pallas_call(scale, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                              compiler_params=triton.CompilerParams(num_warps=4))
    result = numpy.array(call(x))
    assert numpy.array_equal(result, numpy.arange(1024, dtype=numpy.float32) * (1 + number))
    return [result]


if __name__ == "__main__":
    print(on_gpu())
