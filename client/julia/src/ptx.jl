# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# PTX whose names don't depend on the session. Julia numbers functions as it compiles them (`julia_f_1234`), so equal code
# has another text in each session.

# Comments, strings, numbers, names and punctuation. A directive or a modifier (`.visible`, `.u64`) is a word that begins
# with a dot. Everything else is copied.
const PTX_TOKEN = r"""
      (?<comment> //[^\n]* | /\*.*?\*/ )
    | "[^"\n]*"
    | [0-9][A-Za-z0-9_.]*
    | \.[A-Za-z0-9_\$]+
    | (?<name> [A-Za-z][A-Za-z0-9_\$]* | [_\$%][A-Za-z0-9_\$]+ )
    | [{}()\[\];,=]
    """sx

# Digits after an underscore that end a part of a name: a session's counter, or something that looks like one.
const COUNTER = r"_[0-9]+(?=_|\$|$)"

struct PtxToken
    text::SubString{String}
    isname::Bool
end

"""
    canonical_ptx(ptx; keep_visible = false) -> (text, names)

Returns the PTX with canonical names, and the canonical name of each name that was replaced. Two modules that differ only in
the session's counters have the same text.

Only names that the module itself defines are replaced, wherever they occur as names: functions, variables, parameters. A
name contains the digest of the whole module, so modules of other contents have other names. `.extern`, `.weak` and
`.common` names stay, for they belong to other modules too. Comments and indentation are removed. Strings stay, and so do
the bytes of debug sections: with `-g2` these spell the names, and each session has a text of its own.

The module must not be linked with others that refer to its names. With `keep_visible` its `.visible` names stay, for a
host that looks them up by the names that it knows.
"""
function canonical_ptx(ptx::AbstractString; keep_visible::Bool = false)
    pieces = ptx_pieces(String(ptx))
    shared = keep_visible ? (".extern", ".weak", ".common", ".visible") : (".extern", ".weak", ".common")
    numbered = replaceable(PtxToken[each for each in pieces if each isa PtxToken], shared)
    isempty(numbered) && return (join_pieces(pieces, numbered), Dict{String,String}())
    blanked = Dict(name => replace(name, COUNTER => "") * "\0" * string(index) for (name, index) in numbered)
    digest = bytes2hex(SHA.sha256(join_pieces(pieces, blanked)))[1:16]
    names = Dict(name => string(replace(name, COUNTER => ""), "_", digest, "_", index) for (name, index) in numbered)
    # A canonical name that is in use already would make two things one.
    used = Set{SubString{String}}(each.text for each in pieces if each isa PtxToken)
    any(name -> name in used, values(names)) && return (String(ptx), Dict{String,String}())
    return (join_pieces(pieces, names), names)
end

# The tokens, and the texts between them with as little white space as will do. Comments go.
function ptx_pieces(ptx::String)
    pieces, position = Any[], 1
    for found in eachmatch(PTX_TOKEN, ptx)
        position < found.offset && push!(pieces, SubString(ptx, position, prevind(ptx, found.offset)))
        if found[:comment] === nothing
            push!(pieces, PtxToken(found.match, found[:name] !== nothing))
        else
            push!(pieces, " ")
        end
        position = found.offset + ncodeunits(found.match)
    end
    push!(pieces, SubString(ptx, position))
    return pieces
end

function join_pieces(pieces, names)
    out, gap = IOBuffer(), ""
    for piece in pieces
        if piece isa PtxToken
            write(out, tightened(gap))
            gap = ""
            write(out, piece.isname ? get(names, piece.text, piece.text) : piece.text)
        else
            gap *= piece
        end
    end
    write(out, tightened(gap))
    return String(lstrip(String(take!(out))))
end

# With one newline or one space for all white space: the columns of comments depend on the lengths of names.
tightened(gap) = replace(replace(gap, r"\s*\n\s*" => "\n"), r"[ \t]+" => " ")

