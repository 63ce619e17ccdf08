# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A function of JAX for run.py."""

import jax
import jax.numpy as jnp
import numpy

FACTOR = 3


@jax.jit
def scale(x):
    return jnp.sin(x - 1) + x * FACTOR


def run():
    return numpy.asarray(scale(jax.device_put(numpy.ones(128, numpy.float32)))).tolist()
