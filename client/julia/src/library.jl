# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Loads libcccl_cache.so.1 and finds its functions.

const SONAME = "libcccl_cache.so.1"

# The loaded library. The first call loads it, so that the package can be loaded and precompiled without the library.
const loaded_library = Ref{Ptr{Cvoid}}(C_NULL)
const loading = ReentrantLock()

function library()
    # Finalizers call this function too, and must not wait for a lock.
    loaded_library[] == C_NULL || return loaded_library[]
    lock(loading) do
        loaded_library[] == C_NULL && (loaded_library[] = load_library())
        loaded_library[]
    end
end

function load_library()
    named = get(ENV, "CCCL_CACHE_LIBRARY", "")
    name = isempty(named) ? SONAME : named
    try
        return Libdl.dlopen(name)
    catch failure
        cause = failure isa ErrorException ? failure.msg : sprint(showerror, failure)
        remedy = isempty(named) ?
            "install cccl-cached's client library, or set CCCL_CACHE_LIBRARY to the path of $SONAME" :
            "CCCL_CACHE_LIBRARY is $(repr(named)): set it to the path of $SONAME, or unset it to use an installed one"
        throw(LibraryError("can't load $SONAME: $cause\n$remedy"))
    end
end

"""
    LibraryError

`libcccl_cache.so.1` can't be loaded. The message has the path and the remedy.
"""
struct LibraryError <: Exception
    message::String
end

Base.showerror(io::IO, error::LibraryError) = print(io, "CcclCache.LibraryError: ", error.message)

# The address of the library's function `cccl_cache_NAME`.
entry_point(name::Symbol) = Libdl.dlsym(library(), Symbol(:cccl_cache_, name))

"""
    CcclCache.version() -> VersionNumber

The version of the loaded `libcccl_cache.so.1`.
"""
version() = VersionNumber(unsafe_string(ccall(entry_point(:version), Cstring, ())))
