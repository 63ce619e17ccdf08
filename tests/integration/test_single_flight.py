# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""One compile serves all callers that request one key at once."""

import json
import subprocess
import threading

import pytest
from conftest import PATIENCE, PLACES, build_pb2, build_pb2_grpc, nvrtc_request, wait_for

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


def test_one_compile_serves_64_processes(fake, toolkit, directory):
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


def test_one_compile_serves_1000_calls_of_one_connection(fake, toolkit):
    with fake.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        calls = [stub.Build.future(nvrtc_request(WAITING, wanted=[build_pb2.ARTIFACT_KIND_CUBIN])) for _ in range(1000)]
        toolkit.await_arrivals("gate", 1)
        wait_for(lambda: joined(fake, 1000), "1,000 callers")
        toolkit.open("gate")
        replies = [call.result(PATIENCE) for call in calls]
    assert len({reply.artifacts[0].contents for reply in replies}) == 1
    outcomes = [reply.outcome for reply in replies]
    assert outcomes.count(build_pb2.OUTCOME_BUILT) == 1
    assert outcomes.count(build_pb2.OUTCOME_JOINED) == 999
    assert fake.stats()["compiles_total"] == 1


@pytest.mark.parametrize("last_stays", [True, False])
def test_a_compile_survives_its_first_caller_and_ends_with_its_last_one(fake, toolkit, directory, last_stays):
    """Killed processes are callers that leave."""
    (directory / "k.cu").write_text(WAITING)
    first = start_cli(fake, directory, "first")
    toolkit.await_arrivals("gate", 1)
    last = start_cli(fake, directory, "last")
    wait_for(lambda: joined(fake, 2), "two callers")
    first.kill()
    first.communicate()
    wait_for(lambda: fake.stats()["waiting"] == 1, "the first caller's end")
    assert (fake.stats()["in_flight"], fake.stats()["cancelled_total"]) == (1, 0)
    if not last_stays:
        last.kill()
        last.communicate()
        wait_for(lambda: fake.stats()["cancelled_total"] == 1 and fake.stats()["in_flight"] == 0, "the compile's end")
        last = start_cli(fake, directory, "next")
        toolkit.await_arrivals("gate", 2)
    toolkit.open("gate")
    told, errors = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, errors
    assert json.loads(told)["outcome"] == "built"
    assert fake.stats()["compiles_total"] == (1 if last_stays else 2)


@pytest.mark.parametrize("header, given_up", [("#define N 1\n", 0), ("#define WHERE __FILE__\n", 1)],
                         ids=["plain header", "header that names paths"])
def test_one_compile_serves_eight_processes_over_headers_outside_the_toolchain(fake, toolkit, directory, header, given_up):
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
