# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of TileLang are compiled once per node, and never found by a compile with other inputs."""

import pathlib
import re
import shutil
import signal

import cccl_cache.tilelang
import pytest
from cccl_cache.tilelang import _release
from framework_node import FOUND, MADE, FrameworkNode, changes, counts
from lease_client import wait_for_waiters
from patience import wait_for
from places import PLACES

HERE = pathlib.Path(__file__).parent
GUIDE = HERE.parents[1] / "docs/guide-tilelang.md"
FILES = {"device_kernel.cu", "executable.so", "host_kernel.cu", "manifest.json", "params.json"}


class Node(FrameworkNode):
    """The processes share a CUDA. Each has its own directory of TileLang. Each test compiles a kernel of another number."""

    program, original = "tilelang_program.py", "tilelang_kernels.py"

    def __init__(self, directory, daemon):
        import tilelang

        super().__init__(directory, daemon)
        self.headers = directory / "templates"
        shutil.copytree(pathlib.Path(tilelang.__file__).parent / "src", self.headers)
        self.cuda = directory / "cuda"
        (self.cuda / "bin").mkdir(parents=True)
        for name in ("include", "lib64", "nvvm", "targets"):
            (self.cuda / name).symlink_to(pathlib.Path(PLACES.cuda13) / name)
        self.write_nvcc()

    def write_nvcc(self, line=""):
        nvcc = self.cuda / "bin/nvcc"
        nvcc.write_text(f'#!/bin/sh\n{line}\nexec {PLACES.cuda13}/bin/nvcc "$@"\n')
        nvcc.chmod(0o755)

    def variables(self):
        return {"CUDA_HOME": str(self.cuda), "TL_TEMPLATE_PATH": str(self.headers),
                **{name: str(self.directory / f"cache{len(self._processes)}") for name in ("TILELANG_CACHE_DIR", "TVM_FFI_CACHE_DIR")}}


@pytest.fixture(scope="module")
def eight(node):
    return node.start_each(*[{}] * 7, {"CCCL_CACHE": "0"})


@pytest.fixture(scope="module")
def four(eight):
    return eight[:4]


@pytest.fixture(scope="module")
def spare(eight):
    """Three processes for one test, which ends them."""
    return eight[4:7]


@pytest.fixture(scope="module")
def alone(eight):
    """A process without the plug-in."""
    return eight[7]


def test_a_kernel_is_compiled_once_by_four_processes(node, four):
    before, gate = node.compiled(), node.gate("once")
    four[0].tell("gated", gate, node.file, 3, "real=1")
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[1:]:
        process.tell("compile", node.file, 3, "real=1")
    wait_for_waiters(node.daemon, 3)
    pathlib.Path(gate).write_text("go")
    first, *others = [process.hear() for process in four]
    assert set(first) == FILES and others == [first] * 3
    assert node.compiled() == before + 1
    assert changes(four[1], "compile", node.file, 3) == (first, {})  # in memory


def test_a_library_of_the_backend_cython_is_found(node, four):
    made, outcome = changes(four[0], "compile", node.file, 4, "backend=cython")
    assert outcome == MADE and "kernel_lib.so" in made
    assert changes(four[1], "compile", node.file, 4, "backend=cython") == (made, FOUND)


def test_a_found_kernel_has_the_files_of_an_uncached_compile(node, four, alone):
    made = alone.ask("compile", node.file, 5)
    assert set(made) == FILES
    for process, outcome in ((four[0], MADE), (four[1], FOUND)):
        assert changes(process, "compile", node.file, 5) == (made, outcome)
    assert not alone.ask("status")["on"]


def test_directories_of_tilelang_are_asked_first(node, four):
    made = four[0].ask("compile", node.file, 6)
    four[1].ask("set", "TILELANG_CACHE_DIR", node.directory / "cache0")
    assert changes(four[1], "compile", node.file, 6) == (made, {})
    four[1].ask("set", "TILELANG_CACHE_DIR", node.directory / "cache1")


def test_a_compile_that_fails_raises_its_error_and_releases_waiting_processes(node, four):
    before, gate = node.compiled(), node.gate("fails")
    four[0].tell("gated", gate, node.file, 7)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    four[1].tell("compile", node.file, 7)
    wait_for_waiters(node.daemon, 1)
    pathlib.Path(gate).write_text("fail")
    assert four[0].hear() == "RuntimeError"
    assert set(four[1].hear()) == FILES
    assert counts(four[1])["released"] == 1


def test_a_process_that_ends_or_stops_keeps_no_other_waiting(node, four, spare):
    before, ends = node.compiled(), {8: signal.SIGTERM, 41: signal.SIGKILL, 42: signal.SIGSTOP}
    for number, holder, waiter in zip(ends, spare, four):
        holder.tell("gated", node.gate(f"held{number}"), node.file, number)
        before += 1
        wait_for(lambda: node.compiled() == before, "a compile that runs")
        waiter.tell("compile", node.file, number)
    wait_for_waiters(node.daemon, 3)
    for holder, end in zip(spare, ends.values()):
        holder.signal(end)
    for number, waiter in zip(ends, four):
        made = waiter.hear()
        assert set(made) == FILES
        assert changes(four[3], "compile", node.file, number) == (made, FOUND)


