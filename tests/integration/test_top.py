# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli top`: the daemon's present work, at a terminal and as text."""

import contextlib
import json
import os
import pwd
import re
import signal

import pytest
from conftest import PATIENCE, PLACES, build_pb2_grpc, nvrtc_request, wait_for
from lease_client import LeaseClient
from watched_terminal import WatchedTerminal

WAITING = "//fake: wait-for gate\n"
USER = pwd.getpwuid(os.geteuid()).pw_name


def top(daemon, **keywords):
    return WatchedTerminal(PLACES.cli, "--socket", daemon.socket, "top", **keywords)


def activity(daemon, **keywords):
    return json.loads(daemon.cli("--json", "top", **keywords).stdout)


@contextlib.contextmanager
def waiting_builds(daemon, toolkit, count, source=WAITING):
    """Starts so many callers of one compile, which runs until the end of the block."""
    with daemon.channel() as channel:
        stub = build_pb2_grpc.BuildStub(channel)
        futures = [stub.Build.future(nvrtc_request(source)) for _ in range(count)]
        toolkit.await_arrivals("gate", 1)
        wait_for(lambda: daemon.stats()["waiting"] >= count, "the callers")
        yield
        toolkit.open("gate")
        for future in futures:
            future.result(PATIENCE)


def test_a_build_is_seen_with_its_waiters_until_it_is_done(fake, toolkit):
    fake.build_json("")  # makes an estimate
    with top(fake, columns=100) as terminal:
        with waiting_builds(fake, toolkit, 3):
            row = rf"^running [0-9.]+s/[0-9.]+s +3 {USER} +kernel\.cu +nvrtc +([0-9a-f]{{8}}) .* 13\.0 [0-9a-f]{{8}}"
            shown = terminal.await_shown(lambda shown: re.search(row, shown, re.MULTILINE) and "LAST" in shown, "the build")
            assert re.search(r"slots   [█░]+ 1 of \d+ compile, 0 queued, 3 callers wait", shown)
            assert f"users   {USER} (1 running)" in shown
            assert re.search(r"loaded  [0-9.]+ [KMG]iB: CUDA 13\.0 \(\d+ jobs?\)", shown)
            [flight] = activity(fake)["flights"]
            assert flight["key"].startswith(re.search(row, shown, re.MULTILINE)[1])
        terminal.await_shown("nothing is built now", "the end of the build")
        terminal.await_shown(lambda shown: re.search(r"\d+\.\d % in the last minute", shown), "the share of hits")


def test_top_once_prints_one_answer_as_text_or_json(fake, toolkit):
    fake.build_json("")
    fake.cli("build", "-", "--arch", "sm_90", input="//fake: fail no such thing\n", check=False)
    with waiting_builds(fake, toolkit, 2):
        text = fake.cli("top", "--once").stdout.decode()
        told = activity(fake)
    [flight] = told["flights"]
    assert (flight["state"], flight["kind"], flight["waiters"], flight["uid"]) == ("running", "nvrtc", 2, os.geteuid())
    assert flight["toolchain"].startswith("13.0 ") and flight["estimate_seconds"] > 0
    assert flight["program"] == "kernel.cu"
    assert flight["running_seconds"] <= flight["age_seconds"]
    assert told["users"] == [{"user": str(os.geteuid()), "queued": 0, "running": 1}]
    assert told["zygotes"][0]["resident_bytes"] > 0
    [failure] = told["failures"]
    assert "no such thing" in failure["error"] and failure["kind"] == "nvrtc"
    for part in ("running", flight["key"][:8], "no such thing", "LAST ERRORS"):
        assert part in text
    assert "\x1b" not in text


def test_builds_that_wait_for_a_slot_and_leases_are_seen(make_daemon, toolkit):
    daemon = make_daemon("--jobs", "1", roots=(toolkit.root,)).start()
    holder = LeaseClient(daemon)
    assert holder.hear().startswith("lease ")
    waits = LeaseClient(daemon)
    with daemon.channel() as channel, waiting_builds(daemon, toolkit, 1):
        queued = build_pb2_grpc.BuildStub(channel).Build.future(nvrtc_request("// another\n"))
        wait_for(lambda: daemon.stats()["queued"] == 1 and daemon.stats()["lease_waiters"] == 1, "both")
        told = activity(daemon)
        assert [each["state"] for each in told["flights"]] == ["running", "queued", "leased"]
        assert told["flights"][2]["waiters"] == 2
        assert told["users"] == [{"user": str(os.geteuid()), "queued": 1, "running": 1}]
        toolkit.open("gate")
        queued.result(PATIENCE)
    holder.end()
    waits.end()


@pytest.mark.parametrize("end", ["q", signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, "\x03", "\x1c"])
def test_top_restores_the_terminal(fake, end):
    with top(fake) as terminal:
        terminal.await_shown("nothing is built now", "the first answer")
        assert not terminal.is_as_before()
        if isinstance(end, str):
            terminal.press(end.encode())
        else:
            terminal.process.send_signal(end)
        assert terminal.await_end() == 0
        assert terminal.is_as_before()


