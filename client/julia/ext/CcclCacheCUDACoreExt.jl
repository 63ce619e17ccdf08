# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""
CUDA.jl's runs of `ptxas` through the daemon, with `ENV["CCCL_CACHE_CUDA_JL"] = "1"`: of all processes one assembles a
kernel's PTX.

NOT RUN HERE: written against the sources of CUDA.jl 6.3 (CUDACore 6.3, GPUCompiler 2.2), which need a newer Julia than can
be installed where this project is tested. What it calls, `CcclCache.through_ptxas`, is tested with a stand-in for `ptxas`.

`CUDACore.compile(job)` makes PTX, then hands `run_and_collect` the command of `ptxas`. That function takes anything; the
method here takes a `Cmd`, so nothing is overwritten, and packages that use both can be precompiled. The kernel's entry and
the globals that CUDA.jl patches after loading are `.visible`: they keep their names.
"""
module CcclCacheCUDACoreExt

import CcclCache
import CUDACore

# The releases whose sources this was written against.
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
