# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""
A package that ships a cache. The workload in `precompile.jl` runs while the package is precompiled, what it built becomes a
part of the package image, and each user's daemon gets it when the package is loaded for the first time.
"""
module ScaleKernels

using CcclCache

include("kernels.jl")

const cache_snapshot = CcclCache.snapshot()
include("precompile.jl")
const cache = CcclCache.delta(cache_snapshot)

__init__() = CcclCache.insert!(cache)

end
