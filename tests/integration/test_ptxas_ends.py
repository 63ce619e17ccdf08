# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Failures around the stand-in for ptxas. It still behaves as the real ptxas, and delays no program."""

import os
import signal
import time

import pytest
from conftest import wait_for
from lease_client import wait_for_waiters
from standin import StandIn, ended, is_gone, ptx

WORDS = ["a.ptx", "-arch=sm_90", "-o"]


@pytest.fixture
def standin(directory, fake):
    standin = StandIn(directory / "standin", fake.socket)
    (standin.work / "a.ptx").write_text(ptx())
    return standin


@pytest.fixture
def gate(standin):
    gate = standin.directory / "gate"
    os.mkfifo(gate)
    return gate


def check_works(standin):
    """Checks that the output is that of the real ptxas."""
    assert standin.run_real(*WORDS, "real").status == 0
    assert standin.run(*WORDS, "ours") == (0, b"", b"")
    assert (standin.work / "ours").read_bytes() == (standin.work / "real").read_bytes()
    (standin.work / "ours").unlink()


def test_an_error_is_passed_on_and_not_kept(standin, fake):
    (standin.work / "a.ptx").write_text(ptx(body="no.such.instruction;"))
    real = standin.run_real(*WORDS, "o")
    assert real.status == 255 and b"a.ptx, line" in real.err
    for number in (1, 2):
        assert standin.run(*WORDS, "o") == real
        assert len(standin.runs()) == number
        assert not (standin.work / "o").exists()
    stats = fake.stats()
    assert (stats["deposits"], stats["leases_failed_total"]) == (0, 2)


def test_a_run_that_fails_releases_all_waiters_at_once(standin, fake, gate):
    holder = standin.start(*WORDS, "o", GATE=str(gate), ENDS="fail")
    wait_for(standin.runs, "a run")
    waiting = [standin.start(*WORDS, f"o{number}") for number in range(3)]
    wait_for_waiters(fake, 3)
    gate.write_text("go")
    assert ended(holder) == (3, b"", b"it fails\n")
    assert [ended(process) for process in waiting] == [(0, b"", b"")] * 3
    assert len(standin.runs()) == 4
    assert fake.stats()["leases_failed_total"] == 1


def test_a_signal_that_ends_the_tool_ends_the_stand_in_too(standin, fake):
    assert standin.run(*WORDS, "o", ENDS="signal").status == -signal.SIGSEGV
    blocked = standin.run("--block-signal", standin.program, *WORDS, "o", program="/usr/bin/env", ENDS="signal")
    assert blocked.status == -signal.SIGSEGV
    # Process 1 of a namespace takes no signal from itself.
    own = ["--pid", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    first = standin.run("--fork", *own, standin.program, *WORDS, "o", program="/usr/bin/unshare", ENDS="signal")
    assert first.status == 128 + signal.SIGSEGV
    assert fake.stats()["deposits"] == 0
    check_works(standin)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_holder_ends_its_tool_and_frees_the_waiters(standin, fake, gate, number):
    holder = standin.start(*WORDS, "o", GATE=str(gate))
    [pid] = wait_for(standin.runs, "a run")
    waits = standin.start(*WORDS, "p")
    wait_for_waiters(fake, 1)
    holder.send_signal(number)
    assert ended(holder).status == -number
    assert ended(waits) == (0, b"", b"")
    wait_for(lambda: is_gone(pid), "the tool's end")
    assert len(standin.runs()) == 2
    check_works(standin)
    assert len(standin.runs()) == 2


def test_if_the_real_tool_cant_write_or_read_the_message_is_the_same(standin):
    check_works(standin)
    for words in ([*WORDS, "no/directory/o"], [*WORDS, "."], ["none.ptx", "-arch=sm_90", "-o", "o"], [".", "-arch=sm_90", "-o", "o"]):
        said = standin.run(*words)
        assert said == standin.run_real(*words) and said.status != 0


def test_a_tool_with_children_in_another_pid_namespace_runs(standin):
    own = ["--pid", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    assert standin.run(*own, standin.program, *WORDS, "o", program="/usr/bin/unshare") == (0, b"", b"")


def test_a_parent_that_ignores_its_children_and_closed_descriptors_change_nothing(standin):
    for number in range(2):
        done = standin.run("-c", f"trap '' CHLD; {standin.program} {' '.join(WORDS)} o", program="/bin/bash")
        assert done == (0, b"", b"")
        (standin.work / "a.ptx").write_text(ptx(body="no.such.instruction;"))
        done = standin.run("-c", f"trap '' CHLD; {standin.program} {' '.join(WORDS)} o", program="/bin/bash")
        assert done.status == 255
        (standin.work / "a.ptx").write_text(ptx())
        done = standin.run("-c", f"exec {standin.program} {' '.join(WORDS)} o <&- >&- 2>&-", program="/bin/bash")
        assert done == (0, b"", b"")


def test_without_a_daemon_the_real_tool_runs(standin, fake):
    fake.stop()
    for number in (1, 2):
        check_works(standin)
        assert len(standin.runs()) == number
    assert not standin.facts("hangs")  # the question took no time
    fake.start()
    check_works(standin)
    check_works(standin)
    assert len(standin.runs()) == 3


def connections(daemon):
    """Returns the number of connections to a frozen daemon, including those that a client has given up."""
    with open("/proc/net/unix") as sockets:  # sockets have the name to which the socket was bound before it was renamed
        return sum(line.split()[-1].startswith(f"{daemon.socket}.") for line in sockets) - 1  # the listening socket


def test_a_hung_daemon_is_asked_by_one_run_every_half_minute(standin, fake):
    check_works(standin)
    fake.freeze()
    check_works(standin)  # makes the stand-in know the tool
    [fact] = standin.facts("hangs")
    before = connections(fake)
    assert before > 0
    for _ in range(3):
        check_works(standin)
    assert connections(fake) == before
    os.utime(fact, (time.time() - 60,) * 2)
    asks = standin.start(*WORDS, "o")
    wait_for(lambda: time.time() - fact.stat().st_mtime < 30, "one run that tries again")
    check_works(standin)
    assert ended(asks).status == 0
    fake.process.send_signal(signal.SIGCONT)
    ran = len(standin.runs())
    check_works(standin)
    assert len(standin.runs()) == ran + 1  # the daemon is still not asked
    os.utime(fact, (time.time() - 60,) * 2)
    check_works(standin)
    assert not fact.exists() and len(standin.runs()) == ran + 1


@pytest.mark.parametrize("how", ["kill", "freeze"])
def test_a_daemon_that_ends_while_the_tool_runs_costs_no_result(standin, fake, gate, how):
    holder = standin.start(*WORDS, "o", GATE=str(gate))
    wait_for(standin.runs, "a run")
    waits = standin.start(*WORDS, "p")
    wait_for_waiters(fake, 1)
    getattr(fake, how)()
    assert ended(waits) == (0, b"", b"")
    gate.write_text("go")
    assert ended(holder) == (0, b"", b"")
    assert (standin.work / "o").read_bytes() == (standin.work / "p").read_bytes()
    assert len(standin.runs()) == 2


def test_runs_succeed_if_the_daemon_refuses_deposits_or_connections(make_daemon, directory):
    full = make_daemon("--deposit-limit-per-uid", "1KiB").start()
    standin = StandIn(directory / "standin", full.socket)
    (standin.work / "a.ptx").write_text(ptx())
    for number in (1, 2):
        check_works(standin)
        assert len(standin.runs()) == number
    assert full.stats()["deposits"] == 0
