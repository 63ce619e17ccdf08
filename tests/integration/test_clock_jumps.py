# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The wall clock is set forward and back under a running daemon. No wait, lease or entry of the daemon depends on
the wall clock."""

import datetime

import pytest
from conftest import PLACES, nvrtc_request, wait_for
from lease_client import LeaseClient, listed, wait_for_waiters

FAKETIME = "/usr/$LIB/faketime/libfaketimeMT.so.1"
DAY = 86_400


@pytest.fixture
def clock(directory):
    """Sets the offset of the daemon's wall clock in seconds."""
    file = directory / "clock"

    def set_off(seconds):
        draft = file.with_suffix(".draft")
        draft.write_text(f"{seconds:+d}s\n")
        draft.rename(file)

    set_off(0)
    set_off.file = file
    return set_off


@pytest.fixture
def daemon(make_daemon, clock):
    environment = {
        "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(clock.file), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
    return make_daemon("--log-level", "debug", environment=environment).start()  # the log has a line for each build


def last_time_in_log(daemon):
    return datetime.datetime.fromisoformat(daemon.log_text().splitlines()[-1].split()[0])


@pytest.mark.parametrize("jump", [2 * DAY, -2 * DAY])
def test_leases_and_hits_do_not_depend_on_the_wall_clock(daemon, clock, jump):
    build = ("build", "-", "--arch", "sm_90", "-o", "/dev/null")
    daemon.cli(*build, input="// one\n")
    kept = LeaseClient(daemon, "kept")
    kept.hear()
    assert kept.ask("publish before") == "published"
    holder = LeaseClient(daemon, "held")
    holder.hear()
    waits = LeaseClient(daemon, "held")
    wait_for_waiters(daemon, 1)
    clock(jump)

    def believes_it():
        # libfaketime gives a thread the real time now and then, because its threads share a buffer (wolfcw/libfaketime,
        # pull 547).
        daemon.cli(*build, input="// another\n")
        away = last_time_in_log(daemon) - datetime.datetime.now(datetime.timezone.utc)
        return abs(away.total_seconds() - jump) < DAY

    wait_for(believes_it, "a line of the daemon's log with the new time")
    assert b'"outcome": "hit"' in daemon.cli("--json", *build, input="// one\n").stdout
    assert LeaseClient(daemon, "kept").hear() == "hit before"
    assert holder.ask("held") == "held"
    assert daemon.stats()["lease_waiters"] == 1
    assert holder.ask("publish after") == "published"
    assert waits.hear() == "hit after"
    assert daemon.stop() == 0
    daemon.start()
    assert LeaseClient(daemon, "held").hear() == "hit after"
    assert b'"outcome": "hit"' in daemon.cli("--json", *build, input="// one\n").stdout
