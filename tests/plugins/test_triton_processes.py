# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton are compiled once per node, even if the compiling process fails or ends."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest
import triton
from lease_client import wait_for_waiters
from patience import PATIENCE, wait_for
from triton_processes import Node, in_step

KERNELS = range(1, 9)


@pytest.fixture
def node(directory, fake):
    place = directory / "node"
    place.mkdir()
    node = Node(place, fake.socket)
    yield node
    node.end()


@pytest.fixture
def strict(make_daemon):
    """A daemon that revokes the lease of a holder that is silent for 3 s, which is longer than a busy machine delays
    a process."""
    return make_daemon("--lease-heartbeat", "1s").start()


def counts(process):
    status = process.ask("status")
    assert not status["errors"] and not status["not_cached"], status
    return {name: status[name] for name in ("hits", "hits_local", "builds", "published", "released")}


def test_eight_processes_compile_eight_kernels_once_and_later_ones_none(node):
    processes = node.start(8)
    made = in_step(processes, KERNELS)
    assert all(len(set(of_kernel)) == 1 for of_kernel in made)
    assert node.assembled() == 8
    total = [counts(process) for process in processes]
    assert sum(each["builds"] for each in total) == sum(each["published"] for each in total) == 8
    assert all(each["hits"] + each["builds"] + each["hits_local"] == 8 for each in total)
    [second] = node.start()
    assert in_step([second], KERNELS) == [of_kernel[:1] for of_kernel in made]
    assert counts(second)["hits_local"] == 8
    shutil.rmtree(node.cache)
    [third] = node.start()  # as in a container with an empty file system
    assert in_step([third], KERNELS) == [of_kernel[:1] for of_kernel in made]
    assert counts(third)["hits"] == 8
    assert node.assembled() == 8


def test_processes_with_their_own_directories_share_kernels(node):
    processes = [node.start(TRITON_CACHE_DIR=str(node.directory / str(number)))[0] for number in range(2)]
    assert [len(set(of_kernel)) for of_kernel in in_step(processes, [1, 2])] == [1, 1]
    assert node.assembled() == 2


def holder_and_waiter(node, daemon):
    """Starts two processes. One compiles a kernel and waits at a gate, and the other waits for that kernel."""
    gate = node.gate()
    [holder], [waiter] = node.start(GATE=gate), node.start()
    holder.tell("compile", 1)
    wait_for(lambda: node.assembled() == 1, "a compile that runs")
    waiter.tell("compile", 1)
    wait_for_waiters(daemon, 1)
    return gate, holder, waiter


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_ends_while_it_compiles_delays_no_other(node, fake, end):
    _, holder, waiter = holder_and_waiter(node, fake)
    holder.signal(end)
    assert len(waiter.hear()) == 64
    assert counts(waiter)["published"] == 1


def test_a_process_that_is_stopped_while_it_compiles_delays_others_for_a_bounded_time(directory, strict):
    place = directory / "node"
    place.mkdir()
    node = Node(place, strict.socket)
    try:
        gate, holder, waiter = holder_and_waiter(node, strict)
        holder.signal(signal.SIGSTOP)
        made = waiter.hear()
        assert counts(waiter)["published"] == 1
        holder.signal(signal.SIGCONT)
        node.open_gate(gate)
        assert holder.hear() == made
        assert "lease was lost" in str(holder.ask("status")["errors"])
    finally:
        node.end()


def test_an_assembler_that_fails_late_releases_all_waiters_at_once(node, fake):
    gate = node.gate()
    [holder], waiting = node.start(GATE=gate, FAILS="1"), node.start(3, FAILS="1")
    holder.tell("compile", 1)
    wait_for(lambda: node.assembled() == 1, "a compile that runs")
    for process in waiting:
        process.tell("compile", 1)
    wait_for_waiters(fake, 3)
    node.open_gate(gate)
    assert holder.hear() == "PTXASError"
    holder.tell("compile", 2)  # the error's traceback is kept, so the next compile of the thread gives the lease up
    assert [process.hear() for process in waiting] == ["PTXASError"] * 3
    node.open_gate(gate)
    assert holder.hear() == "PTXASError"
    assert [counts(process)["released"] for process in waiting] == [1] * 3
    stats = fake.stats()
    assert (stats["deposits"], stats["leases_failed_total"]) == (0, 1)


