# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Every function of NVRTC and nvJitLink, and generated sequences of calls. Under `run`, a program observes the same at
each valid or invalid call as without `run`. The daemon compiles, has all results, ends meanwhile, or is missing.
scripts/differential does this for more releases and more sequences."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
from conftest import PLACES, run_cli, wait_for
from link_calls import ALONE, compiled
from test_run import knowing, library_of

HERE = pathlib.Path(__file__).parent
INTERPOSE = HERE.parents[1] / "client/interpose"
SEED = 1
SEQUENCES = int(os.environ.get("CCCL_CACHED_TEST_SEQUENCES", "0"))  # by default each test has its own number


class Program:
    """A driver over the libraries of one installation."""

    def __init__(self, driver, toolkit, directory, count=None):
        self.root = getattr(PLACES, toolkit)
        libraries = [library_of(self.root)]
        if driver != "nvrtc_calls.py":
            libraries.append(library_of(self.root, "libnvJitLink"))
        self.words = [sys.executable, HERE / driver, *libraries, *([str(SEED), str(count)] if count else ())]
        self.environment = {"LD_LIBRARY_PATH": str(libraries[0].parent)}
        self.directory = directory

    def alone(self):
        done = subprocess.run(self.words, capture_output=True, text=True, cwd=self.directory,
                              env={"PATH": os.environ["PATH"], **self.environment})
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def under_run(self, socket, meanwhile=lambda: None):
        words = [PLACES.cli, "--socket", str(socket), "run", "--report", "--", *map(str, self.words)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory,
                              env={"PATH": os.environ["PATH"], **self.environment}) as program:
            meanwhile()
            output, report = program.communicate(timeout=1200)
        assert program.returncode == 0, report
        return output.splitlines(), report


def compare(expected, observed):
    seen, report = observed
    differing = [pair for pair in zip(expected, seen) if pair[0] != pair[1]]
    assert not differing[:5], report
    assert len(seen) == len(expected)


def functions_of(*libraries):
    """Returns the functions of the stand-ins for these libraries, in any release."""
    for library in libraries:
        table = INTERPOSE / library.lower() / f"{library}.names"
        rows = [line.split()[0] for line in table.read_text().splitlines() if line[0] != "#" and line.split()[0] != "levels"]
        # __nvJitLinkCreate_* is nvJitLinkCreate, as each release names it.
        yield from (row.removeprefix("__").removesuffix("_*") if row.endswith("_*") else row for row in rows)


@pytest.mark.parametrize("toolkit", ["cuda13", "cuda12"])
def test_every_function_behaves_like_the_real_one(make_daemon, directory, toolkit):
    program = Program("every_name_calls.py", toolkit, directory)
    daemon = knowing(make_daemon(roots=(program.root,)).start())
    expected = program.alone()
    assert set(functions_of("nvrtc", "nvJitLink")) <= {line.split()[0] for line in expected}
    for socket in (daemon.socket, daemon.socket, directory / "nothing"):
        compare(expected, program.under_run(socket))


DESTROYED = """
import ctypes, sys
library, program = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
library.nvrtcCreateProgram(ctypes.byref(program), b"", None, 0, None, None)
copy, size = ctypes.c_void_p(program.value), ctypes.c_size_t()
library.nvrtcDestroyProgram(ctypes.byref(program))
print(library.nvrtcCompileProgram(copy, 0, None), library.nvrtcGetPTXSize(copy, ctypes.byref(size)),
      library.nvrtcDestroyProgram(ctypes.byref(copy)))
"""
INVALID_PROGRAM = "4"


def test_a_program_that_was_destroyed_is_invalid(directory):
    """The real library may crash."""
    done = run_cli("--socket", directory / "nothing", "run", "--", sys.executable, "-c", DESTROYED, library_of(PLACES.cuda13))
    assert done.stdout.decode().split() == [INVALID_PROGRAM] * 3


# A program that calls the functions by number. None of the calls has a valid link.
BY_NUMBER = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.__nvJitLinkAPI.restype = ctypes.c_void_p
for number in (*range(9), 0):
    function = library.__nvJitLinkAPI(number)
    print(function and ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_void_p] * 6)(function)(*[None] * 6))
"""


def test_the_function_with_the_ninth_number_is_absent(directory):
    """A stand-in's link must not reach a real function, which would take it for its own link."""
    [standin] = pathlib.Path(PLACES.standin).parent.glob("nvJitLink-12.9/libnvJitLink.so.12")
    names = [line.split()[-1].split("@")[0] for line in
             subprocess.run(["nm", "-D", "--defined-only", standin], capture_output=True, text=True, check=True).stdout.splitlines()]
    exported = [name for name in names if "vJitLink" in name and name not in ("libnvJitLink.so.12", "__nvJitLinkAPI")]
    source = "".join(f"int {name}(void) {{ return 0; }}\n" for name in exported)
    source += "".join(f"static long f{number}(void) {{ return {number + 100}; }}\n" for number in range(9))
    source += f"void* __nvJitLinkAPI(unsigned n) {{ return ((void*[]){{{', '.join(f'f{n}' for n in range(9))}}})[n]; }}\n"
    library = directory / "libnvJitLink.so.12"
    subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", library], input=source, text=True, check=True)
    done = run_cli("--socket", directory / "nothing", "run", "--", sys.executable, "-c", BY_NUMBER, library)
    assert done.stdout.decode().split() == [*(str(number + 100) for number in range(8)), "None", "100"]


