#!/usr/bin/env python3
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/programs.md from measured.json, which `run.py --record` makes.

Usage: page.py [--check]. With --check, writes nothing; exit status 1 if the page is not what it would write.
"""

import ast
import json
import pathlib
import re
import sys

from run import COMPILE_AGAIN, HERE, NAMES, compiled_again, words, wrong

PAGE = HERE.parents[1] / "docs/programs.md"
MARKS = ("<!-- made by tests/programs/page.py -->\n", "<!-- end -->\n")
HEAD = ("| program | version | starts or calls | alone | first | second | in calls, first and second | served, second | not served |\n"
        "|---|---|---|---|---|---|---|---|---|\n")
REQUEST = re.compile(r" *\[request [0-9a-f]+\]")  # the number of a request, which no second run has
MACHINES = {"on_gpu": "On a GPU", "without_gpu": "Without a GPU: compiles alone"}


def described(name):
    """Returns the title of a program, how it reaches a compiler, its packages, and whether it can compile without a GPU."""
    tree = ast.parse((HERE / f"{name}.py").read_text())
    constants = {ast.unparse(each.targets[0]): each.value for each in tree.body if isinstance(each, ast.Assign)}
    functions = [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]
    reaches, packages = (ast.literal_eval(constants[each]) for each in ("REACHES", "PACKAGES"))
    return ast.get_docstring(tree).splitlines()[0], reaches, packages, "without_gpu" in functions


def seconds(told):
    return f"{told['took']:.2f} s" if told and "took" in told else "fails"


def milliseconds(told):
    return f"{told['call_ms']:,.1f} ms" if "call_ms" in told else "-"


def served(told):
    return ", ".join(f"{each['hits']} of {each['calls']} by {program}" for program, each in sorted(told.get("by", {}).items()))


def not_served(name, row, which):
    """Returns what processes do not get from the cache, and why: in the words of `run`, and of COMPILE_AGAIN."""
    told = row[which]
    uncacheable = {"uncacheable": told["uncacheable"]} if told.get("uncacheable") else {}
    reasons = [words(counted) + (f" ({REQUEST.sub('', said.splitlines()[0])})" if said else "")
               for counted, said in ((told.get("forwarded"), told.get("refusal")), (uncacheable, told.get("uncacheable_reason")))
               if counted]
    second, at_once = compiled_again(row)
    again = {"second": words(second), "at_once": at_once}[which]
    if again:
        reasons.append(f"{again} compiled again" + (f": {COMPILE_AGAIN[name].why}" if name in COMPILE_AGAIN else ""))
    if which == "second" and wrong(name, row):
        reasons.append(f"**failed**: {wrong(name, row)}")
    return "; ".join(reasons)


def tables(rows):
    text = ""
    for how, title in MACHINES.items():
        chosen = [name for name in NAMES if how in rows.get(name, {})]
        if not chosen:
            continue
        text += f"## {title}\n\n"
        text += "".join(f"{machine}.\n" for machine in sorted({f"{rows[name][how]['machine']}, {rows[name][how]['date']}"
                                                               for name in chosen})) + "\n" + HEAD
        for name in chosen:
            row = rows[name][how]
            does, reaches, _, _ = described(name)
            cells = [f"{does} (`{name}`)", row["alone"].get("version", ""), reaches,
                     *(seconds(row[which]) for which in ("alone", "first", "second")),
                     f"{milliseconds(row['first'])}, {milliseconds(row['second'])}", served(row["second"]), not_served(name, row, "second")]
            text += "| " + " | ".join(cells) + " |\n"
        text += "\n"
        together = [(name, rows[name][how]["at_once"]) for name in chosen if "at_once" in rows[name][how]]
        if together:
            text += ("Processes at once, with other kernels:\n\n| program | processes | slowest | calls | compiled | not served |\n"
                     "|---|---|---|---|---|---|\n")
            text += "".join(f"| {described(name)[0]} | {told['count']} | {seconds(told)} | {told['calls']} | {told['compiled']} "
                            f"| {not_served(name, rows[name][how], 'at_once')} |\n" for name, told in together) + "\n"
    missing = [described(name)[0] for name in NAMES if name not in rows]
    return text + ("Not tried: " + "; ".join(missing) + ".\n\n" if missing else "") + packages()


def packages():
    text = "## Packages\n\n| program | `pip install` | `--without-gpu` |\n|---|---|---|\n"
    for name in NAMES:
        _, _, needs, without_gpu = described(name)
        text += f"| `{name}` | `{' '.join(needs)}` | {'compiles' if without_gpu else '-'} |\n"
    return text + "\n"


def main(words):
    page = PAGE.read_text()
    before, _, rest = page.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    made = before + MARKS[0] + "\n" + tables(json.loads((HERE / "measured.json").read_text())) + MARKS[1] + after
    if words == ["--check"]:
        return 0 if made == page else 1
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
