# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines of nvcc in a project, and what a run of one does: its status, its messages, and the files that it leaves."""

import contextlib
import os
import pathlib
import re
import shlex
import stat
from typing import NamedTuple

from standin import TIME

VALUE = """
#define VALUE {value}
#ifdef WARNED
#warning here
#endif
"""
SOURCE = """
#include <value.h>
#include "beside.h"
#if __has_include(<maybe.h>)
#include <maybe.h>
#endif
#ifdef ASSEMBLY_ERROR
#define ASSEMBLY asm("no_such_instruction;");
#else
#define ASSEMBLY
#endif
__global__ void {name}_kernel(float* p) {{ p[threadIdx.x] += VALUE; ASSEMBLY }}
int {name}() {{ return VALUE + BESIDE; }}
#ifdef LAUNCHED
void {name}_launch(float* p) {{ {name}_kernel<<<1, 32>>>(p); }}
#endif
#ifdef DEVICE_ERROR
__device__ int {name}_wrong() {{ return no_such_name; }}
#endif
#if defined(HOST_ERROR) && !defined(__CUDA_ARCH__)
int {name}_wrong() {{ return no_such_name; }}
#endif
#ifdef UNUSED
static void {name}_unused() {{ int x; }}
#endif
"""
FILES = {
    "a.cu": SOURCE.format(name="a"),
    "b.cu": SOURCE.format(name="b"),
    "host.cpp": "int main() { return 0; }\n",
    "text": SOURCE.format(name="text"),
    "beside.h": "#define BESIDE 1\n",
    "odd place/\u00fc a.cu": SOURCE.format(name="odd"),
    "odd place/beside.h": "#define BESIDE 2\n",
    "second/value.h": VALUE.format(value=1),
    "includes.rsp": "-Isecond -Ifirst\n",
    "words.rsp": "-ptx a.cu\n-o out/a.ptx -Ifirst\t-Isecond",
    "quoted.rsp": '-DX="a b"\n',
    "nested.rsp": "-c a.cu -optf includes.rsp\n",
    "elsewhere/a.cu": SOURCE.format(name="elsewhere"),
    "elsewhere/beside.h": "#define BESIDE 3\n",
}
DIRECTORIES = ["first", "out", "out/odd \u00fc", "kept", "temporary"]
LINKS = {"link.cu": "a.cu", "linked": "second", "elsewhere/first": "../first", "elsewhere/second": "../second"}


class Line(NamedTuple):
    """A command line. `how` is "kept", "failed", "no compile", or the beginning of the refusal of a run that is
    left to nvcc ("nvcc: ..."). `differs`: two outputs of nvcc itself differ by more than temporary names."""
    words: str
    how: str = "kept"
    place: str = "."
    read: str = None
    variables: dict = {}
    differs: bool = False


