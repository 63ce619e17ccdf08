# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Frames before a call exists, or after its cancellation, cost the daemon a bounded amount of memory. Other users still
get all answers (docs/internals/decisions/0028)."""

import pytest

from attacker import attack
from bystander import memory

GROWTH = 150  # MiB
UNREAD = 240  # MiB that gRPC and the service hold for as many calls as a user may have open


@pytest.mark.parametrize("name, most_sent", [
    ("unfinished_field", 100 << 20), ("small_fields", 50 << 20), ("empty_continuations", 5 << 20),
    ("rapid_reset", 5 << 20), ("pings", 10 << 20), ("settings", 10 << 20), ("tiny_data", 50 << 20),
    ("tiny_messages", 50 << 20), ("long_announcement", 5 << 20),
])
def test_a_client_that_sends_frames_but_no_calls_is_cut_off(shared, bystander, name, most_sent):
    before, _ = memory(shared.process.pid)
    done = attack(shared, name)
    peak, _ = bystander.report(f"{name}, {done}")
    assert done["closed"] == done["connections"]
    assert done["sent"] < most_sent
    assert peak - before < GROWTH
    assert shared.stats()["connections_cut_off_total"] >= 1


@pytest.mark.parametrize("name", [
    "up_to_the_bound", "rapid_reset_of_many", "again_and_again", "unread_answers"])
def test_the_memory_for_frames_of_one_users_connections_is_bounded(shared, bystander, name):
    before, _ = memory(shared.process.pid)
    done = attack(shared, name)
    peak, _ = bystander.report(f"{name}, {done}")
    assert peak - before < (UNREAD if name == "unread_answers" else GROWTH)


def test_a_user_whose_connections_are_cut_off_repeatedly_is_refused_for_a_while(shared, bystander):
    done = attack(shared, "again_and_again")
    bystander.report(f"again_and_again, {done}")
    assert shared.stats()["connections_cut_off_total"] < 20
    assert shared.stats()["refused_total"] > 0
    assert shared.log_text().count("cut off a connection") < 20
