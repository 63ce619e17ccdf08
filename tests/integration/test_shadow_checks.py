# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Hits that the daemon compiles again in the background and compares."""

import json
import os
import re

import pytest
from conftest import wait_for

SAME = "//fake: output-size 20000\n"
UNLIKE = "//fake: unique\n"  # a compile with another result each time


@pytest.fixture
def checked(make_daemon, toolkit):
    """A daemon that checks every hit."""
    return make_daemon("--shadow-check-every", "1", roots=(toolkit.root,)).start()


def digest(told):
    (artifact,) = told["artifacts"]
    return artifact["sha256"]


def drop(daemon):
    """Builds a program whose compiles differ, hits it, and waits until the check has found the difference. Returns
    the key, and the digests of the stored entry."""
    cubin = daemon.build_json(UNLIKE)
    ptx = daemon.build_json(UNLIKE, "--emit", "ptx")
    assert (ptx["outcome"], ptx["key"]) == ("hit", cubin["key"])
    wait_for(lambda: daemon.stats()["shadow_mismatches_total"] > 0, "a mismatch")
    return cubin["key"], {digest(cubin), digest(ptx)}


def test_a_hit_that_a_new_compile_confirms_stays(checked, toolkit):
    built = checked.build_json(SAME)
    compiles = toolkit.count("nvrtc_compiles")
    for checks in (1, 2):
        assert checked.build_json(SAME)["outcome"] == "hit"
        # The checks run one at a time, so the first has ended when the second has compiled.
        wait_for(lambda: checked.stats()["shadow_checks_total"] == checks, f"{checks} checks")
    assert toolkit.count("nvrtc_compiles") == compiles + 2
    statistics = checked.stats()
    assert statistics["compiles_total"] == 1
    assert statistics["shadow_mismatches_total"] == 0
    again = checked.build_json(SAME)
    assert (again["outcome"], digest(again)) == ("hit", digest(built))


def test_a_hit_that_is_compiled_to_other_bytes_is_counted_logged_and_dropped(checked):
    key, kept = drop(checked)
    statistics = checked.stats()
    assert statistics["shadow_checks_total"] == 1
    assert statistics["shadow_mismatches_total"] == 1
    line = f"{key} .*kept ([0-9a-f]{{64}}), compiled again ([0-9a-f]{{64}})"
    ((was, made),) = wait_for(lambda: re.findall(line, checked.log_text()), "the mismatch in the log")
    assert was in kept
    assert made not in kept
    again = checked.build_json(UNLIKE)
    assert (again["outcome"], again["key"]) == ("built", key)
    assert digest(again) not in kept


def test_an_entry_that_a_check_dropped_stays_dropped_after_a_restart(checked):
    drop(checked)
    assert checked.stop() == 0
    checked.start()
    command = ("build", "-", "--arch", "sm_90", "-o", os.devnull)
    told = json.loads(checked.cli("--json", "explain", "--", *command, input=UNLIKE).stdout)
    assert told["verdict"] == "shadow-check"
    assert checked.build_json(UNLIKE)["outcome"] == "built"


def test_no_build_waits_for_a_check(checked, toolkit):
    waiting = "//fake: wait-for gate\n"
    toolkit.open("gate")
    checked.build_json(waiting)
    toolkit.close("gate")
    assert checked.build_json(waiting)["outcome"] == "hit"
    toolkit.await_arrivals("gate", 2)
    assert checked.build_json(SAME)["outcome"] == "built"
    assert checked.build_json(waiting)["outcome"] == "hit"
    toolkit.open("gate")
