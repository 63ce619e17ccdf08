# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0

const FALLBACKS = Dict(:local => 0, :error => 1)
const OFF = typemax(UInt64)

# A time in seconds as the library takes it. 0 stands for the library's default.
milliseconds(::Nothing) = UInt32(0)
milliseconds(seconds::Real) = UInt32(clamp(round(Int64, seconds * 1000), 1, typemax(UInt32) - 1))

"""
    Client([socket]; fallback = :local, local_after, local_compiler, process_cache_bytes)

A client of this machine's daemon. Any number of tasks and threads may use one client. A function of this module without a
client argument uses [`default_client`](@ref).

* `socket`: path of the daemon's socket, used without checks. Default: `ENV["CCCL_CACHE_SOCKET"]`, else the socket of the
  user's daemon, else that of the system's daemon.
* `fallback`: the action if the daemon can't serve a build. `:local` compiles the build in a child process, with the same
  result. `:error` throws a [`CacheError`](@ref).
* `local_after`: seconds without an answer after which a build is compiled locally.
* `local_compiler`: path of `cccl-cache-compile`. Default: the program that is installed with the library.
* `process_cache_bytes`: bytes of results that the client keeps in memory. 0 keeps none.
"""
mutable struct Client
    handle::Ptr{Cvoid}

    function Client(socket::AbstractString = ""; fallback::Symbol = :local, local_after::Union{Nothing,Real} = nothing,
                    local_compiler::AbstractString = "", process_cache_bytes::Union{Nothing,Integer} = nothing)
        haskey(FALLBACKS, fallback) || throw(ArgumentError("fallback is $(repr(fallback)): it may be :local or :error"))
        path, compiler = String(socket), String(local_compiler)
        kept = process_cache_bytes === nothing ? UInt64(0) : process_cache_bytes == 0 ? OFF : UInt64(process_cache_bytes)
        handle = Ref{Ptr{Cvoid}}(C_NULL)
        GC.@preserve path compiler begin
            options = Ref(OpenOptions(sizeof(OpenOptions), Bytes(path), FALLBACKS[fallback], milliseconds(local_after),
                                      Bytes(compiler), 0, kept))
            checked() do error
                ccall(entry_point(:open), Cint, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}, Ptr{Ptr{Cvoid}}), options, handle, error)
            end
        end
        return finalizer(close, new(handle[]))
    end
end

"""
    close(client::Client)

Closes the connections. No call of this client may be in progress. The garbage collector closes an unused client.
"""
function Base.close(client::Client)
    client.handle == C_NULL && return
    ccall(entry_point(:close), Cvoid, (Ptr{Cvoid},), client.handle)
    client.handle = C_NULL
    return
end

Base.isopen(client::Client) = client.handle != C_NULL

# The handle of an open client. A client in a package image is closed, because a handle is valid in one process only.
function opened(client::Client)
    isopen(client) || throw(ArgumentError("this client is closed, or it was made while its package was precompiled"))
    return client.handle
end

"""
    socket(client::Client) -> String

Path of the socket that was chosen.
"""
socket(client::Client) = text(ccall(entry_point(:client_socket), Bytes, (Ptr{Cvoid},), opened(client)))

Base.show(io::IO, client::Client) = print(io, "CcclCache.Client(", isopen(client) ? repr(socket(client)) : "closed", ")")

const the_default = Ref{Union{Nothing,Client}}(nothing)

"""
    default_client() -> Client

The client of functions that get no client argument. The first such call opens it.
"""
function default_client()
    lock(loading) do
        client = the_default[]
        if client === nothing || !isopen(client)
            client = the_default[] = Client()
        end
        return client
    end
end
