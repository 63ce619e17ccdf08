# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# The cache of a package: the results of its precompile workload, which its package image carries to its users.

struct SnapshotFilter
    struct_size::Csize_t
    toolchain::Bytes
    arch::Bytes
    since::UInt64
    until::UInt64
    name_space::Bytes
    uids::Ptr{UInt32}
    uid_count::Csize_t
    all_users::Int32
    only_keys::Int32
    keys::Ptr{Bytes}
    key_count::Csize_t
end

struct SnapshotSummary
    struct_size::Csize_t
    records::UInt64
    bytes::UInt64
    left_out::UInt64
    shared::Int32
end

"""
    Snapshot

A point in this session, made by [`snapshot`](@ref). It collects the keys of the session's later results.
"""
mutable struct Snapshot
    # The code of each answer. `nothing` if the answer is valid in all worlds.
    answers::Dict{String,Any}
end

Base.show(io::IO, snapshot::Snapshot) = print(io, "CcclCache.Snapshot(", length(snapshot.answers), " answers since)")

# The keys are weak, so an unused snapshot is freed and collects no more keys.
const snapshots = WeakKeyDict{Snapshot,Nothing}()
const recording = ReentrantLock()

"""
    snapshot() -> Snapshot

Marks this point in the session for [`delta`](@ref). Asks no daemon.
"""
function snapshot()
    made = Snapshot(Dict{String,Any}())
    lock(() -> snapshots[made] = nothing, recording)
    return made
end

function record_answer(key::String, code)
    lock(recording) do
        for each in keys(snapshots)
            each.answers[key] = code
        end
    end
end

"""
    Cache

The results of a session, made by [`delta`](@ref) and inserted by [`insert!`](@ref). A `Cache` in a constant of a package
becomes a part of the package image. `length(cache)` is the number of results and deposits.
"""
struct Cache
    records::Int
    contents::Vector{UInt8}  # a snapshot file; empty without records
end

Base.length(cache::Cache) = cache.records
Base.isempty(cache::Cache) = cache.records == 0
Base.show(io::IO, cache::Cache) =
    print(io, "CcclCache.Cache(", cache.records, " records, ", sizeof(cache.contents), " bytes)")

"""
    delta(snapshot::Snapshot; client = default_client()) -> Cache

Returns the builds and deposits that this session got since `snapshot`, hits included. It leaves out deposits of code that is
valid only in a finite range of worlds. The cache is empty if the daemon can't serve.

```julia
module DownstreamPackage
using CcclCache
const cache_snapshot = CcclCache.snapshot()
include("precompile.jl")
const cache = CcclCache.delta(cache_snapshot)
__init__() = CcclCache.insert!(cache)
end
```
"""
function delta(snapshot::Snapshot; client::Union{Nothing,Client} = nothing)
    answered = lock(() -> String[key for (key, code) in snapshot.answers if lasts(code)], recording)
    isempty(answered) && return Cache(0, UInt8[])
    return unless_away(Cache(0, UInt8[])) do
        path, file = mktemp()
        try
            summary = written(client === nothing ? default_client() : client, sort!(answered), file)
            return Cache(summary.records, summary.records == 0 ? UInt8[] : read(path))
        finally
            close(file)
            rm(path)
        end
    end
end

# Writes a snapshot of these keys.
function written(client::Client, keys::Vector{String}, file::IOStream)
    kept = Kept()
    all, count = texts!(kept, keys)
    filter = SnapshotFilter(sizeof(SnapshotFilter), Bytes(), Bytes(), 0, 0, Bytes(), C_NULL, 0, 0, 1, all, count)
    return summarised(kept, client) do summary, error
        ccall(entry_point(:snapshot_create), Cint,
              (Ptr{Cvoid}, Cint, Ptr{Cvoid}, UInt32, Ptr{Cvoid}, Ptr{Ptr{Cvoid}}),
              opened(client), fd(file), Ref(filter), 0, summary, error)
    end
end

function summarised(call, kept, client)
    GC.@preserve kept client described(SnapshotSummary) do summary
        checked(error -> call(summary, error))
    end
end

"""
    insert!(cache::Cache; client = default_client()) -> Int

Inserts the records of `cache` into the daemon: for this user alone, or for all users if the caller is an
administrator. Returns the number of records that the daemon did not have.

For a package's `__init__`. Returns 0 while packages are precompiled, if the daemon got this cache before, and if the daemon
can't serve.
"""
function insert!(cache::Cache; client::Union{Nothing,Client} = nothing)
    (isempty(cache) || is_precompiling()) && return 0
    return unless_away(0) do
        chosen = client === nothing ? default_client() : client
        lease = acquire(chosen, "io.github.cccl-cached.julia", ["inserted" => SHA.sha256(cache.contents)];
                        code = OF_NO_WORLD, timeout = 5)
        try
            lease.contents === nothing || return 0
            records = inserted(chosen, cache)
            publish(lease, string(records))
            return records
        finally
            abandon(lease)
        end
    end
end

# The deposit that marks a cache as inserted has this range of worlds, so that no other cache contains it.
const OF_NO_WORLD = (min_world = 1, max_world = 0)

function inserted(client::Client, cache::Cache)
    path, file = mktemp()
    try
        write(file, cache.contents)
        flush(file)
        summary = summarised(nothing, client) do summary, error
            ccall(entry_point(:snapshot_insert), Cint, (Ptr{Cvoid}, Cint, UInt32, Ptr{Cvoid}, Ptr{Ptr{Cvoid}}),
                  opened(client), fd(file), 0, summary, error)
        end
        return Int(summary.records)
    finally
        close(file)
        rm(path)
    end
end

is_precompiling() = ccall(:jl_generating_output, Cint, ()) != 0

# A package must load and precompile also without the library or the daemon.
function unless_away(work, otherwise)
    try
        return work()
    catch error
        error isa Union{CacheError,LibraryError} || rethrow()
        @debug "the cache is away" exception = error
        return otherwise
    end
end
