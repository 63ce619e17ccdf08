# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a build by ninja: all that decides the library.

The commands count by their words. A path in them gives way to the contents of its file or directory, so the build's own
directory does not count. Directories in which compilers search for headers count as a whole, those of the system too:
a header that appears in an earlier directory is another key.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import Any, Iterator, Optional

from .._plugin.canonical import Description, Refused
from .._plugin.compilers import compiler, library_file, uses_time, variables
from .._plugin.file_digests import contents_digest, file_digest
from .commands import Command, Commands, files_read

# Options that name no file, or whose next word names it: words that are no options count as files. Another option may have
# inputs that are not known here. ninja tells of headers after a build, but not of the files that a linker reads.
_PLAIN_OPTION = re.compile(
    r"-[DU].*|-O\w*|-g[0-3]?|-ggdb[0-3]?|-w|-W(?![alp]$)[\w+-]*(=[\w-]*)?|-m(?!llvm)[\w.+-]+(=[\w.+-]+)?|"
    r"--?std(=[\w+]+)?|-[corstvx]|-MM?D|-M[FTQ]|-include|-pipe|-pthread|-rdynamic|-shared|-ansi|-pedantic(-errors)?|"
    # of the host compiler
    r"-f(no-[\w-]+|PIC|pic|PIE|pie|aligned-new|associative-math|asynchronous-unwind-tables|char8_t|concepts|coroutines|"
    r"data-sections|exceptions|fast-math|finite-math-only|function-sections|inline-functions|math-errno|merge-all-constants|"
    r"omit-frame-pointer|openmp|openmp-simd|permissive|reciprocal-math|rtti|schedule-insns2?|short-enums|signed-char|"
    r"sized-deallocation|stack-protector(-all|-strong)?|strict-aliasing|trapping-math|tree-vectorize|unroll-loops|"
    r"unsafe-math-optimizations|unsigned-char|visibility-inlines-hidden|wrapv)|"
    r"-f(abi-version|constexpr-[\w-]+|diagnostics-color|fp-contract|max-errors|template-depth|tls-model|visibility)"
    r"=[\w-]+|"
    # of the linker
    r"-Wl((,--?rpath|,--?soname|,-h)[,=](?!-)[^,@]+|,-z,[\w-]+(=\w+)?|,-O\d|,-s|,-S|,-x|,-Bsymbolic(-functions)?|,-E|"
    r",--(no-)?(allow-shlib-undefined|as-needed|gc-sections|whole-archive)|,--no-undefined|,--(build-id|hash-style)(=\w+)?|"
    r",--exclude-libs[,=][\w.:]+|,--(export-dynamic|strip-all|strip-debug)|,--(disable|enable)-new-dtags)+|"
    # of nvcc and its parts
    r"-X(compiler|cudafe|fatbin|ptxas)|(-ccbin|--compiler-bindir)(=.*)?|-dc|-G|--device-debug|-t=?\d*|--threads(=\d+)?|"
    r"-(arch|code|gencode)|--(gpu-architecture|gpu-code|generate-code)|"
    r"--?(arch|code|gencode|gpu-architecture|gpu-code|generate-code)=[\w,=\[\]\"]+|"
    r"--?(default-stream|compress-mode|cudart|diag[_-](error|suppress|warn)|split-compile|x)(=[\w,+#-]+)?|"
    r"--?(device-entity-has-hidden-visibility|extensible-whole-program|fmad|ftz|maxrregcount|prec-div|prec-sqrt|rdc|"
    r"relocatable-device-code|static-global-template-stub|use_fast_math)(=\w+)?|"
    r"--?(expt-extended-lambda|expt-relaxed-constexpr|extended-lambda|extra-device-vectorization|generate-line-info|lineinfo|"
    r"res-usage|resource-usage|restrict)|--generate-dependencies-with-compile|--dependency-output|--output-file|"
    r"--?compress-all|--display_error_number|--?(verbose|warn-[\w-]+)|"
    r"--?(allow-expensive-optimizations|def-load-cache|def-store-cache|dlcm|dscm|maxntid|minnctapersm|opt-level|"
    r"register-usage-level)=\w+", re.DOTALL)
