# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the daemon's answers with raw NVRTC, over programs like those of CuPy, jitify, OptiX and CCCL.

Raw NVRTC compiles each program in a separate process, because it keeps --restrict for later compiles of its process. The
daemon's answers are a miss, a hit, a hit after a restart, a miss with precompiled headers, a build from a copied tree, and a
build without a daemon. Result code, log, lowered names and artifacts must be equal, byte for byte. LTO-IR and OptiX-IR
contain names, so nvJitLink's output for the LTO-IR is compared instead. All headers have the time 1, which the daemon shows
to the compiler (docs/internals/decisions/0036).

With --precompiled, programs under `cccl-cache-cli run` ask NVRTC for precompiled headers, and are compared with raw NVRTC
without these options. A second run without the options must be a hit.

`ctest -R corpus` runs few programs. To run many:

    ctest --preset dev -R 'corpus: small' -V    # prints the command with its environment
    ... corpus.py --programs 200 --seed 7 --cuda 13
    ... corpus.py --programs 200 --precompiled

Exits with 1 and names program, state and field of each difference. --keep leaves the program and the outputs of each.
"""

import argparse
import base64
import collections
import dataclasses
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

from alone import Alone  # noqa: E402
from patience import PATIENCE, wait_for  # noqa: E402
from places import PLACES  # noqa: E402
from programs import FAMILIES  # noqa: E402
from raw import RAW, SEED, header_directories, text_of  # noqa: E402
from running_daemon import Daemon  # noqa: E402
from stock_requests import nvrtc_request  # noqa: E402

from cccl_cache.v1 import build_pb2, build_pb2_grpc  # noqa: E402

KINDS = {build_pb2.ARTIFACT_KIND_PTX: "ptx", build_pb2.ARTIFACT_KIND_CUBIN: "cubin", build_pb2.ARTIFACT_KIND_LTOIR: "ltoir",
         build_pb2.ARTIFACT_KIND_OPTIXIR: "optixir"}

# Each program that asks for precompiled headers has --pch and some of these options.
PRECOMPILED = ("--pch-dir={}", "--pch-verbose=true", "--pch-messages=true", "--instantiate-templates-in-pch=true")


@dataclasses.dataclass
class Answer:
    code: int
    log: str
    lowered: dict
    artifacts: dict
    outcome: str = "raw"
    precompiled: bool = False


def run_raw(job, behind=()):
    """Returns (result code, outputs, standard error)."""
    done = subprocess.run([*behind, sys.executable, RAW], input=json.dumps(job).encode(), capture_output=True,
                          timeout=10 * PATIENCE, cwd="/")  # hundreds of compiles run beside other work
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    return told["code"], {kind: base64.b64decode(data) for kind, data in told["outputs"].items()}, done.stderr


class Compilers:
    """One CUDA with its ways to compile: raw, by two daemons of which one has precompiled headers, and without a
    daemon."""

    def __init__(self, root, directory):
        self.root = str(pathlib.Path(root).resolve())
        self.plain = Daemon(self.made(directory / "plain"), (root,), "--pch-memory-limit", "0").start()
        self.ahead = Daemon(self.made(directory / "ahead"), (root,), "--pch-memory-limit", "2GiB").start()
        self.alone = Alone(self.made(directory / "alone"), root)
        self.headers = header_directories(self.plain)

    @staticmethod
    def made(path):
        path.mkdir(parents=True)
        return path

    def end(self):
        for daemon in (self.plain, self.ahead):
            daemon.stop()

    def options(self, program, place):
        return [*(f"-I{place / each}" for each in program.directories), *program.options, SEED]

    def raw(self, program, place):
        return self.call(program, place)[0]

    def call(self, program, place, behind=()):
        """Returns (NVRTC's answer to a process behind this program, standard error)."""
        code, outputs, printed = run_raw({
            "kind": "nvrtc", "root": self.root, "source": program.source, "name": str(place / program.name),
            "options": [f"-arch={program.arch}", *self.options(program, place), *(f"-I{each}" for each in self.headers)],
            "headers": program.inline, "name_expressions": program.expressions}, behind)
        lowered = {name.removeprefix("lowered "): text.decode() for name, text in outputs.items() if name.startswith("lowered ")}
        artifacts = {kind: text_of(data) if kind == "ptx" else data for kind, data in outputs.items() if kind in KINDS.values()}
        return Answer(code, outputs.get("log", b"").removesuffix(b"\0").decode(errors="replace"), lowered,
                      artifacts if code == 0 else {}), printed

    def under_run(self, program, place):
        behind = (PLACES.cli, "--socket", self.plain.socket, "--json", "run", "--report", "--")
        answer, printed = self.call(program, place, behind)
        report = json.loads(printed)
        answer.outcome = next(each for each in ("hits", "compiled", "failed", "forwarded") if report[each])
        return answer

    def ask(self, daemon, program, place):
        request = nvrtc_request(program.source, *self.options(program, place), arch=program.arch,
                                name=str(place / program.name), headers=program.inline.items())
        request.nvrtc.append_toolchain_headers = True
        request.nvrtc.name_expressions.extend(program.expressions)
        with daemon.channel() as channel:
            reply = build_pb2_grpc.BuildStub(channel).Build(request, timeout=2 * PATIENCE)
        return Answer(reply.native_code, reply.log, {each.expression: each.lowered for each in reply.lowered_names},
                      {KINDS[each.kind]: each.contents for each in reply.artifacts},
                      build_pb2.Outcome.Name(reply.outcome).removeprefix("OUTCOME_").lower(), reply.precompiled_headers)

    def ask_after_preamble(self, program, changed, place):
        """Builds the changed program after other programs had the common beginning of both parsed."""
        before = self.ahead.stats()["preambles_total"]
        for end in ("// once\n", "// again\n"):
            self.ask(self.ahead, dataclasses.replace(program, source=program.source + end), place)
        wait_for(lambda: self.ahead.stats()["preambles_total"] > before, "a preamble")
        return self.ask(self.ahead, changed, place)

    def ask_nobody(self, program, place):
        with tempfile.TemporaryDirectory(dir=self.alone.directory) as scratch:
            output = pathlib.Path(scratch) / "out"
            headers = []
            for index, (name, text) in enumerate(program.inline.items()):
                file = pathlib.Path(scratch) / str(index)
                file.write_text(text)
                headers += ["--header", f"{name}={file}"]
            emit = next(("ltoir" if each == "-dlto" else "optixir" for each in program.options if each in ("-dlto", "--optix-ir")),
                        "ptx" if program.arch.startswith("compute") else "cubin")
            done = self.alone.cli(
                "--json", "build", "-", "--name", str(place / program.name), "--arch", program.arch, "--emit", emit, "-o", str(output),
                *(f"--option={each}" for each in self.options(program, place)),
                *(part for each in program.expressions for part in ("--name-expression", each)), *headers,
                input=program.source, check=False, cwd="/")  # the same directory as for the others, because -G shows it
            told = json.loads(done.stdout)
            contents = output.read_bytes() if output.exists() else b""
            return Answer(told["native_code"], told["log"], told["lowered_names"], {emit: contents} if contents else {},
                          told["outcome"])

    def linked(self, ltoir):
        code, outputs, _ = run_raw({"kind": "link", "root": self.root, "options": ["-arch=sm_90", "-lto"],
                                 "inputs": [(3, base64.b64encode(ltoir).decode())]})
        assert code == 0
        return outputs["cubin"]

    def differences(self, program, expected, answer):
        if (answer.code == 0) != (expected.code == 0):
            yield "result", expected.code, answer.code
            return
        if answer.log.rstrip("\n") != expected.log.rstrip("\n"):
            yield "log", expected.log, answer.log
        if answer.lowered != expected.lowered:
            yield "lowered names", expected.lowered, answer.lowered
        for kind, data in answer.artifacts.items():
            wanted = expected.artifacts.get(kind)
            if kind == "ltoir" and wanted is not None:
                wanted, data = self.linked(wanted), self.linked(data)
            if kind != "optixir" and data != wanted:
                yield kind, wanted, data
        if expected.code == 0 and not answer.artifacts:
            yield "artifacts", "some", "none"


def lay_out(program, place):
    for name, text in program.files.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1, 1))
    place.mkdir(parents=True, exist_ok=True)
    return place


