# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that want one deposit take turns. Unusable deposits are replaced."""

import contextlib
import os
import signal
import threading

import cccl_cache
import pytest
from directory_leases import DirectoryLeases

from cccl_cache._plugin.leases import Deposits, Key, Settings, pack
from cccl_cache._plugin.report import Report

PATIENCE = 30
KEY = Key({"name": "one"}, "digest")


def read(contents):
    if contents == b"unreadable":
        raise ValueError("unreadable")
    return contents


def deposited(connect, contents):
    """The deposits of a process that starts after another process has deposited these contents."""
    with connect().lease("test", KEY.fields, group=None, timeout=PATIENCE) as lease:
        lease.publish(contents)
    return Deposits("test", Settings(connect), Report("test", ("published",)))


@pytest.mark.parametrize("damaged", [b"", pack("digest", b"made")[:-1], pack("other", b"made"), pack("digest", b"unreadable")])
def test_a_deposit_that_can_not_be_used_is_replaced(real, damaged):
    deposits = deposited(lambda: cccl_cache.Client(real.socket), damaged)
    with deposits.ask(KEY, "what") as offer:
        assert offer.read(read) is None and offer.held
        offer.publish(b"made")
    with deposits.ask(KEY, "what") as offer:
        assert offer.read(read) == b"made"
    assert real.stats()["deposits"] == 1 and real.stats()["leases"] == 0


class Others(DirectoryLeases):
    """Deposits of another member of a group."""

    def remove_deposit(self, key, *, timeout):
        return False


class Unreadable(DirectoryLeases):
    """Deposits that can't be read. If one is removed, another process makes the next such deposit."""

    def remove_deposit(self, key, *, timeout):
        (self.directory / key).write_bytes(pack("digest", b"unreadable"))
        return True


@pytest.mark.parametrize("leases", [Others, Unreadable])
def test_a_deposit_that_can_not_be_replaced_is_a_miss_without_a_lease(tmp_path, leases):
    deposits = deposited(lambda: leases(tmp_path), pack("digest", b"unreadable"))
    with deposits.ask(KEY, "what") as offer:
        assert offer.read(read) is None and not offer.held
        offer.publish(b"made")
    with deposits.ask(KEY, "what") as offer:
        assert offer.read(read) is None


class Hangs(DirectoryLeases):
    """A daemon that hangs when a deposit is published. `waits` has the timeouts of the leases."""

    def __init__(self, directory):
        super().__init__(directory)
        self.waits = []

    @contextlib.contextmanager
    def lease(self, *key, timeout, **options):
        self.waits.append(timeout)
        with super().lease(*key, timeout=timeout, **options) as lease:
            lease.publish = self._hang
            yield lease

    def _hang(self, contents):
        raise TimeoutError


def test_the_wait_is_short_after_a_publication_that_the_daemon_did_not_answer(tmp_path):
    leases = Hangs(tmp_path)
    deposits = Deposits("test", Settings(lambda: leases, wait=120), Report("test", ("published",)))
    for _ in range(2):
        with deposits.ask(KEY, "what") as offer:
            offer.publish(b"made")
    assert leases.waits == [120, 1]


def test_a_child_has_its_turn_while_a_thread_of_its_parent_has_one():
    deposits = Deposits("test", Settings(), Report("test", ()))
    entered, leave = threading.Event(), threading.Event()

    def take_turn():
        with deposits.turn("key"):
            entered.set()
            leave.wait(PATIENCE)

    thread = threading.Thread(target=take_turn)
    thread.start()
    assert entered.wait(PATIENCE)
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        with deposits.turn("key"):
            os._exit(0)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_a_turn_that_is_held_across_a_fork_ends_in_both_processes():
    deposits = Deposits("test", Settings(), Report("test", ()))
    with deposits.turn("key"):
        child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
