# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0

const SOURCE = """
    template <typename T>
    __global__ void scale(T* data, T factor, int count) {
      const int index = blockIdx.x * blockDim.x + threadIdx.x;
      if (index < count) data[index] *= factor;
    }
    """

"""
    scale_kernel(type; arch) -> (cubin, name, outcome)

The kernel for `"float"`, `"double"` or another type of CUDA C++, its name in the cubin, and whether it was a `:hit`.
"""
function scale_kernel(type::String; arch::String)
    kernel = "scale<$type>"
    result = CcclCache.build(SOURCE; arch = arch, name = "scale.cu", name_expressions = [kernel])
    return result.cubin, result.lowered_names[kernel], result.outcome
end
