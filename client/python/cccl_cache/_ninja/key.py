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
from .._plugin.compilers import compiler, library_file
from .._plugin.file_digests import contents_digest, file_digest
from .commands import Command, Commands, files_read

# A word with one of these parts has inputs that are not known here.
_UNKNOWN = re.compile(r"(^|[,=])(@|--?sysroot|-isysroot|-B|-specs|-fplugin|-fprofile|-wrapper|--options-file|-optf|-fuse-ld)|\bnative\b")
_INCLUDE = re.compile(r"(-I|-isystem=?|-iquote|-idirafter|--include-path[= ]?|--system-include[= ]?|-Xcompiler=-I)(.*)", re.DOTALL)
_HOST = re.compile(r"(-ccbin|--compiler-bindir)(=.*)?")
_BESIDE = re.compile(rb'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*"([^"\n]+)"', re.MULTILINE)
_PLAIN = {"cp", "ld"}  # programs that read no files but those that their command names
_VARIABLES = {
    "CCC_OVERRIDE_OPTIONS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GNUTARGET", "LDEMULATION",
    "LD_RUN_PATH", "LIBRARY_PATH", "SOURCE_DATE_EPOCH",
}
_PREFIXES = ("CICC", "COLLECT_", "GCC_", "NVCC_", "NVVM")


class Inputs:
    """The inputs of a build at this moment. `fields` describes them."""

    def __init__(self, build: Commands):
        self._build = build
        self._made = {name: f"@{at}" for at, name in enumerate(each.output for each in build.commands)}
        self._made.update({f"{name}.d": f"{at}.d" for name, at in list(self._made.items())})
        self._directories: dict[str, str] = {}
        self._files: dict[str, str] = {}
        variables = {name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith(_PREFIXES)}
        self.fields: dict[str, Any] = {
            "commands": tuple(self._command(each) for each in build.commands),
            # Options in a variable name inputs as those of a command do.
            "variables": tuple((name, *self._words(shlex.split(value))) for name, value in sorted(variables.items())),
        }
        beside = tuple(digest for source in list(self._files) for digest in self._beside(source))
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

    def _words(self, words: list[str]) -> Description:
        return tuple(self._word(before, word) for before, word in zip(["", *words], words))

    def _word(self, before: str, word: str) -> Description:
        if _UNKNOWN.search(word):
            raise Refused(f"the option {word}")
        if word in self._made:
            return (self._made[word],)
        if option := _INCLUDE.fullmatch(word):
            return (option[1], self._directory(option[2]) if option[2] else "")
        if (option := _INCLUDE.fullmatch(before)) and not option[2]:
            return (self._directory(word),)
        if word.startswith("-L"):
            return ("-L",)  # the libraries that are found there count
        if not word.startswith("-") and os.path.isfile(self._build.path(word)):
            return (os.path.basename(word), self._file(self._build.path(word)))
        return (word,)

    def _directory(self, name: str) -> str:
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
        names = [word[2:] for word in words if word.startswith("-l")]
        return tuple((name, self._library(program, name, places)) for name in names)

    def _library(self, program: str, name: str, places: list[str]) -> str:
        wanted = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
        for place in places:
            for each in wanted:
                if os.path.isfile(path := os.path.join(place, each)):
                    return file_digest(path)
        for each in wanted:
            if os.path.isabs(path := library_file(program, each)):
                return file_digest(path)
        raise Refused(f"the library {name}")

    def _beside(self, source: str) -> Iterator[Description]:
        """Yields the headers that a source finds beside itself, and those that these find."""
        with open(source, "rb") as file:
            names = _BESIDE.findall(file.read())
        for name in map(os.fsdecode, names):
            path = os.path.join(os.path.dirname(source), name)
            real = os.path.realpath(path)
            if os.path.isfile(path) and real not in self._files and not self._is_searched(real):
                yield name, self._file(real)
                yield from self._beside(real)

    def _is_searched(self, path: str) -> bool:
        return any(path.startswith(place + "/") for place in self._directories)
