# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The simulation of a cluster behaves as real nodes do."""

import json
import pathlib
import re

import pytest

import simulate
from cluster_plots import beside_the_fleet
from simulate import Scenario, measured, play

HERE = pathlib.Path(__file__).resolve().parent
REMOTE = HERE.parents[1] / "daemon/remote"
NODES, KERNELS = 40, 30
EACH = NODES * KERNELS  # number of compiles if each node compiles each kernel
ALL_SAME = {"nodes": NODES, "kernels": KERNELS, "compile_spread": 0.0}
# The first node begins after 1.2 s, the second node after 15.4 s.
ONE_THEN_ANOTHER = {"nodes": 2, "kernels": 1, "compile_spread": 0.0, "compile_seconds": 0.5, "stagger": 20, "seed": "2"}
BETWEEN = 5.0
DIES_FIRST = "2"  # a seed by which the first of two nodes dies and the second does not


@pytest.mark.parametrize("compile_seconds", [1, simulate.LEASE + 2])
def test_a_cluster_that_starts_at_once_compiles_each_kernel_once(compile_seconds):
    figures = play(Scenario(**ALL_SAME, compile_seconds=compile_seconds))
    assert figures["compiles"] == figures["writes"] == KERNELS
    assert figures["late"] == figures["waits_in_vain"] == 0


@pytest.mark.parametrize("same_order", [False, True])
def test_a_cluster_with_several_servers_compiles_each_kernel_once(same_order):
    assert play(Scenario(**ALL_SAME, servers=3, same_order=same_order))["compiles"] == KERNELS


def test_nodes_with_equal_orders_of_kernels_are_no_slower_than_a_single_node():
    figures = play(Scenario(**ALL_SAME, same_order=True))
    assert figures["compiles"] == KERNELS
    assert figures["last_kernel"] <= 1.1 * figures["alone"]


def test_without_a_redis_each_node_compiles_each_kernel():
    figures = play(Scenario(**ALL_SAME, without_redis=True))
    assert (figures["compiles"], figures["commands"]) == (EACH, 0)
    assert figures["last_kernel"] == pytest.approx(figures["alone"], abs=0.1)


@pytest.mark.parametrize("servers", [1, 3])
def test_one_compile_sends_redis_as_many_commands_as_a_daemon_does(servers):
    lookup, lease_and_lookup, write, release, renewal = 2, 3, 1, 3, 3
    one = {"nodes": 1, "kernels": 1, "compile_spread": 0.0, "servers": servers}
    short = play(Scenario(**one, compile_seconds=0.5))
    assert short["commands"] == lookup + lease_and_lookup + write + release
    long = play(Scenario(**one, compile_seconds=2.5))
    assert long["commands"] == short["commands"] + 2 * renewal


def test_a_hit_asks_redis_once():
    figures = play(Scenario(**ONE_THEN_ANOTHER))
    assert (figures["compiles"], figures["waits"], figures["commands"]) == (1, 0, 9 + 2)


@pytest.mark.parametrize("at", [0.0, 0.5, 1.5])
def test_a_dead_redis_costs_at_most_one_compile_a_node_and_kernel(at):
    alive, figures = play(Scenario(**ALL_SAME)), play(Scenario(**ALL_SAME, dies_at=at, dies_for=3600))
    assert alive["compiles"] < figures["compiles"] <= EACH
    assert figures["last_kernel"] <= figures["alone"] + at + simulate.SHORTEST_WAIT


def test_a_dead_redis_is_asked_nothing():
    assert play(Scenario(**ALL_SAME, dies_at=0.0, dies_for=3600))["commands"] == 0


def test_a_redis_that_restarts_is_used_again():
    back, gone = (play(Scenario(**ALL_SAME, dies_at=2.0, dies_for=seconds)) for seconds in (1.0, 3600))
    assert KERNELS < back["compiles"] < gone["compiles"]


def test_a_redis_that_restarts_is_empty():
    assert play(Scenario(**ONE_THEN_ANOTHER, dies_at=BETWEEN, dies_for=0.5))["compiles"] == 2


def test_a_dead_server_of_several_costs_fewer_compiles_than_a_single_dead_server():
    of_three = play(Scenario(**ALL_SAME, servers=3, dies_at=2.0, dies_for=3600))
    assert of_three["compiles"] < play(Scenario(**ALL_SAME, dies_at=2.0, dies_for=3600))["compiles"]


def test_one_dead_server_of_three_costs_only_its_own_keys():
    """Counts the compiles of each node: kernels on the dead server, and kernels whose lease was there and whose
    entry was not written when the node needed it."""
    figures = play(Scenario(nodes=NODES, kernels=150, compile_spread=0.0, servers=3, dies_at=0.0, dies_for=3600))
    dead = simulate.Simulation(Scenario(kernels=150, servers=3))
    lies_there = sum(kernel.entry is dead.servers[0] for kernel in dead.kernels)
    assert NODES * lies_there <= figures["compiles"] < NODES * 150 / 2


