# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""
GPU compiles that all processes of a machine share: CUDA C++ (NVRTC), links and PTX (nvJitLink), NVVM IR (libNVVM), and
whatever a program compiles itself, kept by the daemon `cccl-cached`.

```julia
using CcclCache
result = CcclCache.build("__global__ void f(int* p) { *p = 1; }"; arch = "sm_90")
result.outcome, length(result.cubin)    # (:built, 3880), and (:hit, 3880) in the next process
```

The module binds `libcccl_cache.so.1`. It looks for the library at the first call: `ENV["CCCL_CACHE_LIBRARY"]`, else
where the system's loader finds it.
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
