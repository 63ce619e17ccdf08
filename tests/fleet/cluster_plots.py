# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/pictures/cluster.svg from simulations (simulate.py) of clusters of many sizes that start cold: over one Redis,
over several servers, and with shelves, at once and staggered. Prints the figures of each as JSON, then those of some
failures, then those of measure.py's fleet beside its simulation. Takes some ten minutes."""

import argparse
import json
import pathlib
import sys

from simulate import Scenario, measured, play

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/pictures"))
from plots import Plot, write_grid  # noqa: E402

SIZES = (64, 250, 500, 1000, 2000, 4000, 10000)
MINUTE = {"stagger": 60.0}
CLUSTERS = {
    "one Redis": {},
    "3 servers": {"servers": 3},
    "6 servers": {"servers": 6},
    "one Redis, 9 of 10 kernels on a shelf": {"shelf_share": 0.9},
    "one Redis, started within a minute": MINUTE,
    "one Redis, remote_patience 100 ms": {"patience": 0.1},
}
PLOTS = {  # title: axis, figure
    "The last node has its last kernel": ("seconds", "last_kernel"),
    "Requests at the busiest Redis, at most": ("a second", "commands_a_second_peak"),
    "Compiles in all": ("compiles", "compiles"),
    "Traffic of the busiest Redis, at most": ("MiB a second", "mib_a_second_peak"),
}
FAILURES = {  # of 1,000 nodes
    "none": {},
    "Redis dies after 5 s, for 5 s": {"dies_at": 5.0, "dies_for": 5.0},
    "Redis dies after 5 s, for good": {"dies_at": 5.0, "dies_for": 1e6},
    "one of 3 servers dies after 5 s, for good": {"servers": 3, "dies_at": 5.0, "dies_for": 1e6},
    "answers take 1 s more from second 5 to 15": {"slow_at": 5.0, "slow_for": 10.0},
    "1 in 20 leases: its node dies": {"die_with_lease": 0.05},
}
WIDTH, HEIGHT, KEY = 560, 360, 100  # pixels of each plot, and of the names of its lines


def draw(figures, into):
    placed = []
    for place, (title, (axis, name)) in enumerate(PLOTS.items()):
        row, column = divmod(place, 2)
        plot = Plot(title, "nodes", axis, log_x=True, log_y=True, key="below" if row else "off")
        for cluster, by_size in figures.items():
            plot.add(cluster, {nodes: each[name] for nodes, each in by_size.items()})
        if name == "compiles":
            plot.add("no Redis", {nodes: nodes * Scenario().kernels for nodes in SIZES}, marks=False)
        placed.append((plot, column * WIDTH, row * HEIGHT, WIDTH, HEIGHT + row * KEY))
    write_grid(into / "cluster.svg", 2 * WIDTH, 2 * HEIGHT + KEY, placed)


def beside_the_fleet(found, costs):
    """Returns the figures of the fleet with small results: those that its programs measured, and those of the
    simulation. In the simulation a hit takes a node as long as in the fleet, where all nodes share a few processors."""
    real = found["fleets"][0]
    simulated = play(Scenario(**costs | {"node_hit": real["hit_ms_median"] / 1000, "kib": 0.0}, nodes=found["nodes"],
                              kernels=found["kernels"], compile_seconds=found["compile_ms"] / 1000, compile_spread=0.0,
                              patience=10.0))
    redis = real["redis"]
    commands = sum(number for name, number in redis.items() if not name.startswith(("bytes", "thread")))
    return {
        "real": {"compiles": real["compiles"], "last_kernel": real["seconds"], "commands": commands,
                 "mib": (redis["bytes_in"] + redis["bytes_out"]) >> 20},
        "simulated": {name: simulated[name] for name in ("compiles", "last_kernel", "commands", "mib")},
    }


def tell(what, figures):
    print(json.dumps({"what": what} | figures), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measured", type=pathlib.Path, default=HERE / "measured.json")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "docs/pictures")
    given = parser.parse_args()
    costs = measured(given.measured)
    for side, figures in beside_the_fleet(json.loads(given.measured.read_text()), costs).items():
        tell(f"the fleet, {side}", figures)
    for failure, options in FAILURES.items():
        for start, stagger in (("at once", {}), ("within a minute", MINUTE)):
            tell(f"{failure}; {start}", play(Scenario(**costs, **options, **stagger, nodes=1000)))
    figures = {}
    for cluster, options in CLUSTERS.items():
        figures[cluster] = {}
        for nodes in SIZES:
            figures[cluster][nodes] = play(Scenario(**costs, **options, nodes=nodes))
            tell(cluster, figures[cluster][nodes])
    draw(figures, given.into)


if __name__ == "__main__":
    main()