def test_top_reports_a_missing_daemon_and_continues_when_one_starts(fake):
    with top(fake) as terminal:
        terminal.await_shown("nothing is built now", "the first answer")
        fake.stop()
        terminal.await_shown(os.path.basename(fake.socket), "the problem")
        fake.start()
        terminal.await_shown(lambda shown: fake.socket not in shown, "the daemon")
        terminal.press(b"q")
        assert terminal.await_end() == 0


def test_with_a_hung_daemon_top_still_reacts_to_keys_and_signals(fake):
    for end in (lambda terminal: terminal.press(b"q"), lambda terminal: terminal.process.send_signal(signal.SIGTERM)):
        with top(fake) as terminal:
            terminal.await_shown("nothing is built now", "the first answer")
            fake.freeze()
            terminal.await_shown(os.path.basename(fake.socket), "the problem")
            end(terminal)
            assert terminal.await_end() == 0
            assert terminal.is_as_before()
            fake.process.send_signal(signal.SIGCONT)


def test_a_small_terminal_shows_the_most_important_lines_and_a_larger_one_more(fake, toolkit):
    fake.cli("build", "-", "--arch", "sm_90", input="//fake: fail no such thing\n", check=False)
    with waiting_builds(fake, toolkit, 2), top(fake, columns=40, rows=10) as terminal:
        row = re.compile(rf"^running +\S+ +2 {USER} +kernel$", re.MULTILINE)
        shown = terminal.await_shown(lambda shown: row.search(shown) and "q quit" in shown, "the build")
        assert shown.splitlines()[-1].startswith("q quit")
        assert "LAST ERRORS" not in shown
        terminal.resize(100, 30)
        terminal.await_shown(lambda shown: "no such thing" in shown and shown.splitlines()[-1].startswith("q quit"), "more")


def test_a_selected_build_is_explained(fake, toolkit):
    with fake.channel() as channel:
        build_pb2_grpc.BuildStub(channel).Build(nvrtc_request("// another\n"))
    with waiting_builds(fake, toolkit, 1), top(fake) as terminal:
        terminal.await_shown("running", "the build")
        terminal.press(b"e")
        terminal.await_shown("select a build first", "the advice")
        terminal.press(b"\x1b[Be")  # down
        terminal.await_shown("a miss: it differs from every build before", "the explanation")
        terminal.await_shown("source", "what differs")
        terminal.press(b"?")
        terminal.await_shown("running", "the flights again")
        terminal.press(b"?")
        terminal.await_shown("callers that wait for it", "the help")


def test_flights_are_sorted_and_filtered(make_daemon, toolkit):
    daemon = make_daemon("--jobs", "1", roots=(toolkit.root,)).start()
    def states(shown):
        return re.findall(r"^(running|queued)", shown, re.MULTILINE)
    with daemon.channel() as channel, waiting_builds(daemon, toolkit, 1), top(daemon) as terminal:
        stub = build_pb2_grpc.BuildStub(channel)
        queued = [stub.Build.future(nvrtc_request("// another\n")) for _ in range(2)]
        terminal.await_shown(lambda shown: states(shown) == ["running", "queued"], "both")
        terminal.press(b"ss")
        terminal.await_shown(lambda shown: states(shown) == ["queued", "running"] and "sort:waiters" in shown, "another order")
        terminal.press(b"/runs\x7f\n")
        terminal.await_shown(lambda shown: states(shown) == ["running"] and "filter:run" in shown, "one of them")
        toolkit.open("gate")
        for each in queued:
            each.result(PATIENCE)


@pytest.mark.parametrize("no_color", [False, True])
def test_top_shows_no_colours_if_no_color_is_set(fake, no_color):
    with top(fake, **({"NO_COLOR": "1"} if no_color else {})) as terminal:
        terminal.await_shown("nothing is built now", "the first answer")
        fake.stop()
        terminal.await_shown(os.path.basename(fake.socket), "the problem")
        assert (b"\x1b[31" in terminal.raw or b";31m" in terminal.raw) is not no_color
        assert (re.search(rb"\x1b\[[0-9;]*3[0-9]m", terminal.raw) is None) is no_color


def test_without_a_terminal_top_names_the_remedy(fake):
    done = fake.cli("top", check=False)
    assert done.returncode == 2 and b"--once" in done.stderr
    with top(fake, TERM="no-such-terminal") as terminal:
        assert terminal.await_end() == 2
        assert "TERM" in terminal.shown() and terminal.is_as_before()
    with top(fake, TERM="dumb") as terminal:
        assert terminal.await_end() == 2
        assert "cursor" in terminal.shown() and terminal.is_as_before()


def test_a_closed_terminal_ends_top(fake):
    with top(fake) as terminal:
        terminal.await_shown("nothing is built now", "the first answer")
        os.close(terminal.terminal)
        os.close(terminal.person)
        terminal.person, terminal.terminal = os.openpty()
        assert terminal.process.wait(PATIENCE) == 0
