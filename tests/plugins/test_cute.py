# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of CuTe DSL are compiled once per node, and never found by a compile with other inputs."""

import importlib.util
import mmap
import os
import pathlib
import re
import shutil
import signal

import cccl_cache.cute
import pytest
from cccl_cache.cute import _release
from framework_node import FOUND, MADE, FrameworkNode, changes, counts
from lease_client import wait_for_waiters
from patience import wait_for

HERE = pathlib.Path(__file__).parent
GUIDE = HERE.parents[1] / "docs/guide-cute-dsl.md"


class Node(FrameworkNode):
    """Each test compiles a kernel of another number."""

    program, original = "cute_program.py", "cute_kernels.py"

    def variables(self):
        return {"CUTE_DSL_ARCH": "sm_90a", "CUTE_DSL_DUMP_DIR": str(self.directory)}


def test_a_function_is_compiled_once_by_four_processes(node, four):
    before, gate = node.compiled(), node.gate("once")
    four[0].tell("gated", node.file, 3, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[1:]:
        process.tell("compile", node.file, 3)
    wait_for_waiters(node.daemon, 3)
    pathlib.Path(gate).write_text("go")
    made = {process.hear() for process in four}
    assert len(made) == 1 and len(made.pop()) == 64
    assert node.compiled() == before + 1


def test_a_found_function_has_the_object_of_an_uncached_compile(node, four):
    [alone] = node.start(CCCL_CACHE_CUTE="0")
    named = node.file_with("named", ("def scale(a:", "def scale(first:"), ("kernel(a, b, n)", "kernel(first, b, n)"))
    for command, outcomes in (
            (("compile", node.file, 4), (MADE, FOUND, FOUND)), (("hooked", node.file, 4), (FOUND, FOUND)),
            (("compile", node.file, 4, "--enable-tvm-ffi"), (MADE, FOUND)), (("hooked", node.file, 14), (MADE, FOUND)),
            (("compile", named, 4, "--enable-tvm-ffi"), (FOUND, FOUND))):
        made = alone.ask(*command)
        assert len(made) == 64
        for process, outcome in zip(four, outcomes):
            assert changes(process, *command) == (made, outcome), command
    assert not alone.ask("status")["on"]
    alone.end()


def test_a_compile_that_fails_raises_its_error_and_releases_waiting_processes(node, four):
    before, gate = node.compiled(), node.gate("fails")
    four[0].tell("gated", node.file, 5, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    four[1].tell("compile", node.file, 5)
    wait_for_waiters(node.daemon, 1)
    pathlib.Path(gate).write_text("fail")
    assert four[0].hear() == "Unmade"
    assert len(four[1].hear()) == 64
    assert counts(four[1])["released"] == 1
    assert changes(four[0], "compile", node.file, 5)[1] == MADE


def test_a_process_that_ends_or_stops_keeps_no_other_waiting(node, four):
    before, ends = node.compiled(), {6: signal.SIGTERM, 31: signal.SIGKILL, 32: signal.SIGSTOP}
    holders = node.start(3)
    for number, holder, waiter in zip(ends, holders, four):
        holder.tell("gated", node.file, number, node.gate(f"held{number}"))
        before += 1
        wait_for(lambda: node.compiled() == before, "a compile that runs")
        waiter.tell("compile", node.file, number)
    wait_for_waiters(node.daemon, 3)
    for holder, end in zip(holders, ends.values()):
        holder.signal(end)
    for number, waiter in zip(ends, four):
        assert len(waiter.hear()) == 64
        assert changes(four[3], "compile", node.file, number)[1] == FOUND


def test_the_directory_and_the_lines_of_a_source_do_not_matter(node, four):
    made = four[0].ask("compile", node.file, 7)
    moved = node.file_with("moved", shifted=3)
    assert changes(four[1], "compile", moved, 7) == (made, FOUND)
    assert changes(four[0], "compile", moved, 7) == (made, FOUND)


@pytest.mark.parametrize("name, change", [
    ("operator", ("x * x", "x + x")), ("block", ("block=(128", "block=(256")), ("type", ("a[at + k]", "a[at + k + 1]"))])
def test_an_edited_kernel_is_compiled(node, four, name, change):
    made = four[0].ask("compile", node.file, 8)
    other, outcome = changes(four[0], "compile", node.file_with(name, change), 8)
    assert other != made and outcome == MADE


def test_other_options_are_another_compile(node, four):
    made = {four[0].ask("compile", node.file, 9)}
    for option in ("--opt-level=1", "--enable-assertions", "--gpu-arch=sm_100a", "--ptxas-options=-O1"):
        other, outcome = changes(four[0], "compile", node.file, 9, option)
        assert outcome == MADE, option
        assert changes(four[1], "compile", node.file, 9, option) == (other, FOUND), option
        made.add(other)
    assert len(made) > 1


def test_lines_matter_with_line_information(node, four):
    shifted = node.file_with("shifted", shifted=3)
    for file, outcome in ((node.file, MADE), (shifted, MADE), (shifted, FOUND)):
        assert changes(four[0], "compile", file, 10, "--generate-line-info")[1] == outcome


@pytest.mark.parametrize("command, reason", [
    (("compile", 11, "--keep-ptx"), "the option KeepPTX"),
    (("compile", 11, "--link-libraries=none.bc"), "the option LinkLibraries"),
    (("compile", 11, "warnings{nvvm}"), "the option")])
def test_a_compile_with_other_inputs_or_results_is_left_to_the_package(node, four, command, reason):
    before = counts(four[0]), four[0].ask("status")["not_cached"]
    name, *arguments = command
    four[0].ask(name, node.file, *arguments)
    assert counts(four[0]) == before[0]
    noted = set(four[0].ask("status")["not_cached"]) - set(before[1])
    assert len(noted) == 1 and noted.pop().startswith(reason)


@pytest.mark.parametrize("environment", [{"CUTE_DSL_ARCH": "sm_100a"}, {"CUTE_DSL_ENABLE_ASSERTIONS": "1"}])
def test_other_variables_of_the_package_are_another_compile(node, four, environment):
    four[0].ask("compile", node.file, 12)
    [other] = node.start(**environment)
    assert changes(other, "compile", node.file, 12)[1] == MADE
    other.end()


def test_an_edited_library_of_the_package_is_another_compile(node, four, tmp_path):
    package = pathlib.Path(importlib.util.find_spec("cutlass").origin).parent
    shutil.copytree(package, tmp_path / "cutlass")
    for runtime in package.parents[1].glob("cu1*"):
        (tmp_path / runtime.name).symlink_to(runtime)
    [library] = (tmp_path / "cutlass/_mlir/_mlir_libs").glob("_cutlass_ir.*.so")
    with open(library, "r+b") as file, mmap.mmap(file.fileno(), 0) as bytes_of_it:
        at = bytes_of_it.rfind(b"GCC: (")  # the name of the compiler, which nothing reads
        bytes_of_it[at : at + 1] = b"g"
    made = four[0].ask("compile", node.file, 17)
    [edited] = node.start(PYTHONPATH=f"{tmp_path}:{os.environ['PYTHONPATH']}")
    assert changes(edited, "compile", node.file, 17) == (made, MADE)
    assert changes(four[1], "compile", node.file, 17) == (made, FOUND)
    edited.end()


def test_a_field_of_an_unknown_type_leaves_the_compile_to_the_package(node, four):
    before = four[0].ask("status")["not_cached"]
    answer, outcome = changes(four[0], "odd", node.file, 15)
    assert (len(answer), outcome) == (64, {})
    assert len(set(four[0].ask("status")["not_cached"]) - set(before)) == 1


def test_a_module_that_can_not_be_loaded_is_replaced_once(node, four):
    made = four[0].ask("damaged", node.file, 13)
    before, gate = node.compiled(), node.gate("replaced")
    four[1].tell("gated", node.file, 13, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[2:]:
        process.tell("compile", node.file, 13)
    wait_for_waiters(node.daemon, 2)
    pathlib.Path(gate).write_text("go")
    assert [process.hear() for process in four[1:]] == [made] * 3
    assert [len(process.ask("status")["errors"]) for process in four[1:]] == [1] * 3
    assert node.compiled() == before + 1
    assert changes(four[0], "compile", node.file, 13) == (made, FOUND)


def test_a_module_that_can_not_be_packed_releases_waiting_processes(node, four):
    before, gate = node.compiled(), node.gate("unpacked")
    released = [process.ask("status")["released"] for process in four[1:3]]
    four[0].tell("unpacked", node.file, 16, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[1:3]:
        process.tell("compile", node.file, 16)
    wait_for_waiters(node.daemon, 2)
    pathlib.Path(gate).write_text("go")
    [made] = {process.hear() for process in four[:3]}
    assert len(made) == 64 and len(four[0].ask("status")["errors"]) == 1
    assert [process.ask("status")["released"] for process in four[1:3]] == [each + 1 for each in released]


def test_the_guides_example_runs_unchanged(node):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    program = node.directory / "example.py"
    program.write_text(example)
    first, second = (node.run("-c", f"import runpy; runpy.run_path({str(program)!r})") for _ in range(2))
    assert "'made': 1" in first and "'hits': 1" in second and "'made'" not in second


def test_a_release_that_differs_is_left_alone_and_the_reason_is_told(node, monkeypatch):
    line = "import sys, cccl_cache.cute as plugin; print(plugin.switch.told(), 'cutlass' in sys.modules)"
    assert node.run("-c", line, CCCL_CACHE="0").startswith("off until cccl_cache.cute.install()")
    on = node.run("-c", line)
    assert on.startswith("on at the import of cutlass, if ") and on.endswith("(CCCL_CACHE_CUTE) False\n")
    assert _release.served_release().startswith("nvidia-cutlass-dsl ")
    assert cccl_cache.cute.switch.told().startswith("off until cccl_cache.cute.install() is called or CCCL_CACHE_CUTE=1 is set")
    from cutlass.base_dsl import compile_backend

    original = compile_backend.LegacyCompilerBackend._build_compiled_function
    monkeypatch.setattr(compile_backend.LegacyCompilerBackend, "_build_compiled_function", lambda self, ctx, more: None)
    assert not cccl_cache.cute.install()
    why = cccl_cache.cute.status()["why_off"]
    assert "differs from what is served: cutlass.base_dsl.compile_backend has no LegacyCompilerBackend._build_compiled" in why
    assert cccl_cache.cute.switch.told() == f"off: {why}"
    monkeypatch.setattr(compile_backend.LegacyCompilerBackend, "_build_compiled_function", original)
    monkeypatch.setattr(_release, "_INPUTS", _release._INPUTS - {"pipeline"})
    assert not cccl_cache.cute.install()
    assert cccl_cache.cute.status()["why_off"].endswith("CompileContext has other fields: pipeline")
    from cutlass.base_dsl.jit_executor import JitCompiledFunction

    monkeypatch.setattr(JitCompiledFunction, "__init__", lambda self, module: None)
    assert not cccl_cache.cute.install()
    assert cccl_cache.cute.status()["why_off"].endswith("JitCompiledFunction.__init__ does not use ir_module")


def test_the_change_is_undone():
    from cutlass.base_dsl.compile_backend import LegacyCompilerBackend

    original = LegacyCompilerBackend._build_compiled_function
    assert cccl_cache.cute.install() and cccl_cache.cute.install()
    assert LegacyCompilerBackend._build_compiled_function is not original
    cccl_cache.cute.uninstall()
    assert LegacyCompilerBackend._build_compiled_function is original
