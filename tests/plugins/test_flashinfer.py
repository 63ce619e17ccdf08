# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Modules of FlashInfer and TVM-FFI are built once per node, and never found by a build with other inputs."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest
from asked_process import ForkedProcess
from cccl_cache._ninja.commands import Command, Commands
from cccl_cache._ninja.key import Inputs
from cccl_cache._plugin.canonical import Refused
from framework_node import FOUND, MADE
from lease_client import wait_for_waiters
from patience import PATIENCE, wait_for

HERE = pathlib.Path(__file__).parent
GUIDE = HERE.parents[1] / "docs/guide-flashinfer.md"
NINJA = """#!/bin/sh
case "$1" in -v)
  echo one >> "$BUILT"
  if [ -n "$GATE" ]; then
    read -r word < "$GATE"
    [ "$word" != fail ] || exit 1
  fi
esac
exec {ninja} "$@"
"""
KERNEL = "__global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; }\n"
CALL = 'extern "C" int __tvm_ffi_scale(void*, const void*, int, void*) { RUN; return FACTOR; }\n'
BOTH = [("flashinfer", "flashinfer"), ("tvm", "tvm_ffi")]


class Process(ForkedProcess):
    """A process of flashinfer_program.py."""

    def counts(self, plugin):
        status = self.ask("status", plugin)
        assert status["on"] and not status["errors"], status
        return {name: status[name] for name in ("hits", "made", "published", "released")}

    def changes(self, *command):
        """Returns the answer, and how the counts of the plug-in have changed."""
        plugin = "flashinfer" if command[0] == "flashinfer" else "tvm_ffi"
        before = self.counts(plugin)
        answer = self.ask(*command)
        return answer, {name: count - before[name] for name, count in self.counts(plugin).items() if count != before[name]}

    def not_cached(self, plugin):
        return self.ask("status", plugin)["not_cached"]