_MACHINE = re.compile(r"\bnative\b")
# An option that hands words, with commas between them, to a part of nvcc.
_HANDED = re.compile(r"(-X(?:compiler|cudafe|fatbin|ptxas)|--(?:compiler|ptxas)-options)(?:=(.*))?", re.DOTALL)
_LIBRARY = re.compile(r"-l(?!ineinfo$)(.+)", re.DOTALL)
_INCLUDE = re.compile(
    r"(-I|-isystem=?|-iquote|-idirafter|--include-path[= ]?|--system-include[= ]?|-Xcompiler=-I)(.*)", re.DOTALL)
_HOST = re.compile(r"(-ccbin|--compiler-bindir)(=.*)?")
_BESIDE = re.compile(rb'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*"([^"\n]+)"', re.MULTILINE)
# What makes a text's result depend on a file that neither its includes nor ninja name.
_UNNAMED = re.compile(
    rb"\.incbin|__has_(include|embed)|^[ \t]*#[ \t]*((include|include_next|import)[ \t]+[A-Za-z_]|embed\b)", re.MULTILINE)
_BINARY = (b"\x7fELF", b"!<arch>\n")
_LINKED = re.compile(r".+\.(a|so)(\.[\d.]+)?", re.DOTALL)
_PLAIN = {"cp", "ld"}  # programs that read no files but those that their command names


