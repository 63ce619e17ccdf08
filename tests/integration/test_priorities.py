# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The order of the builds that wait for a compiler, by the priority from the command line and the environment."""

import concurrent.futures
import os
import re
import subprocess

from conftest import PATIENCE, PLACES, wait_for


def build(daemon, name, *words, **environment):
    """Runs a build. Returns how many of the builds of this function began earlier."""
    done = daemon.cli("build", "-", "--arch", "sm_90", "-o", "-", *words, environment=environment,
                      input=f"//fake: wait-for held\n//fake: take-number order\n// {name}\n")
    return int(re.search(rb"^number (\d+)$", done.stdout, re.M)[1])


def test_builds_that_wait_are_compiled_by_priority(make_daemon, toolkit):
    daemon = make_daemon("--jobs", "1", roots=(toolkit.root,)).start()
    warm_up = {"CCCL_CACHE_PRIORITY": "warm-up"}
    with concurrent.futures.ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(build, daemon, "runs")]
        toolkit.await_arrivals("held", 1)
        for name, words, environment in (
            ("warm-up", ["--priority", "warm-up"], {}),
            ("warm-up by the environment", [], warm_up),
            ("normal", [], {}),
            ("normal in spite of the environment", ["--priority", "normal"], warm_up),
            ("interactive", ["--priority", "interactive"], {}),
        ):
            asked.append(threads.submit(build, daemon, name, *words, **environment))
            wait_for(lambda: daemon.stats()["queued"] == len(asked) - 1, f"{name} in the queue")
        toolkit.open("held")
        assert [each.result() for each in asked] == [0, 4, 5, 2, 3, 1]


def test_a_build_waits_for_room_in_the_queue_and_a_terminal_says_so(make_daemon, toolkit, directory):
    daemon = make_daemon("--jobs", "1", "--queue-limit-per-uid", "1", roots=(toolkit.root,)).start()
    (directory / "k.cu").write_text("// third\n")
    person, terminal = os.openpty()
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first = threads.submit(build, daemon, "runs")
        toolkit.await_arrivals("held", 1)
        second = threads.submit(build, daemon, "queued")
        wait_for(lambda: daemon.stats()["queued"] == 1, "the second in the queue")
        third = subprocess.Popen([PLACES.cli, "--socket", daemon.socket, "build", "k.cu", "--arch", "sm_90", "-o", os.devnull],
                                 cwd=directory, stderr=terminal, env={**os.environ, "NO_COLOR": "1"})
        os.close(terminal)
        said = b""
        while b"waiting: 1 build of " not in said:
            said += os.read(person, 1000)
        toolkit.open("held")
        assert (first.result(), second.result(), third.wait(PATIENCE)) == (0, 1, 0)
        assert b"\rbuilt " in os.read(person, 1000)
    os.close(person)


def test_a_wrong_priority_in_the_environment_is_reported_and_fails_no_build(fake):
    done = fake.cli("build", "-", "--arch", "sm_90", "-o", "-", input="\n", environment={"CCCL_CACHE_PRIORITY": "high"})
    assert done.stderr.count(b"\n") == 1
    assert b'CCCL_CACHE_PRIORITY is "high"' in done.stderr
