# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the outputs of NVRTC for x86_64 and for aarch64, over the programs of the corpus: the same release, headers and paths,
without the daemon. NVRTC for aarch64 runs in QEMU, with the Python of the guest of scripts/arm, 20 times as slowly.

processors.py [--toolkit cu12] [--programs N] [--seed N]: prints a line for each program, and the number of those with equal outputs. LTO-IR has
names that differ with each compile, so code that nvJitLink makes of it is compared. Run on x86_64, after `scripts/setup --for arm`."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from programs import FAMILIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLCHAINS = ROOT / ".toolchains"
RAW = ROOT / "tests/integration/raw_compiler.py"
GUEST = TOOLCHAINS / "aarch64-guest"
PROCESSORS = {"x86_64": ("", (sys.executable,)),
              "aarch64": ("-aarch64", ("qemu-aarch64-static", "-L", GUEST, GUEST / "usr/bin/python3.11"))}


def compiled(toolkit, processor, **job):
    """Returns what the compiler for this processor makes of a job: (result code, outputs by kind)."""
    suffix, python = PROCESSORS[processor]
    done = subprocess.run([*python, RAW], input=json.dumps({"root": str(TOOLCHAINS / f"{toolkit}{suffix}"), **job}),
                          stdout=subprocess.PIPE, check=True, text=True, cwd="/")
    told = json.loads(done.stdout)
    return told["code"], told["outputs"]


def outputs(toolkit, processor, program, place):
    """Returns the outputs of a program, with code in place of LTO-IR, and without OptiX-IR, which has names too."""
    headers = sorted((TOOLCHAINS / toolkit / "nvidia").glob("*/include"))  # both processors' compilers read these
    code, made = compiled(
        toolkit, processor, kind="nvrtc", source=program.source, name=str(place / program.name), headers=program.inline,
        name_expressions=program.expressions,
        options=[f"-arch={program.arch}", *(f"-I{place / each}" for each in program.directories), *program.options,
                 "-frandom-seed=same", *(f"-I{each}{below}" for each in headers for below in ("", "/cccl"))])
    made.pop("optixir", None)
    if ltoir := made.pop("ltoir", None):
        linked, code_of_it = compiled(toolkit, processor, kind="link", options=["-arch=sm_90", "-lto"], inputs=[(3, ltoir)])
        assert linked == 0
        made |= {f"linked {kind}": data for kind, data in code_of_it.items()}
    return {"code": code, **made}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolkit", choices=("cu13", "cu12"), default="cu13", help="the release (default: cu13)")
    parser.add_argument("--programs", type=int, default=8, help="families in turn (default: 8)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same programs")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    families = list(FAMILIES)
    programs = [(f"{name}-{number}", FAMILIES[name](rng, number))
                for number, name in ((number, families[number % len(families)]) for number in range(arguments.programs))]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:

        def compare(title, program):
            place = pathlib.Path(directory) / title
            for name, text in program.files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_text(text)
            made = {processor: outputs(arguments.toolkit, processor, program, place) for processor in PROCESSORS}
            return title, program, made

        for title, program, made in threads.map(lambda each: compare(*each), programs):
            here, there = made["x86_64"], made["aarch64"]
            different = [kind for kind in sorted({*here, *there}) if here.get(kind) != there.get(kind)]
            result = "different" if different else "equally wrong" if here["code"] else "equal"
            counts[result] += 1
            print(f"{title} ({' '.join(program.options)}): {' '.join([result, *different])}", flush=True)
    print(", ".join(f"{count} {result}" for result, count in counts.items()))


main()
