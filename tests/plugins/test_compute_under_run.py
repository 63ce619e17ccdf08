# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Under `cccl-cache-cli run`, the plug-in for cuda.compute makes the same keys as without it."""

from behind_run import HOW, OWN_LIBRARIES, behind
from test_compute_processes import finish, start

NAMES = ("transform",)


def test_builds_that_were_kept_without_run_are_found_under_it(real):
    first = finish(start(real, *NAMES))
    assert first["status"]["builds"] == len(NAMES)
    for how in HOW:
        second = finish(start(real, *NAMES, behind=behind(how), **OWN_LIBRARIES))
        assert not second["status"]["errors"] and not second["status"]["not_cached"]
        assert second["calls"] == [] and second["status"]["hits"] == len(NAMES)
        assert second["made"] == first["made"]
