# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""tile_kernel.py FILE FORMAT compiles a kernel of cuda.tile. For the format cubin, cuda.tile runs tileiras."""

import sys

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel


@ct.kernel
def add(a, b, out, size: ct.Constant[int]):
    place = (ct.bid(0),)
    total = ct.load(a, index=place, shape=(size,)) + ct.load(b, index=place, shape=(size,))
    ct.store(out, index=place, tile=total)


array = ArrayConstraint(dtype=ct.float32, ndim=1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                        may_alias_internally=False)
signature = KernelSignature([array, array, array, 256], CallingConvention.cutile_python_v1())
export_kernel(add, [signature], sys.argv[1], gpu_code="sm_90", output_format=sys.argv[2])
