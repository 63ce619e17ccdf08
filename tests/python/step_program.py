# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A process that makes steps at a test's command. Answers each line with a line of JSON.

step_program.py PLACE [GATE]: each build appends the name of its step to PLACE/made. With a GATE it then waits for a line from
this FIFO: "go", "fail", "hang" or "exit".
"""

import json
import pathlib
import sys
import time

from cccl_cache import steps

PLACE, GATE = pathlib.Path(sys.argv[1]), sys.argv[2:]
STEPS = steps.Steps("org.example.test", wait=60, hold=60)


class Unmade(Exception):
    pass


def build(name):
    with open(PLACE / "made", "a") as made:
        made.write(name + "\n")
    word = pathlib.Path(GATE[0]).read_text() if GATE else "go"
    if word == "fail":
        raise Unmade(name)
    if word == "exit":
        sys.exit()
    if word == "hang":
        time.sleep(600)
    return f"value of {name}".encode()


def make(name):
    try:
        return STEPS.make({"name": name}, lambda: build(name)).decode()
    except Unmade as error:
        return repr(error)


def kinds(name):
    """Makes a step with a field of each type."""
    fields = {
        "text": "na\u00efve \U0001f600", "no text": b"\x00\xff", "large text": "x" * 100_000, "negative": -255,
        "smallest": -2**63, "largest": 2**64 - 1, "zero": 0, "half": 0.5, "no number": -0.0, "yes": True, "no": False,
        "nothing": None, "tuple": ("a", (1, 1.0), ()), "\u00ef": "a name",
    }
    return STEPS.make(fields, lambda: build(name)).decode()


def wait(name):
    value = STEPS.wait({"name": name})
    return value and value.decode()


print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    call, *given = line.split()
    print(json.dumps({"make": make, "kinds": kinds, "wait": wait, "counts": steps.counts}[call](*given)), flush=True)
