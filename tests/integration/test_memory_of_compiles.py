# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles that need much memory wait for memory even with free slots. Compiles that need little do not wait."""

import concurrent.futures
import contextlib
import pathlib
import re

from conftest import wait_for

MIB = 1 << 20
SLOTS = 4


def large(number):
    return f"//fake: allocate 300M\n//fake: wait-for held\n// {number}\n"


def small(number):
    return f"#include <cuda.h>\n//fake: allocate 40M\n//fake: wait-for held\n// {number}\n"


def start(make_daemon, toolkit, limit, *options):
    return make_daemon("--jobs", str(SLOTS), "--compile-memory-limit", limit, "--pch-memory-limit", "0", *options,
                       roots=(toolkit.root,)).start()


@contextlib.contextmanager
def building(daemon, toolkit, sources):
    """Starts all builds at once. At the end of the context, all must have succeeded."""
    with concurrent.futures.ThreadPoolExecutor(len(sources)) as threads:
        built = [threads.submit(daemon.build_json, source) for source in sources]
        try:
            yield
        finally:
            toolkit.open("held")
        assert [each.result()["outcome"] for each in built] == ["built"] * len(sources)


def memory_of(pids):
    """Returns the proportional set size, which counts shared pages once."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # the process has ended
            total += int(re.search(r"^Pss: +(\d+) kB$", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
    return total << 10


def test_compiles_that_do_not_fit_run_one_after_the_other_and_all_succeed(make_daemon, toolkit):
    daemon = start(make_daemon, toolkit, "512MiB")
    with building(daemon, toolkit, [large(number) for number in range(SLOTS)]):
        wait_for(lambda: daemon.stats()["waiting_for_memory"] == SLOTS - 1, "three that wait for memory")
        toolkit.await_arrivals("held", 1)
        assert (daemon.stats()["in_flight"], daemon.stats()["queued"]) == (1, SLOTS - 1)
        assert 300 * MIB <= memory_of(daemon.children()) <= 512 * MIB
        assert toolkit.arrivals("held") == 1
    statistics = daemon.stats()
    assert statistics["memory_waits_total"] == SLOTS - 1
    assert statistics["compiles_total"] == SLOTS
    assert statistics["compile_memory_bytes"] == statistics["waiting_for_memory"] == 0
    assert statistics["compile_memory_limit_bytes"] == 512 * MIB

    toolkit.close("held")
    with building(daemon, toolkit, [large(number) for number in (SLOTS, SLOTS + 1)]):
        toolkit.await_arrivals("held", SLOTS + 1)
        wait_for(lambda: daemon.stats()["waiting_for_memory"] == 1, "the second one waits")
        assert 300 * MIB <= daemon.stats()["compile_memory_bytes"] <= 400 * MIB, "what the first ones needed"


def test_small_compiles_run_in_all_slots_once_it_is_known_that_they_are_small(make_daemon, toolkit):
    daemon = start(make_daemon, toolkit, "512MiB")
    toolkit.open("held")
    daemon.build_json(small("first"))
    toolkit.close("held")
    with building(daemon, toolkit, [small(number) for number in range(SLOTS)]):
        toolkit.await_arrivals("held", 1 + SLOTS)
    assert daemon.stats()["memory_waits_total"] == 0


def test_without_a_limit_unknown_compiles_run_in_all_slots(make_daemon, toolkit):
    daemon = start(make_daemon, toolkit, "0")
    with building(daemon, toolkit, [small(number) for number in range(SLOTS)]):
        toolkit.await_arrivals("held", SLOTS)
    assert daemon.stats()["memory_waits_total"] == 0


def test_a_compile_that_needs_more_than_the_limit_runs(make_daemon, toolkit):
    daemon = start(make_daemon, toolkit, "100MiB")
    toolkit.open("held")
    for number in range(2):
        assert daemon.build_json(large(number))["outcome"] == "built"


def test_a_shadow_check_stops_when_a_caller_waits_for_memory(make_daemon, toolkit):
    daemon = start(make_daemon, toolkit, "512MiB", "--shadow-check-every", "1")
    toolkit.open("held")
    assert daemon.build_json(large(1))["outcome"] == "built"
    toolkit.close("held")
    assert daemon.build_json(large(1))["outcome"] == "hit"
    toolkit.await_arrivals("held", 2)
    with building(daemon, toolkit, [large(2)]):
        toolkit.await_arrivals("held", 3)
    wait_for(lambda: daemon.stats()["shadow_checks_total"] > 0, "the check begins again")


def test_by_default_the_limit_is_a_part_of_the_daemons_memory(make_daemon):
    machine = int(re.search(r"^MemTotal: +(\d+) kB$", pathlib.Path("/proc/meminfo").read_text(), re.M)[1]) << 10
    assert 0 < make_daemon().start().stats()["compile_memory_limit_bytes"] < machine
