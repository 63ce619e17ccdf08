# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Deposits: artifacts that a program compiles itself. One process compiles an artifact, and the daemon keeps it.

struct DepositKey
    struct_size::Csize_t
    name_space::Bytes
    fields::Ptr{Named}
    field_count::Csize_t
    group::Bytes
end

"""
    Lease

A deposit, or the right to make it; see [`acquire`](@ref). `contents` is the deposit. If it is `nothing`, this task must make
the deposit and call [`publish`](@ref) or [`abandon`](@ref). `key` is the deposit's key in hexadecimal. For one task at a
time.
"""
mutable struct Lease
    handle::Ptr{Cvoid}
    contents::Union{Nothing,Vector{UInt8}}
    key::String
    code::Any

    Lease(handle, contents, key, code) = finalizer(free, new(handle, contents, key, code))
end

function free(lease::Lease)
    lease.handle == C_NULL && return
    ccall(entry_point(:lease_free), Cvoid, (Ptr{Cvoid},), lease.handle)
    lease.handle = C_NULL
    return
end

# Seconds. As in the C interface: the time for which another process may hold a lease by default.
const LEASE_LIMIT = 1200

# Seconds for one ccall that waits. It blocks the garbage collector and, with one thread, all other tasks, of which one may
# hold the lease.
const LONGEST_CALL = 0.1

"""
    acquire([client], namespace, fields; code = nothing, group = "", timeout = 1200) -> Lease

Returns the deposit of these fields, or the lease to make it. While another process holds the lease, the call waits for
what that process publishes. Throws a [`CacheError`](@ref) with the status `:deadline` after `timeout` seconds.

* `namespace`: the program that owns the keys: `"org.example.tool"`.
* `fields`: pairs of names and values (text, bytes or numbers) for all inputs of the contents. Hash large values.
* `code`: the code from which the contents were compiled; see [`deposited`](@ref).
* `group`: the Unix group whose members share the deposit. Empty for this user alone.

[`deposited`](@ref) does the same for a function.
"""
function acquire(client::Client, namespace::AbstractString, fields; code = nothing, group::AbstractString = "",
                 timeout::Real = LEASE_LIMIT)
    kept = Kept()
    named = Named[Named(bytes!(kept, string(first(each))), bytes!(kept, field_value(last(each)))) for each in fields]
    key = DepositKey(sizeof(DepositKey), bytes!(kept, namespace), array!(kept, named), length(named), bytes!(kept, group))
    deadline, slice = time() + timeout, 0.002
    while true
        left = deadline - time()
        try
            return GC.@preserve client kept acquired(opened(client), key, code, min(slice, left))
        catch error
            error isa CacheError && error.status === :deadline && left > slice || rethrow()
        end
        sleep(slice)
        slice = min(2 * slice, LONGEST_CALL)
    end
end

acquire(namespace::AbstractString, fields; keywords...) = acquire(default_client(), namespace, fields; keywords...)

field_value(value::Contents) = value
field_value(value::Union{Integer,Symbol,VersionNumber}) = string(value)
field_value(value) = throw(ArgumentError("a field's value is text, bytes or a number, not " * string(typeof(value))))

function acquired(client::Ptr{Cvoid}, key::DepositKey, code, timeout)
    hit, lease = Ref{Ptr{Cvoid}}(C_NULL), Ref{Ptr{Cvoid}}(C_NULL)
    checked() do error
        ccall(entry_point(:acquire), Cint,
              (Ptr{Cvoid}, Ptr{Cvoid}, UInt32, Ptr{Ptr{Cvoid}}, Ptr{Ptr{Cvoid}}, Ptr{Ptr{Cvoid}}),
              client, Ref(key), milliseconds(timeout), hit, lease, error)
    end
    if hit[] == C_NULL
        return Lease(lease[], nothing, text(ccall(entry_point(:lease_id), Bytes, (Ptr{Cvoid},), lease[])), code)
    end
    try
        contents = copied(ccall(entry_point(:deposit_contents), Bytes, (Ptr{Cvoid},), hit[]))
        id = text(ccall(entry_point(:deposit_id), Bytes, (Ptr{Cvoid},), hit[]))
        record_answer(id, code)
        return Lease(C_NULL, contents, id, code)
    finally
        ccall(entry_point(:deposit_free), Cvoid, (Ptr{Cvoid},), hit[])
    end
