# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks of one job with NCCL on two GPUs or more, with the plug-in of torch.compile: nothing hangs, and graphs are made once.

Usage: torch_ranks.py [--ranks N] [CASE...]

Each rank trains or runs a small step, over the daemon at CCCL_CACHE_SOCKET, with empty directories of its own. Cases:

    usual        DistributedDataParallel, each rank sees one device: the graphs are made once for all ranks
    ordinals     the same step with all devices visible: each rank makes its graphs, because torch's key has the device number
    collective   a graph with a collective: each rank makes it
    estimates    the same with options by which ranks agree on estimates while they compile: each rank makes it
    partitions   a training step with the option by which ranks agree on the partition: each rank makes its graphs
    tuned        the usual step with max-autotune

Default: all cases. Prints a line for each. Exit status 1 if a rank fails, if it does not end in 5 minutes, if results differ, or
if the counts are others. Needs torch, NCCL, and the package installed with its .pth file.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

CASES = ("usual", "ordinals", "collective", "estimates", "partitions", "tuned")
ONE_DEVICE = ("usual", "collective", "estimates", "partitions", "tuned")
LONGEST = 300  # seconds


def step(case, rank):
    """Returns a number that all ranks must get."""
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as collectives
    from torch._functorch import config as functorch_config
    from torch._inductor import config, config_comms
    from torch.nn.parallel import DistributedDataParallel

    if case == "estimates":
        config.reorder_for_compute_comm_overlap = True
        config_comms.runtime_estimations_align_across_all_distributed_ranks = True
    if case == "partitions":
        functorch_config._sync_decision_cross_ranks = True
    width = 64 * (CASES.index(case) + 2)  # each case has other graphs
    x = torch.ones(32, width, device="cuda")
    if case in ("collective", "estimates"):
        with torch.no_grad():
            return torch.compile(lambda x: torch.tanh(collectives.all_reduce(x @ x.T, "sum", dist.group.WORLD)) * 2)(x).sum().item()

    class Layer(torch.nn.Module):  # Dynamo traces no module of torch's own in DistributedDataParallel
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(width, width)

        def forward(self, x):
            return torch.nn.functional.gelu(self.linear(x))

    torch.manual_seed(0)
    model = DistributedDataParallel(Layer().cuda())
    loss = torch.compile(model, mode="max-autotune-no-cudagraphs" if case == "tuned" else None)(x).square().mean()
    loss.backward()
    return loss.item()


def measure(case, rank, ranks, store):
    import torch
    import torch.distributed as dist
    from torch._dynamo.utils import counters

    torch.cuda.set_device(0 if case in ONE_DEVICE else rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=ranks,
                            timeout=datetime.timedelta(seconds=LONGEST / 2))
    began = time.perf_counter()
    value = step(case, rank)
    torch.cuda.synchronize()
    from cccl_cache import torch as plugin

    status, inductor = plugin.status(), counters["inductor"]
    print(json.dumps({"value": value, "seconds": time.perf_counter() - began, "on": status["on"], "why_off": status["why_off"],
                      "errors": status["errors"], "not_cached": status["not_cached"], "made": inductor["fxgraph_cache_miss"],
                      "found": inductor["fxgraph_cache_hit"]}), flush=True)
    dist.destroy_process_group()


def run(place, case, ranks):
    """Returns the answers of the ranks, or None for one that failed."""
    started = []
    for rank in range(ranks):
        environment = {**os.environ, "CCCL_CACHE": "1", "TORCHINDUCTOR_CACHE_DIR": tempfile.mkdtemp(dir=place)}
        if case in ONE_DEVICE:
            environment["CUDA_VISIBLE_DEVICES"] = str(rank)
        started.append(subprocess.Popen(
            [sys.executable, __file__, "--measure", str(rank), "--ranks", str(ranks), "--store", f"{place}/{case}", case],
            env=environment, stdout=subprocess.PIPE, text=True))
    answers, end = [], time.monotonic() + LONGEST
    for process in started:
        try:
            told, _ = process.communicate(timeout=max(1.0, end - time.monotonic()))
            answers.append(json.loads(told) if process.returncode == 0 else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            answers.append(None)
    return answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--measure", type=int)
    parser.add_argument("--store")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_args()
    if arguments.measure is not None:
        return measure(arguments.cases[0], arguments.measure, arguments.ranks, arguments.store)
    failed = False
    with tempfile.TemporaryDirectory() as place:
        for case in arguments.cases or CASES:
            answers = run(place, case, arguments.ranks)
            right = all(answer is not None and answer["on"] and not answer["errors"] for answer in answers)
            if right:
                made = [answer["made"] for answer in answers]
                print(f"{case:10} {len(answers)} ranks: slowest {max(answer['seconds'] for answer in answers):6.1f} s, graphs made "
                      f"{sum(made):3}, found {sum(answer['found'] for answer in answers):3}", flush=True)
                once = sum(made) == max(made[0] + answers[0]["found"], 1)
                right = len({answer["value"] for answer in answers}) == 1 and once == (case in ("usual", "tuned"))
            if not right:
                failed = True
                print(f"{case}: FAILED: {answers}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
