# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""One user fills the disk tier. The test counts the evicted entries of another user's builds with and without headers."""

import pytest
from bystander import ATTACKER, BYSTANDER
from places import PLACES

PROGRAMS = 60
FLOOD = 30


@pytest.fixture
def small(make_daemon):
    """A daemon with a memory tier that keeps almost nothing, so that the disk tier decides."""
    return make_daemon("--socket-mode", "0666", "--store-limit", "64MiB", "--memory-limit", "128KiB",
                       roots=(PLACES.fake13,)).start()


def test_a_flood_evicts_builds_with_headers_no_more_often_than_builds_without(small, directory):
    headers = directory / "headers"
    headers.mkdir()
    (headers / "one.h").write_text("#define ONE 1\n")

    def count(outcome, include):
        text = include + "// {}\n//fake: output-size 4K\n//fake: allocate 32M\n"
        outcomes = [small.build_json(text.format(number), "-I", str(headers), user=BYSTANDER)["outcome"]
                    for number in range(PROGRAMS)]
        return outcomes.count(outcome)

    kinds = {"without headers": "", "over headers": '#include "one.h"\n'}
    for outcome in ("built", "hit"):
        assert {count(outcome, include) for include in kinds.values()} == {PROGRAMS}
    for number in range(FLOOD):
        small.build_json(f"// flood {number}\n//fake: output-size 6M\n", user=ATTACKER)
    left = {name: count("hit", include) for name, include in kinds.items()}
    evicted = small.stats()["evictions_total"]
    print(f"eviction: {FLOOD} builds of 6 MB by another user, {evicted} entries evicted; "
          f"hits left of {PROGRAMS}: {left}")
    assert evicted > 0
    # The value of an entry depends on the time of its compile, which varies.
    assert left["over headers"] >= left["without headers"] - PROGRAMS // 10
