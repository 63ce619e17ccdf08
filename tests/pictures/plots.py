# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, by gnuplot."""

import subprocess


class Plot:
    """Lines over one axis."""

    def __init__(self, title, x, y, log_x=False, log_y=False):
        self.settings = [
            "set terminal svg size 720,360 font 'sans,13' background 'white'", f"set title '{title}'",
            f"set xlabel '{x}'", f"set ylabel '{y}'", "set grid", "set key top left", "set format x '%.0f'",
            *(["set logscale x"] if log_x else []), *(["set logscale y"] if log_y else ["set yrange [0:*]"]),
        ]
        self.lines = []

    def add(self, name, points, marks=True):
        """A line through {x: y}."""
        self.lines.append((name, points, "linespoints pointtype 7" if marks else "lines"))

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn = ", ".join(f"'-' with {style} linewidth 2 title '{name}'" for name, _, style in self.lines)
        data = ["\n".join([*(f"{x} {y}" for x, y in points.items()), "e"]) for _, points, _ in self.lines]
        script = "\n".join([*self.settings, f"set output '{path}'", f"plot {drawn}", *data])
        subprocess.run(["gnuplot"], input=script, text=True, check=True)