HEADERS = " -Ifirst -Isecond"
COMMON = HEADERS + " -arch=sm_90"
OBJECT = "-c a.cu -o a.o" + COMMON
PTX = "-ptx a.cu -o a.ptx -arch=compute_90" + HEADERS  # runs no host compiler, which takes most of the time
LEFT = "nvcc: "
LINES = {
    # Phases and outputs.
    "an object": Line("-c a.cu" + COMMON),
    "several objects": Line("-c a.cu host.cpp -odir out" + COMMON),
    "host code": Line("-c host.cpp -o out/host.o -include second/value.h -include beside.h"),
    "a cubin": Line("--cubin -odir out a.cu" + COMMON),
    "a fatbin of two architectures": Line("-fatbin a.cu -o made -gencode=arch=compute_80,code=sm_80 --threads 2 "
                                          "-gencode=arch=compute_90,code=[sm_90,compute_90]" + HEADERS),
    "PTX of two texts": Line("-ptx a.cu b.cu --use_fast_math" + COMMON),
    "LTO-IR": Line("-ltoir a.cu -o made -gencode arch=compute_90,code=lto_90" + HEADERS),
    "OptiX-IR": Line("-optix-ir a.cu -o made" + HEADERS),
    "a shared library": Line("-shared -Xcompiler -fPIC a.cu -o out/liba.so -cudart=none -nodlink -Xlinker -s" + COMMON),
    "a program": Line("a.cu host.cpp -DLAUNCHED" + COMMON),
    "a program of relocatable code": Line("-rdc=true a.cu host.cpp -o out/program -DLAUNCHED" + COMMON),
    # Options that change the code.
    "relocatable": Line("-dc a.cu -o a.o -gencode arch=compute_90,code=sm_90 -O3 -std=c++17 -lineinfo" + HEADERS),
    "linked late": Line("-dc a.cu -o a.o -gencode arch=compute_90,code=lto_90" + HEADERS),
    "for debuggers": Line(OBJECT + " -g -G -O0", differs=True),
    "as PyTorch": Line(OBJECT + " --expt-relaxed-constexpr --expt-extended-lambda -std=c++17 -O3 --use_fast_math "
                       "--compiler-options '-fPIC -Wall' -D_GLIBCXX_USE_CXX11_ABI=1 -DNAME='\"a\"' -MMD -MF out/a.o.d"),
    "as FlashInfer": Line("--generate-dependencies-with-compile --dependency-output a.o.d -Ifirst -isystem second -D_X=1 "
                          "-std=c++17 --threads=1 -use_fast_math --expt-relaxed-constexpr --compiler-options=-fPIC "
                          "-static-global-template-stub=false -Xfatbin=-compress-all --compress-mode=size "
                          "-gencode=arch=compute_90a,code=sm_90a -O3 -c a.cu -o a.o"),
    "as CMake": Line("-forward-unknown-to-host-compiler --options-file includes.rsp -fPIC -arch=sm_90 -MD -MT a.o -MF a.o.d "
                     "-x cu -c a.cu -o a.o"),
    "words with a space": Line(OBJECT + " -DX='a b' -Xcompiler '\"-DY=a b\"' -Xcompiler=-O1,-Wextra --compiler-options '-O2 -DZ'"),
    "options of variables": Line("a.cu -arch=sm_90", variables={
        "NVCC_PREPEND_FLAGS": "-Isecond -ptx", "NVCC_APPEND_FLAGS": "-o out/a.ptx", "CPATH": "first"}),
    # Response files.
    "a response file": Line("--options-file words.rsp -arch=sm_90"),
    "a response file within one": Line("-optf nested.rsp -arch=sm_90", LEFT + "-optf"),
    "a quoted response file": Line(PTX + " -optf quoted.rsp", LEFT + "response file"),
    "a response file that is missing": Line("-optf no.rsp -c a.cu", LEFT + "response file"),
    # Lists of headers.
    "a list": Line(OBJECT + " -MD"),
    "a list of an output elsewhere": Line("-ptx a.cu -o out/a.b.ptx -MMD" + COMMON),
    "lists by default names": Line("-ptx a.cu b.cu -odir out -MD" + COMMON),
    "a list elsewhere": Line(PTX + " -MMD -MF out/list -MT target -MP"),
    "a list alone": Line("-M a.cu" + COMMON, LEFT + "-M"),
    "a list alone in a file": Line("-MM a.cu -o out/list" + COMMON, LEFT + "-MM"),
    # Names of files.
    "odd names": Line("-c 'odd place/\u00fc a.cu' -o 'out/odd \u00fc/\u00fc a.o' -MD" + COMMON),
    "links": Line("-cubin link.cu -o a.cubin -lineinfo -Ifirst -Ilinked -arch=sm_90 -MD"),
    "a directory above": Line("-ptx ../work/./a.cu -o out/../a.ptx -I../work/first -Iout/../linked/../second -arch=sm_90 -MD"),
    "absolute names": Line("-ptx {work}/a.cu -o {work}/out/a.ptx -I{work}/first -I{work}/second -arch=sm_90 -MD"),
    "another directory": Line(OBJECT + " -MD -lineinfo", place="elsewhere"),
    "a directory that is missing": Line("-ptx a.cu -o no/a.ptx" + COMMON, "failed"),
    # Messages.
    "warnings of all steps": Line(OBJECT + " -DWARNED -DUNUSED -Xcompiler -Wall"),
    "figures of the assembler": Line("-cubin a.cu -Xptxas -v --resource-usage" + COMMON),
    "warnings as errors": Line(PTX + " -DUNUSED -Werror all-warnings", "failed"),
    "commands": Line(OBJECT + " -dryrun", "no compile"),
    "commands and outputs": Line(PTX + " -v", LEFT + "-v"),
    "the release": Line("--version", "no compile"),
    # Errors.
    "an error of the device code": Line(PTX + " -DDEVICE_ERROR", "failed"),
    "an error of the host code": Line(OBJECT + " -DHOST_ERROR -MD", "failed"),
    "an error of the assembler": Line("-cubin a.cu -DASSEMBLY_ERROR" + COMMON, "failed"),
    "an error of the linker": Line("a.cu -o out/program" + COMMON, "failed"),
    "a header that is missing": Line("-ptx a.cu -arch=sm_90", "failed"),
    "a text that is missing": Line("-c no.cu", LEFT + "source"),
    "an unknown option": Line(PTX + " --no-such-option", LEFT + "--no-such-option"),
    "an unknown architecture": Line("-ptx a.cu -arch=sm_1" + HEADERS, "failed"),
    "two phases": Line("-c -ptx a.cu" + COMMON, LEFT + "two phases"),
    "two outputs": Line(PTX + " -o b.o", LEFT + "two -o"),
    # Other uses.
    "preprocessed text": Line("-E a.cu" + COMMON, LEFT + "-E"),
    "preprocessed text in a file": Line("-E a.cu -o out/a.ii" + COMMON, LEFT + "-E"),
    "files that stay": Line("-ptx a.cu -keep -keep-dir kept" + COMMON, LEFT + "-keep"),
    "a text by its language": Line("-x cu text -ptx -o a.ptx" + COMMON, LEFT + "text"),
    "standard input": Line("-x cu - -ptx -o a.ptx" + COMMON, LEFT + "-", read="#include <value.h>\n__device__ int value = VALUE;\n"),
    "the null device": Line("-cubin a.cu -o /dev/null" + COMMON, LEFT + "output /dev/null"),
    "a library of objects": Line("-lib host.cpp -o out/liba.a", LEFT + "-lib"),
    "a device link": Line("-dlink -rdc=true a.cu -o out/linked.o" + COMMON, LEFT + "-dlink"),
    "a run": Line("-run host.cpp -o out/program", LEFT + "-run"),
    "this machine's processor": Line("-c host.cpp -Xcompiler -march=native", LEFT + "-march=native"),
    "the time": Line(PTX + " -DX=__TIME__", LEFT + "-DX=__TIME__"),
}