end

"""
    isheld(lease::Lease) -> Bool

Returns whether this process still holds the lease, as far as the library knows.
"""
isheld(lease::Lease) =
    lease.handle != C_NULL && ccall(entry_point(:lease_held), Int32, (Ptr{Cvoid},), lease.handle) != 0

"""
    publish(lease::Lease, contents; timeout = 30)

Deposits the contents and ends the lease. All waiting processes get the contents. Throws a [`CacheError`](@ref) with the
status `Symbol("lease-lost")` if this process did not hold the lease any more.
"""
function publish(lease::Lease, contents::Contents; timeout::Real = 30)
    lease.handle == C_NULL && throw(ArgumentError("there is no lease to publish under: the contents are deposited already"))
    kept = Kept()
    GC.@preserve kept lease checked() do error
        ccall(entry_point(:lease_publish), Cint, (Ptr{Cvoid}, Bytes, UInt32, Ptr{Ptr{Cvoid}}),
              lease.handle, bytes!(kept, contents), milliseconds(timeout), error)
    end
    lease.contents = contents isa AbstractString ? Vector{UInt8}(codeunits(contents)) : Vector{UInt8}(contents)
    record_answer(lease.key, lease.code)
    return
end

"""
    abandon(lease::Lease)

Gives the lease up, so that the next waiting process gets it. Does nothing after [`publish`](@ref).
"""
function abandon(lease::Lease)
    lease.handle == C_NULL || ccall(entry_point(:lease_abandon), Cvoid, (Ptr{Cvoid},), lease.handle)
    return
end

"""
    deposited(make, [client], namespace, fields; code = nothing, group = "", timeout = 1200) -> Vector{UInt8}

Returns the deposit of these fields. Without a deposit, one of many processes calls `make()` and deposits its result: LTO-IR
or PTX of GPUCompiler, for example. If the daemon can't serve, each process calls `make()` and keeps nothing.

`code` is the code that `make` compiles: an object with the fields `min_world` and `max_world`, such as a
`Core.CodeInstance`. If one of its methods was replaced, the code is valid only in a finite range of worlds. It then belongs
to this session alone: it is not looked up, not deposited, and left out of a [`delta`](@ref).

```julia
ptx = CcclCache.deposited("org.example.tool", ["source" => source, "sm" => 90]) do
    compile_to_ptx(source)
end
```
"""
function deposited(make, client::Client, namespace::AbstractString, fields; code = nothing, group::AbstractString = "",
                   timeout::Real = LEASE_LIMIT)
    lasts(code) || return made(make)
    lease = try
        acquire(client, namespace, fields; code = code, group = group, timeout = timeout)
    catch error
        error isa CacheError || rethrow()
        @debug "no deposit was asked for" exception = error
        return made(make)
    end
    try
        if lease.contents === nothing
            contents = made(make)
            # A method may be replaced during the compile, so the range is checked again.
            lasts(code) && publish_if_held(lease, contents)
            return contents
        end
        return lease.contents
    finally
        abandon(lease)
    end
end

deposited(make, namespace::AbstractString, fields; keywords...) =
    deposited(make, default_client(), namespace, fields; keywords...)

function publish_if_held(lease::Lease, contents)
    try
        publish(lease, contents)
    catch error
        error isa CacheError || rethrow()
        @debug "what was made is not kept" exception = error
    end
end

function made(make)
    contents = make()
    contents isa Contents || throw(ArgumentError("make returned a " * string(typeof(contents)) * ", not text or bytes"))
    return contents isa AbstractString ? Vector{UInt8}(codeunits(contents)) : convert(Vector{UInt8}, contents)
end

# Returns whether code is valid in all later worlds.
lasts(::Nothing) = true
lasts(code) = code.min_world <= code.max_world && code.max_world == typemax(code.max_world)
