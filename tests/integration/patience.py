# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The longest waits of tests."""

import time

PATIENCE = 60.0  # seconds, only spent by a failing test


def wait_for(condition, what):
    """Polls until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"waited {PATIENCE:.0f} s in vain for {what}")
