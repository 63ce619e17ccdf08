# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The Python package, from its wheel, with a daemon over a real compiler."""

import asyncio
import concurrent.futures
import gc
import copy
import hashlib
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading

import cccl_cache
import pytest
from patience import PATIENCE, wait_for
from places import PLACES

SOURCE = "template <typename T> __global__ void scale(T* data, T factor) { data[threadIdx.x] *= factor; }\n"
KERNEL = 'extern "C" __global__ void f(int* p) { *p = VALUE; }\n'
DOUBLED = 'extern "C" __device__ int doubled(int x) { return 2 * x; }\n'
CALLER = 'extern "C" __device__ int doubled(int);\nextern "C" __global__ void f(int* p) { *p = doubled(*p); }\n'
ALONE = {"PATH": os.environ["PATH"], "CCCL_CACHED_TOOLCHAIN_SEARCH": "roots",
         "CCCL_CACHED_TOOLCHAIN_ROOT": str(PLACES.cuda13)}
IR = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
define void @f(i32* %p) { store i32 1, i32* %p
  ret void }
!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @f, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
"""


@pytest.fixture(scope="module")
def client(lasting):
    return cccl_cache.Client(lasting.socket, fallback="error")


def test_a_build_and_its_hit_have_the_same_bytes(client):
    first = client.build(SOURCE, arch="sm_90", name="scale.cu", name_expressions=["scale<float>"])
    second = client.build(SOURCE, arch="sm_90", name="scale.cu", name_expressions=["scale<float>"])
    assert (first.outcome, first.tier) == ("built", "")
    assert (second.outcome, second.tier) == ("hit", "process")
    assert first.cubin is not None and first.cubin[:4] == b"\x7fELF"
    assert second.cubin == first.cubin
    assert (first.key, first.fingerprint) == (second.key, second.fingerprint)
    assert len(first.key) == 64
    assert first.lowered_names == second.lowered_names == {"scale<float>": "_Z5scaleIfEvPT_S0_"}
    assert first.toolchain.version.startswith("13.")
    assert first.timing.compile_us > 0 and second.timing.compile_us == 0


def test_the_requested_artifact_is_returned(client):
    made = client.build(KERNEL, arch="sm_90", options=["-DVALUE=1"], emit=("cubin", "ptx"))
    assert set(made.artifacts) == {"cubin", "ptx"}
    assert b".visible .entry f" in made.ptx
    assert (made.ltoir, made.optixir) == (None, None)
    assert made.ptx is made.artifacts["ptx"] and made.ptx == bytes(made.view("ptx")), "copied once"
    ptx = client.build(KERNEL, arch="compute_90", options=["-DVALUE=1"], emit="ptx")
    assert set(ptx.artifacts) == {"ptx"}


def test_a_program_that_does_not_compile_raises_with_the_log(client):
    with pytest.raises(cccl_cache.CompileError, match="undefined") as raised:
        client.build("__global__ void f() { nowhere(); }", arch="sm_90", name="wrong.cu")
    assert "wrong.cu(1)" in raised.value.log
    assert raised.value.status == "does-not-compile"
    assert raised.value.result.outcome == "failed"


def test_names_need_not_be_utf8_and_a_log_can_always_be_printed(client):
    source = "#warning d\udce9j\udce0\ntemplate <int c> __global__ void k(int* p) { *p = c; }\n"
    made = client.build(source, arch="sm_90", name="caf\udce9.cu", name_expressions=["k<'\udce9'>"])
    assert list(made.lowered_names) == ["k<'\udce9'>"]
    assert made.log.startswith(r"caf\xe9.cu(1)") and r"d\xe9j\xe0" in made.log
    assert made.log.encode()


@pytest.mark.parametrize("arch", ["90", "sm90", "sm_90,sm_80", "sm_50"])
def test_the_error_of_a_wrong_architecture_has_the_right_form(client, arch):
    with pytest.raises(cccl_cache.CompileError, match='written "sm_90"'):
        client.build(KERNEL, arch=arch, options=["-DVALUE=1"])


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_a_client_is_not_copied_and_stays_usable(client, copied):
    with pytest.raises(TypeError, match="make one there"):
        copied(client)
    assert client.build(KERNEL, arch="sm_90", options=["-DVALUE=1"]).cubin


def test_a_failed_compile_is_reported_in_another_process_too(client):
    with pytest.raises(cccl_cache.CompileError) as raised:
        client.build("__global__ void f() { nowhere(); }", arch="sm_90", name="wrong.cu")
    told = pickle.loads(pickle.dumps(raised.value))
    assert type(told) is cccl_cache.CompileError
    assert (str(told), told.log, told.status) == (str(raised.value), raised.value.log, "does-not-compile")
    assert told.result is None
    assert str(pickle.loads(pickle.dumps(told))) == str(told)


def test_an_unknown_fallback_is_refused_with_a_list_of_the_known_ones():
    with pytest.raises(ValueError, match="'typo'.*'local' or 'error'"):
        cccl_cache.Client(fallback="typo")


def test_the_compiler_is_found_when_the_library_was_loaded_by_a_relative_name(directory):
    """The loader keeps the name as given, and the program may change its directory."""
    place = directory / "cccl_cache"
    shutil.copytree(pathlib.Path(cccl_cache.__file__).parent, place)
    program = f"""if True:
        import os
        os.chdir("/")
        import cccl_cache
        alone = cccl_cache.Client("{directory}/nobody")
        print(alone.build({KERNEL!r}, arch="sm_90", options=["-DVALUE=601"]).outcome)
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=place, text=True, capture_output=True, timeout=PATIENCE,
                          env={**ALONE, "XDG_CACHE_HOME": str(directory), "PYTHONPATH": str(directory),
                               "LD_PRELOAD": "./libcccl_cache.so.1"})
    assert done.stdout.split() == ["local"], done.stderr


