# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A process that starts the ranks of a job of torch.distributed on the CPU, at a test's command. Answers with a line of JSON.

"ranks COUNT NUMBER CASE STORE": for each rank the value of its compiled step, or its error; the reasons for which the
plug-in shared no graph; and the number of graphs that it compiled. STORE is a new file for the ranks to meet.

The ranks are children of this process, so that torch is imported, and its first compile prepared, only once.
"""

import datetime
import json
import os
import sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as collectives  # noqa: E402
from patience import PATIENCE  # noqa: E402
from torch._functorch import config as functorch_config  # noqa: E402
from torch._inductor import compile_fx, config, config_comms  # noqa: E402
from torch._inductor.utils import fresh_cache  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

# Threads are limited by OMP_NUM_THREADS: after set_num_threads(), autograd's thread can fail in a forked process.
compiled = 0
compile_graph = compile_fx.fx_codegen_and_compile


def counted(*given, **named):
    global compiled
    compiled += 1
    return compile_graph(*given, **named)


compile_fx.fx_codegen_and_compile = counted


def plain(x, n):
    return (torch.tanh(x) * n).sum()


def with_collective(x, n):
    return (torch.tanh(collectives.all_reduce(x * n, "sum", dist.group.WORLD)) * n).sum()


def usual(n):
    x = torch.linspace(0, 1, 64, requires_grad=True)
    value = torch.compile(plain)(x, n)
    value.backward()
    return value.item() + x.grad.sum().item()


def collective(n):
    with torch.no_grad():
        return torch.compile(with_collective)(torch.linspace(0, 1, 64), n).item()


def estimates(n):
    config.reorder_for_compute_comm_overlap = True
    config_comms.runtime_estimations_align_across_all_distributed_ranks = True
    return collective(n)


def estimates_of_plain_graphs(n):
    config.reorder_for_compute_comm_overlap = True
    config_comms.runtime_estimations_align_across_all_distributed_ranks = True
    return usual(n)


def partitions(n):
    functorch_config._sync_decision_cross_ranks = True
    return usual(n)


class Layer(torch.nn.Module):  # Dynamo traces no module of torch's own in DistributedDataParallel
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0, 1, 4))

    def forward(self, x):
        return torch.tanh(x * self.weight)


def parallel(n):
    step = torch.compile(DistributedDataParallel(Layer()))
    value = (step(torch.full((2, 4), n)) ** 2).sum()
    value.backward()
    return value.item()


CASES = {"usual": usual, "collective": collective, "estimates": estimates, "estimates-of-plain-graphs": estimates_of_plain_graphs,
         "partitions": partitions, "parallel": parallel}


def rank(number, count, n, case, store, answer):
    from cccl_cache import torch as plugin

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=count,
                            timeout=datetime.timedelta(seconds=5 * PATIENCE))
    with fresh_cache():
        try:
            value = CASES[case](n)
        except Exception as error:
            value = repr(error)
    status = plugin.status()
    assert status["on"] and not status["errors"], status
    os.write(answer, json.dumps([value, list(status["not_cached"]), compiled]).encode())


def ranks(count, number, case, store):
    pipes = []
    for each in range(int(count)):
        reader, writer = os.pipe()
        if os.fork() == 0:
            try:
                rank(each, int(count), float(number), case, store, writer)
            finally:
                os._exit(0)
        os.close(writer)
        pipes.append(os.fdopen(reader))
    return [json.loads(pipe.read() or '["ended", [], 0]') for pipe in pipes]


with fresh_cache():
    torch.compile(plain)(torch.ones(2), 1.0)
torch._dynamo.reset()
# Threads are limited by OMP_NUM_THREADS: after set_num_threads(), autograd's thread can fail in a forked process.
compiled = 0
print(json.dumps("ready"), file=answers, flush=True)
for line in sys.stdin:
    command, *given = line.split()
    print(json.dumps({"ranks": ranks}[command](*given)), file=answers, flush=True)
