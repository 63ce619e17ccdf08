# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""How long tests wait for what must happen."""

import time

PATIENCE = 60.0  # seconds; only ever spent by a test that fails


def wait_for(condition, what):
    """Polls until the condition holds; the condition is what is waited for, not a length of time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"waited {PATIENCE:.0f} s in vain for {what}")
