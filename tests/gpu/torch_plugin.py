# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A training step of torch.compile on a GPU with the plug-in of torch.compile: equal losses, and each graph made once.

Usage: torch_plugin.py [--processes N] [CASE...]

Trains a small model for three steps, in processes that begin at the same moment, over the unused daemon at CCCL_CACHE_SOCKET,
with all plug-ins. Inductor's directories are empty. Cases:

    alone    one process, without plug-ins        first    one process, with them
    again    one process: the daemon has all      many     N processes, another model than before

Default: all cases. Prints a line for each. Exit status 1 if losses differ from those of a process without torch.compile or
between processes, if "again" or more than one process of "many" makes a graph, or if the plug-in has errors. Needs torch, and
the package installed with its .pth file.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

CASES = {"alone": (1, "0", 256), "first": (1, "1", 256), "again": (1, "1", 256), "many": (None, "1", 320)}
STEPS = 3


def losses(step, width):
    """Returns the losses of a few steps of a new model, which `step` changes before they begin."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                torch.nn.Linear(4 * width, width)).cuda()
    x = torch.randn(64, width, device="cuda")
    run, optimizer = step(model), torch.optim.SGD(model.parameters(), lr=0.01)
    found = []
    for _ in range(STEPS):
        loss = (run(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


def measure(width):
    """Runs one process: reports that it is ready, waits for a line, trains, and reports its losses and counts."""
    import torch
    from torch._dynamo.utils import counters

    expected = losses(lambda model: model, width)
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    found = losses(torch.compile, width)
    seconds = time.perf_counter() - began
    from cccl_cache import torch as plugin

    close = all(abs(one - other) <= 1e-3 * abs(other) for one, other in zip(found, expected))
    status, inductor = plugin.status(), counters["inductor"]
    print(json.dumps({"losses": found, "right": close, "seconds": seconds, "on": status["on"], "why_off": status["why_off"],
                      "errors": status["errors"], "not_cached": status["not_cached"], "hits": status["hits"], "made": status["made"],
                      "graphs_missed": inductor["fxgraph_cache_miss"], "graphs_found": inductor["fxgraph_cache_hit"]}), flush=True)


def run(place, processes, plugins, width):
    started = []
    for number in range(processes):
        environment = {**os.environ, "CCCL_CACHE": plugins, "TORCHINDUCTOR_CACHE_DIR": tempfile.mkdtemp(dir=place)}
        for variable in ("CCCL_CACHE_TORCH", "CCCL_CACHE_TRITON", "TRITON_CACHE_DIR", "TRITON_CACHE_MANAGER"):
            environment.pop(variable, None)
        started.append(subprocess.Popen([sys.executable, __file__, "--measure", str(width)], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for process in started:
        assert process.stdout.readline() == "ready\n", "a process ended before it compiled"
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for process in started]
    for process in started:
        process.stdin.close()
        process.wait()
    return answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--measure", type=int)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_args()
    if arguments.measure is not None:
        return measure(arguments.measure)
    failed, of_width = False, {}
    with tempfile.TemporaryDirectory() as place:
        for name in arguments.cases or CASES:
            processes, plugins, width = CASES[name]
            answers = run(place, processes or arguments.processes, plugins, width)
            of_width.setdefault(width, []).extend(answer["losses"] for answer in answers)
            missed = [answer["graphs_missed"] for answer in answers]
            print(f"{name:6} {len(answers)} processes: slowest {max(answer['seconds'] for answer in answers):6.1f} s, graphs made "
                  f"{sum(missed):3}, found {sum(answer['graphs_found'] for answer in answers):3}", flush=True)
            wrong = any(not answer["right"] or answer["on"] != (plugins == "1") or answer["errors"] for answer in answers)
            differ = any(losses != of_width[width][0] for losses in of_width[width])
            made = (name == "again" and "first" in (arguments.cases or CASES) and sum(missed) > 0) or (
                name == "many" and sum(missed) > max(missed))
            if wrong or differ or made:
                failed = True
                print(f"{name}: FAILED: {answers}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