class Comparison:
    def __init__(self, keep):
        self.keep = keep
        self.counts = collections.Counter()
        self.wrong = []

    def check(self, compilers, title, program, state, expected, answer, outcome=None):
        self.counts[state] += 1
        found = list(compilers.differences(program, expected, answer))
        if expected.code == 0 and outcome is not None and answer.outcome not in outcome:
            found.append(("outcome", outcome, answer.outcome))
        for field, wanted, got in found:
            self.wrong.append((title, state, field))
            print(f"{title}, {state}: {field} differs\n  raw:    {str(wanted)[:300]}\n  daemon: {str(got)[:300]}", flush=True)
            if self.keep:
                place = self.keep / f"{title}-{state}".replace(" ", "-")
                place.mkdir(parents=True, exist_ok=True)
                (place / "program.json").write_text(json.dumps(dataclasses.asdict(program), indent=1))
                for side, value in (("raw", wanted), ("daemon", got)):
                    (place / f"{field.replace(' ', '-')}.{side}").write_bytes(value if isinstance(value, bytes) else str(value).encode())


def compare(compilers, programs, directory, comparison):
    kept = []
    for title, program in programs:
        here, there = lay_out(program, directory / title / "here"), lay_out(program, directory / title / "over-there")
        expected = compilers.raw(program, here)

        def check(state, answer, outcome=None, expected=expected, program=program, title=title):
            comparison.check(compilers, title, program, state, expected, answer, outcome)

        check("miss", compilers.ask(compilers.plain, program, here), ("built",))
        check("hit", compilers.ask(compilers.plain, program, here), ("hit",))
        check("copied tree", compilers.ask(compilers.plain, program, there), expected=compilers.raw(program, there))
        check("local", compilers.ask_nobody(program, here), ("local",))
        if program.begins_with_includes and expected.code == 0:
            changed = dataclasses.replace(program, source=program.source + "__device__ int another;\n")
            answer = compilers.ask_after_preamble(program, changed, here)
            check("precompiled", answer, ("built",), expected=compilers.raw(changed, here), program=changed)
            comparison.counts["with precompiled headers"] += answer.precompiled
        kept.append((program, here, check))
    compilers.plain.stop()
    compilers.plain.start()
    for program, here, check in kept:
        check("hit after restart", compilers.ask(compilers.plain, program, here), ("hit",))


