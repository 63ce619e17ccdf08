# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Builds: CUDA C++, links, PTX and NVVM IR.

const Contents = Union{AbstractString,AbstractVector{UInt8}}
const INPUT_TYPES =
    Dict(:any => 0, :cubin => 1, :ptx => 2, :ltoir => 3, :fatbin => 4, :object => 5, :library => 6)

# Keeps alive the objects that C structs point to, until the call has returned.
struct Kept
    objects::Vector{Any}
end

Kept() = Kept(Any[])

keep!(kept::Kept, object) = (push!(kept.objects, object); object)
bytes!(kept::Kept, contents::AbstractString) = Bytes(keep!(kept, String(contents)))
bytes!(kept::Kept, contents::AbstractVector{UInt8}) = Bytes(keep!(kept, convert(Vector{UInt8}, contents)))
array!(kept::Kept, elements::Vector) = pointer(keep!(kept, elements))
texts!(kept::Kept, texts) = array!(kept, Bytes[bytes!(kept, each) for each in texts]), length(texts)

# A cccl_cache_build_options.
function build_options!(kept::Kept, toolchain, kinds, working_directory, timeout)
    id = version = Bytes()
    major = 0
    if toolchain isa Integer
        major = toolchain
    elseif toolchain isa VersionNumber
        version = bytes!(kept, "$(toolchain.major).$(toolchain.minor)")
    elseif toolchain isa AbstractString && occursin('.', toolchain)
        version = bytes!(kept, toolchain)
    elseif toolchain isa AbstractString
        id = bytes!(kept, toolchain)
    elseif toolchain !== nothing
        throw(ArgumentError("toolchain must be a major such as 13, a version such as v\"12.9\" or an id, not " *
                            repr(toolchain)))
    end
    wanted = array!(kept, Cint[KINDS[kind] for kind in kinds])
    directory = working_directory === nothing ? Bytes() : bytes!(kept, working_directory)
    return BuildOptions(sizeof(BuildOptions), id, version, major, 0, directory, wanted, length(kinds),
                        milliseconds(timeout), 1)
end

function checked_kinds(emit, known)
    kinds = emit isa Symbol ? [emit] : collect(Symbol, emit)
    for kind in kinds
        kind in known || throw(ArgumentError("emit is $(repr(kind)): it may be $(join(map(repr, known), ", "))"))
    end
    return kinds
end

# Runs a build as a batch of one. The event loop waits for the batch's descriptor, so that other tasks and the garbage
# collector run meanwhile. A ccall of many seconds would block both.
function run_build(add::Symbol, client::Client, program, options, kept::Kept, names = Dict{String,String}())
    batch = Ref{Ptr{Cvoid}}(C_NULL)
    GC.@preserve client begin
        checked() do error
            ccall(entry_point(:batch_open), Cint, (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}, Ptr{Ptr{Cvoid}}), opened(client), batch, error)
        end
        try
            GC.@preserve kept checked() do error
                ccall(entry_point(add), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, UInt64, Ptr{Ptr{Cvoid}}),
                      batch[], Ref(program), Ref(options), 0, error)
            end
            return taken_result(awaited(batch[]), names)
        finally
            ccall(entry_point(:batch_free), Cvoid, (Ptr{Cvoid},), batch[])
        end
    end
end

# Waits for the batch's only result. Returns its handle.
function awaited(batch::Ptr{Cvoid})
    descriptor = RawFD(ccall(entry_point(:batch_fd), Cint, (Ptr{Cvoid},), batch))
    result, tag = Ref{Ptr{Cvoid}}(C_NULL), Ref{UInt64}(0)
    while true
        checked() do error
            ccall(entry_point(:batch_next), Cint,
                  (Ptr{Cvoid}, UInt32, Ptr{UInt64}, Ptr{Ptr{Cvoid}}, Ptr{Ptr{Cvoid}}), batch, 0, tag, result, error)
        end
        result[] == C_NULL || return result[]
        FileWatching.poll_fd(descriptor; readable = true)
    end
end

"""
    build([client], source; arch, options = (), name = "", include_dirs = (), headers = (), name_expressions = (),
          toolchain, emit = :cubin, toolchain_headers = true, working_directory, timeout) -> Result

Compiles CUDA C++ with NVRTC, or returns the cached result. Throws a [`CompileError`](@ref) if the code does not compile.

* `arch`: `"sm_90"`, or `"compute_90"` for PTX alone.
* `options`: NVRTC's options, unchanged: `["--std=c++17"]`.
* `headers`: pairs of a name in `#include` and the header's contents.
* `name_expressions`: name expressions whose lowered names the result has: `["scale<float>"]`.
* `toolchain`: a major version (`13`), a version (`v"12.9"`) or an id. Default: the major version of the CUDA libraries that
  this process has loaded, else the newest.
* `emit`: `:cubin`, `:ptx`, `:ltoir`, `:optixir`, or several of them.
* `toolchain_headers`: search the toolchain's own headers after `include_dirs`.
* `timeout`: seconds for the whole call. Default: ten minutes.
"""
function build(client::Client, source::Contents; arch::AbstractString, options = (), name::AbstractString = "",
               include_dirs = (), headers = (), name_expressions = (), toolchain = nothing, emit = :cubin,
               toolchain_headers::Bool = true, working_directory = nothing, timeout = nothing)
    kept, kinds = Kept(), checked_kinds(emit, (:cubin, :ptx, :ltoir, :optixir))
    flags = String["--gpu-architecture=" * arch]
    :ltoir in kinds && push!(flags, "-dlto")
    :optixir in kinds && push!(flags, "--optix-ir")
    append!(flags, ("--include-path=" * each for each in include_dirs))
    append!(flags, options)
    named = Named[Named(bytes!(kept, first(each)), bytes!(kept, last(each))) for each in headers]
    program = NvrtcProgram(sizeof(NvrtcProgram), bytes!(kept, source), bytes!(kept, name), texts!(kept, flags)...,
                           array!(kept, named), length(named), texts!(kept, name_expressions)...,
                           C_NULL, 0, toolchain_headers)
    chosen = build_options!(kept, toolchain, kinds, working_directory, timeout)
    return run_build(:batch_add_nvrtc, client, program, chosen, kept)
