# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""libcccl_cache.so.1 in a foreign process: its threads, its behaviour at a fork, and the descriptors that it keeps
there."""

import os
import subprocess
import sys
import textwrap

import pytest
from c_client import Batch, Client

HERE = os.path.dirname(__file__)


def run_python(program):
    """Runs Python in a process of its own. Returns its standard output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=HERE, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_library_starts_no_thread_for_a_client_a_build_or_a_batch(fake):
    threads = run_python(f"""
        import os
        from c_client import Batch, Client
        seen = [len(os.listdir("/proc/self/task"))]
        client = Client({fake.socket!r})
        seen.append(len(os.listdir("/proc/self/task")))
        client.build("// one")
        seen.append(len(os.listdir("/proc/self/task")))
        batch = Batch(client)
        batch.add("// two", 2)
        batch.next()
        seen.append(len(os.listdir("/proc/self/task")))
        print(len(set(seen)))
    """)
    assert threads == "1"


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_child(function):
    """Forks. The child's exit code says whether `function` returned true."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if function() else 1
        finally:
            os._exit(code)
    return child


def test_both_sides_of_a_fork_continue_to_build(fake, toolkit):
    client = Client(fake.socket)
    mine = client.build("// before").contents
    batch = Batch(client)
    batch.add("//fake: wait-for fork\n", 1)
    batch.next(0)
    toolkit.await_arrivals("fork", 1)
    children = [
        in_child(lambda number=number: client.build(f"// child {number}").contents and client.build("// before").contents
                 == mine)
        for number in range(4)
    ]
    assert client.build("// parent").outcome == "built"
    assert [exit_code(child) for child in children] == [0] * 4
    # The children have ended, and with them their copies of the parent's sockets.
    assert client.build("// parent again").outcome == "built"
    toolkit.open("fork")
    assert batch.next()[0] == 1
    batch.free()
    client.close()


def test_a_child_that_closes_its_inherited_objects_does_not_affect_its_parent(fake, toolkit):
    client = Client(fake.socket)
    batch = Batch(client)
    batch.add("//fake: wait-for closed\n", 1)
    batch.next(0)
    toolkit.await_arrivals("closed", 1)

    def close_all():
        batch.free()
        client.close()
        return True

    assert exit_code(in_child(close_all)) == 0
    assert fake.stats()["cancelled_total"] == 0
    toolkit.open("closed")
    assert batch.next()[0] == 1
    batch.free()
    client.close()


def test_a_program_that_closes_all_descriptors_keeps_its_next_connections_and_can_build(fake):
    said = run_python(f"""
        import os, socket
        from c_client import Batch, Client
        client = Client({fake.socket!r})
        client.build("// before")
        batch = Batch(client)
        batch.add("// in the batch", 1)
        os.closerange(3, 256)
        own = [socket.socketpair() for _ in range(16)]
        ends = [end for pair in own for end in pair]
        for end in ends:
            end.send(b"mine!")
        client.build("// after")
        batch.add("// later", 2)
        finished = sorted(batch.next()[0] for _ in range(2))
        batch.free()
        client.close()
        whole = all(end.recv(64, socket.MSG_DONTWAIT) == b"mine!" for end in ends)
        alive = all(one.send(b"x") == 1 and other.recv(8) == b"x" for one, other in own)
        print(finished, whole, alive)
    """)
    assert said == "[1, 2] True True"


def test_no_connection_takes_the_place_of_a_standard_stream_that_the_program_closed(fake):
    """Otherwise the program's output would go to the daemon."""
    said = run_python(f"""
        import os
        from c_client import Batch, Client
        os.close(0)
        client = Client({fake.socket!r})
        client.build("// one")
        batch = Batch(client)
        batch.add("// two", 2)
        batch.next()
        print(os.path.lexists("/proc/self/fd/0"))
    """)
    assert said == "False"


@pytest.mark.parametrize("outside", [False, True])
def test_a_process_caches_results_that_depend_on_no_outside_file(fake, directory, outside):
    header = directory / "a.h"
    header.write_text("//fake: unique\n")
    source = f'#include "{header}"\n' if outside else "#include <cuda.h>\n//fake: unique\n"
    client = Client(fake.socket)
    first = client.build(source)
    assert first.outcome == "built"
    asked = fake.stats()["builds_total"]
    assert client.build(source).contents == first.contents
    assert fake.stats()["builds_total"] == asked + (1 if outside else 0)
    if outside:
        header.write_text("// another\n//fake: unique\n")
        assert client.build(source).contents != first.contents
    client.close()