class Inputs:
    """The inputs of a build at this moment. `fields` describes them."""

    def __init__(self, build: Commands):
        self._build = build
        self._made = {name: f"@{at}" for at, name in enumerate(each.output for each in build.commands)}
        self._made.update({f"{name}.d": f"{at}.d" for name, at in list(self._made.items())})
        self._directories: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._named: list[str] = []  # files in the commands, as they are named
        self.fields: dict[str, Any] = {
            "commands": tuple(self._command(each) for each in build.commands),
            # Options in a variable name inputs as those of a command do.
            "variables": tuple((name, *self._variable(name, value)) for name, value in variables()),
            "preloaded": tuple(map(file_digest, filter(os.path.isfile, re.split("[ :]", os.environ.get("LD_PRELOAD", ""))))),
        }
        beside = tuple(digest for source in list(self._named) for digest in self._beside(source))
        self.fields["beside"] = beside

    def unknown_file(self) -> Optional[str]:
        """Returns a file that the build has read and that the fields do not cover, or None."""
        for path in files_read(self._build.directory):
            real = os.path.realpath(path)
            if real not in self._files and not self._is_searched(real):
                return path
        return None

    def _command(self, command: Command) -> Description:
        words = list(command.words)
        programs = []
        # A compiler may stand behind its launcher.
        while words and words[0] not in self._made and (program := shutil.which(words[0])):
            programs.append(program)
            words.pop(0)
        if not programs:
            raise Refused(f"the program {words[0] if words else ''}")
        return (*map(file_digest, programs), self._compiler(programs[-1], words), self._words(words),
                self._libraries(programs[-1], words))

    def _compiler(self, program: str, words: list[str]) -> Description:
        if os.path.basename(program) in _PLAIN:
            return ()
        host = tuple(part for at, word in enumerate(words) if (option := _HOST.fullmatch(word))
                     for part in ([word] if option[2] else words[at : at + 2]))
        found = compiler(program, host)
        if found is None:
            raise Refused(f"the program {os.path.basename(program)}")
        return (found.version, tuple(map(contents_digest, found.files)), tuple(map(self._directory, found.includes)))

    def _variable(self, name: str, value: str) -> Description:
        words = shlex.split(value)
        # The libraries are not looked for, and the edits of options are in a language of their own.
        if name == "CCC_OVERRIDE_OPTIONS" or any(word.startswith("-L") or _LIBRARY.fullmatch(word) for word in words):
            raise Refused(f"the variable {name}")
        return self._words(words)

    def _words(self, words: list[str]) -> Description:
        return tuple(self._word(before, word) for before, word in zip(["", *words], words))

    def _word(self, before: str, word: str) -> Description:
        if word in self._made:
            return (self._made[word],)
        if option := _INCLUDE.fullmatch(word):
            return (option[1], self._directory(option[2]) if option[2] else "")
        if (option := _INCLUDE.fullmatch(before)) and not option[2]:
            return (self._directory(word),)
        if word.startswith("-L") and word != "-L" and "," not in word:
            return ("-L",)  # the libraries that are found there count
        if not (_LIBRARY.fullmatch(word) or self._is_plain(before, word)) or _MACHINE.search(word):
            raise Refused(f"the option {word}")
        if not word.startswith("-") and os.path.isfile(self._build.path(word)):
            path = self._build.path(word)
            self._named.append(path)
            return (os.path.basename(word), _linked_file(path) if _LINKED.fullmatch(word) else self._file(path))
        return (word,)

    def _is_plain(self, before: str, word: str) -> bool:
        """Returns whether a word names no file, or the file alone."""
        handed, after = _HANDED.fullmatch(word), _HANDED.fullmatch(before)
        if after and after[2] is None:
            return all(map(_PLAIN_OPTION.fullmatch, word.split(",")))
        if handed:
            return handed[2] is None or all(map(_PLAIN_OPTION.fullmatch, handed[2].split(",")))
        return _PLAIN_OPTION.fullmatch(word) is not None if word.startswith("-") else not word.startswith("@")

    def _directory(self, name: str) -> str:
        if "," in name:
            raise Refused(f"the directory {name}")  # nvcc finds several in it, or other options
        real = os.path.realpath(self._build.path(name))
        if real not in self._directories:
            self._directories[real] = contents_digest(real) if os.path.isdir(real) else ""
        return self._directories[real]

    def _file(self, path: str) -> str:
        real = os.path.realpath(path)
        if real not in self._files:
            self._files[real] = file_digest(real)
        return self._files[real]

    def _libraries(self, program: str, words: list[str]) -> Description:
        """Returns the names and contents of the libraries that a link names."""
        places = [self._build.path(word[2:]) for word in words if word.startswith("-L")]
        names = [library[1] for word in words if (library := _LIBRARY.fullmatch(word))]
        return tuple((name, self._library(program, name, places)) for name in names)

    def _library(self, program: str, name: str, places: list[str]) -> str:
        wanted = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
        for place in places:
            for each in wanted:
                if os.path.isfile(path := os.path.join(place, each)):
                    return _linked_file(path)
        for each in wanted:
            if os.path.isabs(path := library_file(program, each)):
                return _linked_file(path)
        raise Refused(f"the library {name}")

    def _beside(self, source: str) -> Iterator[Description]:
        """Yields the headers that a source finds beside itself, and those that these find."""
        with open(source, "rb") as file:
            text = file.read()
        if text.startswith(_BINARY):
            return
        names = _BESIDE.findall(text)
        if uses_time(text) or _UNNAMED.search(text) or (names and os.path.islink(source)):  # a compiler looks beside the link
            raise Refused("a source that is a link, or whose result depends on the time or on files that it does not name")
        for name in map(os.fsdecode, names):
            path = os.path.join(os.path.dirname(source), name)
            real = os.path.realpath(path)
            if os.path.isfile(path) and real not in self._files and not self._is_searched(real):
                yield name, self._file(real)
                yield from self._beside(path)

    def _is_searched(self, path: str) -> bool:
        return any(path.startswith(place + "/") for place in self._directories)


def _linked_file(path: str) -> str:
    """Returns the digest of a library. Raises Refused for a text of the linker and a thin archive, which name other files."""
    with open(path, "rb") as file:
        if not file.read(8).startswith(_BINARY):
            raise Refused(f"the library {os.path.basename(path)} names other files")
    return file_digest(path)
