# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Needs libcccl_cache.so.1 and a daemon with CUDA 12 or newer: the user's, or that of CCCL_CACHE_SOCKET.
using CcclCache
using Logging
using Random
using Test

# A number that is unique across tests and runs. Test sets seed Julia's own generator.
unique_number() = rand(Random.RandomDevice(), UInt32) >> 1

unique_kernel(name = "f") = "extern \"C\" __global__ void $name(int* p) { *p = $(unique_number()); }"

# A client without a cache of its own, so that each call asks the daemon.
asking() = CcclCache.Client(fallback = :error, process_cache_bytes = 0)

# Whether the bytes of a text occur in other bytes.
holds(bytes::Vector{UInt8}, text::String) = occursin(text, String(copy(bytes)))

@testset "CcclCache" begin
    include("test_builds.jl")
    include("test_errors.jl")
    include("test_ptx.jl")
    include("test_deposits.jl")
    include("test_snapshots.jl")
end
