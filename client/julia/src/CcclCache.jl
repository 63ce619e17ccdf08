# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""
GPU compiles that all processes of a machine share through the daemon `cccl-cached`: CUDA C++ (NVRTC), links and PTX
(nvJitLink), NVVM IR (libNVVM), and the results of a program's own compiler.

```julia
using CcclCache
result = CcclCache.build("__global__ void f(int* p) { *p = 1; }"; arch = "sm_90")
result.outcome, length(result.cubin)    # (:built, 3880), and (:hit, 3880) in the next process
```

The module loads `libcccl_cache.so.1` at the first call, from `ENV["CCCL_CACHE_LIBRARY"]`, else from the search path of the
system's loader.
"""
module CcclCache

import FileWatching
import Libdl
import SHA

include("library.jl")
include("structs.jl")
include("errors.jl")
include("client.jl")
include("result.jl")
include("builds.jl")
include("ptx.jl")
include("deposits.jl")
include("ptxas.jl")
include("snapshots.jl")

end
