# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy with the plug-in under `cccl-cache-cli run`: a second process compiles nothing, and has the same results."""

from behind_run import HOW, OWN_LIBRARIES, behind
from test_cupy_processes import NAMES, start  # noqa: F401


def test_the_plug_in_serves_a_process_under_run_as_any_other(real, start):  # noqa: F811
    first = start(real.socket, *NAMES)
    for how in HOW:
        second = start(real.socket, *reversed(NAMES), behind=behind(how), **OWN_LIBRARIES)
        assert second["made"] == first["made"]
        assert second["compiles"] == second["status"]["builds"] == 0, second["status"]
        assert second["status"]["errors"] == second["status"]["not_cached"] == {}
