# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# The cache for a program that runs ptxas itself, as CUDA.jl does.

# Replaces the process of ptxas at a hit.
struct ServedByCache end

Base.success(::ServedByCache) = true

# A failed run of ptxas. It is not kept.
struct PtxasFailed <: Exception
    answer::Any
end

"""
    through_ptxas(run, command::Cmd; client = default_client())

Runs a command, or serves it if it is a run of `ptxas` from a file `*.ptx` to an `--output-file`. Returns a process and its
output. At a hit, writes the output file and returns an object that is a `success`, with no output.

Two runs are equal if the build of `ptxas`, its options and the canonical PTX are equal; see [`canonical_ptx`](@ref).
`.visible` names stay, and the PTX file is rewritten with canonical names. Failed runs are not kept.
"""
function through_ptxas(run, command::Cmd; client::Union{Nothing,Client} = nothing)
    asked = ptxas_run(command.exec)
    asked === nothing && return run(command)
    text, _ = canonical_ptx(read(asked.input, String); keep_visible = true)
    fields = ["ptxas" => ptxas_version(command), "options" => join(asked.options, '\0'), "ptx" => SHA.sha256(text)]
    answer = Ref{Any}(nothing)
    try
        chosen = client === nothing ? default_client() : client
        cubin = deposited(chosen, "io.github.cccl-cached.ptxas", fields) do
            write(asked.input, text)
            answer[] = run(command)
            success(first(answer[])) || throw(PtxasFailed(answer[]))
            read(asked.output)
        end
        answer[] === nothing || return answer[]
        write(asked.output, cubin)
        return (ServedByCache(), "")
    catch error
        error isa PtxasFailed && return error.answer
        error isa Union{CacheError,LibraryError} && return run(command)
        rethrow()
    end
end

# Returns the files and the options of a run of ptxas, or nothing for another command or another form.
function ptxas_run(arguments::Vector{String})
    length(arguments) > 1 && basename(arguments[1]) == "ptxas" && endswith(arguments[end], ".ptx") || return nothing
    place = findfirst(isequal("--output-file"), arguments)
    (place === nothing || place + 1 >= length(arguments)) && return nothing
    options = [arguments[2:place-1]; arguments[place+2:end-1]]
    # The key does not cover the contents of other files: a second input, or a file of options.
    reads_more(option) = endswith(option, ".ptx") || startswith(option, r"--?(options-file|optf)")
    any(reads_more, options) && return nothing
    return (input = arguments[end], output = arguments[place+1], options = options)
end

const ptxas_versions = Dict{Tuple{String,Float64},String}()

# Returns the version with the build number. Each ptxas file is asked once.
function ptxas_version(command::Cmd)
    program = command.exec[1]
    asking = Cmd(Cmd([program, "--version"]); env = command.env, dir = command.dir)
    lock(loading) do
        get!(() -> read(asking, String), ptxas_versions, (program, mtime(program)))
    end
end