def test_the_directory_and_the_lines_of_a_source_do_not_matter(node, four):
    made = four[0].ask("compile", node.file, 9)
    assert changes(four[1], "compile", node.file_with("moved", shifted=3), 9) == (made, FOUND)


@pytest.mark.parametrize("name, change", [
    ("operator", ("* a[", "+ a[")), ("block", ("threads=128", "threads=64")),
    ("constant", ("T.float32(n)", "T.float32(n + 100)"))])
def test_an_edited_kernel_is_compiled(node, four, name, change):
    made = four[0].ask("compile", node.file, 10)
    other, outcome = changes(four[0], "compile", node.file_with(name, change), 10)
    assert other != made and outcome == MADE


def test_an_edited_header_of_the_templates_is_another_compile(node, four):
    header = node.headers / "tl_templates/cuda/common.h"
    text = header.read_text()
    made = four[0].ask("compile", node.file, 11)
    header.write_text(f"{text}\n// edited\n")
    assert changes(four[1], "compile", node.file, 11)[1] == MADE
    header.write_text(text)
    assert changes(four[2], "compile", node.file, 11) == (made, FOUND)


def test_another_nvcc_is_another_compile(node, four):
    made = four[0].ask("compile", node.file, 12)
    node.write_nvcc("# another one")
    assert changes(four[1], "compile", node.file, 12)[1] == MADE
    node.write_nvcc()
    assert changes(four[2], "compile", node.file, 12) == (made, FOUND)


@pytest.mark.parametrize("number, name, value", [
    (30, "NVCC_APPEND_FLAGS", "-DOTHER"), (31, "PTXAS_FLAGS", "-O1"), (32, "TILELANG_ENABLE_DATA_RACE_CHECK", "1"),
    (33, "CPATH", "/var/empty")])
def test_other_variables_are_another_compile(node, four, number, name, value):
    four[0].ask("compile", node.file, number)
    four[1].ask("set", name, value)
    _, outcome = changes(four[1], "compile", node.file, number)
    four[1].ask("set", name)
    assert outcome == MADE
    assert changes(four[2], "compile", node.file, number)[1] == FOUND


def test_an_edited_header_that_the_compiler_finds_is_another_compile_of_the_same_process(node, four):
    folder = node.directory / "found"
    folder.mkdir()
    header = folder / "found.h"
    header.write_text("// first\n")
    for process in four[:2]:
        process.ask("set", "CPATH", folder)
    assert [changes(process, "compile", node.file, 34)[1] for process in four[:2]] == [MADE, FOUND]
    header.write_text("// edited\n")
    assert [changes(process, "compile", node.file, 35)[1] for process in four[:2]] == [MADE, FOUND]
    header.write_text("// first\n")
    four[2].ask("set", "CPATH", folder)
    outcome = changes(four[2], "compile", node.file, 35)[1]
    for process in four[:3]:
        process.ask("set", "CPATH")
    assert outcome == MADE


def test_other_options_are_another_compile(node, four):
    four[0].ask("compile", node.file, 14)
    for option in ("tl.enable_fast_math=true", "tl.disable_safe_memory_legalize=true", "flag=-DOTHER",
                   f"flag=-I{node.headers}"):
        made, outcome = changes(four[0], "compile", node.file, 14, option)
        assert outcome == MADE, option
        assert changes(four[1], "compile", node.file, 14, option) == (made, FOUND), option


def test_an_edited_header_of_the_program_is_another_compile(node, four):
    folder = node.directory / "own"
    folder.mkdir()
    for process, text in zip(four, ("", "// edited")):
        (folder / "own.h").write_text(text)
        assert changes(process, "compile", node.file, 15, f"flag=-I{folder}")[1] == MADE


@pytest.mark.parametrize("number, command, option, reason", [
    (16, "compile", "flag=-includeown.h", "the flag -includeown.h"), (17, "compile", "flag=-Iown", "the flag -Iown"),
    (18, "compile", "tl.emit_line_directives=true", "the option tl.emit_line_directives"),
    (19, "rewritten", "", "the program's own tilelang_callback_cuda_postproc")])
def test_a_compile_with_other_inputs_or_results_is_left_to_tilelang(node, four, number, command, option, reason):
    before = four[0].ask("status")["not_cached"]
    answer, outcome = changes(four[0], command, node.file, number, *filter(None, [option]))
    assert set(answer) == FILES and outcome == {}
    assert set(four[0].ask("status")["not_cached"]) - set(before) == {reason}