def test_a_forked_child_and_its_parent_compile_through_the_daemon(node):
    [process] = node.start()
    in_step([process], [1])
    made = process.ask("forked", 2)
    assert len(made) == 64 and len(process.ask("compile", 3)) == 64
    shutil.rmtree(node.cache)
    [other] = node.start()
    assert in_step([other], [2])[0] == [made]
    assert (counts(other)["hits"], node.assembled()) == (1, 3)


def test_threads_of_one_process_compile_each_kernel_once(node):
    [process] = node.start()
    made = process.ask("threads", 1, 2, 1, 2)
    assert made[:2] == made[2:] and len(set(made)) == 2
    assert counts(process)["published"] == 2


def test_without_a_daemon_triton_has_its_own_directory(node, directory):
    node.socket = str(directory / "nobody")
    first, second = node.start(2)
    made = in_step([first], [1, 2])
    assert in_step([second], [1, 2]) == made
    assert node.assembled() == 2
    status = second.ask("status")
    assert (status["hits_local"], status["builds"]) == (2, 0)
    assert first.ask("status")["builds"] == 2 and first.ask("status")["errors"]


def test_a_daemon_that_hangs_costs_a_bounded_wait(node, fake):
    [process] = node.start(CCCL_CACHE_TRITON_WAIT="1")
    fake.freeze()
    assert all(len(made) == 64 for [made] in in_step([process], [1, 2]))
    fake.process.send_signal(signal.SIGCONT)


def test_a_half_written_entry_is_read_from_the_daemon(node):
    [first] = node.start()
    made = in_step([first], [1, 2, 3])
    groups = sorted(node.cache.glob("*/__grp__scale.json"))
    groups[0].with_name("scale.cubin").unlink()
    groups[1].write_text('{"child_pa')
    groups[2].unlink()
    [second] = node.start()
    assert in_step([second], [1, 2, 3]) == made
    assert (counts(second)["hits"], node.assembled()) == (3, 3)
    [third] = node.start()
    assert in_step([third], [1, 2, 3]) == made
    assert counts(third)["hits_local"] == 3


@pytest.mark.parametrize("mode", ["TRITON_ALWAYS_COMPILE", "TRITON_KERNEL_OVERRIDE"])
def test_a_build_with_inputs_outside_tritons_key_is_not_deposited(node, fake, mode):
    [process] = node.start(**{mode: "1"})
    assert len(process.ask("compile", 1)) == 64
    assert counts(process)["published"] == 0
    assert fake.stats()["leases_total"] == 0


def test_a_kernel_with_replaced_code_is_not_published(node, fake):
    [process] = node.start()
    made = process.ask("compile", 1)
    [ptx] = node.cache.glob("*/scale.ptx")
    copy = node.directory / "other.ptx"
    copy.write_bytes(ptx.read_bytes())
    assert len(process.ask("compile", 1, json.dumps({"ir_override": str(copy)}).replace(" ", ""))) == len(made)
    status = process.ask("status")
    assert (status["published"], fake.stats()["deposits"]) == (1, 1)
    assert list(status["not_cached"]) == ["ir_override replaces what Triton compiles"]


def test_binaries_alone_are_another_deposit(node):
    [whole] = node.start()
    made = whole.ask("compile", 1)
    shutil.rmtree(node.cache)
    [binary] = node.start(TRITON_STORE_BINARY_ONLY="1")
    assert binary.ask("compile", 1) == made
    assert (counts(binary)["hits"], counts(binary)["published"]) == (0, 1)
    assert not list(node.cache.glob("*/scale.ptx"))


BUSY = os.environ["CCCL_CACHED_TEST_BUSY_DIRECTORIES"]


