# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# The library's errors as exceptions.

"""
    CacheError

A failed call. `message` is for a person and names the remedy. `status` is one of `Symbol("no-daemon")`,
`:overloaded`, `Symbol("invalid-request")`, `Symbol("toolchain-not-found")`, `Symbol("files-needed")`, `:denied`,
`Symbol("timed-out")`, `:deadline`, `Symbol("worker-crashed")`, `Symbol("out-of-memory")`, `:cancelled`, `:unavailable`,
`Symbol("upload-needed")`, `:protocol`, `Symbol("too-large")`, `Symbol("lease-lost")` and `Symbol("not-cached")`.
`retry_after` is the number of seconds after which to try again, or `nothing`.
"""
struct CacheError <: Exception
    status::Symbol
    message::String
    retry_after::Union{Nothing,Float64}
end

Base.showerror(io::IO, error::CacheError) = print(io, "CcclCache.CacheError (", error.status, "): ", error.message)

# Returns the exception for an error of the library, and frees the library's error.
function taken_error(handle::Ptr{Cvoid})
    try
        number = ccall(entry_point(:error_status), Cint, (Ptr{Cvoid},), handle)
        name = unsafe_string(ccall(entry_point(:status_name), Cstring, (Cint,), number))
        message = text(ccall(entry_point(:error_message), Bytes, (Ptr{Cvoid},), handle))
        delay = ccall(entry_point(:error_retry_after_ms), UInt32, (Ptr{Cvoid},), handle)
        return CacheError(Symbol(name), message, delay == 0 ? nothing : delay / 1000)
    finally
        ccall(entry_point(:error_free), Cvoid, (Ptr{Cvoid},), handle)
    end
end

# Calls `call(error)`, which returns a status, and throws unless it is CCCL_CACHE_OK.
function checked(call)
    error = Ref{Ptr{Cvoid}}(C_NULL)
    call(error) == 0 || throw(taken_error(error[]))
    return nothing
end
