# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli run` for a user who may not use the daemon's socket. The tests run as root, so that they can
become any user."""

import json
import os

import pytest
from conftest import PLACES, run_cli
from test_run import library_of, program  # noqa: F401
from test_run_tools import Tools

ALICE = 54321


@pytest.fixture
def closed(make_daemon):
    """A daemon with a socket for its group."""
    return make_daemon("--socket-mode", "0660", "--socket-group", "daemon", roots=(PLACES.cuda13,)).start()


def report_of(daemon, *words, **keywords):
    """Returns the report as JSON, with the output of `health`."""
    health = run_cli("--socket", daemon.socket, "health", user=ALICE, check=False).stderr.decode()
    assert "ask to be added to group" in health
    done = run_cli("--socket", daemon.socket, "--json", "run", "--report", "--", *words, user=ALICE, **keywords)
    return json.loads(done.stderr), health


def denied(report):
    return {reason: count for reason, count in report["forwarded"].items() if count} == {"access denied": report["calls"]}


def test_a_program_without_access_to_the_socket_gets_the_advice_of_health(closed, program):  # noqa: F811
    report, health = report_of(closed, program(), library_of(PLACES.cuda13), "forks")
    assert report["calls"] == 2 and denied(report)
    assert report["refusal"] and report["refusal"] in health


def test_a_ptxas_without_access_to_the_socket_gets_the_advice_of_health(closed, directory):
    place = directory / "alice"
    place.mkdir()
    tools = Tools(place, closed.socket)
    os.chown(place, ALICE, -1)
    report, health = report_of(closed, "ptxas", "-arch=sm_90", "k.ptx", "-o", "made", cwd=place, environment=tools.environment)
    assert report["calls"] == tools.runs() == 1 and denied(report)
    assert report["refusal"] and report["refusal"] in health
