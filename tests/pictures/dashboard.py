# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the panels of deploy/metrics/grafana-dashboard.json from what a Prometheus answers that has scraped a daemon under
a small load for a while, beside another node with the same Redis. Not by Grafana: the queries, titles, legends and places are the dashboard's, the drawing is ours."""

import argparse
import os
import pathlib
import random
import re
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
from places import PLACES  # noqa: E402
from plots import Figures, Plot, write_grid  # noqa: E402
from redis_server import Redis  # noqa: E402
from remote_nodes import Keys  # noqa: E402
from running_daemon import Daemon  # noqa: E402
from scraping import Prometheus, filled, metrics, panels  # noqa: E402

COLUMN, ROW = 50, 30  # pixels of a unit in the dashboard's layout
STEP, RATE_INTERVAL = 2, 15  # seconds
AXES = {"percentunit": "share", "bytes": "GiB", "s": "seconds", "ops": "per second", "short": "number"}
CLIENTS = 3
PROGRAMS = 40
REDUCE = (ROOT / "examples/reduce.cu").read_text()


def program(number):
    if number % 10 == 0:
        return f"{REDUCE}// {number}\n"
    return f'extern "C" __global__ void k(float* x) {{ x[threadIdx.x] *= {number}; }}\n'


def assemble(daemon, number):
    """Runs ptxas, whose result is a deposit."""
    ptx = pathlib.Path(daemon.directory, f"{number}.ptx")
    ptx.write_text(f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k{number}() {{ ret; }}\n")
    daemon.cli("run", "--", pathlib.Path(PLACES.cuda13, "bin/ptxas"), "-arch=sm_90", ptx, "-o", ptx.with_suffix(".cubin"))


def load(daemon, seed, end):
    """One client. It requests a few programs often. Some programs are new, and some do not compile."""
    choose = random.Random(seed)
    while time.monotonic() < end:
        number = min(int(choose.paretovariate(0.6)), PROGRAMS)
        if choose.random() < 0.1:
            number = choose.randrange(PROGRAMS, 1 << 30)
        if choose.random() < 0.2:
            assemble(daemon, number)
        source = program(number) if choose.random() > 0.02 else f"broken {number}\n"
        daemon.cli("build", "-", "--arch", "sm_90", "--toolchain", choose.choice(("12", "13", "13")), "-o", os.devnull,
                   input=source, check=False)
        time.sleep(choose.expovariate(6))


def as_text(value, unit):
    return {"percentunit": f"{100 * value:.1f} %", "s": f"{value:.1f} s"}.get(unit, f"{value:g}")


def drawn(panel, prometheus, begin, end):
    unit = panel["fieldConfig"]["defaults"]["unit"]
    asked = [(filled(each["expr"], RATE_INTERVAL, end - begin), each["legendFormat"]) for each in panel["targets"]]
    if panel["type"] != "timeseries":
        return Figures(panel["title"], [f"{legend} {as_text(value, unit)}".strip() for expression, legend in asked
                                        for value in prometheus.values(expression, end)])
    plot = Plot(panel["title"], "seconds", AXES[unit], key="outside right maxcols 1 font ',10' spacing 0.8")
    for expression, legend in asked:
        if unit == "bytes":
            expression = f"({expression}) / 2^30"
        for labels, points in prometheus.series(expression, begin, end, STEP):
            plot.add(re.sub(r"\{\{(\w+)\}\}", lambda name: labels[name[1]], legend), points, marks=False)
    return plot


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120, help="how long the load lasts")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "docs/pictures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        os.chmod(place, 0o755)
        place = pathlib.Path(place)
        redis, keys = Redis(place).start(), Keys(place)
        secret, public = keys.make("site.key")
        nodes = []
        for name in ("node", "other"):
            directory = place / name
            directory.mkdir()
            nodes.append(Daemon(directory, [PLACES.cuda13, PLACES.cuda12], "--store-limit", "8MiB", "--remote-url", redis.url,
                                "--remote-key", str(secret), "--remote-trust", str(keys.trust("trusted", public))).start())
        try:
            with metrics(nodes[0], "--listen", "127.0.0.1:0", "--by-user") as url, Prometheus(place / "prometheus", url) as prometheus:
                begin = time.time()
                end = begin + given.seconds
                clients = [threading.Thread(target=load, args=(node, seed, time.monotonic() + given.seconds))
                           for node, seed in zip(nodes + nodes[:1] * (CLIENTS - 1), range(CLIENTS + 1))]
                for client in clients:
                    client.start()
                for client in clients:
                    client.join()
                placed = [(drawn(panel, prometheus, begin, end), *(size * each for each, size in zip(
                    (panel["gridPos"][name] for name in "xywh"), (COLUMN, ROW, COLUMN, ROW)))) for panel in panels()]
        finally:
            for node in nodes:
                node.kill()
            redis.stop()
    height = max(top + its_height for _, _, top, _, its_height in placed)
    write_grid(given.into / "dashboard.svg", 24 * COLUMN, height, placed)


main()
