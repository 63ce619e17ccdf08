# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cuda.tile: a kernel that adds two arrays"""

import pathlib
import tempfile

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel

PACKAGES = ("cuda-tile[tileiras]", "cupy-cuda13x")
REACHES = "tileiras"


@ct.kernel
def add(a, b, out, size: ct.Constant[int]):
    place = (ct.bid(0),)
    total = ct.load(a, index=place, shape=(size,)) + ct.load(b, index=place, shape=(size,))
    ct.store(out, index=place, tile=total)


def on_gpu(number=1):
    import cupy
    import numpy

    size = 256 * number
    given = numpy.arange(4 * size, dtype=numpy.float32)
    a, b = cupy.asarray(given), cupy.asarray(given / 2)
    out = cupy.empty_like(a)
    ct.launch(cupy.cuda.get_current_stream(), (4,), add, (a, b, out, size))
    result = out.get()
    assert numpy.array_equal(result, given + given / 2)
    return [result]


def without_gpu(number=1):
    array = ArrayConstraint(dtype=ct.float32, ndim=1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                            may_alias_internally=False)
    signature = KernelSignature([array, array, array, 256 * number], CallingConvention.cutile_python_v1())
    with tempfile.TemporaryDirectory() as place:
        cubin = pathlib.Path(place, "add.cubin")
        export_kernel(add, [signature], str(cubin), gpu_code="sm_90", output_format="cubin")
        return [cubin.read_bytes()]


if __name__ == "__main__":
    print(on_gpu())