def test_directories_that_cant_be_removed_fail_only_in_triton(node):
    """NFS has such directories: triton #11512."""
    [alone] = node.start(plugin=False, LD_PRELOAD=BUSY)
    assert alone.ask("compile", 1) == "OSError"
    shutil.rmtree(node.cache)
    processes = node.start(2, LD_PRELOAD=BUSY)
    assert all(len(made) == 64 for of_kernel in in_step(processes, [1, 2]) for made in of_kernel)


def python(node, code, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, "CCCL_CACHE_SOCKET": node.socket, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


MANAGER = "import triton; from triton import knobs; print(knobs.cache.manager_class)"
OURS = "<class 'cccl_cache.triton._manager.CacheManager'>".split()


@pytest.mark.parametrize("variable", ["CCCL_CACHE", "CCCL_CACHE_TRITON"])
def test_one_variable_turns_the_plug_in_on(node, variable):
    assert python(node, MANAGER, **{variable: "1"}) == OURS
    assert python(node, MANAGER, **{variable: "0"}) == ["None"]


def test_another_cache_manager_stays_in_place(node):
    other = "triton.runtime.cache:FileCacheManager"
    told = python(node, MANAGER, CCCL_CACHE_TRITON="1", TRITON_CACHE_MANAGER=other)
    assert told == "<class 'triton.runtime.cache.FileCacheManager'>".split()
    line = "import cccl_cache.triton; print(cccl_cache.triton.switch.told())"
    assert python(node, line, TRITON_CACHE_MANAGER=other) == f"off: TRITON_CACHE_MANAGER is {other}".split()
    assert python(node, line)[:2] == ["off", "until"]
    assert python(node, line + "; import sys; assert 'triton' not in sys.modules", CCCL_CACHE="1")[:2] == ["on", "at"]
    assert python(node, line, TRITON_CACHE_MANAGER="cccl_cache.triton:CacheManager")[-2:] == ["triton", triton.__version__]


@pytest.mark.parametrize("change, reason", [
    ("cache.FileCacheManager.put = lambda self, data, name: name", "FileCacheManager has no put(self, data, filename, binary)"),
    ("del type(knobs.compilation).use_ir_loc", "knobs has no compilation.use_ir_loc"),
    ("compiler.compile = cache.FileCacheManager.get_group", r"compile has no statement fn_cache_manager = get_cache_manager\(hash\)"),
    ("compiler.compile = reading", "compile has the statement open(metadata_group[name])")])
def test_a_release_that_differs_has_tritons_own_manager(node, change, reason):
    program = node.directory / "program.py"
    program.write_text(f"""import cccl_cache.triton as plugin
import triton
from triton import knobs
from triton.compiler import compiler
from triton.runtime import cache

def reading(name):
    if name:
        open(metadata_group[name])

{change}
print(knobs.cache.manager_class)
print(plugin.status()["why_off"])
""")
    told = python(node, f"import runpy; runpy.run_path({str(program)!r})", TRITON_CACHE_MANAGER="cccl_cache.triton:CacheManager")
    differs = f"triton {triton.__version__} differs from what is served: {reason}"
    assert told == f"<class 'triton.runtime.cache.FileCacheManager'> {differs}".split()


GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide-triton.md"


def test_the_guides_example_runs_unchanged(node):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    program = node.directory / "example.py"
    program.write_text(example)

    def run(name):
        environment = {**os.environ, "CCCL_CACHE_SOCKET": node.socket, "TRITON_CACHE_DIR": str(node.directory / name)}
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=PATIENCE, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.split(maxsplit=1)

    first, second = run("first"), run("second")
    assert first[0] == second[0] and int(first[0]) > 0
    assert "'builds': 1" in first[1] and "'hits': 1" in second[1] and "'builds'" not in second[1]


def test_the_guide_names_the_releases_of_the_tests():
    text = GUIDE.read_text()
    assert triton.__version__ in text
    locks = pathlib.Path(__file__).parents[2] / "scripts/locks"
    for name in ("triton", "triton-before"):
        assert re.search(r"^triton==(\S+)", (locks / f"{name}.txt").read_text(), re.M)[1] in text
