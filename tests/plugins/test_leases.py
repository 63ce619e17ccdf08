# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The turns of threads that want one deposit."""

import os
import signal
import threading

from cccl_cache._plugin.leases import Deposits, Settings
from cccl_cache._plugin.report import Report

PATIENCE = 30


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