# The names that the module defines and that hold a counter, numbered in the order of their first occurrence.
function replaceable(tokens::Vector{PtxToken}, shared)
    defined, foreign = declared_names(tokens, shared)
    numbered = Dict{String,Int}()
    for token in tokens
        name = token.text
        token.isname && name in defined && !(name in foreign) && occursin(COUNTER, name) || continue
        get!(numbered, name, length(numbered) + 1)
    end
    return numbered
end

# What the module defines, and what it shares with other modules: whatever a directive of `shared` stands before.
function declared_names(tokens::Vector{PtxToken}, shared)
    defined, foreign, prototypes = Set{String}(), Set{String}(), Set{String}()
    position = 1
    while position <= length(tokens)
        position = if tokens[position].text in (".version", ".target", ".address_size", ".file")
            after_setting(tokens, position, foreign)
        else
            after_statement(tokens, position, shared, defined, foreign, prototypes)
        end
    end
    return defined, union(foreign, setdiff(prototypes, defined))
end

# `.target sm_90, debug` and its like, which no semicolon ends. Their words are not names of the module.
function after_setting(tokens, position, foreign)
    wants_value = true
    position += 1
    while position <= length(tokens)
        token = tokens[position]
        iscomma = token.text == ","
        isvalue = token.isname || isdigit(first(token.text)) || first(token.text) == '"'
        iscomma || isvalue && (wants_value || first(token.text) == '"') || break
        token.isname && push!(foreign, token.text)
        # `.file 1 "directory" "name"`: a text needs no comma before it.
        wants_value = iscomma
        position += 1
    end
    return position
end

# A statement of the module's scope: a function with its body, a prototype, a variable, a section.
function after_statement(tokens, position, shared, defined, foreign, prototypes)
    words, names, parameters = Set{SubString{String}}(), String[], String[]
    depth, initialised, body = 0, false, false
    while position <= length(tokens)
        token = tokens[position]
        position += 1
        text = token.text
        if depth == 0 && text == ";"
            break
        elseif depth == 0 && text == "{"
            position = after_braces(tokens, position)
            initialised && continue  # the values of a variable
            body = true
            break
        elseif text in ("(", "[")
            depth += 1
        elseif text in (")", "]")
            depth -= 1
        elseif text == "=" || text == ","
            initialised = text == "="
        elseif startswith(text, ".")
            depth == 0 && push!(words, text)
        elseif token.isname && !initialised
            push!(depth == 0 ? names : parameters, text)
        end
    end
    isfunction = ".func" in words || ".entry" in words
    isfunction && union!(defined, parameters)
    if any(each -> each in words, shared) || ".alias" in words
        union!(foreign, names)
    elseif isfunction
        union!(body ? defined : prototypes, names)
    elseif !(".section" in words)
        union!(defined, names)
    end
    return position
end

# Past the brace that closes the one before `position`.
function after_braces(tokens, position)
    depth = 1
    while position <= length(tokens) && depth > 0
        depth += tokens[position].text == "{" ? 1 : tokens[position].text == "}" ? -1 : 0
        position += 1
    end
    return position
end

"""
    assemble([client], ptx; arch, options = (), canonical = true, toolchain, timeout) -> Result

Compiles a PTX module to a cubin with nvJitLink, under canonical names, so that equal code of another session is a hit:
`result.names["julia_f_1234"]` is the name in the cubin; a name that is not among them has stayed. See
[`canonical_ptx`](@ref).

* `arch`: `"sm_90"`. `options`: nvJitLink's, unchanged: `["-lineinfo"]`.
* `canonical = false` leaves the PTX as it is.
"""
function assemble(client::Client, ptx::AbstractString; arch::AbstractString, options = (), canonical::Bool = true,
                  toolchain = nothing, timeout = nothing)
    text, names = canonical ? canonical_ptx(ptx) : (String(ptx), Dict{String,String}())
    return run_link(client, [("", text, :ptx)], arch, options, toolchain, :cubin, timeout, names)
end

assemble(ptx::AbstractString; keywords...) = assemble(default_client(), ptx; keywords...)
