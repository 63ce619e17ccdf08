# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of JAX are compiled once per node, and never found by a compile with other inputs. For the processor."""

import os
import pathlib
import shutil
import signal
import socket

import pytest
from asked_process import AskedProcess
from daemon_fixtures import lasting_daemon
from lease_client import wait_for_waiters
from patience import wait_for
from places import PLACES

HERE = pathlib.Path(__file__).parent
MADE, FOUND = {"made": 1, "published": 1}, {"hits": 1}


class Node:
    """The processes of this file, which share a daemon. Each test compiles a function of another number."""

    def __init__(self, directory, daemon):
        self.directory, self.daemon = directory, daemon
        self.file = directory / "functions.py"
        shutil.copy(HERE / "jax_functions.py", self.file)
        self._compiled = directory / "compiled"
        self._processes = []

    def environment(self, **more):
        own = {"CCCL_CACHE": "1", "CCCL_CACHE_SOCKET": self.daemon.socket, "HOME": str(self.directory),
               "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "COMPILED": str(self._compiled)}
        return {**os.environ, **own, **more}

    def start(self, count=1, **environment):
        started = [AskedProcess(self.environment(**environment), HERE / "jax_program.py") for _ in range(count)]
        self._processes += started
        for process in started:
            assert process.hear() == "ready"
        return started

    def compiled(self):
        """Returns the number of compiles of all processes."""
        return len(self._compiled.read_text().split()) if self._compiled.exists() else 0

    def gate(self, name):
        path = self.directory / name
        os.mkfifo(path)
        return str(path)

    def file_with(self, name, *changes, shifted=0):
        """Returns a copy of the functions' file, in a directory of its own, with changes."""
        text = self.file.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        copy = self.directory / name / "copy.py"
        copy.parent.mkdir()
        copy.write_text("# a line\n" * shifted + text)
        return copy

    def end(self):
        for process in self._processes:
            process.end()


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with lasting_daemon(PLACES.fake13) as daemon:
        node = Node(tmp_path_factory.mktemp("node"), daemon)
        yield node
        node.end()


@pytest.fixture(scope="module")
def four(node):
    return node.start(4)


def counts(process):
    status = process.ask("status")
    assert status["on"] and not status["errors"], status
    return {name: status[name] for name in ("hits", "made", "published", "released")}


def changes(process, *words):
    """Returns the answer, and how the counts of the process have changed."""
    before = counts(process)
    answer = process.ask(*words)
    return answer, {name: count - before[name] for name, count in counts(process).items() if count != before[name]}


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


def test_a_killed_process_delays_no_other(node, four):
    before, gate = node.compiled(), node.gate("killed")
    [holder] = node.start()
    holder.tell("gated", node.file, 6, gate)
    wait_for(lambda: node.compiled() == before + 1, "a compile that runs")
    four[0].tell("compute", node.file, 6)
    wait_for_waiters(node.daemon, 1)
    holder.signal(signal.SIGKILL)
    assert len(four[0].hear()) == 64
    assert changes(four[1], "compute", node.file, 6)[1] == FOUND


def test_threads_of_a_process_compile_a_function_once(node, four):
    before = node.compiled()
    assert len(four[0].ask("threads", node.file, 7)) == 1
    assert node.compiled() == before + 1


def test_source_device_and_rank_do_not_matter(node, four):
    made = four[0].ask("compute", node.file, 8)
    moved = node.file_with("moved", shifted=3)
    assert changes(four[1], "compute", moved, 8) == (made, FOUND)
    assert changes(four[1], "compute", node.file, 8, 1) == (made, FOUND)
    [other] = node.start(RANK="1", LOCAL_RANK="1", TF_CPP_MIN_LOG_LEVEL="1")
    assert changes(other, "compute", node.file, 8) == (made, FOUND)
    other.end()


@pytest.mark.parametrize("name, change", [("operator", ("x @ x", "x + x")), ("function", ("sin", "cos")), ("type", ("+ n", "+ n * 1j"))])
def test_an_edited_function_is_compiled(node, four, name, change):
    made = four[0].ask("compute", node.file, 9)
    other, outcome = changes(four[0], "compute", node.file_with(name, change), 9)
    assert other != made and outcome == MADE