@pytest.mark.parametrize("toolkit", ["cuda13", "cuda12"])
@pytest.mark.parametrize("driver, count", [("nvrtc_calls.py", 120), ("link_calls.py", 60)])
def test_a_program_observes_the_same_results_of_random_calls_under_run(make_daemon, directory, driver, count, toolkit):
    program = Program(driver, toolkit, directory, SEQUENCES or count)
    daemon = knowing(make_daemon(roots=(program.root,)).start())
    expected = program.alone()
    assert len(expected) > count
    for socket in (daemon.socket, daemon.socket, directory / "nothing"):
        compare(expected, program.under_run(socket))


@pytest.mark.parametrize("toolkit", ["cuda13", "cuda12"])
@pytest.mark.parametrize("end", ["kill", "freeze"])
def test_a_program_observes_the_same_results_of_calls_if_the_daemon_ends_meanwhile(make_daemon, directory, end, toolkit):
    program = Program("nvrtc_calls.py", toolkit, directory, SEQUENCES or 40)
    daemon = knowing(make_daemon(roots=(program.root,)).start())

    def once_it_compiles():
        wait_for(lambda: daemon.stats()["compiles_total"] >= 3, "a few compiles")
        getattr(daemon, end)()

    observed = program.under_run(daemon.socket, once_it_compiles)
    assert "not served" in observed[1]
    compare(program.alone(), observed)


# Opens the libraries, perhaps compiles and links, loses its access to their files, and compiles and links something
# new: first a build that the daemon can serve, then one that only the real library can serve (a second compile, another
# option of links).
LOSES = """
import ctypes, hashlib, os, resource, sys
when, way, *paths = sys.argv[1:5]
nvrtc, linker = map(ctypes.CDLL, paths)

def strings(*values):
    return (ctypes.c_char_p * len(values))(*values)

def linked(contents, *options):
    link, size = ctypes.c_void_p(), ctypes.c_size_t()
    options += (b"-arch=sm_90", b"-lto")
    codes = [linker.nvJitLinkCreate(ctypes.byref(link), len(options), strings(*options)),
             linker.nvJitLinkAddData(link, 3, contents, len(contents), b"a"), linker.nvJitLinkComplete(link),
             linker.nvJitLinkGetLinkedCubinSize(link, ctypes.byref(size))]
    made = ctypes.create_string_buffer(size.value)
    return codes, linker.nvJitLinkGetLinkedCubin(link, made), hashlib.sha256(made.raw).hexdigest()

def made(number):
    source = b'extern "C" __global__ void k(float* x) { *x = __sinf(%d); }' % number
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    yield nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"a.cu", 0, None, None)
    for _ in range(2):
        yield nvrtc.nvrtcCompileProgram(program, 2, strings(b"-arch=sm_90", b"-dlto"))
        yield nvrtc.nvrtcGetLTOIRSize(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        yield nvrtc.nvrtcGetLTOIR(program, buffer), linked(buffer.raw), linked(buffer.raw, b"-maxrregcount=32")

INPUT = open(sys.argv[5], "rb").read()
if when == "compiled":
    print(*made(1))
if way == "chroot":
    os.chroot(sys.argv[6] + "/empty")
    os.chdir("/")
elif way == "another user":
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(54321, 54321, 54321)
elif way == "no descriptor left":
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    try:
        while True: os.dup(0)
    except OSError: pass
elif way == "another release":
    for name, other in zip(("libnvrtc.so.12", "libnvJitLink.so.12"), sys.argv[7:]):
        os.unlink(f"{sys.argv[6]}/{name}")
        os.symlink(other, f"{sys.argv[6]}/{name}")
major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
print(nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), major.value, minor.value)
print(nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)), count.value)
print(ctypes.string_at(ctypes.cast(nvrtc.nvrtcGetErrorString, ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int))(6)))
print(linked(INPUT))
print(*made(2))
"""
@pytest.fixture(scope="module")
def toolkit():
    """Copies of the libraries of CUDA 12, and LTO-IR of their compiler."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        nvrtc = library_of(PLACES.cuda12)
        for each in (nvrtc, library_of(PLACES.cuda12, "libnvJitLink"), *nvrtc.parent.glob("libnvrtc-builtins.so.*")):
            shutil.copy(each, place)
        made = compiled(ctypes.CDLL(str(nvrtc)), ALONE, [b"-arch=sm_90", b"-dlto"], "LTOIR")
        pathlib.Path(place, "input.ltoir").write_bytes(made)
        yield pathlib.Path(place)


@pytest.mark.parametrize("way", ["chroot", "another user", "no descriptor left", "another release"])
def test_a_program_that_loses_its_access_to_the_libraries_works_as_without_run(make_daemon, directory, toolkit, way):
    daemon = knowing(make_daemon(roots=(PLACES.cuda12,)).start())
    others = [library_of(PLACES.cuda13, name) for name in ("libnvrtc", "libnvJitLink")]

    def installed():
        place = pathlib.Path(tempfile.mkdtemp(dir=toolkit))  # other users may not search it
        for each in toolkit.glob("*.*"):
            os.link(each, place / each.name)
        (place / "empty").mkdir()
        return place

    def words(when, place, below):
        libraries = [f"{below}libnvrtc.so.12", f"{below}libnvJitLink.so.12"]
        return [sys.executable, "-c", LOSES, when, way, *libraries, place / "input.ltoir", place, *others]

    for when, ways in (("opened", (("audit", daemon.socket), ("audit", directory / "nothing"))),
                       ("compiled", (("audit", daemon.socket), ("preload", daemon.socket)))):
        place = installed()
        expected = subprocess.run(words(when, place, f"{place}/"), capture_output=True, check=True,
                                  env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(place)}).stdout
        for how, socket in ways:
            place = installed()
            done = run_cli("--socket", socket, "run", "--how", how, "--", *words(when, place, "" if how == "preload" else f"{place}/"),
                           environment={"LD_LIBRARY_PATH": str(place)})
            assert (when, how, done.stdout.decode()) == (when, how, expected.decode())
