# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Under `cccl-cache-cli run`, the plug-in for numba-cuda makes the same keys as without it."""

from behind_run import HOW, OWN_LIBRARIES, behind
from test_numba_processes import finish, start

NAMES = ("diamond", "linked")


def test_kernels_that_were_kept_without_run_are_found_under_it(real):
    first = finish(start(real, "whole", *NAMES))
    assert first["status"]["compiles"] == len(NAMES)
    for how in HOW:
        second = finish(start(real, "whole", *reversed(NAMES), behind=behind(how), **OWN_LIBRARIES))
        assert not second["status"]["errors"] and not second["status"]["not_cached"]
        assert second["status"]["hits"] == len(NAMES) and second["status"]["compiles"] == 0
        assert second["cubins"] == first["cubins"]