def test_an_error_names_the_remedy(client, directory):
    with pytest.raises(cccl_cache.NoDaemonError, match="start it") as raised:
        cccl_cache.Client(directory / "nobody").health()
    assert (raised.value.status, raised.value.retry_after) == ("no-daemon", None)
    with pytest.raises(cccl_cache.Error, match="13") as raised:
        client.build(SOURCE, arch="sm_90", toolchain="99.9")
    assert raised.value.status == "toolchain-not-found"
    with pytest.raises(cccl_cache.Error) as raised:
        client.build(SOURCE, arch="sm_90", options=["--time=/tmp/x"])
    assert raised.value.status == "invalid-request"
    with pytest.raises(ValueError, match="sass"):
        client.build(SOURCE, arch="sm_90", emit="sass")


def test_a_build_without_a_daemon_is_compiled_locally(client, directory):
    from_daemon = client.build(KERNEL, arch="sm_90", options=["-DVALUE=600"])
    program = f"""if True:
        import cccl_cache, hashlib
        alone = cccl_cache.Client("{directory}/nobody", local_compiler={os.environ["CCCL_CACHED_TEST_COMPILE"]!r})
        here = alone.build({KERNEL!r}, arch="sm_90", options=["-DVALUE=600"])
        print(here.outcome, here.key, hashlib.sha256(here.cubin).hexdigest(), "nobody" in here.reason)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE,
        env={**ALONE, "XDG_CACHE_HOME": str(directory)})
    digest = hashlib.sha256(from_daemon.cubin).hexdigest()
    assert done.stdout.split() == ["local", from_daemon.key, digest, "True"], done.stderr
    with pytest.raises(cccl_cache.NoDaemonError):
        cccl_cache.Client(directory / "nobody", fallback="error").build(KERNEL, arch="sm_90")


def test_a_build_that_exceeds_its_timeout_raises_a_deadline_error(fake):
    with pytest.raises(cccl_cache.DeadlineError) as raised:
        cccl_cache.Client(fake.socket).build("//fake: hang\n", arch="sm_90", timeout=0.05)
    assert isinstance(raised.value, TimeoutError)
    assert raised.value.status == "deadline"


def test_a_build_that_outlasts_its_caller_is_finished_if_it_was_asked_to_be(fake, toolkit):
    client = cccl_cache.Client(fake.socket, fallback="error")
    program = "//fake: wait-for go\n"
    while not toolkit.arrivals("go"):
        with pytest.raises(cccl_cache.DeadlineError):
            client.build(program, arch="sm_90", timeout=0.2, on_miss="finish")
    toolkit.open("go")
    assert client.build(program, arch="sm_90").outcome in ("hit", "joined")
    assert (fake.stats()["compiles_total"], fake.stats()["cancelled_total"]) == (1, 0)


def test_a_build_that_refuses_misses_is_a_hit_or_an_error(client):
    unseen = KERNEL.replace("VALUE", "77")
    with pytest.raises(cccl_cache.NotCachedError) as raised:
        client.build(unseen, arch="sm_90", on_miss="refuse")
    assert raised.value.status == "not-cached"
    built = client.build(unseen, arch="sm_90")
    assert (built.outcome, client.build(unseen, arch="sm_90", on_miss="refuse").cubin) == ("built", built.cubin)


def test_headers_come_from_directories_and_from_the_call(client, directory):
    (directory / "value.h").write_text("#define VALUE 7\n")
    source = '#include "value.h"\n#include "other.h"\n' + KERNEL
    made = client.build(source, arch="sm_90", include_dirs=[directory], headers={"other.h": "#define OTHER 8\n"})
    (directory / "value.h").write_text("#define VALUE 9\n")
    other = client.build(source, arch="sm_90", include_dirs=[directory], headers={"other.h": "#define OTHER 8\n"})
    assert other.outcome == "built"
    assert other.cubin != made.cubin


def test_names_are_looked_up_from_the_working_directory(client, directory):
    (directory / "value.h").write_text("#define VALUE 7\n")
    source = '#include "value.h"\n' + KERNEL
    assert client.build(source, arch="sm_90", include_dirs=["."], working_directory=directory).cubin
    with pytest.raises(cccl_cache.CompileError, match="value.h"):
        client.build(source, arch="sm_90", include_dirs=["."], working_directory="/usr")


def test_link_takes_results(client):
    parts = [client.build(each, arch="sm_90", options=["-rdc=true"], emit="ltoir") for each in (CALLER, DOUBLED)]
    linked = client.link(parts, arch="sm_90", options=["-lto"])
    named = client.link([("a", parts[0].ltoir), ("b", parts[1].ltoir, "ltoir")], arch="sm_90", options=["-lto"])
    assert linked.cubin[:4] == b"\x7fELF"
    assert named.key != linked.key
    again = client.link(parts, arch="sm_90", options=["-lto"])
    assert (again.outcome, again.cubin) == ("hit", linked.cubin)


def test_nvvm_compiles_ir(client):
    made = client.nvvm([("f.ll", IR)], arch="compute_90", libdevice=True)
    assert b".visible .entry f" in made.ptx
    assert client.nvvm([("f.ll", IR.encode())], arch="compute_90", libdevice=True).outcome == "hit"


def test_a_program_made_once_runs_many_times(client):
    program = cccl_cache.Build(KERNEL, arch="sm_90", options=["-DVALUE=3"], headers={"unused.h": "// x"})
    gc.collect()
    assert [client.run(program).outcome for _ in range(3)] == ["built", "hit", "hit"]


def test_many_builds_are_yielded_as_they_finish(fake, toolkit):
    client = cccl_cache.Client(fake.socket)
    sources = ["//fake: wait-for slow\n", "//fake: output-size 1000\n", "//fake: fail as told\n"]
    finished = client.build_many(cccl_cache.Build(each, arch="sm_90") for each in sources)
    first = dict([next(finished), next(finished)])
    assert sorted(first) == [1, 2]
    assert len(first[1].cubin) == 1000
    assert isinstance(first[2], cccl_cache.CompileError) and "as told" in first[2].log
    toolkit.open("slow")
    [(last, slow)] = finished
    assert (last, slow.outcome) == (0, "built")


def test_many_builds_need_no_thread(fake):
    before = threading.active_count()
    threads = set()
    for _, result in cccl_cache.Client(fake.socket).build_many(
            cccl_cache.Build(f"// {each}\n//fake: unique\n", arch="sm_90") for each in range(50)):
        assert result.outcome == "built"
        threads.add((threading.active_count(), len(os.listdir("/proc/self/task"))))
    assert {count for count, _ in threads} == {before}
    assert len(threads) == 1


def test_a_loop_over_many_builds_that_ends_early_cancels_the_others(fake, toolkit):
    finished = cccl_cache.Client(fake.socket).build_many(
        cccl_cache.Build(each, arch="sm_90") for each in ["//fake: wait-for left\n", "//fake: output-size 10\n"])
    assert next(finished)[0] == 1
    wait_for(lambda: fake.stats()["in_flight"] == 1, "the start of the other compile")
    finished.close()
    wait_for(lambda: fake.stats()["cancelled_total"] == 1, "the end of the compile")


def test_coroutines_build_concurrently(lasting):
    async def main():
        client = cccl_cache.AsyncClient(lasting.socket)
        programs = [client.build(KERNEL, arch="sm_90", options=[f"-DVALUE={500 + each}"]) for each in range(3)]
        results = await asyncio.gather(*programs, client.health(), client.build("wrong", arch="sm_90"),
                                       return_exceptions=True)
        return results

    *built, health, failed = asyncio.run(main())
    assert [each.outcome for each in built] == ["built"] * 3
    assert len({each.cubin for each in built}) == 3
    assert health.serving
    assert isinstance(failed, cccl_cache.CompileError)


def test_a_coroutine_that_is_cancelled_ends_its_compile_and_no_other(fake, toolkit):
    async def main():
        client = cccl_cache.AsyncClient(fake.socket)
        runs = [asyncio.ensure_future(client.build(f"//fake: wait-for {name}\n", arch="sm_90")) for name in ("gone", "kept")]
        while not all(toolkit.arrivals(name) for name in ("gone", "kept")):
            await asyncio.sleep(0.005)
        runs[0].cancel()
        while fake.stats()["cancelled_total"] < 1:
            await asyncio.sleep(0.005)
        toolkit.open("kept")
        return await asyncio.gather(*runs, return_exceptions=True)

    gone, kept = asyncio.run(main())
    assert isinstance(gone, asyncio.CancelledError)
    assert kept.outcome == "built"


def test_many_asynchronous_builds_are_yielded_as_they_finish(fake, toolkit):
    async def main():
        client = cccl_cache.AsyncClient(fake.socket)
        seen = []
        sources = ["//fake: wait-for slow\n", "//fake: output-size 1000\n", "//fake: fail as told\n"]
        async for number, end in client.build_many(cccl_cache.Build(each, arch="sm_90") for each in sources):
            seen.append((number, type(end)))
            if len(seen) == 2:
                toolkit.open("slow")
        return seen

    seen = asyncio.run(main())
    assert dict(seen) == {0: cccl_cache.Result, 1: cccl_cache.Result, 2: cccl_cache.CompileError}
    assert seen[2][0] == 0


def test_one_asynchronous_client_serves_one_event_loop_after_the_other(fake):
    client = cccl_cache.AsyncClient(fake.socket)
    for each in range(2):
        assert asyncio.run(client.build(f"// loop {each}\n", arch="sm_90")).outcome == "built"


def test_explain_shows_the_differences(client):
    client.build(KERNEL, arch="sm_90", options=["-DVALUE=100"], name="explained.cu")
    told = client.explain(cccl_cache.Build(KERNEL, arch="sm_90", options=["-DVALUE=101"], name="explained.cu"))
    assert told.verdict == "differs"
    assert [(each.field, each.was, each.now) for each in told.differences] == [
        ("option", "-DVALUE=100", ""), ("option", "", "-DVALUE=101")] or told.differences[0].field == "option"
    assert [(each.tier, each.finding) for each in told.tiers] == [
        ("memory", "no-entry"), ("disk", "no-entry"), ("remote", "not-configured")]
    assert client.explain("0" * 64).verdict == "unknown-key"


def test_the_daemon_reports_its_state(client, lasting):
    health = client.health()
    assert (health.serving, health.socket, health.uid) == (True, str(lasting.socket), os.geteuid())
    names = {each.name for each in client.stats()}
    assert {"builds_total", "hits_total", "compiles_total"} <= names
    [toolchain] = client.toolchains().used
    assert {each.name for each in toolchain.components} == {"nvrtc", "nvjitlink", "nvvm"}


def test_threads_share_a_client(client):
    together = threading.Barrier(8)

    def build(number):
        together.wait(PATIENCE)
        return client.build(KERNEL, arch="sm_90", options=[f"-DVALUE={200 + number % 2}"]).cubin

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        cubins = list(pool.map(build, range(8)))
    assert len(set(cubins)) == 2
    assert cubins[::2] == [cubins[0]] * 4


def test_a_forked_process_continues_with_its_client(client):
    expected = client.build(KERNEL, arch="sm_90", options=["-DVALUE=300"]).cubin
    child = os.fork()
    if child == 0:
        same = client.build(KERNEL, arch="sm_90", options=["-DVALUE=300"]).cubin == expected
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert client.build(KERNEL, arch="sm_90", options=["-DVALUE=300"]).cubin == expected


def test_artifacts_outlive_client_and_result(lasting):
    def build():
        return cccl_cache.Client(lasting.socket).build(KERNEL, arch="sm_90", options=["-DVALUE=4"])

    cubin, view = build().cubin, build().view("cubin")
    gc.collect()
    assert cubin[:4] == b"\x7fELF"
    assert view == cubin and view.readonly
    with pytest.raises(KeyError):
        build().view("ptx")


def test_nvrtc_append_flags_count_as_for_nvrtc(client, monkeypatch):
    monkeypatch.setenv("NVRTC_APPEND_FLAGS", "-DVALUE=5")
    monkeypatch.setenv("NVRTCWIZ", "3153394")
    appended = client.build(KERNEL, arch="sm_90")
    monkeypatch.delenv("NVRTCWIZ")
    with pytest.raises(cccl_cache.CompileError, match="VALUE"):
        client.build(KERNEL, arch="sm_90")
    assert appended.cubin


def test_a_build_takes_the_cuda_that_the_program_has_loaded(make_daemon):
    """The test runs in a process of its own, because a loaded library stays loaded."""
    daemon = make_daemon(roots=(PLACES.cuda13, PLACES.cuda12)).start()
    program = f"""if True:
        import ctypes, pathlib, sys, types, cccl_cache
        client = cccl_cache.Client({str(daemon.socket)!r})
        def major():
            return client.build({KERNEL!r}, arch="sm_90", options=["-DVALUE=1"]).toolchain.version.split(".")[0]
        print(major())
        sys.modules["cuda.bindings"] = types.SimpleNamespace(__version__="12.9.1")
        print(major())
        [runtime] = pathlib.Path({str(PLACES.cuda12)!r}).rglob("libnvrtc.so.12")
        ctypes.CDLL(str(runtime))
        sys.modules["cuda.bindings"].__version__ = "13.0.1"
        print(major())
        print(client.build({KERNEL!r}, arch="sm_90", options=["-DVALUE=1"], toolchain=13).toolchain.version[:2])
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.split() == ["13", "12", "12", "13"], done.stderr


def test_the_shell_and_python_have_one_key(client, lasting):
    """The guide promises this for the same options in the same order."""
    source = lasting.directory / "kernel.cu"
    source.write_text(KERNEL)
    told = json.loads(lasting.cli("--json", "build", str(source), "--arch", "sm_90", "--option=-DVALUE=400", "-o",
                                  str(lasting.directory / "out.cubin")).stdout)
    made = client.build(KERNEL, arch="sm_90", options=["-DVALUE=400"], name=str(source))
    assert (made.outcome, made.key) == ("hit", told["key"])
    assert made.cubin == (lasting.directory / "out.cubin").read_bytes()
