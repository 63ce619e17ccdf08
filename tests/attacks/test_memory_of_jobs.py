# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of a compile is charged to the user who requested it, and is bounded: results, and contents of headers.
The tiers are small, so that the daemon's memory is that of its jobs."""

import pytest
from bystander import ATTACKER, Bystander, memory
from fake_toolkit import FakeToolkit
from places import PLACES
from unary import UnaryBuilds

OTHER = ATTACKER + 2
PER_USER = 64  # MiB: a quarter of --in-flight-limit-per-uid


@pytest.fixture
def start(make_daemon):
    def start(*flags, root=PLACES.fake13):
        return make_daemon(
            "--socket-mode", "0666", "--jobs", "8", "--memory-limit", "1MiB", "--store-limit", "64MiB",
            "--in-flight-limit-per-uid", f"{4 * PER_USER}MiB", *flags, roots=(root,)).start()
    return start


def test_large_results_of_one_user_are_taken_one_after_the_other(start):
    """Six workers have results of 60 MiB each at the same time. All are served, one after the other."""
    daemon = start()
    with Bystander(daemon) as bystander:
        before, _ = memory(daemon.process.pid)
        sources = [[f"//fake: output-size 60M\n// {number}\n", []] for number in range(6)]
        with UnaryBuilds(daemon, ATTACKER, sources) as builds:
            assert set(builds.results()) == {"OUTCOME_BUILT"}
        peak, _ = bystander.report("six results of 60 MiB")
    assert peak - before < 10 * PER_USER


def test_a_result_above_the_limit_is_refused(start):
    daemon = start()
    with UnaryBuilds(daemon, ATTACKER, [["//fake: output-size 65M\n", []]]) as builds:
        result, = builds.results()
    assert result.startswith("out-of-memory: ") and str(PER_USER << 20) in result
    assert daemon.stats()["retries_total"] == 0


def test_contents_of_headers_are_not_kept(start, directory):
    """Four builds read four headers of 30 MiB each."""
    daemon = start()
    includes = directory / "include"
    includes.mkdir(mode=0o755)
    for number in range(4):
        (includes / f"h{number}.h").write_text(f"// {number}" + "x" * (30 << 20))
        (includes / f"h{number}.h").chmod(0o644)
    program = "".join(f'#include "h{number}.h"\n' for number in range(4))
    with Bystander(daemon) as bystander:
        before, _ = memory(daemon.process.pid)
        sources = [[f"{program}// {number}\n", [f"-I{includes}"]] for number in range(4)]
        with UnaryBuilds(daemon, ATTACKER, sources) as builds:
            assert set(builds.results()) == {"OUTCOME_BUILT"}
        peak, _ = bystander.report("four builds over 120 MiB of headers")
    assert peak - before < 5 * PER_USER


def test_workers_that_announce_results_and_send_none_delay_only_their_user(start, directory):
    """The captured workers announce results of the largest size, so that memory is reserved for them, and never send
    them."""
    toolkit = FakeToolkit(PLACES.fake13, directory / "toolkit")
    daemon = start("--in-flight-limit", "2GiB", "--in-flight-limit-per-uid", "1GiB", root=toolkit.root)
    attack = [[f"//fake: wait-for begun\n//fake: answer stalled\n// {number}\n", []] for number in range(6)]
    with Bystander(daemon) as bystander, UnaryBuilds(daemon, ATTACKER, attack):
        toolkit.await_arrivals("begun", 6)
        toolkit.open("begun")
        with UnaryBuilds(daemon, OTHER, [["//fake: output-size 60M\n", []]]) as builds:
            assert builds.results() == ["OUTCOME_BUILT"]
        peak, _ = bystander.report("six workers that promise 256 MiB")
    assert peak < 600
