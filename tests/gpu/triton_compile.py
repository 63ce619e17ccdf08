# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""torch.compile on a GPU with the plug-in for Triton: checks the numbers, and that each kernel is assembled once.

Usage: triton_compile.py [--processes N] [CASE...]

Compiles a small model forward and backward, in processes that begin at the same moment, over the unused daemon at
CCCL_CACHE_SOCKET. Inductor's directories are empty unless the case says otherwise. Cases:

    alone        one process, without the plug-in          first     one process, with it
    again        one process, with it: the daemon has all  warm      the same with the directories of "again"
    many_alone   N processes, without the plug-in          many      N processes with it, another model than before
    two_alone    the same on two devices in turn           two       the same on two devices in turn, a third model

Default: all cases, those with two devices if there are two. Prints a line for each. Exit status 1 if a number is wrong, or
if a kernel is assembled twice with the plug-in. Needs torch, and the package installed with its .pth file.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

CASES = {  # name: (number of processes or None for N, plug-in, number of devices, width of the model, case whose directories it uses)
    "alone": (1, False, 1, 256, None),
    "first": (1, True, 1, 256, None),
    "again": (1, True, 1, 256, None),
    "warm": (1, True, 1, 256, "again"),
    "many_alone": (None, False, 1, 320, None),
    "many": (None, True, 1, 320, None),
    "two_alone": (None, False, 2, 384, None),
    "two": (None, True, 2, 384, None),
}
HAS_ALL = ("again", "warm")  # the cases after "first"


def model(width):
    import torch

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.mix = torch.nn.LayerNorm(width), torch.nn.Linear(width, 3 * width)
            self.grow, self.shrink = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

        def forward(self, x):
            query, key, value = self.mix(self.norm(x)).chunk(3, -1)
            weight = torch.softmax(query @ key.transpose(-1, -2) * width**-0.5, -1)
            x = x + weight @ value
            return x + self.shrink(torch.nn.functional.gelu(self.grow(self.norm(x))))

    torch.manual_seed(0)
    return torch.nn.Sequential(Block(), Block()).cuda()


def measure(device, width):
    """Runs one process: reports that it is ready, waits for a line, compiles, and reports its time."""
    import torch

    torch.cuda.set_device(device)
    eager = model(width)
    x = torch.randn(4, 64, width, device="cuda")
    expected = eager(x).sum()
    expected.backward()
    gradients = [parameter.grad.clone() for parameter in eager.parameters()]
    eager.zero_grad()
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    found = torch.compile(eager)(x).sum()
    torch.cuda.synchronize()
    forward = time.perf_counter() - began
    found.backward()
    torch.cuda.synchronize()
    both = time.perf_counter() - began
    right = torch.allclose(found, expected, rtol=1e-2, atol=1e-1) and all(
        torch.allclose(parameter.grad, gradient, rtol=1e-2, atol=1e-2)
        for parameter, gradient in zip(eager.parameters(), gradients))
    import cccl_cache.triton

    status = cccl_cache.triton.status()
    answer = {"forward": forward, "both": both, "right": bool(right), "on": status["on"], "errors": status["errors"]}
    print(json.dumps(answer), flush=True)


ASSEMBLER = """#!/bin/sh
for argument; do
  case "$argument" in *.ptx) sha256sum < "$argument" >> "$ASSEMBLED" ;; esac
done
exec {real} "$@"
"""


def assembler(place):
    """Makes a ptxas that records the digests of its inputs in a file. Returns the paths of both."""
    import triton

    real = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    program, noted = place / "ptxas", place / "assembled"
    program.write_text(ASSEMBLER.format(real=real))
    program.chmod(0o755)
    return program, noted


def run(place, name, processes, plugin, devices, width, directories):
    """Runs one case. Returns the answers of its processes, and the digests of the inputs of ptxas."""
    program, noted = assembler(place)
    noted.write_text("")
    inductor = place / (directories or name)
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(inductor), "TRITON_PTXAS_PATH": str(program),
                   "ASSEMBLED": str(noted), "CCCL_CACHE_TRITON": "1" if plugin else "0"}
    environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")
    for variable in ("TRITON_CACHE_DIR", "TRITON_CACHE_MANAGER"):
        environment.pop(variable, None)
    started = [
        subprocess.Popen([sys.executable, __file__, "--measure", str(number % devices), "--width", str(width)],
                         env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(processes)]
    for process in started:
        assert process.stdout.readline() == "ready\n", "a process ended before it compiled"
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for process in started]
    for process in started:
        process.stdin.close()
        process.wait()
    return answers, noted.read_text().splitlines()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--measure", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_args()
    if arguments.measure is not None:
        return measure(arguments.measure, arguments.width)
    import torch

    here = torch.cuda.device_count()
    chosen = arguments.cases or [name for name, case in CASES.items() if case[2] <= here]
    failed = False
    with tempfile.TemporaryDirectory() as place:
        for name in chosen:
            processes, plugin, devices, width, directories = CASES[name]
            answers, assembled = run(pathlib.Path(place), name, processes or arguments.processes, plugin, devices, width,
                                     directories)
            slowest = {part: max(answer[part] for answer in answers) for part in ("forward", "both")}
            print(f"{name:11} {len(answers)} processes: forward {slowest['forward']:6.1f} s, with backward "
                  f"{slowest['both']:6.1f} s, {len(assembled):4} assembled, {len(set(assembled)):4} different", flush=True)
            wrong = any(not answer["right"] or answer["on"] != plugin or answer["errors"] for answer in answers)
            again = name in HAS_ALL and assembled and "first" in chosen
            twice = plugin and len(assembled) > len(set(assembled))
            if wrong or again or twice:
                failed = True
                print(f"{name}: FAILED: {answers}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
