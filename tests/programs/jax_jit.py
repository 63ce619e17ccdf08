# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""JAX: a softmax of a product, and a sort of a cumulative sum"""

import jax
import jax.numpy as jnp
import numpy

PACKAGES = ("jax[cuda13]",)
REACHES = "ptxas (XLA)"


def on_gpu(number=1):
    x = jnp.arange(64.0).reshape(8, 8)
    soft = numpy.array(jax.jit(lambda x: jax.nn.softmax(x @ x.T / (100.0 + number)).sum(axis=0))(x))
    given = numpy.arange(64.0).reshape(8, 8)
    powers = numpy.exp((given @ given.T - (given @ given.T).max(axis=1, keepdims=True)) / (100.0 + number))
    assert numpy.allclose(soft, (powers / powers.sum(axis=1, keepdims=True)).sum(axis=0), rtol=1e-3)
    ordered = numpy.array(jax.jit(lambda x: jnp.sort(jnp.cumsum(-x * number, axis=1), axis=1))(x))
    assert numpy.array_equal(ordered, numpy.sort(numpy.cumsum(-given * number, axis=1), axis=1))
    return [soft, ordered]


if __name__ == "__main__":
    print(on_gpu())
