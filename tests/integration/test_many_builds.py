# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Many builds of one client at once: one stream, answers as they finish, no thread."""

import select
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time

import pytest
from c_client import Batch, BuildFailed, Client
from conftest import PATIENCE, wait_for

JOBS = ("--jobs", "8")


@pytest.fixture
def daemon(make_daemon, toolkit):
    """A daemon with eight slots, on any number of processors."""
    return make_daemon(*JOBS, roots=(toolkit.root,)).start()


@pytest.fixture
def batch(daemon):
    client = Client(daemon.socket)
    batch = Batch(client)
    yield batch
    batch.free()
    client.close()


def at_gate(name):
    return f"//fake: wait-for {name}\n// {name}\n"


def rest(batch):
    """Returns the remaining results, by tag."""
    return dict(iter(batch.next, None))


def test_many_builds_are_compiled_once_and_are_hits_after_that(batch, daemon):
    for tag in range(200):
        batch.add(f"// number {tag % 50}\n//fake: unique\n", tag)
    answers = rest(batch)
    assert len(answers) == 200
    for number in range(50):
        assert len({answers[tag].contents for tag in range(number, 200, 50)}) == 1
    assert daemon.stats()["compiles_total"] == 50
    for tag in range(50):
        batch.add(f"// number {tag}\n//fake: unique\n", tag)
    again = rest(batch)
    assert {result.outcome for result in again.values()} == {"hit"}
    assert all(again[tag].contents == answers[tag].contents for tag in range(50))


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_pending_builds_are_sent_again_to_a_restarted_daemon(batch, daemon, toolkit, end):
    batch.add("// done\n", 0)
    assert batch.next()[0] == 0
    for tag in range(1, 9):
        batch.add(at_gate(f"gate{tag}"), tag)
    # The stream of the first build may still be at its end.
    wait_for(lambda: batch.next(0) is None and toolkit.arrivals("gate1"), "the first compile")
    getattr(daemon, end)()
    daemon.start()
    for tag in range(1, 9):
        toolkit.open(f"gate{tag}")
    assert sorted(rest(batch)) == list(range(1, 9))


def test_a_frozen_daemon_is_given_up_long_before_the_deadline(batch, daemon, toolkit):
    batch.add(at_gate("gate"), 1, timeout=600_000)
    batch.next(0)
    toolkit.await_arrivals("gate", 1)
    daemon.freeze()
    try:
        with pytest.raises(BuildFailed, match="does not respond to pings") as failed:
            batch.next(60_000)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert failed.value.status == "unavailable"
    toolkit.open("gate")


def test_a_frozen_daemon_is_given_up_before_the_shortest_deadline_of_a_batch(batch, daemon):
    """A later moment would leave no time to compile locally. The stream itself may last for a day."""
    daemon.freeze()
    try:
        batch.add("// in no hurry\n", 1, timeout=600_000)
        batch.add("// in a hurry\n", 2, timeout=8_000)
        said = []
        while batch.pending:
            with pytest.raises(BuildFailed, match="does not respond to pings") as failed:
                batch.next()
            said.append((failed.value.tag, failed.value.status))
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert sorted(said) == [(1, "unavailable"), (2, "unavailable")]


def test_a_client_that_checks_the_daemon_twice_a_second_gets_answers(daemon):
    """Our client checks in this way in short calls. gRPC's own server takes the fourth ping for an attack."""
    settings, ping, acknowledged, end_of_headers = 4, 6, 1, 4
    fields = {":method": "POST", ":scheme": "http", ":path": "/cccl_cache.v1.Build/BuildMany", ":authority": "localhost",
              "te": "trailers", "content-type": "application/grpc"}

    def frame(kind, flags, stream, payload):
        return struct.pack(">IBBI", len(payload), kind, flags, stream)[1:] + payload

    def read(stream):
        size, kind, flags, _ = struct.unpack(">IBBI", b"\0" + stream.read(9))
        return kind, flags, stream.read(size)

    def literal(text):
        return bytes([len(text)]) + text.encode()

    headers = b"".join(b"\0" + literal(name) + literal(value) for name, value in fields.items())
    with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as stream:
        connection.connect(str(daemon.socket))
        connection.settimeout(PATIENCE)
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings, 0, 0, b"") + frame(1, end_of_headers, 1, headers))
        for number in range(8):
            connection.sendall(frame(ping, 0, 0, number.to_bytes(8, "big")))
            while read(stream) != (ping, acknowledged, number.to_bytes(8, "big")):
                pass
            time.sleep(0.5)  # the test needs this rate of pings


def test_a_client_that_is_killed_ends_its_compiles(daemon, toolkit):
    program = textwrap.dedent(f"""
        from c_client import Batch, Client
        batch = Batch(Client({daemon.socket!r}))
        for tag in range(3):
            batch.add(f"//fake: wait-for killed{{tag}}\\n", tag)
        batch.next()
    """)
    client = subprocess.Popen([sys.executable, "-c", program], cwd=__file__.rsplit("/", 1)[0])
    for tag in range(3):
        toolkit.await_arrivals(f"killed{tag}", 1)
    client.kill()
    client.wait()
    wait_for(lambda: daemon.stats()["cancelled_total"] == 3, "the compiles' ends")
    wait_for(lambda: daemon.stats()["in_flight"] == 0, "the compilers' ends")


def test_freeing_a_batch_ends_its_compiles(daemon, toolkit):
    client = Client(daemon.socket)
    batch = Batch(client)
    batch.add(at_gate("freed"), 1)
    batch.next(0)
    toolkit.await_arrivals("freed", 1)
    batch.free()
    wait_for(lambda: daemon.stats()["cancelled_total"] == 1, "the compile's end")
    client.close()


def test_builds_and_results_above_the_message_limit_arrive(batch):
    large = "// " + "x" * (20 << 20) + "\n//fake: output-size 18M\n"
    for tag in range(3):
        batch.add(f"// {tag % 2}\n" + large, tag)
    answers = rest(batch)
    assert [len(answers[tag].contents) for tag in range(3)] == [18 << 20] * 3
    assert answers[0].contents == answers[2].contents != answers[1].contents


def test_a_build_over_the_call_limit_runs_once_another_has_ended(make_daemon, toolkit):
    # The bound counts each build of a stream, and the stream itself.
    daemon = make_daemon(*JOBS, "--call-limit-per-uid", "4", roots=(toolkit.root,)).start()
    client = Client(daemon.socket)
    batch = Batch(client)
    for tag in range(3):
        batch.add(at_gate("full"), tag)
    batch.next(0)
    toolkit.await_arrivals("full", 1)
    wait_for(lambda: daemon_is_full(client), "three builds and their stream to be counted")
    batch.add("", 3)
    select.select([batch.fd], [], [])
    assert batch.next(0) is None
    toolkit.open("full")
    assert sorted(rest(batch)) == [0, 1, 2, 3]
    batch.free()
    client.close()


def daemon_is_full(client):
    try:
        client.build("// is there room\n")
        return False
    except BuildFailed as error:
        assert error.status == "overloaded", error
        return True
