# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy without the plug-in, under `cccl-cache-cli run`: the same results, and no compile in a second process."""

from places import PLACES
from test_cupy_processes import NAMES, WRONG, start  # noqa: F401

RUN = (PLACES.cli, "run", "--")
# In CuPy's random directories a program over headers that show paths is another one.
OF_NO_HEADERS = ("plain", "static", "template")


def test_a_process_is_told_what_it_is_told_alone(real, start):  # noqa: F811
    real.cli("toolchains")  # it knows its compilers from here on
    expected = start("nowhere", *NAMES, *WRONG, plugged=False)["made"]
    assert start(real.socket, *NAMES, *WRONG, plugged=False, behind=RUN)["made"] == expected
    compiles = real.stats()["compiles_total"]
    assert compiles >= len(NAMES)
    made = start(real.socket, *OF_NO_HEADERS, plugged=False, behind=RUN)["made"]
    assert made == {name: expected[name] for name in OF_NO_HEADERS}
    assert real.stats()["compiles_total"] == compiles