def compare_precompiled(compilers, programs, directory, comparison):
    for number, (title, program) in enumerate(programs):
        here = lay_out(program, directory / title)
        some = [each.format(here) for bit, each in enumerate(PRECOMPILED) if number >> bit & 1]
        asking = dataclasses.replace(program, options=("--pch", *program.options, *some))
        expected = compilers.raw(program, here)
        for state, each, outcome in ("under run, asking", asking, "compiled"), ("under run again", program, "hits"):
            answer = compilers.under_run(each, here)
            if answer.code != 0:
                # A program that asks for outputs loads NVRTC itself, whose log then names its files.
                answer.log = "".join(line for line in answer.log.splitlines(True) if "precompiled header file" not in line)
            comparison.counts["forwarded"] += answer.outcome == "forwarded"
            comparison.check(compilers, title, each, state, expected, answer, (outcome,))
        comparison.counts["does not compile"] += expected.code != 0
        differing = [each for each in compilers.differences(program, expected, compilers.raw(asking, here)) if each[0] != "log"]
        comparison.counts["raw NVRTC differs by the options"] += bool(differing)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=8, help="for each CUDA, families in turn (default: 8)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same programs")
    parser.add_argument("--cuda", choices=("12", "13"), help="default: both")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="default: all")
    parser.add_argument("--precompiled", action="store_true", help="compare programs that ask for precompiled headers instead")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for what differs")
    arguments = parser.parse_args()
    comparison = Comparison(arguments.keep)
    families = arguments.family or list(FAMILIES)
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        os.chmod(place, 0o755)
        for cuda in [arguments.cuda] if arguments.cuda else ["13", "12"]:
            rng = random.Random(f"{arguments.seed} {cuda}")
            programs = [(f"{cuda}-{name}-{number}", FAMILIES[name](rng, number))
                        for number, name in ((number, families[number % len(families)]) for number in range(arguments.programs))]
            compilers = Compilers(getattr(PLACES, f"cuda{cuda}"), pathlib.Path(place) / cuda)
            try:
                comparing = compare_precompiled if arguments.precompiled else compare
                comparing(compilers, programs, pathlib.Path(place) / cuda / "programs", comparison)
            finally:
                compilers.end()
    print(f"seed {arguments.seed}:", ", ".join(f"{state} {count}" for state, count in comparison.counts.items()))
    print(f"{len(comparison.wrong)} differences")
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