class Node:
    """The processes of this file, which share a daemon. Each test builds modules of sources of its own."""

    def __init__(self, directory, daemon):
        self.directory, self.daemon = directory, daemon
        self._built, self._processes, self._workspaces = directory / "built", [], 0
        programs = directory / "bin"
        programs.mkdir()
        (programs / "ninja").write_text(NINJA.format(ninja=shutil.which("ninja")))
        (programs / "ninja").chmod(0o755)
        self.environment = {
            **os.environ, "CCCL_CACHE": "1", "CCCL_CACHE_SOCKET": daemon.socket, "FLASHINFER_CUDA_ARCH_LIST": "9.0a",
            "TVM_FFI_CUDA_ARCH_LIST": "9.0a", "FLASHINFER_WORKSPACE_BASE": str(directory), "HOME": str(directory),
            "BUILT": str(self._built), "PATH": f"{programs}:{os.environ['PATH']}",
            # The packages have no compiled Python. It halves the time of the next import.
            "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{os.environ['XDG_CACHE_HOME']}/python"}
        self._path = str(directory / "program")
        self._server = subprocess.Popen([sys.executable, HERE / "flashinfer_program.py", self._path], env=self.environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._server.stdout.readline() == b"ready\n"

    def start(self, count=1, **variables):
        """Starts processes with empty workspaces of their own."""
        started = []
        for _ in range(count):
            process = Process(self._path)
            self._processes.append(process)
            process.ask("set", {**self.workspaces(), **variables})
            started.append(process)
        return started

    def workspaces(self):
        self._workspaces += 1
        place = str(self.directory / f"workspace{self._workspaces}")
        return {"FLASHINFER_WORKSPACE_BASE": place, "TVM_FFI_CACHE_DIR": place}

    def built(self):
        """Returns the number of builds by ninja in all processes."""
        return len(self._built.read_text().split()) if self._built.exists() else 0

    def gate(self, name):
        path = self.directory / f"{name}.gate"
        os.mkfifo(path)
        return path

    def source(self, name, factor, cuda=False):
        """Returns a source in a directory of its own, with a header beside it."""
        place = self.directory / name / "sources"
        place.mkdir(parents=True)
        (place / "factor.h").write_text(f"#define FACTOR {factor}\n")
        source = place / ("module.cu" if cuda else "module.cc")
        call = CALL.replace("RUN", "scale<<<1, 32>>>(nullptr)" if cuda else "")
        source.write_text('#include "factor.h"\n' + (KERNEL if cuda else "") + call)
        return source

    def end(self):
        for process in self._processes:
            process.end()
        self._server.kill()
        self._server.wait()
        self._server.stdout.close()


@pytest.fixture(scope="module")
def alone(node):
    [process] = node.start()
    for plugin in ("flashinfer", "tvm_ffi"):
        process.ask("uninstall", plugin)
    return process


@pytest.fixture
def strict(make_daemon):
    """A daemon that revokes the lease of a holder that is silent for 3 s, which is longer than a busy machine delays
    a process."""
    return make_daemon("--lease-heartbeat", "1s").start()


def one_builds(node, daemon, processes, gate, *command):
    """Has the first process build, and the others wait for it."""
    before = node.built()
    processes[0].ask("set", {"GATE": gate})
    processes[0].tell(*command)
    wait_for(lambda: node.built() == before + 1, "a build that runs")
    for process in processes[1:]:
        process.tell(*command)
    wait_for_waiters(daemon, len(processes) - 1)


def test_a_module_is_built_once_by_four_processes_with_workspaces_of_their_own(node):
    before, gate, source = node.built(), node.gate("once"), node.source("four", 2, cuda=True)
    processes = node.start(4)
    one_builds(node, node.daemon, processes, gate, "flashinfer", "four", source, {})
    gate.write_text("go\n")
    made = {process.hear() for process in processes}
    assert len(made) == 1 and len(made.pop()) == 64
    assert node.built() == before + 1
    assert [process.counts("flashinfer")["hits"] for process in processes] == [0, 1, 1, 1]


@pytest.mark.parametrize("command", ["flashinfer", "tvm"])
def test_a_found_library_is_that_of_a_build_alone(node, alone, command):
    source = node.source(f"alone_{command}", 3)
    made = alone.ask(command, "alone", source, {})
    assert len(made) == 64
    assert [node.start()[0].changes(command, "alone", source, {}) for _ in range(2)] == [(made, MADE), (made, FOUND)]


def test_an_inline_module_is_built_once_whatever_the_cache_directory(node, alone):
    text = "int given(int a) { return a + 4; }"
    made = alone.ask("inline", text)
    assert len(made) == 64
    assert [node.start()[0].changes("inline", text) for _ in range(2)] == [(made, MADE), (made, FOUND)]


def test_cuda_sources_of_tvm_ffi_are_built_once(node):
    source = node.source("cuda", 4, cuda=True)
    [first], [second] = node.start(), node.start()
    made, outcome = first.changes("tvm", "cuda", source, {})
    assert len(made) == 64 and outcome == MADE
    assert second.changes("tvm", "cuda", source, {}) == (made, FOUND)


@pytest.mark.parametrize("command, plugin", BOTH)
def test_a_build_that_fails_raises_its_error_and_releases_waiting_processes(node, command, plugin):
    gate, source = node.gate(f"fails_{command}"), node.source(f"fails_{command}", 5)
    processes = node.start(3)
    one_builds(node, node.daemon, processes, gate, command, "fails", source, {})
    gate.write_text("fail\n")
    assert processes[0].hear() == "RuntimeError"
    assert {len(process.hear()) for process in processes[1:]} == {64}
    assert [process.counts(plugin)["released"] for process in processes[1:]] == [1, 1]
    processes[0].ask("set", {"GATE": None})
    assert len(processes[0].ask(command, "fails", source, {})) == 64


@pytest.mark.parametrize("command, plugin", BOTH)
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_ends_or_stops_delays_no_other_for_long(node, strict, end, command, plugin):
    gate, source = node.gate(f"{command}{end}"), node.source(f"{command}{end}", 6)
    holder, waiter = node.start(2, CCCL_CACHE_SOCKET=strict.socket)
    one_builds(node, strict, [holder, waiter], gate, command, "ends", source, {})
    holder.signal(end)
    assert len(waiter.hear()) == 64
    assert waiter.counts(plugin)["published"] == 1
    holder.signal(signal.SIGKILL)


def edit_source(source):
    source.write_text(source.read_text().replace("return FACTOR", "return 1 + FACTOR"))


def edit_header(source):
    header = source.with_name("factor.h")
    header.write_text(header.read_text().replace("FACTOR ", "FACTOR 1"))


@pytest.mark.parametrize("edit", [edit_source, edit_header])
@pytest.mark.parametrize("back", [False, True])
def test_an_edited_file_is_built_even_if_its_time_is_set_back(node, alone, edit, back):
    """In the same workspace, where ninja would keep its library, and for a process with an empty one."""
    source = node.source(f"{edit.__name__}{back}", 30 + 2 * back + (edit is edit_source))
    [first], [second] = node.start(), node.start()
    made, outcome = first.changes("flashinfer", "edited", source, {})
    assert outcome == MADE
    edit(source)
    if back:
        for each in source.parent.iterdir():
            os.utime(each, (1577836800, 1577836800))
    other, outcome = first.changes("flashinfer", "edited", source, {})
    assert other != made and outcome == MADE
    assert second.changes("flashinfer", "edited", source, {}) == (other, FOUND)
    alone.ask("set", node.workspaces())
    assert alone.ask("flashinfer", "edited", source, {}) == other


def test_a_header_in_an_include_directory_counts_and_so_does_one_that_comes_before_it(node):
    source = node.source("included", 21)
    source.write_text('#include "factor.h"\n#include <more.h>\n' + CALL.replace("RUN", "MORE"))
    first, second = source.with_name("first"), source.with_name("second")
    for place in (first, second):
        place.mkdir()
    options = {"extra_include_paths": [str(first), str(second)]}
    (second / "more.h").write_text("#define MORE\n")
    [process] = node.start()
    assert process.changes("flashinfer", "included", source, options)[1] == MADE
    (second / "more.h").write_text("#define MORE return 7\n")
    assert process.changes("flashinfer", "included", source, options)[1] == MADE
    (first / "more.h").write_text("#define MORE return 8\n")
    assert process.changes("flashinfer", "included", source, options)[1] == MADE
    assert node.start()[0].changes("flashinfer", "included", source, options)[1] == FOUND


def test_flags_variables_and_compilers_are_other_builds(node):
    source = node.source("flags", 22)
    made = set()
    cuda = pathlib.Path(os.environ["CUDA_HOME"])
    other = node.directory / "cuda"
    (other / "bin").mkdir(parents=True)
    for each in cuda.iterdir():
        if each.name != "bin":
            (other / each.name).symlink_to(each)
    for each in (cuda / "bin").iterdir():
        (other / "bin" / each.name).symlink_to(each)
    for name in ("nvcc", "ptxas"):  # nvcc looks for its tools beside its own file
        (other / "bin" / name).unlink()
        shutil.copy(cuda / "bin" / name, other / "bin")
    with open(other / "bin/ptxas", "ab") as ptxas:
        ptxas.write(b"\n")
    kernel = node.source("flags_cuda", 22, cuda=True)
    for variables, sources, options in (
            ({}, source, {}), ({}, source, {"extra_cflags": ["-DMORE=1"]}), ({"CPATH": str(source.parent)}, source, {}),
            ({"NVCC_APPEND_FLAGS": "-lineinfo"}, source, {}), ({}, kernel, {}), ({"CUDA_HOME": str(other)}, kernel, {})):
        [process], [second] = node.start(**variables), node.start(**variables)
        digest, outcome = process.changes("flashinfer", "flags", sources, options)
        assert len(digest) == 64 and outcome == MADE, (variables, options)
        assert second.changes("flashinfer", "flags", sources, options) == (digest, FOUND), (variables, options)
        made.add(digest)
    assert len(made) > 2


def test_the_directory_of_a_source_and_the_name_of_a_module_do_not_matter(node):
    source = node.source("here", 23)
    made, outcome = node.start()[0].changes("flashinfer", "here", source, {})
    assert outcome == MADE
    assert node.start()[0].changes("flashinfer", "there", node.source("there", 23), {}) == (made, FOUND)


def test_a_build_that_reads_a_file_outside_the_key_is_not_shared(node):
    source, place = node.source("outside", 24), node.directory / "included/sources/below"
    place.mkdir(parents=True)
    (place.parent / "outside.h").write_text("#define OUTSIDE\n")
    (place / "inside.h").write_text('#include "../outside.h"\n')
    source.write_text("#include <inside.h>\n" + source.read_text())
    for process in node.start(2):
        _, outcome = process.changes("tvm", "outside", source, {"extra_include_paths": [str(place)]})
        assert outcome == {}
        assert [reason.rpartition("/")[2] for reason in process.not_cached("tvm_ffi")] == ["outside.h"]


@pytest.mark.parametrize("name, option", [("machine", "-march=native"), ("plug-in", "-fplugin=none"), ("shell", "-DX=$$HOME")])
def test_a_build_with_unknown_inputs_is_left_to_the_package(node, name, option):
    source = node.source(name, 25)
    [process] = node.start()
    process.ask("set", {"FLASHINFER_EXTRA_CFLAGS": option})
    assert process.changes("flashinfer", "unknown", source, {})[1] == {}
    assert len(process.not_cached("flashinfer")) == 1


LINK = ["c++", "{object}", "-shared", "-L/var/empty", "-Wl,-rpath,/var/empty", "-lstdc++", "-o", "module.so"]


def inputs_of(place, *options):
    """Returns the inputs of a link with these options."""
    (place / "module.o").write_bytes(b"")
    words = [word.format(object=place / "module.o") for word in LINK] + list(options)
    return Inputs(Commands(str(place), [Command(words, "module.so")], "module.so"))


@pytest.mark.parametrize("options", [
    ["-Wl,--version-script=exports.map"], ["-Wl,--as-needed,--version-script,exports.map"], ["-Wl,-T,exports.map"],
    ["-Wl,-rpath,/var/empty,exports.map"], ["-Wl,-rpath,-Texports.map"], ["-T", "exports.map"],
    ["-Wl,--dynamic-list=exports.map"], ["-Wl,--just-symbols=exports.map"], ["-Xlinker", "--version-script=exports.map"],
    ["-fpass-plugin=plugin.so"], ["-fplugin=plugin.so"], ["-fprofile-use"], ["-fuse-ld=other"], ["-march=native"], ["@options"],
    ["-Xcompiler=-fPIC,-Wl,-T,exports.map"], ["-Xcompiler", "-fPIC,@options"], ["-Xcompiler", "-I/var/empty,-Texports.map"],
    ["-Xptxas=--options-file=options"], ["-L", "/var/empty"], ["-L/var,/empty"], ["-I/var,/empty"], ["-static"],
    ["-mllvm", "-load=plugin.so"]])
def test_an_option_that_may_name_a_file_is_left_to_the_package(tmp_path, options):
    inputs_of(tmp_path)
    with pytest.raises(Refused, match="the option -|the option @|the directory /"):
        inputs_of(tmp_path, *options)


@pytest.mark.parametrize("name, value", [
    ("NVCC_APPEND_FLAGS", "-Xlinker=-Texports.map"), ("NVCC_APPEND_FLAGS", "-lmore"),
    ("CCC_OVERRIDE_OPTIONS", "+-Texports.map")])
def test_a_variable_with_such_an_option_too(tmp_path, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(Refused, match="the option -Xlinker|the variable"):
        inputs_of(tmp_path)


@pytest.mark.parametrize("text", [
    'asm(".incbin \\"data\\"");', '#define H "h.h"\n#include H', '#if __has_include("h.h")\n#endif', "#embed <data>",
    "const char* made = __TIME__;"])
def test_a_source_that_depends_on_the_time_or_on_files_that_it_does_not_name_is_left_to_the_package(tmp_path, text):
    (tmp_path / "module.cc").write_text(text)
    with pytest.raises(Refused, match="a source that"):
        inputs_of(tmp_path, str(tmp_path / "module.cc"))


def test_a_source_that_is_a_link_and_includes_a_header_beside_it_is_left_to_the_package(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far/module.cc").write_text('#include "h.h"')
    (tmp_path / "module.cc").symlink_to("far/module.cc")
    with pytest.raises(Refused, match="a source that is a link"):
        inputs_of(tmp_path, str(tmp_path / "module.cc"))


@pytest.mark.parametrize("contents", [b"!<thin>\n", b"INPUT(other.a)"])
def test_a_library_that_names_other_files_is_left_to_the_package(tmp_path, contents):
    (tmp_path / "libnames.a").write_bytes(contents)
    for named in ([str(tmp_path / "libnames.a")], [f"-L{tmp_path}", "-lnames"]):
        with pytest.raises(Refused, match="libnames.a names other files"):
            inputs_of(tmp_path, *named)


def test_a_preloaded_library_is_another_build(tmp_path, monkeypatch):
    alone = inputs_of(tmp_path).fields
    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if "/libc.so" in line)
    monkeypatch.setenv("LD_PRELOAD", library)
    assert inputs_of(tmp_path).fields != alone


def test_the_options_of_the_packages_own_modules_are_served(node):
    """TVM-FFI's defaults are served in other tests, and most of FlashInfer's."""
    source = node.source("own_options", 29, cuda=True)
    options = {
        "extra_cuda_cflags": [
            "-I/var/empty", "-gencode=arch=compute_90a,code=sm_90a", "-O3", "-std=c++17", "-lineinfo", "--threads=1",
            "-use_fast_math", "-DENABLE_BF16", "-U__CUDA_NO_HALF_OPERATORS__", "--expt-extended-lambda", "-Xptxas=-O1",
            "-Xptxas=--register-usage-level=10", "--ptxas-options=-v", "-Xfatbin=-compress-all", "--fmad=true", "--ftz=false",
            "--prec-div=true", "--prec-sqrt=true", "--maxrregcount=128", "-Wno-deprecated-gpu-targets", "-Xcompiler", "-O2",
            "--device-entity-has-hidden-visibility=false", "--compress-mode=size", "-Xcompiler=-fno-schedule-insns,-Wall"],
        "extra_ldflags": ["-Wl,-rpath,/var/empty", "-Wl,--no-as-needed,-soname,module.so", "-lcublas", "-lnvrtc"]}
    [first], [second] = node.start(), node.start()
    made, outcome = first.changes("flashinfer", "own_options", source, options)
    assert len(made) == 64 and outcome == MADE, first.not_cached("flashinfer")
    assert second.changes("flashinfer", "own_options", source, options) == (made, FOUND)


def test_a_directory_that_is_up_to_date_by_itself_is_left_alone(node, alone):
    source, places = node.source("own", 26), node.workspaces()
    alone.ask("set", places)
    made = alone.ask("flashinfer", "own", source, {})
    [process] = node.start(**places)
    assert process.changes("flashinfer", "own", source, {}) == (made, {})
    assert process.not_cached("flashinfer") == {"up to date in its directory": 1}


def test_a_library_that_was_found_is_kept_by_the_plug_in_and_built_again_without_it(node, alone):
    source = node.source("kept", 27)
    made = node.start()[0].ask("flashinfer", "kept", source, {})
    [process] = node.start(**(places := node.workspaces()))
    before = node.built()
    assert [process.changes("flashinfer", "kept", source, {}) for _ in range(2)] == [(made, FOUND)] * 2
    assert node.built() == before
    edit_source(source)
    alone.ask("set", places)
    other = alone.ask("flashinfer", "kept", source, {})
    assert len(other) == 64 and other != made and node.built() == before + 1


def test_a_library_that_was_changed_is_not_kept(node, alone):
    source, places = node.source("changed", 28), node.workspaces()
    [process] = node.start(**places)
    made = process.ask("flashinfer", "changed", source, {})
    first = source.read_text()
    edit_source(source)
    alone.ask("set", places)
    assert alone.ask("flashinfer", "changed", source, {}) != made
    source.write_text(first)
    assert process.changes("flashinfer", "changed", source, {}) == (made, FOUND)


def test_a_build_in_a_directory_that_can_not_be_cleared_is_made_and_not_shared(node):
    source, places = node.source("uncleared", 45), node.workspaces()
    stuck = pathlib.Path(places["FLASHINFER_WORKSPACE_BASE"]) / "cached_ops/uncleared/.cccl-cache"
    stuck.mkdir(parents=True)
    [process], [other] = node.start(**places), node.start()
    made, outcome = process.changes("flashinfer", "uncleared", source, {})
    assert len(made) == 64 and outcome == {}
    assert process.not_cached("flashinfer") == {f"{stuck} can't be removed": 1}
    assert other.changes("flashinfer", "uncleared", source, {}) == (made, MADE)
    assert process.ask("flashinfer", "uncleared", source, {}) == made  # found, and built here all the same
    assert list(process.ask("status", "flashinfer")["errors"]) == [f"OSError: {stuck} can't be removed"]


def run(node, code, **environment):
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE * 2,
                          env={**node.environment, **node.workspaces(), **environment})
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_the_guides_example_runs_unchanged(node):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    program = node.directory / "example.py"
    program.write_text(example)
    first, second = (run(node, f"import runpy; runpy.run_path({str(program)!r})") for _ in range(2))
    assert "'made': 1" in first and "'hits': 1" in second and "'made'" not in second


@pytest.mark.parametrize("plugin, module", [("flashinfer", "flashinfer.jit.core"), ("tvm_ffi", "tvm_ffi.cpp.extension")])
def test_the_switch_tells_whether_the_plug_in_is_on(node, plugin, module):
    line = f"import sys, cccl_cache.{plugin} as plugin; print(plugin.switch.told(), {module!r} in sys.modules)"
    assert run(node, line, CCCL_CACHE="0").startswith(f"off until cccl_cache.{plugin}.install()")
    on = run(node, line)
    assert on.startswith(f"on at the import of {module}, if ") and on.endswith(f"(CCCL_CACHE_{plugin.upper()}) False\n")


def test_the_change_is_undone(node):
    [process] = node.start()
    both = ["flashinfer.jit.cpp_ext", "tvm_ffi.cpp.extension"]
    for plugin, others in (("flashinfer", both[:1]), ("tvm_ffi", both)):
        assert process.ask("uninstall", plugin)[0] == others
    for plugin, others in (("flashinfer", both[1:]), ("tvm_ffi", [])):
        own, told = process.ask("install", plugin)
        assert own == others and told.startswith("on, for ")
        assert process.ask("install", plugin) == [own, told]


@pytest.mark.parametrize("plugin, module, function, reason", [
    ("flashinfer", "flashinfer.jit.core", "run_ninja", " has no run_ninja(workdir, "),
    ("flashinfer", "flashinfer.jit.core", "JitSpecNvcc.build", ": JitSpecNvcc.build does not use run_ninja"),
    ("tvm_ffi", "tvm_ffi.cpp.extension", "build_ninja", " has no build_ninja(build_dir)"),
    ("tvm_ffi", "tvm_ffi.cpp.extension", "_build_impl", ": _build_impl does not use build_ninja")])
def test_a_release_that_differs_is_left_alone_and_the_reason_is_told(node, plugin, module, function, reason):
    [process] = node.start()
    process.ask("uninstall", plugin)
    process.ask("replace", module, function)
    _, told = process.ask("install", plugin)
    assert told.startswith("off: ") and f"differs from what is served: {module}{reason}" in told
    status = process.ask("status", plugin)
    assert not status["on"] and told == f"off: {status['why_off']}"
