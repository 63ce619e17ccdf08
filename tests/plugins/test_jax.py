# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of JAX are compiled once per node, and never found by a compile with other inputs. For the processor."""

import os
import pathlib
import re
import shutil
import signal
import socket
import sys
import types

import cccl_cache.jax
import pytest
from cccl_cache._plugin.canonical import Refused
from cccl_cache._plugin.leases import Settings
from cccl_cache.jax import _found, _hooks, _key, _release
from cccl_cache.steps._steps import report_of
from framework_node import FOUND, MADE, FrameworkNode, changes, counts
from jax._src import compiler
from jax._src import config as jax_config
from jax._src import distributed
from jax._src.lib import xla_client
from lease_client import wait_for_waiters
from patience import wait_for

HERE = pathlib.Path(__file__).parent
GUIDE = HERE.parents[1] / "docs/guide-jax.md"


class Node(FrameworkNode):
    """Each test compiles a function of another number."""

    program, original = "jax_program.py", "jax_functions.py"

    def variables(self):
        return {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}


def test_a_function_is_compiled_once_by_four_processes(node, four):
    before, gate = node.compiled(), node.gate("once")
    four[0].tell("gated", node.file, 3, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[1:]:
        process.tell("compute", node.file, 3)
    wait_for_waiters(node.daemon, 3)
    pathlib.Path(gate).write_text("go")
    made = {process.hear() for process in four}
    assert len(made) == 1 and len(made.pop()) == 64
    assert node.compiled() == before + 1


def test_a_found_function_computes_the_result_of_an_uncached_compile(node, four):
    [alone] = node.start(CCCL_CACHE_JAX="0")
    made = alone.ask("compute", node.file, 4)
    assert len(made) == 64 and not alone.ask("status")["on"]
    alone.end()
    for process, outcome in zip(four, (MADE, FOUND, FOUND)):
        assert changes(process, "compute", node.file, 4) == (made, outcome)


def test_a_compile_that_fails_raises_its_error_and_releases_waiting_processes(node, four):
    before, gate = node.compiled(), node.gate("fails")
    four[0].tell("gated", node.file, 5, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    four[1].tell("compute", node.file, 5)
    wait_for_waiters(node.daemon, 1)
    pathlib.Path(gate).write_text("fail")
    assert four[0].hear() == "Unmade"
    assert len(four[1].hear()) == 64
    assert counts(four[1])["released"] == 1
    assert changes(four[0], "compute", node.file, 5)[1] == MADE


def test_a_process_that_ends_or_stops_keeps_no_other_waiting(node, four):
    before, ends = node.compiled(), {6: signal.SIGTERM, 21: signal.SIGKILL, 31: signal.SIGSTOP}
    holders = node.start(3)
    for number, holder, waiter in zip(ends, holders, four):
        holder.tell("gated", node.file, number, node.gate(f"held{number}"))
        before += 1
        wait_for(lambda: node.compiled() == before, "a compile that runs")
        waiter.tell("compute", node.file, number)
    wait_for_waiters(node.daemon, 3)
    for holder, end in zip(holders, ends.values()):
        holder.signal(end)
    for number, waiter in zip(ends, four):
        assert len(waiter.hear()) == 64
        assert changes(four[3], "compute", node.file, number)[1] == FOUND


def test_threads_of_a_process_compile_a_function_once(node, four):
    before = node.compiled()
    assert len(four[0].ask("threads", node.file, 7)) == 1
    assert node.compiled() == before + 1


def test_the_source_and_the_rank_do_not_matter(node, four):
    made = four[0].ask("compute", node.file, 8)
    assert changes(four[1], "compute", node.file_with("moved", shifted=3), 8) == (made, FOUND)
    for variable in (("RANK", 1), ("TRITON_CACHE_DIR", "/var/empty")):
        assert changes(four[2], "with", *variable, node.file, 8) == (made, FOUND), variable


@pytest.mark.parametrize("name, change", [("operator", ("x @ x", "x + x")), ("function", ("sin", "cos")), ("type", ("+ n", "+ n * 1j"))])
def test_an_edited_function_is_compiled(node, four, name, change):
    made = four[0].ask("compute", node.file, 9)
    other, outcome = changes(four[0], "compute", node.file_with(name, change), 9)
    assert other != made and outcome == MADE


@pytest.mark.parametrize("option", ["xla_cpu_enable_fast_math", "xla_cpu_enable_fast_min_max"])
def test_other_options_are_another_compile(node, four, option):
    four[0].ask("compute", node.file, 10)
    made, outcome = changes(four[0], "compute", node.file, 10, 0, option)
    assert outcome == MADE
    assert changes(four[1], "compute", node.file, 10, 0, option) == (made, FOUND)


def test_another_number_of_processors_is_another_compile(node, four):
    made = four[0].ask("compute", node.file, 11)
    [other] = node.start()
    assert changes(other, "processors", node.file, 11, 98) == (made, MADE)
    assert changes(four[0], "processors", node.file, 11, 99) == (made, FOUND)  # XLA's pool keeps the size that it had
    other.end()


def test_other_variables_flags_and_named_files_are_another_compile(node, four):
    made = four[0].ask("compute", node.file, 12)
    named = node.directory / "denylist"
    naming = ("XLA_FLAGS", f"--xla_gpu_algorithm_denylist_path={named}")
    fast = ("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    for variable, contents in ((("PJRT_NPROC", 1), ""), (("NPROC", 1), ""), (fast, ""), (naming, "one"), (naming, "other")):
        named.write_text(contents)
        assert changes(four[0], "with", *variable, node.file, 12) == (made, MADE), variable
        assert changes(four[1], "with", *variable, node.file, 12) == (made, FOUND), variable


def test_another_library_of_jaxlib_is_another_compile(node, four):
    made = four[0].ask("compute", node.file, 13)
    first, *others = os.environ["PYTHONPATH"].split(":")
    packages = node.directory / "packages"
    for directory in (pathlib.Path(first), pathlib.Path(first) / "jaxlib"):
        copy = packages / directory.relative_to(first)
        copy.unlink(missing_ok=True)
        copy.mkdir()
        for entry in directory.iterdir():
            (copy / entry.name).symlink_to(entry)
    library, patched = packages / "jaxlib/libjax_common.so", packages / "patched"
    shutil.copyfile(library, patched)
    os.replace(patched, library)
    for outcome in (FOUND, MADE):
        [process] = node.start(PYTHONPATH=":".join([str(packages), *others]))
        assert changes(process, "compute", node.file, 13) == (made, outcome)
        process.end()
        with open(library, "ab") as changed:  # the wheel's RECORD stays as it is
            changed.write(b"patched")


@pytest.mark.parametrize("command, reason", [(("callback", 3), "host callbacks"), (("partitioned", 3), "custom partitioning")])
def test_a_function_that_calls_python_is_left_to_the_package(four, command, reason):
    answer, outcome = changes(four[0], *command)
    assert (answer, outcome) == ([3.0, 3.0], {})
    assert reason in four[0].ask("status")["not_cached"]


def test_a_process_that_wants_more_than_the_executable_makes_its_own(node, four):
    made = four[0].ask("compute", node.file, 14)
    assert changes(four[0], "with", "XLA_FLAGS", f"--xla_dump_to={node.directory}", node.file, 14) == (made, {})
    assert "files of the compile are kept" in four[0].ask("status")["not_cached"]
    [off] = node.start(JAX_ENABLE_COMPILATION_CACHE="0")
    assert changes(off, "compute", node.file, 14) == (made, {})
    off.end()


def test_a_found_executable_is_serialized_as_it_was_found(node, four):
    made = four[0].ask("serialized", node.file, 22, node.directory / "made")
    assert changes(four[1], "serialized", node.file, 22, node.directory / "found") == (made, FOUND)
    assert [four[2].ask("loaded", node.directory / name) for name in ("made", "found")] == [made] * 2


def test_an_executable_at_the_address_of_a_dead_one_is_serialized_as_its_own(node, four):
    for process, outcome in ((four[2], {"made": 2, "published": 2}), (four[3], {"hits": 2})):
        assert changes(process, "readdressed", node.file, 23, 24) == ([True, False], outcome)


def test_another_executable_of_xla_behind_the_same_object_is_serialized_as_its_own():
    found, executable = _found._Found(), types.SimpleNamespace(unsafe_executable_pointer=1)
    found.add(executable, b"of the dead one")
    executable.unsafe_executable_pointer = 2
    assert found._serialized(executable, lambda _: b"own", executable) == b"own"


def test_jaxs_own_directory_is_asked_first_and_filled_by_hits(node, four):
    made = four[0].ask("compute", node.file, 15)
    before, directory, other_directory = node.compiled(), node.directory / "own", node.directory / "empty"
    of_jax = {"JAX_COMPILATION_CACHE_DIR": str(directory), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    slow_only = {"JAX_COMPILATION_CACHE_DIR": str(other_directory), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1000"}
    first, again, alone, slow = node.start_each(of_jax, of_jax, {**of_jax, "CCCL_CACHE_JAX": "0"}, slow_only)
    assert changes(first, "compute", node.file, 15) == (made, FOUND)
    assert changes(again, "compute", node.file, 15) == (made, {})
    assert alone.ask("compute", node.file, 15) == made
    assert changes(slow, "compute", node.file, 15) == (made, FOUND)
    assert node.compiled() == before
    assert list(directory.glob("jit_*")) and not list(other_directory.glob("jit_*"))
    for process in (first, again, alone, slow):
        process.end()


def test_an_executable_that_can_not_be_loaded_is_replaced_once(node, four):
    made = four[0].ask("damaged", node.file, 16)
    before, gate = node.compiled(), node.gate("replaced")
    four[1].tell("gated", node.file, 16, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[2:]:
        process.tell("compute", node.file, 16)
    wait_for_waiters(node.daemon, 2)
    pathlib.Path(gate).write_text("go")
    assert [process.hear() for process in four[1:]] == [made] * 3
    assert [len(process.ask("status")["errors"]) for process in four[1:]] == [1] * 3
    assert node.compiled() == before + 1
    assert changes(four[0], "compute", node.file, 16) == (made, FOUND)


def test_an_executable_that_can_not_be_packed_releases_waiting_processes(node, four):
    before, gate = node.compiled(), node.gate("unpacked")
    released = [process.ask("status")["released"] for process in four[1:3]]
    four[0].tell("unpacked", node.file, 17, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    for process in four[1:3]:
        process.tell("compute", node.file, 17)
    wait_for_waiters(node.daemon, 2)
    pathlib.Path(gate).write_text("go")
    [made] = {process.hear() for process in four[:3]}
    assert len(made) == 64 and len(four[0].ask("status")["errors"]) == 1
    assert [process.ask("status")["released"] for process in four[1:3]] == [each + 1 for each in released]


def test_processes_of_one_job_wait_for_no_other_in_compiles_for_the_devices_of_both(node):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    ranks = node.start(2, XLA_FLAGS="")
    for number, rank in enumerate(ranks):
        rank.tell("join", address, number)
    assert [rank.hear() for rank in ranks] == [[2, 2]] * 2
    for numbers in ((18, 18), (18, 19)):  # the same program for the own device, or another; then one for the devices of both
        for rank, number in zip(ranks, numbers):
            rank.tell("compute", node.file, number)
        assert all(len(rank.hear()) == 64 for rank in ranks)
        before = [counts(rank) for rank in ranks]
        for rank in ranks:
            rank.tell("sum", node.file, numbers[1])
        assert len({rank.hear() for rank in ranks}) == 1
        assert [counts(rank) for rank in ranks] == before
    for rank in ranks:
        assert rank.ask("status")["not_cached"] == {"devices of several processes": 2}
        rank.end()


def test_the_guides_example_runs_unchanged(node):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    program = node.directory / "example.py"
    program.write_text(example)
    first, second = (node.run("-c", f"import runpy; runpy.run_path({str(program)!r})") for _ in range(2))
    assert "'made': " in first and "'hits': " in second and "'made'" not in second


def test_a_release_that_differs_is_left_alone_and_the_reason_is_told(node, monkeypatch):
    line = "import sys, cccl_cache.jax as plugin; print(plugin.switch.told(), 'jax' in sys.modules)"
    assert node.run("-c", line, CCCL_CACHE="0").startswith("off until cccl_cache.jax.install()")
    on = node.run("-c", line)
    assert on.startswith("on at the import of jax, if ") and on.endswith("(CCCL_CACHE_JAX) False\n")
    assert _release.served_release().startswith("jax ")
    assert cccl_cache.jax.switch.told().startswith("off until cccl_cache.jax.install() is called or CCCL_CACHE_JAX=1 is set")
    with monkeypatch.context() as changed:
        changed.setattr(compiler, "_compile_and_write_cache", lambda backend, computation, more: None)
        assert not cccl_cache.jax.install()
    why = cccl_cache.jax.status()["why_off"]
    assert "differs from what is served: jax._src.compiler has no _compile_and_write_cache(backend, computation," in why
    monkeypatch.delattr(jax_config, "compilation_cache_check_contents")
    assert not cccl_cache.jax.install()
    assert cccl_cache.jax.status()["why_off"].endswith("jax._src.config has no compilation_cache_check_contents.value")
    assert cccl_cache.jax.switch.told() == f"off: {cccl_cache.jax.status()['why_off']}"


def test_the_change_is_undone():
    original = compiler._compile_and_write_cache
    assert cccl_cache.jax.install() and cccl_cache.jax.install()
    assert compiler._compile_and_write_cache is not original
    cccl_cache.jax.uninstall()
    assert compiler._compile_and_write_cache is original


def test_nothing_is_kept_for_a_processor_for_which_nothing_can_be_loaded(monkeypatch):
    class Unloadable:
        platform = "cpu"
        serialize = staticmethod(lambda: b"executable")

        def deserialize_executable(self, *given):
            raise ValueError("another processor")

    monkeypatch.setattr(_hooks, "fields_of", lambda *given: {"key": "one"})
    report, made = report_of("jax unloadable"), Unloadable()
    compile = _hooks.JaxHooks("jax unloadable", Settings(connect=lambda: None), report)._stepping(lambda *given: made)
    for _ in range(2):
        assert compile(made, None, [], None, (), "name", "key") is made
    assert report.snapshot()["not_cached"] == {"XLA does not load its executables for this processor": 1}


def test_one_executable_of_a_process_is_loaded_for_a_check_and_others_are_kept_meanwhile(monkeypatch):
    loads = []

    class Loadable:
        platform = "cpu"
        serialize = staticmethod(lambda: b"executable")

        def deserialize_executable(self, *given):
            loads.append(given)
            if len(loads) == 1:
                compile(made, None, [], None, (), "meanwhile", "key")

    monkeypatch.setattr(_hooks, "fields_of", lambda *given: {"key": "one"})
    report, made = report_of("jax loadable"), Loadable()
    compile = _hooks.JaxHooks("jax loadable", Settings(connect=lambda: None), report)._stepping(lambda *given: made)
    for _ in range(2):
        assert compile(made, None, [], None, (), "name", "key") is made
    assert len(loads) == 2 and not report.snapshot()["not_cached"]


def test_waits_in_a_job_of_several_processes_are_short(monkeypatch):
    waits, made = [], types.SimpleNamespace(platform="gpu", serialize=lambda: b"executable")

    class Client:
        def lease(self, namespace, fields, *, timeout, **named):
            waits.append(timeout)
            raise OSError("no daemon")

    monkeypatch.setattr(_hooks, "fields_of", lambda *given: {"key": "one"})
    hooks = _hooks.JaxHooks("jax job", Settings(connect=Client, wait=1200.0), report_of("jax job"))
    compile = hooks._stepping(lambda *given: made)
    for client in (None, object()):
        monkeypatch.setattr(distributed.global_state, "client", client)
        assert compile(made, None, [], None, (), "name", "key") is made
    assert waits == [1200.0, 60.0]


def test_the_compilers_and_libraries_of_cuda_decide_a_compile_for_a_gpu(tmp_path, monkeypatch):
    versions = types.SimpleNamespace(**{f"{name}_get_version": lambda: 1 for name in _key._VERSIONS})
    monkeypatch.setitem(sys.modules, "jax_cuda13_plugin._versions", versions)
    monkeypatch.setattr(_key, "loaded_copies", lambda name: [str(tmp_path / name)])
    seen, directories = [], []

    def differs():
        _key._digests.cache_clear()  # as in another process
        seen.append(_key._platform("gpu", directories))
        return seen[-1] not in seen[:-1]

    def write(path, contents):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents)

    for name in ("libjax_common.so", "xla_cuda_plugin.so"):
        write(tmp_path / name, "a")
    assert differs() and not differs()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    for root in ("one", "other"):
        directories[:] = [str(tmp_path / root)]
        write(tmp_path / root / "bin/ptxas", "a")
        assert differs() == (root == "one")
    for path in ("other/bin/ptxas", "other/nvvm/libdevice/libdevice.10.bc", "other/lib64/libnvJitLink.so.13", "bin/nvlink",
                 "libjax_common.so", "xla_cuda_plugin.so"):
        write(tmp_path / path, f"the contents of {path}")
        assert differs(), path
    versions.cudnn_get_version = lambda: 2
    assert differs()
    with pytest.raises(Refused, match="the platform tpu"):
        _key._platform("tpu", directories)


def test_the_compilers_of_cuda_are_read_once_in_a_process(tmp_path, monkeypatch):
    versions = types.SimpleNamespace(**{f"{name}_get_version": lambda: 1 for name in _key._VERSIONS})
    monkeypatch.setitem(sys.modules, "jax_cuda13_plugin._versions", versions)
    monkeypatch.setattr(_key, "loaded_copies", lambda name: [])
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ptxas").write_text("a")
    (tmp_path / "include").mkdir()
    options = xla_client.CompileOptions()
    options.env_option_overrides = [(_key._DATA_DIRECTORY, str(tmp_path))]
    read = []
    monkeypatch.setattr(_key, "contents", lambda path: read.append(path) or "digest")
    directories = _key._data_directories(options, _key._flags(options))
    for _ in range(2):
        _key._platform("gpu", directories)
    assert read.count(str(tmp_path / "bin/ptxas")) == 1
    monkeypatch.setattr(_key, "contents", lambda path: pytest.fail(path))
    assert _key._files(_key._flags(options)) == ()
