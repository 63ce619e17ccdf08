# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# The structs of client_c.h, field by field. client_c.h documents them.

struct Bytes
    data::Ptr{UInt8}
    size::Csize_t
end

Bytes() = Bytes(C_NULL, 0)

# A view of contents that the caller keeps alive.
Bytes(contents::Union{String,Vector{UInt8}}) = Bytes(pointer(contents), sizeof(contents))

# Copies of what the library returned.
copied(bytes::Bytes) = bytes.size == 0 ? UInt8[] : copy(unsafe_wrap(Array, bytes.data, Int(bytes.size)))
text(bytes::Bytes) = bytes.size == 0 ? "" : unsafe_string(bytes.data, bytes.size)

struct OpenOptions
    struct_size::Csize_t
    socket::Bytes
    fallback::Cint
    local_after_ms::UInt32
    local_compiler::Bytes
    quiet_fallback::Int32
    process_cache_bytes::UInt64
end

struct BuildOptions
    struct_size::Csize_t
    toolchain_id::Bytes
    toolchain_version::Bytes
    toolchain_major::UInt32
    driver_version::UInt32
    working_directory::Bytes
    wanted::Ptr{Cint}
    wanted_count::Csize_t
    timeout_ms::UInt32
    as_this_process::UInt64
end

# cccl_cache_header, cccl_cache_variable and cccl_cache_deposit_field.
struct Named
    name::Bytes
    contents::Bytes
end

struct NvrtcProgram
    struct_size::Csize_t
    source::Bytes
    name::Bytes
    options::Ptr{Bytes}
    option_count::Csize_t
    headers::Ptr{Named}
    header_count::Csize_t
    name_expressions::Ptr{Bytes}
    name_expression_count::Csize_t
    environment::Ptr{Named}
    environment_count::Csize_t
    append_toolchain_headers::Int32
end

struct LinkInput
    type::Cint
    name::Bytes
    contents::Bytes
end

struct LinkProgram
    struct_size::Csize_t
    inputs::Ptr{LinkInput}
    input_count::Csize_t
    options::Ptr{Bytes}
    option_count::Csize_t
end

struct NvvmModule
    name::Bytes
    contents::Bytes
    lazy::Int32
end

struct NvvmProgram
    struct_size::Csize_t
    modules::Ptr{NvvmModule}
    module_count::Csize_t
    options::Ptr{Bytes}
    option_count::Csize_t
    add_libdevice::Int32
end

struct ResultInfo
    struct_size::Csize_t
    outcome::Cint
    tier::Cint
    key::Bytes
    fingerprint::Bytes
    toolchain_id::Bytes
    toolchain_version::Bytes
    log::Bytes
    reason::Bytes
    native_code::Int32
    remembered::Int32
    precompiled_headers::Int32
    queue_us::UInt64
    compile_us::UInt64
    total_us::UInt64
    artifact_count::Csize_t
    lowered_name_count::Csize_t
    saved_us::UInt64
    request_id::UInt64
    hint::Bytes
end

struct Artifact
    struct_size::Csize_t
    kind::Cint
    contents::Bytes
    sha256::Bytes
end

struct LoweredName
    struct_size::Csize_t
    expression::Bytes
    lowered::Bytes
end

# Returns a struct that the library has filled, up to the size that both the library and this file know.
function described(fill, ::Type{Fields}) where {Fields}
    zeroed = Ref{Fields}()
    GC.@preserve zeroed begin
        place = Base.unsafe_convert(Ptr{Fields}, zeroed)
        ccall(:memset, Ptr{Cvoid}, (Ptr{Cvoid}, Cint, Csize_t), place, 0, sizeof(Fields))
        unsafe_store!(Ptr{Csize_t}(place), sizeof(Fields))
        fill(place)
    end
    return zeroed[]
end
