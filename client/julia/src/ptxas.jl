# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# A program that runs ptxas itself, as CUDA.jl does: one of many processes runs it.

# Stands for a process of ptxas that was not needed.
struct ServedByCache end

Base.success(::ServedByCache) = true

# A run of ptxas that failed, which is not kept.
struct PtxasFailed <: Exception
    answer::Any
end

"""
    through_ptxas(run, command::Cmd; client = default_client())

Returns `run(command)`, a process and its output, unless `command` is a run of `ptxas` from a file `*.ptx` to an
`--output-file` which this machine has seen: then it writes that file and returns an object that is a `success`, and no
output. Runs are equal if the build of `ptxas`, its options and the PTX are, apart from names that are not `.visible`; see
[`canonical_ptx`](@ref). The PTX file is rewritten with canonical names. Runs that fail are not kept.
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

# The files and the other arguments of a run of ptxas, or nothing if it is another command or another form.
function ptxas_run(arguments::Vector{String})
    length(arguments) > 1 && basename(arguments[1]) == "ptxas" && endswith(arguments[end], ".ptx") || return nothing
    place = findfirst(isequal("--output-file"), arguments)
    (place === nothing || place + 1 >= length(arguments)) && return nothing
    options = [arguments[2:place-1]; arguments[place+2:end-1]]
    # What other files hold is not in the key: a second input, options in a file.
    reads_more(option) = endswith(option, ".ptx") || startswith(option, r"--?(options-file|optf)")
    any(reads_more, options) && return nothing
    return (input = arguments[end], output = arguments[place+1], options = options)
end

const ptxas_versions = Dict{Tuple{String,Float64},String}()

# The version with the number of the build, asked once for each file.
function ptxas_version(command::Cmd)
    program = command.exec[1]
    asking = Cmd(Cmd([program, "--version"]); env = command.env, dir = command.dir)
    lock(loading) do
        get!(() -> read(asking, String), ptxas_versions, (program, mtime(program)))
    end
end
