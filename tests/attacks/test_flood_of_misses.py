# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""One user queues hundreds of misses. Another user requests builds and hits."""

import concurrent.futures
import contextlib
import re

import pytest
from bystander import ATTACKER, BYSTANDER, Bystander
from patience import wait_for
from unary import UnaryBuilds

CONNECTIONS, BUILDS = 3, 100
MISSES = 8
QUIET_HITS = 2000


@pytest.fixture
def daemon(make_daemon, toolkit):
    return make_daemon("--socket-mode", "0666", "--jobs", "3", roots=(toolkit.root,)).start()


def await_queued(daemon, count):
    wait_for(lambda: daemon.stats()["queued"] == count, f"{count} builds in the queue")


@contextlib.contextmanager
def flood(daemon, toolkit):
    """Queues the attacker's builds over several connections. All but one wait for a slot. Until the gate `held` opens,
    each user occupies one slot, so that the queue prefers neither user for a long wait. Only the third slot serves both
    users."""
    with contextlib.ExitStack() as stack:
        builds = [stack.enter_context(UnaryBuilds(daemon, user, [[f"//fake: wait-for held\n// {user}\n", []]]))
                  for user in (ATTACKER, BYSTANDER)]
        toolkit.await_arrivals("held", 2)
        text = "//fake: take-number order\n//fake: wait-for flood\n// {} {}\n"
        builds += [stack.enter_context(UnaryBuilds(daemon, ATTACKER, [[text.format(i, j), []] for j in range(BUILDS)]))
                   for i in range(CONNECTIONS)]
        toolkit.await_arrivals("flood", 1)
        await_queued(daemon, CONNECTIONS * BUILDS - 1)
        yield builds


def assert_built(builds):
    assert {outcome for each in builds for outcome in each.results()} == {"OUTCOME_BUILT"}


def number_of_miss(daemon, miss):
    """Runs a build of the bystander. Returns its place among all compiles that took a number."""
    done = daemon.cli("build", "-", "--arch", "sm_90", "-o", "-", user=BYSTANDER, cwd="/",
                      input=f"//fake: take-number order\n// miss {miss}\n")
    return int(re.search(rb"^number (\d+)$", done.stdout, re.M)[1])


def test_misses_of_another_user_alternate_with_the_flood(daemon, toolkit):
    """While the flood stands still, the bystander's misses queue behind it. The slot then takes at most one build of
    the flood before each miss."""
    with flood(daemon, toolkit) as builds, concurrent.futures.ThreadPoolExecutor(MISSES) as threads:
        asked = [threads.submit(number_of_miss, daemon, miss) for miss in range(MISSES)]
        await_queued(daemon, CONNECTIONS * BUILDS - 1 + MISSES)
        started = toolkit.arrivals("order")
        toolkit.open("flood")
        numbers = sorted(each.result() for each in asked)
        before = [number - started - own for own, number in enumerate(numbers)]
        print(f"of {CONNECTIONS * BUILDS - 1} builds queued before, those that started before each miss of another user: {before}")
        assert all(count <= own + 1 for own, count in enumerate(before))
        toolkit.open("held")
        assert_built(builds)


@pytest.fixture
def little_memory(make_daemon, toolkit):
    return make_daemon("--socket-mode", "0666", "--jobs", "4", "--compile-memory-limit", "600MiB",
                       "--pch-memory-limit", "0", roots=(toolkit.root,)).start()


LARGE = "//fake: allocate 300M\n//fake: wait-for held\n// {}\n"


def test_a_user_whose_compiles_wait_for_memory_does_not_block_another_user(little_memory, toolkit):
    with UnaryBuilds(little_memory, ATTACKER, [[LARGE.format(i), []] for i in range(3)]) as builds:
        wait_for(lambda: little_memory.stats()["waiting_for_memory"] == 2, "two that wait for memory")
        toolkit.await_arrivals("held", 1)
        for miss in range(MISSES):
            number_of_miss(little_memory, miss)
        assert toolkit.arrivals("held") == 1
        toolkit.open("held")
        assert_built([builds])


def test_a_build_that_waits_for_one_users_memory_is_compiled_for_another_user(little_memory, toolkit):
    wanted = [["// wanted by both\n", []]]
    with UnaryBuilds(little_memory, ATTACKER, [[LARGE.format(0), []]]) as large:
        toolkit.await_arrivals("held", 1)
        with UnaryBuilds(little_memory, ATTACKER, wanted) as first:
            wait_for(lambda: little_memory.stats()["waiting_for_memory"] == 1, "the attacker's wait")
            with UnaryBuilds(little_memory, BYSTANDER, wanted) as second:
                assert first.results() + second.results() == ["OUTCOME_BUILT", "OUTCOME_JOINED"]
        toolkit.open("held")
        assert_built([large])


def test_hits_of_another_user_are_answered_during_a_flood_of_misses(daemon, toolkit):
    with Bystander(daemon, QUIET_HITS) as bystander:
        _, quiet = bystander.report("no flood")
    with flood(daemon, toolkit) as builds:
        with Bystander(daemon) as bystander:
            toolkit.open("held")
            toolkit.open("flood")
            assert_built(builds)
            _, flooded = bystander.report(f"{CONNECTIONS * BUILDS} misses of one user")
    assert flooded
    p99 = [each[len(each) * 99 // 100] for each in (quiet, flooded)]
    print(f"p99 of hits: {p99[0]:.2f} ms, in the flood {p99[1]:.2f} ms: {p99[1] / p99[0]:.1f} times")