end

"""
    link([client], inputs; arch, options = (), toolchain, emit = :cubin, timeout) -> Result

Links inputs with nvJitLink, in the given order.

* `inputs`: each input is its contents, a [`Result`](@ref), `(name, contents)` or `(name, contents, type)`. A type is
  `:cubin`, `:ptx`, `:ltoir`, `:fatbin`, `:object` or `:library`. Default: the type that the contents show.
* `options`: nvJitLink's options, unchanged; LTO-IR needs `"-lto"`.
* `emit`: `:cubin` or `:ptx`.
"""
function link(client::Client, inputs; arch::AbstractString, options = (), toolchain = nothing, emit::Symbol = :cubin,
              timeout = nothing)
    return run_link(client, inputs, arch, options, toolchain, emit, timeout, Dict{String,String}())
end

function run_link(client, inputs, arch, options, toolchain, emit, timeout, names)
    kept, kinds = Kept(), checked_kinds(emit, (:cubin, :ptx))
    flags = String["-arch=" * arch]
    emit === :ptx && push!(flags, "-ptx")
    append!(flags, options)
    files = LinkInput[link_input!(kept, each) for each in inputs]
    program = LinkProgram(sizeof(LinkProgram), array!(kept, files), length(files), texts!(kept, flags)...)
    chosen = build_options!(kept, toolchain, kinds, nothing, timeout)
    return run_build(:batch_add_link, client, program, chosen, kept, names)
end

link_input!(kept::Kept, contents::Contents) = link_input!(kept, ("", contents, :any))
link_input!(kept::Kept, (name, contents)::Tuple{AbstractString,Contents}) = link_input!(kept, (name, contents, :any))

function link_input!(kept::Kept, (name, contents, type)::Tuple{AbstractString,Contents,Symbol})
    haskey(INPUT_TYPES, type) ||
        throw(ArgumentError("an input's type is $(repr(type)): it may be $(join(map(repr, sort!(collect(keys(INPUT_TYPES)))), ", "))"))
    return LinkInput(INPUT_TYPES[type], bytes!(kept, name), bytes!(kept, contents))
end

function link_input!(kept::Kept, result::Result)
    kind, contents = first(result.artifacts)
    return link_input!(kept, ("", contents, kind))
end

"""
    nvvm([client], modules; arch, options = (), lazy_modules = (), libdevice = false, toolchain, emit = :ptx,
         timeout) -> Result

Compiles NVVM IR with libNVVM.

* `modules`: the modules in order. Each is its contents (text or bitcode) or `(name, contents)`.
* `arch`: `"compute_90"`.
* `lazy_modules`: modules after `modules`, added with `nvvmLazyAddModuleToProgram`.
* `libdevice`: adds the toolchain's libdevice lazily.
* `emit`: `:ptx` or `:ltoir`.
"""
function nvvm(client::Client, modules; arch::AbstractString, options = (), lazy_modules = (), libdevice::Bool = false,
              toolchain = nothing, emit::Symbol = :ptx, timeout = nothing)
    kept, kinds = Kept(), checked_kinds(emit, (:ptx, :ltoir))
    flags = String["-arch=" * arch]
    emit === :ltoir && push!(flags, "-gen-lto")
    append!(flags, options)
    files = NvvmModule[]
    append!(files, (nvvm_module!(kept, each, 0) for each in modules))
    append!(files, (nvvm_module!(kept, each, 1) for each in lazy_modules))
    program = NvvmProgram(sizeof(NvvmProgram), array!(kept, files), length(files), texts!(kept, flags)..., libdevice)
    chosen = build_options!(kept, toolchain, kinds, nothing, timeout)
    return run_build(:batch_add_nvvm, client, program, chosen, kept)
end

nvvm_module!(kept::Kept, contents::Contents, lazy) = nvvm_module!(kept, ("", contents), lazy)
nvvm_module!(kept::Kept, (name, contents)::Tuple{AbstractString,Contents}, lazy) =
    NvvmModule(bytes!(kept, name), bytes!(kept, contents), lazy)

for name in (:build, :link, :nvvm)
    @eval $name(given; keywords...) = $name(default_client(), given; keywords...)
end