@pytest.mark.parametrize("number, name", [(24, "NVCC_APPEND_FLAGS"), (25, "NVCC_PREPEND_FLAGS")])
def test_a_variable_of_nvcc_with_a_flag_that_may_name_a_file_is_left_to_tilelang(node, four, number, name):
    before = four[0].ask("status")["not_cached"]
    four[0].ask("set", name, f"-I{node.headers}")
    answer, outcome = changes(four[0], "compile", node.file, number)
    four[0].ask("set", name)
    assert set(answer) == FILES and outcome == {}
    assert set(four[0].ask("status")["not_cached"]) - set(before) == {f"the variable {name}"}


@pytest.mark.parametrize("code, reason", [
    ("T.import_source('#include \"/tmp/own.h\"')", "a header by its path"),
    ("T.import_source('constexpr char made[] = __TIME__;')", "code that uses the time of the compile"), ("", None)])
def test_code_that_includes_a_header_by_its_path_or_uses_the_time_is_left_to_tilelang(node, four, code, reason):
    file = node.file_with(f"including{len(code)}", ("            for i", f"            {code or 'pass'}\n            for i"))
    before = four[0].ask("status")["not_cached"]
    four[0].ask("compile", file, 20)
    assert set(four[0].ask("status")["not_cached"]) - set(before) == ({reason} if reason else set())


def test_a_cubin_that_other_compilers_may_have_made_is_not_deposited(node, four):
    """TileLang's key of a cubin has no compiler."""
    four[0].ask("compile", node.file, 21)
    before = node.compiled()
    assert changes(four[0], "compile", node.file, 21, "tl.reducer_force_baseline=false")[1] == MADE
    four[0].ask("set", "NVCC_APPEND_FLAGS", "-DNEW")
    four[0].ask("forget")
    answer, outcome = changes(four[0], "compile", node.file, 21)
    four[0].ask("set", "NVCC_APPEND_FLAGS")
    assert set(answer) == FILES and outcome == {} and node.compiled() == before
    assert "the cubin is from TileLang's own directory" in four[0].ask("status")["not_cached"]


def test_a_directory_that_can_not_be_loaded_is_replaced_once(node, four):
    four[0].ask("damaged", node.file, 22)
    before = node.compiled()
    made = four[1].ask("compile", node.file, 22)
    assert set(made) == FILES and node.compiled() == before + 1
    assert len(four[1].ask("status")["errors"]) == 1
    assert changes(four[2], "compile", node.file, 22) == (made, FOUND)
    assert node.compiled() == before + 1


def test_a_directory_that_can_not_be_packed_releases_waiting_processes(node, four):
    made = four[3].ask("unpacked", node.file, 23)
    assert set(made) == FILES and len(four[3].ask("status")["errors"]) == 1
    assert changes(four[2], "compile", node.file, 23)[1] == MADE


def test_the_guides_example_runs_unchanged_and_a_program_under_run_finds_its_kernel(node, alone):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    program = node.directory / "example.py"
    program.write_text(example)
    assert "'made': 1" in alone.ask("run", program)
    found = node.run("-c", f"import runpy; runpy.run_path({str(program)!r})", before=(PLACES.cli, "run", "--"))
    assert "'hits': 1" in found and "'made'" not in found


def test_a_release_that_differs_is_left_alone_and_the_reason_is_told(node, monkeypatch):
    line = "import sys, cccl_cache.tilelang as plugin; print(plugin.switch.told(), 'tilelang' in sys.modules)"
    on = node.run("-c", line)
    assert on.startswith("on at the import of tilelang, if ") and on.endswith("(CCCL_CACHE_TILELANG) False\n")
    assert _release.served_release().startswith("tilelang ")
    from tilelang.cache.kernel_cache import KernelCache

    original = KernelCache._load_kernel_from_disk
    monkeypatch.setattr(KernelCache, "_load_kernel_from_disk", lambda self, key, more: None)
    assert not cccl_cache.tilelang.install()
    assert "has no KernelCache._load_kernel_from_disk(self, key, " in cccl_cache.tilelang.status()["why_off"]
    monkeypatch.setattr(KernelCache, "_load_kernel_from_disk", original)
    monkeypatch.setattr(KernelCache, "_save_kernel_to_disk", lambda self, key, kernel, func=None, verbose=False: None)
    assert not cccl_cache.tilelang.install()
    assert cccl_cache.tilelang.status()["why_off"].endswith("KernelCache._save_kernel_to_disk does not use _write_manifest")


def test_the_change_is_undone():
    from tilelang.cache.cuda_binary_cache import CUDABinaryCache
    from tilelang.cache.kernel_cache import KernelCache

    def changed():
        return [vars(KernelCache)["cached"], vars(KernelCache)["_load_kernel_from_disk"], vars(KernelCache)["_write_manifest"],
                vars(CUDABinaryCache).get("load")]

    originals = changed()
    assert cccl_cache.tilelang.install() and cccl_cache.tilelang.install()
    assert not set(map(id, changed())) & set(map(id, originals))
    cccl_cache.tilelang.uninstall()
    assert changed() == originals