class Done(NamedTuple):
    """What a run has done. `files` has the mode and the contents of each file that it left, without temporary names."""
    status: int
    out: bytes
    err: bytes
    files: dict


TEMPORARY = re.compile(rb"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}|(?<=/)cc[0-9A-Za-z]{6}(?=\.)")


def without_temporary_names(text):
    return TEMPORARY.sub(b"T", TIME.sub(b"", text))


class Project:
    """A directory that nvcc works in, with the files that the lines name."""

    def __init__(self, toolkit):
        self.toolkit = toolkit
        self.work = toolkit.work
        for directory in DIRECTORIES:
            (self.work / directory).mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (self.work / name).parent.mkdir(exist_ok=True)
            (self.work / name).write_text(text)
        for name, target in LINKS.items():
            (self.work / name).symlink_to(target)
        self._own = self.own = self._names()

    def _names(self):
        return {file.relative_to(self.work) for file in self.work.rglob("*") if not file.is_dir()}

    def remove_products(self):
        for name in self._names() - self.own:
            (self.work / name).unlink()

    def words(self, line):
        return [word.format(work=self.work) for word in shlex.split(line.words)]

    def done(self, line, said):
        """Returns what a run that has ended has done."""
        files = {}
        for name in self._names() - self.own:
            file = self.work / name
            contents = file.read_bytes()[:4] if line.differs else without_temporary_names(file.read_bytes())
            files[os.fsdecode(without_temporary_names(os.fsencode(name)))] = stat.filemode(file.lstat().st_mode), contents
        return Done(said.status, without_temporary_names(said.out), without_temporary_names(said.err), files)

    def run(self, line, by):
        """Runs a line by a function of the toolkit, such as alone(), in a project without its products."""
        self.remove_products()
        return self.done(line, by(*self.words(line), place=line.place, read=line.read, **line.variables))

    def start(self, line):
        """Starts a line by the launcher, in a session of its own."""
        return self.toolkit.start(*self.words(line), place=line.place, read=line.read, **line.variables)

    @contextlib.contextmanager
    def changed(self, name, text):
        """Gives a file another text. None: removes it. The former text is back afterwards."""
        file = self.work / name
        before = file.read_text() if file.exists() else None
        self._set(file, text)
        self.own = self._own | {file.relative_to(self.work)}
        yield
        self._set(file, before)
        self.own = self._own

    @staticmethod
    def _set(file, text):
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_text(text)

    def temporary_files(self):
        return list((self.work / "temporary").iterdir())

    @staticmethod
    def processes_of(group):
        """Returns the processes of a process group that have not ended."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, _, its_group = process.read_text().rpartition(")")[2].split()[:3]
                if int(its_group) == group and state != "Z":
                    found.append(process.parent.name)
        return found


def check_report(line, report, again):
    """Checks that the run was kept, left to nvcc or failed, as the line says. `again`: there was an equal run before."""
    if line.how == "kept":
        assert report["refusal"] == report["uncacheable_reason"] == ""
        assert not again or (report["hits"], report["calls"]) == (1, 1)
    elif line.how == "no compile":
        assert report["calls"] == 0
    elif line.how == "failed":
        assert report["failed"] > 0
    else:
        assert report["refusal"].startswith(line.how)
        assert report["forwarded"]["call not served"] > 0
