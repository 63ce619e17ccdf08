# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of cuda.core that the daemon compiles."""

import concurrent.futures
import io
import os
import signal
import subprocess
import sys
import threading

import cccl_cache
import cccl_cache.core
import pytest
from cccl_cache._plugin import daemon
from cuda.core import Linker, LinkerOptions, ObjectCode, Program, ProgramOptions
from patience import PATIENCE

TEMPLATE = "template <typename T> __global__ void scale(T* data, T factor) { data[threadIdx.x] *= factor; }"
KERNEL = 'extern "C" __global__ void f(int* p) { *p = VALUE; }'
NVVM = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
define void @f(i32* %p) { store i32 1, i32* %p
  ret void }
!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @f, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
"""


def options(**chosen):
    return ProgramOptions(**{"arch": "sm_90", "name": "program", **chosen})


@pytest.fixture(scope="module")
def client(lasting):
    return cccl_cache.Client(lasting.socket)


@pytest.fixture
def asked(client, monkeypatch):
    """Returns the results of the daemon, in order."""
    results = []
    original = cccl_cache.Client.run
    monkeypatch.setattr(cccl_cache.Client, "run", lambda self, what: results.append(original(self, what)) or results[-1])
    return results


@pytest.fixture
def alone(monkeypatch):
    """Returns a function that sets the daemon for a process that has compiled nothing yet."""
    monkeypatch.setattr(daemon, "_made", {})
    return lambda socket: monkeypatch.setenv("CCCL_CACHE_SOCKET", str(socket))


def test_name_expressions_come_with_the_lowered_names_that_cuda_core_itself_finds(client, asked):
    own = Program(TEMPLATE, "c++", options()).compile("cubin", name_expressions=["scale<float>"])
    for _ in range(2):
        code = cccl_cache.core.compile(
            TEMPLATE, "c++", options=options(), name_expressions=["scale<float>"], client=client)
        assert isinstance(code, ObjectCode) and code.code_type == "cubin" and code.name == "program"
        assert code.symbol_mapping == own.symbol_mapping
    assert [result.outcome for result in asked] == ["built", "hit"]


def test_headers_of_include_paths_are_part_of_the_key_by_their_contents(client, asked, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "value.h").write_text("#define VALUE 1\n")
    source = '#include "value.h"\n' + KERNEL
    for _ in range(2):
        cccl_cache.core.compile(source, "c++", options=options(include_path=str(tmp_path)), client=client)
    (tmp_path / "value.h").write_text("#define VALUE 2\n")
    cccl_cache.core.compile(source, "c++", options=options(include_path=str(tmp_path)), client=client)
    assert [result.outcome for result in asked] == ["built", "hit", "built"]


def test_options_that_ask_for_precompiled_headers_are_served(client, asked):
    code = cccl_cache.core.compile(
        KERNEL, "c++", client=client, options=options(
            define_macro=("VALUE", "3"), pch=True, pch_verbose=True, pch_messages=True, instantiate_templates_in_pch=True))
    assert code.code_type == "cubin" and len(asked) == 1


FILES = {"create_pch": "made.pch", "pch_dir": ".", "time": "made.csv", "fdevice_time_trace": "made.json"}


@pytest.mark.parametrize("option, file", FILES.items(), ids=FILES.keys())
def test_options_that_write_files_are_left_to_the_process(client, asked, tmp_path, monkeypatch, option, file):
    monkeypatch.chdir(tmp_path)
    cccl_cache.core.compile(KERNEL, "c++", options=options(define_macro=("VALUE", "30"), **{option: file}), client=client)
    assert not asked
    assert option not in ("create_pch", "time") or (tmp_path / file).stat().st_size > 0


def test_a_precompiled_header_that_was_asked_for_serves_the_next_compile(client, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "value.h").write_text("#define VALUE 31\n")
    source = '#include "value.h"\n' + KERNEL
    for option in ("create_pch", "use_pch"):
        cccl_cache.core.compile(source, "c++", options=options(include_path=".", **{option: "made.pch"}), client=client)
    assert not asked


def test_every_target_is_made(client, asked):
    for target, chosen in (("ptx", {}), ("ltoir", {"link_time_optimization": True, "relocatable_device_code": True})):
        code = cccl_cache.core.compile(
            KERNEL, "c++", target, options=options(define_macro=("VALUE", "4"), **chosen), client=client)
        assert code.code_type == target
    linked = Linker(code, options=LinkerOptions(arch="sm_90", link_time_optimization=True)).link("cubin")
    assert bytes(linked.code).startswith(b"\x7fELF") and len(asked) == 2


def test_lto_ir_that_this_process_could_not_link_is_compiled_by_the_process(client, asked, monkeypatch, caplog):
    from cuda.bindings import nvjitlink

    chosen = options(define_macro=("VALUE", "8"), link_time_optimization=True, relocatable_device_code=True)
    monkeypatch.setattr(nvjitlink, "version", lambda: (12, 9))
    monkeypatch.setattr(cccl_cache.Result, "to_object_code", lambda *_: pytest.fail("the daemon's is used"))
    with caplog.at_level("INFO", "cccl_cache.core"):
        code = cccl_cache.core.compile(KERNEL, "c++", "ltoir", options=chosen, client=client)
    assert code.code_type == "ltoir" and len(asked) == 1
    assert "compiled by this process: the nvJitLink of this process is of CUDA 12.9, the LTO-IR of CUDA 13" in caplog.text


def test_nvvm_ir_is_compiled(client, asked):
    code = cccl_cache.core.compile(NVVM, "nvvm", "ptx", options=options(), client=client)
    assert b".entry f" in bytes(code.code) and len(asked) == 1


def test_a_program_that_does_not_compile_raises_with_the_log(client):
    with pytest.raises(cccl_cache.CompileError, match="nowhere"):
        cccl_cache.core.compile("__global__ void f() { nowhere(); }", "c++", options=options(), client=client)


def test_warnings_are_written_on_a_hit_too(client):
    source = "#warning said twice\n" + KERNEL
    for _ in range(2):
        logs = io.StringIO()
        cccl_cache.core.compile(source, "c++", options=options(define_macro=("VALUE", "5")), logs=logs, client=client)
        assert "said twice" in logs.getvalue()


def test_without_a_daemon_the_process_compiles(tmp_path, alone, caplog):
    alone(tmp_path / "nobody")
    with caplog.at_level("INFO", "cccl_cache.core"):
        code = cccl_cache.core.compile(TEMPLATE, "c++", options=options(), name_expressions=["scale<float>"])
    assert "compiled by this process: no cccl-cached listens" in caplog.text
    assert bytes(code.code).startswith(b"\x7fELF")
    assert list(code.symbol_mapping) == ["scale<float>"]


def test_a_compile_that_this_release_does_not_know_is_left_to_the_process(client, asked, monkeypatch):
    def unknown(self, *_):
        raise AttributeError("another release calls it otherwise")

    monkeypatch.setattr(cccl_cache.Result, "to_object_code", unknown)
    code = cccl_cache.core.compile(KERNEL, "c++", options=options(define_macro=("VALUE", "7")), client=client)
    assert isinstance(code, ObjectCode)


def test_a_failure_of_cuda_core_is_raised_unchanged(client):
    with pytest.raises(ValueError, match="target_type"):
        cccl_cache.core.compile(KERNEL, "c++", "nothing", options=options(), client=client)


def compile_value(value, **how):
    return cccl_cache.core.compile(KERNEL, "c++", options=options(define_macro=("VALUE", str(value))), **how)


def test_without_the_bindings_the_error_has_the_pip_command():
    program = "import sys; sys.modules['cuda.bindings'] = None; import cccl_cache.core"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert 'pip install "cuda-core[cu13]"' in done.stderr.splitlines()[-1]


def test_a_process_has_one_client_with_one_process_cache(alone, asked, lasting):
    alone(lasting.socket)
    for _ in range(2):
        compile_value(20)
    assert [(result.outcome, result.tier) for result in asked] == [("built", ""), ("hit", "process")]


def test_threads_that_start_at_the_same_time_share_one_client(alone, lasting):
    alone(lasting.socket)
    together = threading.Barrier(8)

    def first_use(_):
        together.wait()
        return daemon.own_client()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(first_use, range(8)))) == 1


def test_a_child_continues_with_its_parents_client(alone, asked, lasting):
    alone(lasting.socket)
    compile_value(21)
    child = os.fork()
    if child == 0:
        compile_value(21)
        os._exit(0 if [result.tier for result in asked] == ["", "process"] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_daemon_that_hangs_is_waited_for_once(alone, real, caplog, monkeypatch):
    alone(real.socket)
    waits, run = [], cccl_cache.Client.run
    monkeypatch.setattr(cccl_cache.Client, "run", lambda self, what: waits.append(what) or run(self, what))
    real.freeze()
    with caplog.at_level("INFO", "cccl_cache.core"):
        for value in (22, 23):
            assert bytes(compile_value(value, wait=0.1).code).startswith(b"\x7fELF")
    assert caplog.text.count("compiled by this process") == 2 and len(waits) == 1
    os.kill(real.process.pid, signal.SIGCONT)
    caplog.clear()
    with caplog.at_level("INFO", "cccl_cache.core"):
        assert bytes(compile_value(24, wait=PATIENCE).code).startswith(b"\x7fELF")
    assert not caplog.text and len(waits) == 2


def test_the_wait_for_a_daemon_is_bounded_by_default(client, monkeypatch):
    bounds, build = [], cccl_cache.Build
    monkeypatch.setattr(cccl_cache, "Build", lambda *given, **how: bounds.append(how["timeout"]) or build(*given, **how))
    compile_value(25, client=client)
    assert bounds == [120.0]