def test_a_slow_redis_costs_each_node_three_answers():
    figures = play(Scenario(**ALL_SAME, slow_at=0.0, slow_for=3600, slow_by=2.0))
    assert figures["compiles"] == EACH
    assert figures["broken_off"] == NODES and figures["late"] == NODES * simulate.MAX_SLOW
    assert figures["last_kernel"] <= figures["alone"] + 0.1


def test_a_late_answer_is_taken_while_the_compile_runs():
    figures = play(Scenario(**ONE_THEN_ANOTHER, slow_at=BETWEEN, slow_for=3600, slow_by=0.25))
    assert (figures["compiles"], figures["late"], figures["writes"]) == (2, 1, 1)


def test_a_lease_outlives_its_node_and_then_ends():
    figures = play(Scenario(nodes=2, kernels=1, compile_spread=0.0, compile_seconds=0.5, die_with_lease=0.5,
                            seed=DIES_FIRST))
    assert (figures["nodes_died"], figures["compiles"], figures["waits_in_vain"]) == (1, 2, 0)
    assert simulate.LEASE <= figures["last_kernel"] - 0.5 <= simulate.LEASE + 2 * simulate.LAST_PAUSE


def test_nodes_that_die_with_leases_cost_one_compile_each():
    figures = play(Scenario(**ALL_SAME, compile_seconds=0.5, die_with_lease=0.2))
    assert figures["nodes_died"] > 0
    assert figures["compiles"] <= KERNELS + figures["nodes_died"] + figures["waits_in_vain"]


def test_entries_on_a_shelf_are_not_asked_of_redis():
    assert play(Scenario(**ALL_SAME, shelf_share=1.0))["commands"] == 0
    half = play(Scenario(**ALL_SAME, shelf_share=0.5))
    assert half["compiles"] == KERNELS / 2
    assert half["commands"] < 0.7 * play(Scenario(**ALL_SAME))["commands"]


def test_servers_share_the_load():
    one, six = play(Scenario(**ALL_SAME)), play(Scenario(**ALL_SAME, servers=6))
    assert six["commands_a_second_mean"] < 0.5 * one["commands_a_second_mean"]


def test_with_an_overloaded_redis_no_node_is_slower_than_a_single_node():
    figures = play(Scenario(**ALL_SAME, command=0.001))
    assert figures["late"] > 0 and figures["broken_off"] > 0
    assert figures["last_kernel"] <= figures["alone"] + 1


def test_the_simulation_has_the_compiles_and_about_the_commands_of_real_daemons():
    found = HERE / "measured.json"
    sides = beside_the_fleet(json.loads(found.read_text()), measured(found))
    assert sides["simulated"]["compiles"] == sides["real"]["compiles"]
    assert sides["simulated"]["commands"] == pytest.approx(sides["real"]["commands"], rel=0.1)


def test_the_same_seed_gives_the_same_figures():
    scenario = Scenario(nodes=NODES, kernels=KERNELS, stagger=2, servers=3, dies_at=1, dies_for=2, die_with_lease=0.1)
    assert play(scenario) == play(scenario)
    assert play(scenario) != play(Scenario(nodes=NODES, kernels=KERNELS, stagger=2, servers=3, dies_at=1, dies_for=2,
                                           die_with_lease=0.1, seed="other"))


def test_the_constants_are_those_of_the_daemon():
    text = "".join(path.read_text() for path in sorted(REMOTE.rglob("*.cc")) + sorted(REMOTE.rglob("*.h"))).replace("'", "")

    def bound(name):
        return int(re.search(rf"\b{name}(?:\{{| = )(\d+)", text).group(1))

    assert bound("kFirstPause") == simulate.FIRST_PAUSE * 1000
    assert bound("kLastPause") == simulate.LAST_PAUSE * 1000
    assert bound("kMaxSlow") == simulate.MAX_SLOW
    assert bound("kUsualTimes") == simulate.USUAL_TIMES
    assert bound("kShortestWait") == simulate.SHORTEST_WAIT * 1000
    assert bound("kUnknownWait") == simulate.UNKNOWN_WAIT * 1000
    assert bound("kLongestWait") == simulate.LONGEST_WAIT * 1000
    assert bound("kMaxInVain") == simulate.MAX_IN_VAIN
    assert bound("kMaxHolders") == simulate.MAX_HOLDERS
    assert bound("kIgnoreLeases") == simulate.IGNORE_LEASES
    assert bound("kGoodConnection") == simulate.GOOD_CONNECTION
    assert bound("lease") == simulate.LEASE * 1000
    assert bound("patience") == Scenario().patience * 1000
    assert bound("connect_timeout") == simulate.CONNECT_TIMEOUT * 1000
    assert bound("first_backoff") == simulate.FIRST_BACKOFF * 1000
    assert bound("last_backoff") == simulate.LAST_BACKOFF * 1000
