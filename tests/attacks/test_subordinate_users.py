# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A Linux user has some 65,536 subordinate uids and can become any of them. The daemon therefore counts all of them
as one user."""

import pytest
from bystander import ATTACKER, Bystander, memory
from places import PLACES
from raw_http2 import UnfinishedMessages, connect_as, send_all

SUBORDINATE = 7_000_000  # the uids from here on have no name and, except in some tests, no owner
NEWCOMER = 54_333
MESSAGE = 16 << 20


def take_all(daemon, uids):
    """Opens one connection by each uid. Returns those that the daemon accepted."""
    return [end for uid in uids if (end := connect_as(uid, daemon.socket))]


def is_served(daemon, user):
    return daemon.cli("toolchains", check=False, user=user).returncode == 0


def test_idle_connections_of_a_thousand_uids_lock_no_user_out(shared, bystander):
    held = take_all(shared, range(SUBORDINATE, SUBORDINATE + 1100))
    assert 0 < len(held) <= 512
    assert is_served(shared, 0)
    assert is_served(shared, NEWCOMER)
    bystander.report(f"{len(held)} of 1100 idle connections by as many uids")


@pytest.fixture
def owned(make_daemon, directory):
    """A daemon on a machine where ATTACKER owns the subordinate uids."""
    subuid = directory / "subuid"
    subuid.write_text(f"{ATTACKER}:{SUBORDINATE}:65536\n")
    launcher = ("unshare", "--mount", "sh", "-c", f'mount --bind {subuid} /etc/subuid && exec "$@"', "sh")
    return make_daemon(
        "--socket-mode", "0666", "--connection-limit-per-uid", "20", roots=(PLACES.fake13,), launcher=launcher).start()


def test_subordinate_uids_count_as_their_owner(owned):
    held = take_all(owned, [ATTACKER, *range(SUBORDINATE, SUBORDINATE + 100)])
    assert len(held) == 20
    assert connect_as(ATTACKER, owned.socket) is None
    assert connect_as(SUBORDINATE + 65_536, owned.socket) is not None  # this uid has no owner
    assert is_served(owned, NEWCOMER)


def flood(daemon, uids, streams):
    senders = [UnfinishedMessages(connect_as(uid, daemon.socket), streams, MESSAGE) for uid in uids]
    return send_all(senders, 2), senders


@pytest.mark.parametrize("first", [SUBORDINATE, 20_000], ids=["of_one_user", "of_many_users"])
def test_unfinished_messages_of_many_uids_take_bounded_memory(make_daemon, first):
    daemon = make_daemon("--socket-mode", "0666", "--in-flight-limit", "1GiB").start()
    before, _ = memory(daemon.process.pid)
    with Bystander(daemon) as other:
        sent, senders = flood(daemon, range(first, first + 70), 2)
        assert is_served(daemon, 0)
        if first == SUBORDINATE:
            assert is_served(daemon, NEWCOMER)
            peak, _ = other.report(f"140 messages of 70 uids, {sent >> 20} MiB taken")
        else:
            peak = memory(daemon.process.pid)[1]
            print(f"140 messages of 70 users, {sent >> 20} MiB taken, peak {peak} MiB")
        assert peak - before < 512
        del senders
