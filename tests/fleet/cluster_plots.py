# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/pictures/cluster.svg from simulations (simulate.py) of clusters of many sizes that start cold: over one Redis,
over several servers, and with shelves, at once and staggered. Prints the figures of each as JSON, then those of some
failures, then those of measure.py's fleet beside its simulation. The picture shows the compiles of three of them. Takes some
ten minutes."""

import argparse
import json
import math
import pathlib
import sys

from simulate import Scenario, measured, play

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/pictures"))
from card import card, text  # noqa: E402

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
# The lines of the picture, with the class of each, and the name at its end in two lines.
ALONE = "without sharing"
LINES = {
    ALONE: ("without", "without sharing"),
    "one Redis": ("later", "one Redis"),
    "one Redis, 9 of 10 kernels on a shelf": ("shelf", "one Redis, 9 of 10", "kernels on a shelf"),
}
FAILURES = {  # of 1,000 nodes
    "none": {},
    "Redis dies after 5 s, for 5 s": {"dies_at": 5.0, "dies_for": 5.0},
    "Redis dies after 5 s, for good": {"dies_at": 5.0, "dies_for": 1e6},
    "one of 3 servers dies after 5 s, for good": {"servers": 3, "dies_at": 5.0, "dies_for": 1e6},
    "answers take 1 s more from second 5 to 15": {"slow_at": 5.0, "slow_for": 10.0},
    "1 in 20 leases: its node dies": {"die_with_lease": 0.05},
}
WIDTH, HEIGHT = 880, 400  # pixels of the picture
LEFT, RIGHT, TOP, BOTTOM = 92, 158, 62, 66  # pixels around the plot
MARKED = 1000  # the number of nodes at which the picture shows figures
COMPILES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
STYLE = """
path{fill:none;stroke-width:2.5;stroke-linejoin:round}path.grid{stroke:#8885;stroke-width:1}
path.without{stroke:#8b949e;fill:none}path.later{stroke:#76b900;fill:none}path.shelf{stroke:#2f9e9e}circle.shelf{fill:#2f9e9e}circle.without{fill:#8b949e}
"""


def place(nodes, compiles):
    """Returns the pixels of a point on logarithmic axes."""
    most = 3_000_000
    across = math.log(nodes / SIZES[0]) / math.log(SIZES[-1] / SIZES[0])
    up = math.log(compiles / COMPILES[0]) / math.log(most / COMPILES[0])
    return round(LEFT + across * (WIDTH - LEFT - RIGHT), 1), round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1)


def draw(figures, into):
    """Draws the compiles in all by the number of nodes."""
    kernels = Scenario().kernels
    compiles = {name: {nodes: each["compiles"] for nodes, each in by_size.items()} for name, by_size in figures.items()}
    compiles[ALONE] = {nodes: nodes * kernels for nodes in SIZES}
    parts = [text(16, 28, f"Compiles of a whole cluster that starts cold: each node needs the same {kernels} kernels", "title")]
    for number in COMPILES:
        x, y = place(SIZES[0], number)
        parts += [f'<path d="M{x} {y}H{WIDTH - RIGHT}" class="grid"/>', text(x - 12, y + 4, f"{number:,}", "small", end=True)]
    for nodes in SIZES:
        x, y = place(nodes, COMPILES[0])
        parts.append(f'<text x="{x}" y="{y + 20}" class="small" text-anchor="middle">{nodes:,}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - BOTTOM + 40}" class="small" text-anchor="middle">nodes</text>')
    for name, (kind, *label) in LINES.items():
        points = [place(*point) for point in compiles[name].items()]
        parts.append(f'<path d="M{" ".join(f"{x},{y}" for x, y in points)}" class="{kind}"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3.5" class="{kind}"/>' for x, y in points]
        x, y = place(MARKED, compiles[name][MARKED])
        parts.append(f'<text x="{x}" y="{y - 10}" class="strong" text-anchor="middle">{compiles[name][MARKED]:,}</text>')
        x, y = points[-1]
        parts += [text(x + 12, y + 4 + 16 * row, words, "strong") for row, words in enumerate(label)]
    parts.append(text(16, HEIGHT - 10, "Simulated; all nodes start at once. Both axes are logarithmic.", "small"))
    (into / "cluster.svg").write_text(card(WIDTH, HEIGHT, parts, STYLE))


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
