# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy under `cccl-cache-cli run`, with and without the plug-in. The results are the same, and a second process
compiles nothing."""

from behind_run import HOW, OWN_LIBRARIES, behind
from test_cupy_processes import NAMES, WRONG, start  # noqa: F401

# A program over headers that show paths differs in each of CuPy's random directories.
OF_NO_HEADERS = ("plain", "static", "template")


def test_a_process_gets_the_same_answers_as_without_the_plug_in(real, start):  # noqa: F811
    real.cli("toolchains")  # waits until the daemon has read its toolchains
    expected = start("nowhere", *NAMES, *WRONG, plugged=False)["made"]
    assert start(real.socket, *NAMES, *WRONG, plugged=False, behind=behind())["made"] == expected
    compiles = real.stats()["compiles_total"]
    assert compiles >= len(NAMES)
    made = start(real.socket, *OF_NO_HEADERS, plugged=False, behind=behind())["made"]
    assert made == {name: expected[name] for name in OF_NO_HEADERS}
    assert real.stats()["compiles_total"] == compiles


def test_the_plug_in_serves_a_process_under_run_as_any_other(real, start):  # noqa: F811
    first = start(real.socket, *NAMES)
    for how in HOW:
        second = start(real.socket, *reversed(NAMES), behind=behind(how), **OWN_LIBRARIES)
        assert second["made"] == first["made"]
        assert second["compiles"] == second["status"]["builds"] == 0, second["status"]
        assert second["status"]["errors"] == second["status"]["not_cached"] == {}
