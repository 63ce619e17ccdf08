# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, by gnuplot."""

import subprocess

WIDTH, HEIGHT = 720, 360  # pixels of a picture with one plot


class Plot:
    """Lines over one axis."""

    def __init__(self, title, x, y, log_x=False, log_y=False, key="top left"):
        self.settings = [
            f"set title {quoted(title)}", f"set xlabel {quoted(x)}", f"set ylabel {quoted(y)}", "set grid", f"set key {key}",
            "set format x '%.0f'",
            *(["set logscale x"] if log_x else []), *(["set logscale y"] if log_y else ["set yrange [0:*]"]),
        ]
        self.lines = []

    def add(self, name, points, marks=True):
        """Adds a line through {x: y}, with a gap where y is None."""
        self.lines.append((name, points, "linespoints pointtype 7" if marks else "lines"))

    def commands(self):
        drawn = ", ".join(f"'-' with {style} linewidth 2 title {quoted(name)}" for name, _, style in self.lines)
        data = ["\n".join([*("" if y is None else f"{x} {y}" for x, y in points.items()), "e"]) for _, points, _ in self.lines]
        return "\n".join([*self.settings, f"plot {drawn or '[0:1] [0:1] NaN notitle'}", *data])

    def write(self, path):
        write_grid(path, WIDTH, HEIGHT, [(self, 0, 0, WIDTH, HEIGHT)])


class Figures:
    """Large figures under a title."""

    def __init__(self, title, figures):
        self.title = title
        self.figures = figures

    def commands(self):
        labels = [f"set label {quoted(text)} at graph 0.5,{(2 * index + 1) / (2 * len(self.figures))} center font 'sans,22'"
                  for index, text in enumerate(reversed(self.figures))]
        return "\n".join([f"set title {quoted(self.title)}", "unset border", "unset tics", *labels, "plot [0:1] [0:1] NaN notitle"])


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def write_grid(path, width, height, placed):
    """Writes one picture of several plots: (plot, left, top, width, height), all in pixels."""
    commands = [f"set terminal svg noenhanced size {width},{height} font 'sans,13' background 'white'",
                f"set output {quoted(str(path))}", "set multiplot"]
    for plot, left, top, its_width, its_height in placed:
        commands += ["reset", f"set origin {left / width},{1 - (top + its_height) / height}",
                     f"set size {its_width / width},{its_height / height}", plot.commands()]
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gnuplot"], input="\n".join([*commands, "unset multiplot"]), text=True, check=True)
