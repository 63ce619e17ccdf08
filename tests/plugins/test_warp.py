# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of Warp are compiled once per node, and never found by a compile with other inputs."""

import importlib.util
import mmap
import os
import pathlib
import re
import shutil
import signal

import cccl_cache.warp
import pytest
from cccl_cache.warp import _release
from framework_node import FOUND, MADE, FrameworkNode, changed, changes, counts
from lease_client import wait_for_waiters
from patience import wait_for

HERE = pathlib.Path(__file__).parent
GUIDE = HERE.parents[1] / "docs/guide-warp.md"
SOURCE = '''
static __device__ int count;
extern "C" __global__ void scale(float* a) {{
  a[threadIdx.x] = sqrtf(a[threadIdx.x]) / FACTOR + {number};
  ++count;
}}
'''


class Node(FrameworkNode):
    """Each test compiles a kernel with another number."""

    program = "warp_program.py"

    def variables(self):
        return {"WARP_CACHE_PATH": str(self.directory / f"cache{len(self._processes)}")}

    def kernels(self, number, name="", *changes, shifted=0):
        """Returns a file with a kernel of this number, in a directory of its own."""
        text = (HERE / "warp_kernels.py").read_text()
        return self.write(f"{number}{name}/kernels.py", changed(text, ("constant(0)", f"constant({number})"), *changes,
                                                                shifted=shifted))

    def source(self, number, name="", text="#define FACTOR 2", file="kernel.cu"):
        """Returns a CUDA source with a kernel of this number, in a directory of its own."""
        return self.write(f"{number}{name}/{file}", f"{text}\n{SOURCE.format(number=number)}")

    def include(self, name, headers):
        """Returns a directory with these headers."""
        place = self.directory / name
        for header, text in headers.items():
            (place / header).parent.mkdir(parents=True, exist_ok=True)
            (place / header).write_text(text)
        return place


