# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# Canonical names in PTX, which are the same in each session. Julia numbers functions in the order of their compiles
# (`julia_f_1234`), so the PTX of equal code differs between sessions.

# The tokens: comments, strings, numbers, names and punctuation. A directive or a modifier (`.visible`, `.u64`) is a word
# that begins with a dot. All other text is copied.
const PTX_TOKEN = r"""
      (?<comment> //[^\n]* | /\*.*?\*/ )
    | "[^"\n]*"
    | [0-9][A-Za-z0-9_.]*
    | \.[A-Za-z0-9_\$]+
    | (?<name> [A-Za-z][A-Za-z0-9_\$]* | [_\$%][A-Za-z0-9_\$]+ )
    | [{}()\[\];,=]
    """sx

# Digits after an underscore at the end of a part of a name: the session's counter, or other digits of the same form.
const COUNTER = r"_[0-9]+(?=_|\$|$)"

struct PtxToken
    text::SubString{String}
    isname::Bool
end

"""
    canonical_ptx(ptx; keep_visible = false) -> (text, names)

Returns the PTX with canonical names, and the canonical name of each replaced name. Two modules that differ only in the
session's counters have the same text.

Only names that the module itself defines are replaced: functions, variables and parameters. A canonical name contains the
digest of the whole module, so different modules have different names. `.extern`, `.weak` and `.common` names stay, because
other modules use them too. Comments and indentation are removed. Strings and the bytes of debug sections stay. With `-g2`
those bytes spell the names, so the text still differs between sessions.

The module must not be linked with modules that refer to its names. With `keep_visible` its `.visible` names stay, for a
host that looks them up by name.
"""
function canonical_ptx(ptx::AbstractString; keep_visible::Bool = false)
    pieces = ptx_pieces(String(ptx))
    shared = keep_visible ? (".extern", ".weak", ".common", ".visible") : (".extern", ".weak", ".common")
    numbered = replaceable(PtxToken[each for each in pieces if each isa PtxToken], shared)
    isempty(numbered) && return (join_pieces(pieces, numbered), Dict{String,String}())
    blanked = Dict(name => replace(name, COUNTER => "") * "\0" * string(index) for (name, index) in numbered)
    digest = bytes2hex(SHA.sha256(join_pieces(pieces, blanked)))[1:16]
    names = Dict(name => string(replace(name, COUNTER => ""), "_", digest, "_", index) for (name, index) in numbered)
    # If the module uses a canonical name already, renaming would merge two symbols.
    used = Set{SubString{String}}(each.text for each in pieces if each isa PtxToken)
    any(name -> name in used, values(names)) && return (String(ptx), Dict{String,String}())
    return (join_pieces(pieces, names), names)
end

# Returns the tokens and the texts between them. A space replaces each comment.
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

# Replaces white space by one newline or one space, because the columns of comments depend on the lengths of names.
tightened(gap) = replace(replace(gap, r"\s*\n\s*" => "\n"), r"[ \t]+" => " ")

# Returns the names with a counter that the module defines, numbered in the order of their first occurrence.
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

# Returns the names that the module defines, and those that it shares with other modules: names with a directive of
# `shared`, and prototypes without a definition.
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

# Returns the position after a setting such as `.target sm_90, debug`. No semicolon ends it, and its words are not names of
# the module.
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

# Returns the position after a statement of the module: a function with its body, a prototype, a variable or a section.
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

# Returns the position after the brace that closes the brace before `position`.
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

Compiles a PTX module to a cubin with nvJitLink, under canonical names, so that equal code of another session is a hit.
`result.names["julia_f_1234"]` is the canonical name in the cubin. A name without an entry did not change. See
[`canonical_ptx`](@ref).

* `arch`: `"sm_90"`. `options`: nvJitLink's options, unchanged: `["-lineinfo"]`.
* `canonical = false` does not change the PTX.
"""
function assemble(client::Client, ptx::AbstractString; arch::AbstractString, options = (), canonical::Bool = true,
                  toolchain = nothing, timeout = nothing)
    text, names = canonical ? canonical_ptx(ptx) : (String(ptx), Dict{String,String}())
    return run_link(client, [("", text, :ptx)], arch, options, toolchain, :cubin, timeout, names)
end

assemble(ptx::AbstractString; keywords...) = assemble(default_client(), ptx; keywords...)
