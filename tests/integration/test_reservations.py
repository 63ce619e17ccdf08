# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Tools that stand-ins start wait for the memory that earlier runs of their kind needed."""

import os
import signal

import pytest
from conftest import wait_for
from standin import StandIn, ended, ptx

LIMIT = "1GiB"  # of which three quarters are shared
LARGE = 300  # MiB, of which two fit


class Runs:
    """Runs of one tool with different inputs, each of which waits at a gate of its own."""

    def __init__(self, directory, daemon):
        self.daemon = daemon
        self.standin = StandIn(directory / "standin", daemon.socket)
        self._gates = []

    def start(self, **environment):
        number = len(self._gates)
        gate = self.standin.directory / f"gate{number}"
        os.mkfifo(gate)
        self._gates.append(gate)
        (self.standin.work / f"{number}.ptx").write_text(ptx(f"k{number}"))
        words = [f"{number}.ptx", "-arch=sm_90", "-o", f"{number}.o"]
        return self.standin.start(*words, GATE=str(gate), ALLOCATE=str(LARGE), **environment)

    def run(self, **environment):
        """Starts a run whose memory is free."""
        before = len(self.standin.runs())
        process = self.start(**environment)
        self.await_runs(before + 1)
        return process

    def wait(self, **environment):
        """Starts a run whose memory is not free."""
        before = self.daemon.stats()["waiting_for_memory"]
        process = self.start(**environment)
        self.await_waiting(before + 1)
        return process

    def open(self, number):
        self._gates[number].write_text("go")

    def learn(self):
        """Makes one run, from which the daemon learns what the others need."""
        first = self.start()
        self.open(0)
        assert ended(first) == (0, b"", b"")

    def await_runs(self, count):
        wait_for(lambda: len(self.standin.runs()) == count, f"{count} runs")

    def await_waiting(self, count):
        wait_for(lambda: self.daemon.stats()["waiting_for_memory"] == count, f"{count} runs that wait for memory")


@pytest.fixture
def runs(directory, make_daemon):
    return Runs(directory, make_daemon("--compile-memory-limit", LIMIT, "--pch-memory-limit", "0").start())


def test_as_many_runs_start_as_fit_and_each_end_lets_another_start(runs):
    runs.learn()
    started = [runs.run(), runs.run(), runs.wait(), runs.wait()]
    assert len(runs.standin.runs()) == 1 + 2
    for number in range(1, 5):
        runs.open(number)
        if number <= 2:
            runs.await_runs(3 + number)
    assert [ended(each) for each in started] == [(0, b"", b"")] * 4
    assert runs.daemon.stats()["waiting_for_memory"] == 0
    assert runs.daemon.stats()["compile_memory_bytes"] == 0


def test_a_run_that_alone_exceeds_the_limit_starts(directory, make_daemon):
    runs = Runs(directory, make_daemon("--compile-memory-limit", "128MiB", "--pch-memory-limit", "0").start())
    runs.learn()
    first, second = runs.run(), runs.wait()
    assert len(runs.standin.runs()) == 2
    runs.open(1)
    runs.await_runs(3)
    runs.open(2)
    assert [ended(first), ended(second)] == [(0, b"", b"")] * 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_gives_its_memory_to_another(runs, number):
    runs.learn()
    holders = [runs.run() for _ in range(2)]
    third = runs.wait()
    holders[0].send_signal(number)
    runs.await_runs(4)
    runs.open(2)
    runs.open(3)
    assert ended(third) == ended(holders[1]) == (0, b"", b"")


def test_a_run_that_is_killed_while_it_waits_leaves_the_queue(runs):
    runs.learn()
    holders = [runs.run() for _ in range(2)]
    third = runs.wait()
    third.kill()
    runs.await_waiting(0)
    for number in (1, 2):
        runs.open(number)
    assert [ended(each) for each in holders] == [(0, b"", b"")] * 2
    assert len(runs.standin.runs()) == 3


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_once_the_daemon_is_gone_all_runs_start(runs, end):
    runs.learn()
    started = [runs.start() for _ in range(5)]
    runs.await_waiting(3)
    getattr(runs.daemon, end)()
    runs.await_runs(6)
    for number in range(1, 6):
        runs.open(number)
    assert [ended(each) for each in started] == [(0, b"", b"")] * 5


def test_once_the_daemon_is_stopped_by_a_signal_all_runs_start(runs):
    runs.learn()
    started = [runs.start() for _ in range(3)]
    runs.await_waiting(1)
    runs.daemon.process.send_signal(signal.SIGSTOP)
    runs.await_runs(4)
    runs.daemon.process.send_signal(signal.SIGCONT)
    for number in range(1, 4):
        runs.open(number)
    assert [ended(each) for each in started] == [(0, b"", b"")] * 3


def test_a_run_within_a_run_needs_no_memory_of_its_own(runs):
    runs.learn()
    holders = [runs.run() for _ in range(2)]
    within = runs.run(CCCL_CACHE_RESERVED="1")
    for number in range(1, 4):
        runs.open(number)
    assert [ended(each) for each in [*holders, within]] == [(0, b"", b"")] * 3


def test_a_run_waits_for_memory_no_longer_than_the_user_allows(runs):
    runs.learn()
    started = [runs.run(), runs.run(), runs.wait(), runs.run(CCCL_CACHE_RUN_WAIT_MS="0")]
    runs.await_waiting(1)
    for number in range(1, 5):
        runs.open(number)
    assert [ended(each) for each in started] == [(0, b"", b"")] * 4
    assert runs.daemon.stats()["compile_memory_bytes"] == 0


def test_steps_of_a_run_wait_for_memory_although_they_wait_for_no_other_process(runs):
    runs.learn()
    environment = {"CCCL_CACHE_STEP_OF": "1"}
    started = [runs.run(**environment), runs.run(**environment), runs.wait(**environment)]
    for number in range(1, 4):
        runs.open(number)
    assert [ended(each) for each in started] == [(0, b"", b"")] * 3