def test_a_module_is_compiled_once_by_four_processes(node, four):
    file, before, gate = node.kernels(3), node.compiled(), node.gate("once")
    four[0].tell("gated", file, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[1:]:
        process.tell("compile", file)
    wait_for_waiters(node.daemon, 3)
    pathlib.Path(gate).write_text("go")
    made = {process.hear() for process in four}
    assert len(made) == 1 and len(made.pop()) == 64
    assert node.compiled() == before + 1


OPTIONS = ((), ("lineinfo=true",), ('mode="debug"',), ("ptx=true",))


def test_a_found_cubin_is_that_of_an_uncached_compile(node, four):
    [alone] = node.start(CCCL_CACHE_WARP="0")
    file, include = node.kernels(4), node.include("factors", {"factor.h": "#define FACTOR 4\n"})
    made = set()
    for options in (*OPTIONS, (f'include="{include}"',)):
        own = alone.ask("compile", file, *options)
        assert len(own) == 64
        for process, outcome in zip(four, (MADE, FOUND)):
            assert changes(process, "compile", file, *options) == (own, outcome), options
        made.add(own)
    assert len(made) == len(OPTIONS) + 1
    assert not alone.ask("status")["on"]
    alone.end()


def test_warps_own_cache_is_asked_first(node, four):
    file, into = node.kernels(5), node.directory / "own"
    made, outcome = changes(four[0], "compile", file, f'into="{into}"')
    assert outcome == MADE
    assert changes(four[1], "compile", file, f'into="{into}"') == (made, {})


def test_a_compile_that_fails_raises_its_error_and_releases_waiting_processes(node, four):
    file, before, gate = node.kernels(6), node.compiled(), node.gate("fails")
    four[0].tell("gated", file, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    four[1].tell("compile", file)
    wait_for_waiters(node.daemon, 1)
    pathlib.Path(gate).write_text("fail")
    assert four[0].hear() == "Exception: CUDA kernel build failed with error code 6"
    assert len(four[1].hear()) == 64
    assert counts(four[1])["released"] == 1
    assert changes(four[0], "compile", file)[1] == MADE


@pytest.mark.parametrize("number, end", [(7, signal.SIGTERM), (29, signal.SIGKILL)])
def test_a_process_that_ends_delays_no_other(node, four, number, end):
    file, before, gate = node.kernels(number), node.compiled(), node.gate(f"ends{number}")
    [holder] = node.start()
    holder.tell("gated", file, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    four[0].tell("compile", file)
    wait_for_waiters(node.daemon, 1)
    holder.signal(end)
    assert len(four[0].hear()) == 64
    assert changes(four[1], "compile", file)[1] == FOUND


def test_a_stopped_process_delays_others_for_a_bounded_time(directory, make_daemon):
    strict = Node(directory, make_daemon("--lease-heartbeat", "1s").start())
    try:
        file, gate = strict.kernels(8), strict.gate("stopped")
        holder, waiter = strict.start(2)
        holder.tell("gated", file, gate)
        wait_for(lambda: strict.compiled() == 1, "a compile that runs")
        waiter.tell("compile", file)
        wait_for_waiters(strict.daemon, 1)
        holder.signal(signal.SIGSTOP)
        made = waiter.hear()
        assert len(made) == 64 and counts(waiter)["published"] == 1
        holder.signal(signal.SIGCONT)
        pathlib.Path(gate).write_text("go")
        assert holder.hear() == made
    finally:
        strict.end()


def test_the_directory_and_the_lines_of_a_source_do_not_matter(node, four):
    made = four[0].ask("compile", node.kernels(9))
    moved = node.kernels(9, "moved", shifted=3)
    assert changes(four[1], "compile", moved) == (made, FOUND)
    assert changes(four[0], "compile", moved) == (made, FOUND)


def test_the_directory_and_the_lines_of_a_function_do_not_matter(node, four):
    function = ("@wp.kernel", "@wp.func\ndef root(x: float):\n    return wp.sqrt(x)\n\n\n@wp.kernel"), ("wp.sqrt(a", "root(a")
    made = four[0].ask("compile", node.kernels(44, "function", *function))
    assert changes(four[1], "compile", node.kernels(44, "elsewhere", *function, shifted=3)) == (made, FOUND)


def test_lines_matter_with_line_information(node, four):
    file, shifted = node.kernels(10), node.kernels(10, "shifted", shifted=3)
    for each, outcome in ((file, MADE), (shifted, MADE), (shifted, FOUND)):
        assert changes(four[0], "compile", each, "lineinfo=true")[1] == outcome


@pytest.mark.parametrize("name, change", [
    ("function", ("wp.sqrt", "wp.cbrt")), ("constant", ("float(NUMBER)", "float(NUMBER + 1)")),
    ("name", ("def scale", "def other"))])
def test_an_edited_kernel_is_compiled(node, four, name, change):
    made = four[0].ask("compile", node.kernels(11, f"before_{name}"))
    other, outcome = changes(four[0], "compile", node.kernels(11, name, change))
    assert other != made and outcome == MADE


def test_another_argument_is_another_compile(node, four):
    file = node.source(18)
    assert changes(four[0], "build", file)[1] == MADE
    for option in ("arch=80", 'arch_suffix="a"', 'config="debug"', "optimization_level=1", "verify_fp=true", "fast_math=true",
                   "fuse_fp=false", "lineinfo=true", "use_precompiled_headers=false"):
        made, outcome = changes(four[0], "build", file, option)
        assert len(made) == 64 and outcome == MADE, option
        assert changes(four[1], "build", file, option) == (made, FOUND), option


def test_linked_code_is_a_part_of_the_key(node, four):
    file = node.source(19)
    linked = ('ltoirs=["one"]', 'ltoirs=["two"]', 'ltoirs=["one","two"]', 'ltoirs=["two","one"]', 'fatbins=["one"]')
    keys = [four[0].ask("key", file, *options) for options in ((), *((each,) for each in linked))]
    assert len(set(keys)) == len(keys)


def test_an_edited_source_or_another_name_of_it_is_another_compile(node, four):
    for name, given in (("plain", {}), ("edited", {"text": "#define FACTOR 3"}), ("named", {"file": "other.cu"})):
        assert changes(four[0], "build", node.source(20, name, **given))[1] == MADE, name
    assert changes(four[1], "build", node.source(20, "moved"))[1] == FOUND


@pytest.mark.parametrize("name, text, options, outcome", [
    ("plain", "#define FACTOR 2", (), FOUND), ("lines", "#define FACTOR 2", ("lineinfo=true",), MADE),
    ("file", "#define FACTOR sizeof(__FILE__)", (), MADE)])
def test_the_working_directory_counts_if_paths_can_show(node, four, name, text, options, outcome):
    file, here = node.source(21, name, text=f"// {name}\n{text}"), os.getcwd()
    four[1].ask("chdir", node.directory)
    made = four[0].ask("build", file, *options)
    assert len(made) == 64 and changes(four[1], "build", file, *options)[1] == outcome
    four[1].ask("chdir", here)


HEADERS = {"second.h": "#define SECOND 1\n", "below/third.h": '#include "fourth.h"\n', "below/fourth.h": "#define FOURTH 1\n"}
INCLUDES = """#include "second.h"
# /* a comment
*/ include <below/third.h>
#if __has_include("fifth.h")
#define FIFTH 1
#else
#define FIFTH 0
#endif
#define FACTOR (SECOND + 2 * FOURTH + 4 * FIFTH)
"""


def test_a_changed_header_is_another_compile(node, four):
    include, file = node.include("headers", HEADERS), node.source(22, text=INCLUDES)
    given, made = f'extra_include_dirs=["{include}"]', []
    changed = ("second.h", "#define SECOND 5\n"), ("below/fourth.h", "#define FOURTH 6\n"), ("fifth.h", "")
    for process, (header, text) in zip(four, (("second.h", HEADERS["second.h"]), *changed)):
        (include / header).write_text(text)
        digest, outcome = changes(process, "build", file, given)
        assert len(digest) == 64 and outcome == MADE, header
        made.append(digest)
    assert len(set(made)) == 4
    assert changes(four[3], "build", file, given) == (made[3], FOUND)


def test_a_header_in_the_working_directory_counts(node):
    directories = [node.include(f"working{number}", {"beside.h": f"#define FACTOR {number}\n"}) for number in (1, 2)]
    file, processes = node.source(23, text='#include "beside.h"'), node.start(2)
    made = []
    for process, directory in zip(processes, directories):
        process.ask("chdir", directory)
        digest, outcome = changes(process, "build", file)
        assert len(digest) == 64 and outcome == MADE
        made.append(digest)
    assert made[0] != made[1]
    for process in processes:
        process.end()


def test_a_header_that_changes_in_a_running_process_leaves_its_compiles_to_the_package(node):
    """NVRTC uses the header that it has precompiled until the process ends."""
    include = node.include("running", {"second.h": "#define FACTOR 1\n"})
    file, given = node.source(24, text='#include "second.h"'), f'extra_include_dirs=["{include}"]'
    one, other = node.start(2)
    old = one.ask("build", file, given)
    (include / "second.h").write_text("#define FACTOR 2\n")
    new, outcome = changes(other, "build", file, given)
    assert len(new) == 64 and new != old and outcome == MADE
    assert changes(one, "build", file, given) == (old, {})
    (include / "second.h").write_text("#define FACTOR 1\n")
    assert changes(one, "build", file, given) == (old, {})
    [reason] = one.ask("status")["not_cached"]
    assert reason.endswith("second.h has changed since this process precompiled its headers")
    for process in (one, other):
        process.end()


def test_a_header_may_not_change_after_a_compile_that_was_left_to_the_package_either(node):
    include = node.include("refused", {"second.h": "#define FACTOR 1\n"})
    file, given = node.source(28, text='#include "second.h"'), f'extra_include_dirs=["{include}"]'
    text = file.read_text()
    file.write_text(f"{text}// __TIME__\n")
    [process] = node.start()
    old, outcome = changes(process, "build", file, given)
    assert len(old) == 64 and outcome == {}
    file.write_text(text)
    (include / "second.h").write_text("#define FACTOR 2\n")
    assert changes(process, "build", file, given) == (old, {})
    process.end()


def test_headers_that_may_have_changed_before_install_leave_compiles_to_the_package(node, four):
    include = node.include("before", {"second.h": "#define FACTOR 1\n"})
    file, given = node.source(26, text='#include "second.h"'), f'extra_include_dirs=["{include}"]'
    [late] = node.start(CCCL_CACHE="0")
    old = late.ask("build", file, given)
    (include / "second.h").write_text("#define FACTOR 2\n")
    assert late.ask("install")
    assert changes(late, "build", file, given) == (old, {})
    new, outcome = changes(four[0], "build", file, given)
    assert len(new) == 64 and new != old and outcome == MADE
    assert changes(late, "build", node.source(27))[1] == MADE
    late.end()


UNCHANGED = {"log_level": ("30",), "cache_kernels": ("true",)}


@pytest.mark.parametrize("given, reason", [
    (("set", "NVRTC_APPEND_FLAGS", "-G"), "the variable NVRTC_APPEND_FLAGS may name files"),
    (("set", "WARP_DUMP_LTOIR", "1"), "the variable WARP_DUMP_LTOIR writes files"),
    (("config", "log_level", "10"), "the compiler's log is wanted"),
    (("config", "cache_kernels", "false"), "Warp's cache is off"),
    (("compile", "compile_time_trace=true"), "a trace of the compile is wanted"),
    (("compile", 'include="MACRO"'), "the source does not name its headers plainly")])
def test_a_compile_with_other_inputs_or_results_is_left_to_the_package(node, four, given, reason):
    command, *arguments = given
    before = set(four[0].ask("status")["not_cached"])
    file = node.kernels(13, len(before))
    if command != "compile":
        four[0].ask(*given)
    answer, outcome = changes(four[0], "compile", file, *(arguments if command == "compile" else ()))
    assert (len(answer), outcome) == (64, {})
    assert set(four[0].ask("status")["not_cached"]) - before == {reason}
    if command != "compile":
        four[0].ask(command, *arguments[:1], *UNCHANGED.get(arguments[0], ()))


def test_a_compile_that_uses_its_time_is_left_to_the_package(node, four):
    for number, name in enumerate(("__TIME__", "__DATE__")):
        answer, outcome = changes(four[0], "build", node.source(25, name, text=f"#define FACTOR {name}[{number}]"))
        assert (len(answer), outcome) == (64, {}), name
    assert four[0].ask("status")["not_cached"]["the source uses the time of the compile"] == 2


def test_no_compile_after_one_without_optimization_is_shared(node):
    [process] = node.start()
    for options in (("optimization_level=0",), ()):
        answer, outcome = changes(process, "compile", node.kernels(14, len(options)), *options)
        assert (len(answer), outcome) == (64, {})
    assert process.ask("status")["not_cached"] == {"a compile of this process without optimization": 2}
    process.end()


def test_an_edited_library_of_warp_is_another_compile(node, four, tmp_path):
    package = pathlib.Path(importlib.util.find_spec("warp").origin).parent
    for folder in (package, *package.parent.glob("warp_lang-*.dist-info")):
        shutil.copytree(folder, tmp_path / folder.name, ignore=shutil.ignore_patterns("tests", "examples", "warp-clang.so"))
    library = tmp_path / "warp/bin/warp.so"
    before = library.stat()
    with open(library, "r+b") as file, mmap.mmap(file.fileno(), 0) as contents:
        at = contents.rfind(b"GCC: (")  # the name of the compiler, which nothing reads
        contents[at : at + 1] = b"g"
    os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert library.stat().st_size == before.st_size  # so the package's record of it looks right
    file = node.kernels(17)
    made = four[0].ask("compile", file)
    [edited] = node.start(PYTHONPATH=f"{tmp_path}:{os.environ['PYTHONPATH']}")
    assert changes(edited, "compile", file) == (made, MADE)
    assert changes(four[1], "compile", file) == (made, FOUND)
    edited.end()


def test_other_compiler_variables_are_another_compile(node, four):
    file = node.kernels(15)
    made = four[0].ask("compile", file)
    four[1].ask("set", "NVVM_UNKNOWN", "1")
    assert changes(four[1], "compile", file) == (made, MADE)
    four[1].ask("set", "NVVM_UNKNOWN")
    assert changes(four[1], "compile", file) == (made, FOUND)


def test_a_cubin_that_is_damaged_is_replaced_once(node, four):
    file = node.kernels(16)
    made = four[0].ask("damaged", file)
    assert len(made) == 64
    before, gate = node.compiled(), node.gate("replaced")
    four[1].tell("gated", file, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[2:]:
        process.tell("compile", file)
    wait_for_waiters(node.daemon, 2)
    pathlib.Path(gate).write_text("go")
    assert [process.hear() for process in four[1:]] == [made] * 3
    assert [len(process.ask("status")["errors"]) for process in four[1:]] == [1] * 3
    assert node.compiled() == before + 1
    assert changes(four[0], "compile", file) == (made, FOUND)


def test_the_guides_example_runs_unchanged(node):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    program = node.directory / "example.py"
    program.write_text(example)
    first, second = (node.run("-c", f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')") for _ in range(2))
    assert "'made': 1" in first and "'hits': 1" in second and "'made'" not in second


def test_a_release_that_differs_is_left_alone_and_the_reason_is_told(node, monkeypatch):
    line = "import sys, cccl_cache.warp as plugin; print(plugin.switch.told(), 'warp' in sys.modules)"
    assert node.run("-c", line, CCCL_CACHE="0").startswith("off until cccl_cache.warp.install()")
    on = node.run("-c", line)
    assert on.startswith("on at the import of warp, if ") and on.endswith("(CCCL_CACHE_WARP) False\n")
    assert _release.served_release().startswith("warp-lang ")
    from warp._src import build

    original = build.build_cuda
    monkeypatch.setattr(build, "build_cuda", lambda cu_path, arch: None)
    assert not cccl_cache.warp.install()
    why = cccl_cache.warp.status()["why_off"]
    assert "differs from what is served: build_cuda has no arch_suffix, compile_time_trace," in why
    assert cccl_cache.warp.switch.told() == f"off: {why}"
    monkeypatch.setattr(build, "build_cuda", original)
    for names, name, reason in (("_KNOWN", "lineinfo", "has other arguments: lineinfo"),
                                ("_READ", "log_level", "reads other names: log_level")):
        with monkeypatch.context() as patch:
            patch.setattr(_release, names, getattr(_release, names) - {name})
            assert not cccl_cache.warp.install()
            assert cccl_cache.warp.status()["why_off"].endswith(reason)


def test_the_change_is_undone():
    from warp._src import build

    original = build.build_cuda
    assert cccl_cache.warp.install() and cccl_cache.warp.install()
    assert build.build_cuda is not original
    cccl_cache.warp.uninstall()
    assert build.build_cuda is original
