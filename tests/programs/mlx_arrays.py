# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""MLX: a compiled function, and a kernel of `mx.fast.cuda_kernel`"""

import mlx.core as mx
import numpy

PACKAGES = ("mlx[cuda13]", "numpy")
REACHES = "NVRTC, linked"


def on_gpu(number=1):
    x = mx.array(numpy.linspace(0, 1, 100, dtype=numpy.float32))
    given = numpy.array(x)
    fused = numpy.array(mx.compile(lambda x: mx.exp(x) * mx.sin(x) + number)(x))
    assert numpy.allclose(fused, numpy.exp(given) * numpy.sin(given) + number, rtol=1e-4)
    kernel = mx.fast.cuda_kernel(
        name=f"scaled{number}", input_names=["inp"], output_names=["out"],
        source=f"auto i = cooperative_groups::this_grid().thread_rank(); out[i] = inp[i] * T({number + 1});")
    [scaled] = kernel(inputs=[x], template=[("T", mx.float32)], grid=(100, 1, 1), threadgroup=(100, 1, 1),
                      output_shapes=[x.shape], output_dtypes=[x.dtype])
    assert numpy.allclose(numpy.array(scaled), given * (number + 1))
    return [fused, numpy.array(scaled)]


if __name__ == "__main__":
    print(on_gpu())
