# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`verify`: an administrator has the daemon read its disk. The daemon drops broken entries and builds them again."""

import json

from database import database_files, flip_a_bit
from lease_client import LeaseClient, deposit
from snapshot_commands import ALICE, as_root, build, place, shared, snapshot  # noqa: F401

NUMBERS = range(6)


def verify(daemon, user=None):
    done = daemon.cli("--json", "verify", check=False, user=user, cwd="/")
    return done.returncode, json.loads(done.stdout)


def test_a_store_without_damage_is_sound_and_unchanged(shared, place):
    for number in NUMBERS:
        build(shared, number)
    deposit(shared, "kept", "it")
    snapshot(shared, "create", place / "file")
    snapshot(shared, "insert", place / "file", user=ALICE)
    shared.stop()
    shared.start()
    code, told = verify(shared)
    assert code == 0
    # Alice has the deposit too.
    assert told["entries"] == shared.stats()["entries"] + len(NUMBERS) + 2
    assert (told["broken"], told["unreadable"]) == (0, 0)
    assert told["bytes"] > 2 * 20000 * len(NUMBERS)
    assert [build(shared, number)["outcome"] for number in NUMBERS] == ["hit"] * len(NUMBERS)
    assert LeaseClient(shared, "kept").hear() == "hit it"


def test_flipped_bits_are_found_and_the_entries_are_built_again(shared):
    keys = [build(shared, number)["key"] for number in NUMBERS]
    shared.stop()
    for number in (1, 4):
        flip_a_bit(shared, keys[number])
    shared.start()
    code, told = verify(shared)
    assert (code, told["entries"], told["broken"]) == (1, len(NUMBERS), 2)
    assert shared.stats()["corrupt_entries_total"] == 2
    for number in (1, 4):
        assert json.loads(shared.cli("--json", "explain", keys[number]).stdout)["verdict"] == "corrupt"
    expected = ["built" if number in (1, 4) else "hit" for number in NUMBERS]
    assert [build(shared, number)["outcome"] for number in NUMBERS] == expected
    assert verify(shared)[0] == 0


def test_bits_that_flip_under_a_running_daemon_are_found_although_it_has_read_the_entry_before(shared):
    key = build(shared, 1)["key"]
    shared.stop()
    shared.start()
    assert build(shared, 1)["tier"] == "disk"
    flip_a_bit(shared, key)
    assert verify(shared)[1]["broken"] == 1


def test_damage_in_users_inserted_entries_is_found(shared, place):
    key = build(shared, 1)["key"]
    snapshot(shared, "create", place / "file")
    shared.cli("evict", key)
    snapshot(shared, "insert", place / "file", user=ALICE)
    shared.stop()
    damaged = 0
    for file in database_files(shared):
        data = bytearray(file.read_bytes())
        at = data.find(ALICE.to_bytes(4, "big") + bytes.fromhex(key))
        if file.suffix == ".blob" and at >= 0:
            data[at + 5000] ^= 1
            file.write_bytes(data)
            damaged += 1
    assert damaged == 1
    shared.start()
    code, told = verify(shared)
    assert (code, told["broken"]) == (1, 1)
    assert build(shared, 1, user=ALICE)["outcome"] == "built"


def test_only_administrators_can_verify_the_store(shared):
    code, told = verify(shared, user=ALICE)
    assert (code, told["error"]["status"]) == (4, "denied")
    assert "admin_group" in told["error"]["message"]
