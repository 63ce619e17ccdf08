# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""
Runs CUDA.jl's `ptxas` through the daemon if `ENV["CCCL_CACHE_CUDA_JL"]` is `"1"`: one process of the machine assembles a
kernel's PTX for all.

NOT RUN HERE: this extension is written against the sources of CUDA.jl 6.3 (CUDACore 6.3, GPUCompiler 2.2). They need a
newer Julia than this project's test machines have. Only `CcclCache.through_ptxas` is tested, with a stand-in for `ptxas`.

`CUDACore.compile(job)` makes PTX and passes the command of `ptxas` to `run_and_collect`. CUDACore's method takes an `Any`,
and the method here takes a `Cmd`. So no method is overwritten, and packages that use both can be precompiled. The kernel's
entry and the globals that CUDA.jl patches after loading are `.visible`, so they keep their names.
"""
module CcclCacheCUDACoreExt

import CcclCache
import CUDACore

# The releases of CUDACore for which this extension was written.
written_for(version::VersionNumber) = (version.major, version.minor) == (6, 3)

function is_on()
    get(ENV, "CCCL_CACHE_CUDA_JL", "") == "1" || return false
    version = pkgversion(CUDACore)
    written_for(version) && return true
    @warn "CcclCache knows CUDACore 6.3, not $version: ptxas is run without the cache" maxlog = 1
    return false
end

function CUDACore.run_and_collect(command::Cmd)
    run(command) = invoke(CUDACore.run_and_collect, Tuple{Any}, command)
    return is_on() ? CcclCache.through_ptxas(run, command) : run(command)
end

end
