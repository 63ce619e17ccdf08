# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/pictures/speedups.svg, the chart of the README, from the figures in speedups.json beside it.

Each row of the file names the page from which its figures come, and the beginnings of the lines there. It is an error if a
figure is not in these lines. With --check it writes nothing: exit status 1 if the chart is not the one that it would draw."""

import argparse
import json
import pathlib
import re
import sys

from card import card, text

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = ("without", "first", "later")
WIDTH, TOP, STEP, BOTTOM = 880, 66, 46, 40  # pixels; STEP is the height of a row
LEFT, LONGEST = 236, 470  # where bars begin, and the length of the longest


def number(figure):
    return float(figure.replace(",", ""))


def invented(row):
    """Yields the figures of a row that its page does not have."""
    lines = [line for line in (ROOT / row["page"]).read_text().splitlines() if line.startswith(tuple(row["lines"]))]
    there = re.findall(r"\d[\d,]*(?:\.\d+)?", " ".join(lines))
    for name in FIGURES:
        if name in row and row[name] not in there:
            yield f"speedups.json: {row['what']}: {row[name]} is not in the lines {row['lines']} of {row['page']}"


def bar(y, length, kind):
    return f'<rect x="{LEFT}" y="{y}" width="{length}" height="14" rx="2" class="{kind}"/>'


def drawn(rows):
    height = TOP + STEP * len(rows) + BOTTOM
    legend = TOP - 26
    parts = [
        text(16, 28, "The same work: without a cache, and in a later process with cccl-cached", "title"),
        f'<rect x="{LEFT}" y="{legend}" width="12" height="12" rx="2" class="without"/>', text(LEFT + 18, legend + 11, "without", "small"),
        f'<rect x="{LEFT + 80}" y="{legend}" width="12" height="12" rx="2" class="later"/>',
        text(LEFT + 98, legend + 11, "in a later process", "small")]
    for index, row in enumerate(rows):
        y = TOP + STEP * index
        factor = number(row["without"]) / number(row["later"])
        length = max(3, round(LONGEST / factor))
        parts += [
            text(LEFT - 14, y + 13, row["what"], "strong", end=True), text(LEFT - 14, y + 29, row["where"], "small", end=True),
            bar(y, LONGEST, "without"), text(LEFT + LONGEST + 8, y + 12, f"{row['without']} {row['unit']}".strip(), "small"),
            bar(y + 17, length, "later"), text(LEFT + length + 8, y + 29, f"{row['later']} {row['unit']}".strip(), "strong"),
            text(WIDTH - 16, y + 22, f"{factor:.1f}×" if factor < 3 else f"{factor:.0f}×", "factor", end=True)]
    first = [number(row["first"]) / number(row["without"]) for row in rows if "first" in row]
    parts.append(text(16, height - 14, f"Each row has its own scale. The first process took {min(first):.2f} to {max(first):.2f} times as long as "
                   "without. Machines and versions: docs/comparison.md", "small"))
    return card(WIDTH, height, parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / "docs/pictures")
    given = parser.parse_args()
    rows = json.loads((ROOT / "docs/pictures/speedups.json").read_text())["rows"]
    wrong = [complaint for row in rows for complaint in invented(row)]
    chart = given.into / "speedups.svg"
    if not wrong and not given.check:
        given.into.mkdir(parents=True, exist_ok=True)
        chart.write_text(drawn(rows))
    elif not wrong and chart.read_text() != drawn(rows):
        wrong = [f"{chart} has other figures than speedups.json: run tests/pictures/speedups.py"]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


sys.exit(main())
