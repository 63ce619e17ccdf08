# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0

const KINDS = Dict(:ptx => 1, :cubin => 2, :ltoir => 3, :optixir => 4)
const KIND_NAMES = Dict(number => name for (name, number) in KINDS)
const FAILED = 5

"""
    Result

The answer to a build.

* `outcome`: `:hit`, `:built`, `:joined` (waited for another caller's compile), `:uncacheable` (compiled and not kept) or
  `:local` (compiled without the daemon). `reason` explains the last two.
* `tier`: the tier of a hit: `:process`, `:memory`, `:disk`, `:shelf` or `:remote`; `Symbol("")` if the build was compiled.
* `cubin`, `ptx`, `ltoir`, `optixir`: the artifact as a `Vector{UInt8}`, or `nothing` if `emit` did not name the kind.
* `artifacts`: all artifacts by kind. `lowered_names`: the name of each name expression in the cubin.
* `key`, `fingerprint`: hexadecimal. `toolchain_id`, `toolchain_version`, `log`.
* `queue_us`, `compile_us`, `total_us`: times in microseconds.
* `request_id`: the id of this request in the daemon's log. Empty if no daemon was asked.
* `names`: the canonical names of the symbols that [`assemble`](@ref) has renamed. Empty for other builds.
"""
struct Result
    outcome::Symbol
    tier::Symbol
    key::String
    fingerprint::String
    toolchain_id::String
    toolchain_version::String
    log::String
    reason::String
    queue_us::UInt64
    compile_us::UInt64
    total_us::UInt64
    request_id::String
    artifacts::Dict{Symbol,Vector{UInt8}}
    lowered_names::Dict{String,String}
    names::Dict{String,String}
end

Base.getproperty(result::Result, name::Symbol) =
    haskey(KINDS, name) ? get(getfield(result, :artifacts), name, nothing) : getfield(result, name)

Base.propertynames(::Result) = (fieldnames(Result)..., keys(KINDS)...)

Base.show(io::IO, result::Result) = print(io, "CcclCache.Result(:", result.outcome, ", ", first(result.key, 16), ")")

"""
    CompileError

The code does not compile. `log` has the compiler's messages. `hint` is a possible remedy, or empty. `result` has the timing
and the key of the build.
"""
struct CompileError <: Exception
    log::String
    result::Result
    hint::String
end

function Base.showerror(io::IO, error::CompileError)
    print(io, "CcclCache.CompileError: ", isempty(error.log) ? error.result.reason : rstrip(error.log, ['\0', '\n']))
    isempty(error.hint) || print(io, "\n", error.hint)
end

# Copies everything out of a handle of the library, and frees it.
function taken_result(handle::Ptr{Cvoid}, names::Dict{String,String})
    try
        return copied_result(handle, names)
    finally
        ccall(entry_point(:result_free), Cvoid, (Ptr{Cvoid},), handle)
    end
end

function copied_result(handle, names)
    info = described(ResultInfo) do place
        ccall(entry_point(:result_describe), Cvoid, (Ptr{Cvoid}, Ptr{Cvoid}), handle, place)
    end
    artifacts = Dict{Symbol,Vector{UInt8}}()
    for index in 1:info.artifact_count
        part = described(Artifact) do place
            ccall(entry_point(:result_artifact), Cvoid, (Ptr{Cvoid}, Csize_t, Ptr{Cvoid}), handle, index - 1, place)
        end
        artifacts[KIND_NAMES[part.kind]] = copied(part.contents)
    end
    lowered_names = Dict{String,String}()
    for index in 1:info.lowered_name_count
        part = described(LoweredName) do place
            ccall(entry_point(:result_lowered_name), Cvoid, (Ptr{Cvoid}, Csize_t, Ptr{Cvoid}), handle, index - 1, place)
        end
        lowered_names[text(part.expression)] = text(part.lowered)
    end
    outcome = unsafe_string(ccall(entry_point(:outcome_name), Cstring, (Cint,), info.outcome))
    tier = unsafe_string(ccall(entry_point(:tier_name), Cstring, (Cint,), info.tier))
    result = Result(Symbol(outcome), Symbol(tier), text(info.key), text(info.fingerprint), text(info.toolchain_id),
                    text(info.toolchain_version), text(info.log), text(info.reason), info.queue_us, info.compile_us,
                    info.total_us, info.request_id == 0 ? "" : string(info.request_id, base=16), artifacts, lowered_names, names)
    info.outcome == FAILED && throw(CompileError(result.log, result, text(info.hint)))
    record_answer(result.key, nothing)
    return result
end
