# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`evict`: an administrator removes entries by key, by age, by toolchain, or all; builds go on."""

import json
import pathlib
import threading

from conftest import PLACES
from lease_client import LeaseClient, deposit
from snapshot_commands import ALICE, BOB, as_root, build, place, shared, snapshot  # noqa: F401
from terminal import at_a_terminal

FAKETIME = "/usr/$LIB/faketime/libfaketimeMT.so.1"


def evict(daemon, *arguments, check=True, user=None):
    done = daemon.cli("--json", "evict", *arguments, check=check, user=user, cwd="/")
    return json.loads(done.stdout) if done.returncode == 0 else done


def outcomes(daemon, numbers, user=None):
    return [build(daemon, number, user=user)["outcome"] for number in numbers]


def explained(daemon, key, user=None):
    return json.loads(daemon.cli("--json", "explain", key, user=user, cwd="/").stdout)["verdict"]


def disk_bytes(daemon):
    return sum(file.stat().st_size for file in pathlib.Path(daemon.state).rglob("*") if file.is_file())


def test_an_entry_is_evicted_by_its_key_and_by_its_first_digits_and_explain_says_so(shared):
    keys = [build(shared, number, user=ALICE)["key"] for number in range(3)]
    whole = evict(shared, keys[0])
    assert whole["entries"] == 1
    assert whole["bytes"] > 20000
    assert evict(shared, keys[1][:8])["entries"] == 1
    assert explained(shared, keys[0], user=ALICE) == "evicted"
    assert explained(shared, keys[1], user=ALICE) == "evicted"
    assert outcomes(shared, range(3), user=ALICE) == ["built", "built", "hit"]


def test_an_evicted_entry_stays_evicted_if_the_daemon_is_killed_right_after(shared):
    key = build(shared, 1)["key"]
    evict(shared, key)
    shared.kill()
    shared.start()
    assert build(shared, 1)["outcome"] == "built"


def test_explain_knows_an_eviction_after_a_restart(shared):
    key = build(shared, 1)["key"]
    evict(shared, key)
    assert shared.stop() == 0
    shared.start()
    assert explained(shared, key) == "evicted"


def test_only_administrators_evict_and_the_error_names_them(shared):
    key = build(shared, 1, user=ALICE)["key"]
    for arguments in ([key], ["--all", "--yes"], ["--older-than", "1s"], ["--toolchain", "0" * 8]):
        done = evict(shared, *arguments, check=False, user=ALICE)
        assert done.returncode == 4
        assert json.loads(done.stdout)["error"]["status"] == "denied"
        assert b"admin_group" in done.stderr
    assert build(shared, 1, user=ALICE)["outcome"] == "hit"


def test_evict_by_age_removes_entries_and_deposits_without_a_later_use(make_daemon, toolkit):
    daemon = make_daemon("--socket-mode", "0666", roots=(toolkit.root,)).start()
    outcomes(daemon, range(4))
    for name in ("old", "used"):
        deposit(daemon, name, name)
    assert evict(daemon, "--older-than", "1d") == {"format_version": 1, "entries": 0, "bytes": 0}
    assert daemon.stop() == 0
    daemon.environment = {"LD_PRELOAD": FAKETIME, "FAKETIME": "+2d", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
    daemon.start()
    assert outcomes(daemon, (0, 9)) == ["hit", "built"]
    assert LeaseClient(daemon, "used").hear() == "hit used"
    assert evict(daemon, "--older-than", "1d")["entries"] == 4
    assert LeaseClient(daemon, "used").hear() == "hit used"
    assert LeaseClient(daemon, "old").hear() != "hit old"
    assert outcomes(daemon, (0, 9, 1, 2, 3)) == ["hit", "hit", "built", "built", "built"]


def test_entries_of_one_toolchain_are_evicted_by_its_id(make_daemon):
    daemon = make_daemon("--socket-mode", "0666", roots=(PLACES.fake13, PLACES.fake12)).start()
    told = json.loads(daemon.cli("--json", "toolchains").stdout)["toolchains"]
    ids = {each["version"].split(".")[0]: each["id"] for each in told}

    def both(number, user):
        return [daemon.build_json(f"// program {number}\n", "--toolchain", major, cwd="/", user=user)["outcome"]
                for major in ("13", "12")]

    assert both(1, ALICE) == both(2, BOB) == ["built", "built"]
    assert evict(daemon, "--toolchain", ids["12"][:8])["entries"] == 2
    assert both(1, ALICE) == both(2, BOB) == ["hit", "built"]
    unknown = evict(daemon, "--toolchain", "0" * 8, check=False)
    assert unknown.returncode == 4
    assert b"toolchains --json" in unknown.stderr


def test_evict_all_frees_the_disk_space_of_all_users_entries_and_deposits(shared, place):
    outcomes(shared, range(200))
    deposit(shared, "kept", "before")
    snapshot(shared, "create", place / "file")
    assert snapshot(shared, "insert", place / "file", user=ALICE)["shared"] is False
    before = disk_bytes(shared)
    gone = evict(shared, "--all", "--yes")
    assert gone["entries"] >= 200 + 200 + 1
    stats = shared.stats()
    assert (stats["entries"], stats["bytes"], stats["deposits"]) == (0, 0, 0)
    assert disk_bytes(shared) < before / 2
    assert LeaseClient(shared, "kept").hear() != "hit before"
    assert outcomes(shared, range(3), user=ALICE) == ["built"] * 3
    shared.kill()
    shared.start()
    assert outcomes(shared, range(3, 6), user=ALICE) == ["built"] * 3


def test_an_entry_that_a_user_inserted_for_itself_is_evicted_by_its_key(shared, place):
    key = build(shared, 1)["key"]
    snapshot(shared, "create", place / "file")
    snapshot(shared, "insert", place / "file", user=ALICE)
    assert evict(shared, key)["entries"] == 2
    assert build(shared, 1, user=ALICE)["outcome"] == "built"


def test_builds_during_an_eviction_are_correct(shared):
    expected = {number: shared.build_bytes(f"// program {number}\n//fake: output-size 20000\n")[1]
                for number in range(20)}
    wrong = []
    stop = threading.Event()

    def client():
        try:
            while not stop.is_set():
                for number, contents in expected.items():
                    if shared.build_bytes(f"// program {number}\n//fake: output-size 20000\n")[1] != contents:
                        wrong.append(number)
        except Exception as error:
            wrong.append(error)

    clients = [threading.Thread(target=client) for _ in range(2)]
    for each in clients:
        each.start()
    try:
        for _ in range(10):
            evict(shared, "--all", "--yes")
    finally:
        stop.set()
        for each in clients:
            each.join()
    assert not wrong


def test_a_terminal_asks_for_confirmation_of_all(shared):
    build(shared, 1)
    command = ("--socket", shared.socket, "evict", "--all")
    code, _, shown = at_a_terminal(*command, answer=b"\n")
    assert (code, "[y/N]" in shown) == (2, True)
    assert build(shared, 1)["outcome"] == "hit"
    code, output, _ = at_a_terminal(*command, answer=b"y\n")
    assert (code, output.startswith("evicted 1 entry, ")) == (0, True)
    assert build(shared, 1)["outcome"] == "built"
