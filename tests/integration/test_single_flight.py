# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""One compile serves all callers that request one key at once."""

import json
import subprocess
import threading

import grpc
import pytest
from conftest import PLACES, build_pb2, build_pb2_grpc, nvrtc_request, wait_for

WAITING = "//fake: wait-for gate\n//fake: unique\n"


def start_cli(daemon, directory, number, *arguments):
    """Starts a process that builds k.cu of the directory."""
    source = directory / "k.cu"
    return subprocess.Popen(
        [PLACES.cli, "--socket", daemon.socket, "--json", "build", str(source), "--arch", "sm_90", "-o",
         str(directory / f"out{number}"), *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )


def joined(daemon, callers):
    """Returns whether all callers wait for the flight."""
    return daemon.stats()["waiting"] >= callers


def test_one_compile_for_many_callers_64_processes(fake, toolkit, directory):
    (directory / "k.cu").write_text(WAITING)
    callers = [start_cli(fake, directory, number) for number in range(64)]
    toolkit.await_arrivals("gate", 1)
    wait_for(lambda: joined(fake, 64), "64 callers")
    toolkit.open("gate")
    for caller in callers:
        assert caller.wait(60) == 0, caller.stderr.read()
        caller.stdout.close()
        caller.stderr.close()
    outputs = {(directory / f"out{number}").read_bytes() for number in range(64)}
    assert len(outputs) == 1  # //fake: unique differs in each compile
    statistics = fake.stats()
    assert statistics["compiles_total"] == 1
    assert statistics["joins_total"] == 63


@pytest.mark.parametrize("header, given_up", [("#define N 1\n", 0), ("#define WHERE __FILE__\n", 1)],
                         ids=["plain header", "header that names paths"])
def test_one_compile_for_eight_processes_over_headers_from_elsewhere(fake, toolkit, directory, header, given_up):
    include = directory / "site-packages" / "include"
    include.mkdir(parents=True)
    (include / "own.h").write_text(header)
    (directory / "k.cu").write_text("#include <own.h>\n" + WAITING)
    callers = [start_cli(fake, directory, 0, f"-I{include}")]
    toolkit.await_arrivals("gate", 1)  # the others come while it runs, and their own files are read before the answer
    callers += [start_cli(fake, directory, number, f"-I{include}") for number in range(1, 8)]
    wait_for(lambda: joined(fake, 8), "eight callers")
    toolkit.open("gate")
    outcomes = []
    for caller in callers:
        told, errors = caller.communicate(timeout=60)
        assert caller.returncode == 0, errors
        outcomes.append(json.loads(told)["outcome"])
    assert outcomes == ["built", *["joined"] * 7]
    statistics = fake.stats()
    assert statistics["compiles_total"] == 1
    assert statistics["joins_total"] == 7
    assert statistics["misses_total"] == 8
    assert statistics["given_up_total"] == given_up


def test_one_compile_for_many_callers_1000_in_one_process(fake, toolkit):
    with fake.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        futures = [stub.Build.future(nvrtc_request(WAITING)) for _ in range(1000)]
        toolkit.await_arrivals("gate", 1)
        wait_for(lambda: joined(fake, 1000), "1,000 callers")
        toolkit.open("gate")
        replies = [future.result(60) for future in futures]
    assert len({artifact.contents for reply in replies for artifact in reply.artifacts if artifact.kind == 2}) == 1
    outcomes = [reply.outcome for reply in replies]
    assert outcomes.count(build_pb2.OUTCOME_BUILT) == 1
    assert outcomes.count(build_pb2.OUTCOME_JOINED) == 999
    assert fake.stats()["compiles_total"] == 1


def await_leave(daemon, left):
    """Waits until no more than `left` callers wait. Returns the daemon's count."""
    return wait_for(lambda: (counts := daemon.stats())["waiting"] == left and counts, "a caller's leave")


def test_last_waiter_cancels(fake, toolkit):
    with fake.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        calls = [stub.Build.future(nvrtc_request(WAITING)) for _ in range(2)]
        toolkit.await_arrivals("gate", 1)
        wait_for(lambda: joined(fake, 2), "two callers")
        calls[0].cancel()
        counts = await_leave(fake, 1)
        assert (counts["in_flight"], counts["cancelled_total"]) == (1, 0)
        calls[1].cancel()
        wait_for(lambda: fake.stats()["in_flight"] == 0, "the compile's end")
        wait_for(lambda: fake.stats()["cancelled_total"] == 1, "the compile to count as cancelled")
        # The key is free, so the next caller gets a compile of its own.
        again = stub.Build.future(nvrtc_request(WAITING))
        toolkit.await_arrivals("gate", 2)
        toolkit.open("gate")
        assert again.result(60).outcome == build_pb2.OUTCOME_BUILT
        assert fake.stats()["compiles_total"] == 2


def test_leader_leaves(fake, toolkit, directory):
    (directory / "k.cu").write_text(WAITING)
    leader = start_cli(fake, directory, "leader")
    toolkit.await_arrivals("gate", 1)
    followers = [start_cli(fake, directory, number) for number in range(8)]
    wait_for(lambda: joined(fake, 9), "nine callers")
    leader.kill()
    leader.wait()
    await_leave(fake, 8)
    toolkit.open("gate")
    for follower in followers:
        assert follower.wait(60) == 0, follower.stderr.read()
    assert len({(directory / f"out{number}").read_bytes() for number in range(8)}) == 1
    counts = fake.stats()
    assert (counts["compiles_total"], counts["cancelled_total"]) == (1, 0)
    for process in (leader, *followers):
        process.stdout.close()
        process.stderr.close()


def test_a_callers_deadline_takes_only_that_caller_away(fake, toolkit):
    with fake.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        patient = stub.Build.future(nvrtc_request(WAITING))
        toolkit.await_arrivals("gate", 1)
        hurried = stub.Build.future(nvrtc_request(WAITING), timeout=0.2)
        assert hurried.exception(60).code() == grpc.StatusCode.DEADLINE_EXCEEDED
        toolkit.open("gate")
        assert patient.result(60).outcome == build_pb2.OUTCOME_BUILT
    assert fake.stats()["compiles_total"] == 1


def test_many_keys_from_many_processes_are_each_compiled_once(fake):
    results = []

    def ask(order):
        results.extend(fake.build_json(f"// number {number}\n//fake: unique\n") for number in order)

    numbers = list(range(20))
    orders = [numbers[first:] + numbers[:first] for first in (0, 5, 10, 15)]
    threads = [threading.Thread(target=ask, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    assert len({result["key"] for result in results}) == 20
    assert fake.stats()["compiles_total"] == 20
