# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The measurements. Each runs a program of this folder and returns rows of the table."""

import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import time

from figures import Row, microseconds, milliseconds, ratio, run

FOLDER = pathlib.Path(__file__).resolve().parent
HIT_SIZES = ((2 << 10, "2 KB"), (180 << 10, "180 KB"), (1 << 20, "1 MB"))
CLOSURE_NAMES = 3000
LIBRARY_NAMES = 272  # in the library of bench_closures
STORM_CALLERS = 64
SWARM_PROCESSES = 8
RATE_CLIENTS = 8


def hits(servers, fake_root, effort):
    daemon, echo, redis = servers.daemon("fake", fake_root), servers.echo(), servers.redis()
    # Several passes, because the scheduler favours one side or the other for seconds at a time, which is longer than a
    # pass.
    collected = {size: {} for size, _ in HIT_SIZES}
    for _ in range(effort.hit_passes):
        for size, sides in collected.items():
            figures = run(
                servers.build / "tests/bench/bench_hits", daemon, echo, redis, size, effort.hit_rounds, effort.hit_calls
            )
            for side, times in figures.items():
                sides.setdefault(side, []).extend(times)
    for size, name in HIT_SIZES:
        figures = collected[size]
        ours, bars = figures["ours"], size == 180 << 10
        value = ratio(ours, figures["echo"])
        yield Row(
            f"hit, {name}: stock client, empty gRPC server", microseconds(ours), microseconds(figures["echo"]),
            f"{value:.2f}x", "0.90x" if bars else "", "0.75x" if bars else "", value <= 0.9 if bars else None,
        )
        yield Row(
            f"hit, {name}: stock client, this daemon", microseconds(ours), microseconds(figures["ours by stock client"]),
            f"{ratio(ours, figures['ours by stock client']):.2f}x",
        )
        yield Row(
            f"hit, {name}: Redis GET, hiredis", microseconds(ours), microseconds(figures["redis"]),
            f"{ratio(ours, figures['redis']):.2f}x", "", "1.0x (later lane)" if bars else "",
        )


def python(servers, interpreter, effort):
    """Measures the Python package against the C++ client, and the time of its import."""
    turns = servers.build / "tests/bench/bench_turns"
    figures = run(
        interpreter, FOLDER / "python_turns.py", servers.place / "fake" / "socket", 180 << 10,
        effort.hit_passes * effort.hit_rounds, effort.hit_calls, turns,
    )
    cpp = figures["C++"]
    for side in ("Python, a view", "Python, bytes", "Python, a program made ahead, a view"):
        over = statistics.median(figures[side]) - statistics.median(cpp)
        bars = side == "Python, a view"
        yield Row(
            f"hit, 180 KB, {side}: C++ client", microseconds(figures[side]), microseconds(cpp), f"+{over:.1f} us",
            "+10 us" if bars else "", "+3 us" if bars else "", over <= 10 if bars else None,
        )
    yield Row("which CUDA the process has loaded", f"{figures['which CUDA'][0]:.2f} us", "", "")
    started = run(
        servers.build / "tests/bench/bench_processes", effort.processes, interpreter, "-c", "import cccl_cache", "--",
        interpreter, "-c", "pass",
    )
    over = (statistics.median(started["0"]) - statistics.median(started["1"])) / 1000
    yield Row(
        "import of the Python package: Python's start", milliseconds(started["0"]), milliseconds(started["1"]),
        f"+{over:.1f} ms", "+10 ms", "+10 ms", over <= 10,
    )


def process_hits(servers, effort):
    """Measures the cache of a process, for the sources of a small and of a large kernel."""
    for size, name in ((2 << 10, "2 KB"), (64 << 10, "64 KB")):
        figures = run(
            servers.build / "tests/bench/bench_process_hits", servers.place / "fake" / "socket", size, effort.hit_rounds
        )
        ours, least = (statistics.median(figures[side]) * 1000 for side in ("ours", "hashing"))
        yield Row(
            f"hit in the process, source of {name}: hashing and comparing the source", f"{ours:.0f} ns", f"{least:.0f} ns",
            f"{ours - least:+.0f} ns", "", "+1000 ns",
        )


def rates(servers, effort):
    """Measures the rate of several clients at once, with hits of all sizes."""
    sizes = [size for size, _ in HIT_SIZES]
    figures = run(
        servers.build / "tests/bench/bench_rates", servers.place / "fake" / "socket", servers.place / "echo.sock",
        effort.rate_rounds, RATE_CLIENTS, effort.hit_calls * len(sizes), *sizes,
    )
    calls = RATE_CLIENTS * effort.hit_calls * len(sizes)
    per_second = {side: calls / statistics.median(times) * 1e6 for side, times in figures.items()}
    yield Row(
        f"mixed hits, {RATE_CLIENTS} clients, calls per second: stock client, empty gRPC server",
        f"{per_second['ours']:.0f}/s", f"{per_second['echo']:.0f}/s",
        f"{per_second['ours'] / per_second['echo']:.2f}x", "", "at least 0.9x",
    )


def object_source(size):
    """Returns C++ whose object holds `size` incompressible bytes, as a cubin of the fake toolchain does."""
    seed = random.randrange(1 << 31)
    return f"""struct Filler {{ unsigned char bytes[{size}]; }};
constexpr Filler Fill() {{
  Filler filler{{}};
  unsigned state = {seed}u;
  for (unsigned char& byte : filler.bytes) byte = (state = state * 1664525u + 1013904223u) >> 24;
  return filler;
}}
extern const Filler filler;
constexpr Filler filler = Fill();
"""


def whole_process(servers, effort):
    size, place = 180 << 10, servers.place
    socket = place / "fake" / "socket"
    (place / "kernel.cu").write_text(f"//fake: output-size {size}\n" + "// one more line of a kernel\n" * 70)
    (place / "object.cc").write_text(object_source(size))
    cli = [
        servers.build / "cli/cccl-cache-cli", "--socket", socket, "build", place / "kernel.cu", "--arch", "sm_90",
        "-o", place / "kernel.cubin",
    ]
    ccache = ["ccache", "gcc", "-fconstexpr-ops-limit=100000000", "-fconstexpr-loop-limit=1000000", "-c",
              place / "object.cc", "-o", place / "object.o"]
    figures = run(
        servers.build / "tests/bench/bench_processes", effort.processes, *cli, "--", *ccache, "--", "/bin/true",
        environment={"CCACHE_DIR": str(place / "ccache")},
    )
    value = ratio(figures["0"], figures["1"])
    kilobytes = [f"{(place / name).stat().st_size / 1024:.0f} KB" for name in ("kernel.cubin", "object.o")]
    yield Row(
        f"hit, whole process ({kilobytes[0]}): ccache gcc -c ({kilobytes[1]})", microseconds(figures["0"]),
        microseconds(figures["1"]), f"{value:.2f}x", "1.2x", "1.0x", value <= 1.2,
    )
    yield Row("hit, whole process: /bin/true", microseconds(figures["0"]), microseconds(figures["2"]), f"{ratio(figures['0'], figures['2']):.2f}x")


def ask(servers, socket, number):
    """Runs `build --json` of a program of the fake toolchain with a cubin of 180 KB. None if there is no answer."""
    done = subprocess.run(
        [servers.build / "cli/cccl-cache-cli", "--socket", socket, "--json", "build", "-", "--arch", "sm_90", "-o",
         os.devnull],
        input=f"// {number}\n//fake: output-size {180 << 10}\n".encode(), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return json.loads(done.stdout) if done.returncode == 0 else None


def restarts(servers, fake_root, effort):
    """Measures the time from kill -9 to the first hit, of a daemon with a full store that had just written."""
    done = subprocess.run(
        [servers.build / "tests/unit/store/store_child", "fill-and-die", servers.state("filled"),
         str(effort.filled_entries), "4000"]
    )
    assert done.returncode == -signal.SIGKILL  # the program kills itself after it has written all entries
    socket = servers.daemon("filled", fake_root)
    took, asked = [], 0
    for _ in range(effort.restarts):
        for asked in range(asked + 1, asked + 201):
            assert ask(servers, socket, asked)["outcome"] == "built"
        begin = time.perf_counter()
        servers.kill_and_start("filled")
        while (answer := ask(servers, socket, asked - 150)) is None:
            pass
        took.append((time.perf_counter() - begin) * 1e6)
        assert (answer["outcome"], answer["tier"]) == ("hit", "disk"), answer
    worst = max(took) / 1e6
    yield Row(
        f"kill -9 to first hit, {effort.filled_entries:,} entries: the worst", milliseconds(took), "", f"{worst:.2f} s",
        "2 s", "2 s (1,000,000 entries)", worst <= 2,
    )


def describe(servers, socket):
    """Returns (paths of NVRTC and nvJitLink, options of a raw compile) of the daemon's toolchain, so that both sides
    have the same compiler and headers."""
    done = subprocess.run(
        [servers.build / "cli/cccl-cache-cli", "--socket", socket, "--json", "toolchains"], stdout=subprocess.PIPE,
        check=True,
    )
    chosen = json.loads(done.stdout)["toolchains"][0]  # the newest, which serves a build that names neither a toolchain nor a driver
    library, linker = (next(c["path"] for c in chosen["components"] if c["name"] == name) for name in ("nvrtc", "nvjitlink"))
    options = ["-arch=sm_90", *(f"-I{directory}" for directory in chosen["header_directories"])]
    if "--no-cache" in chosen["accepted_options"]:
        options.append("--no-cache")
    return library, linker, options


def elsewhere(servers, options):
    """Returns the options with a copy of the toolchain's CCCL in place of it."""
    copy = servers.place / "tree"
    changed = []
    for option in options:
        if option.startswith("-I") and pathlib.Path(option[2:], "cub").is_dir():
            if not copy.exists():
                shutil.copytree(option[2:], copy)
            option = f"-I{copy}"
        changed.append(option)
    assert f"-I{copy}" in changed, options
    return changed


def compiles(servers, cuda_root, effort):
    # Precompiled headers are off: making them in the background would slow the other side down.
    socket = servers.daemon("cuda", cuda_root, "--pch-memory-limit", "0")
    library, linker, options = describe(servers, socket)
    environment = {"LD_LIBRARY_PATH": str(pathlib.Path(library).parent)}
    programs = servers.build / "tests/bench"
    closures = programs / "bench_closures", socket, servers.place / "headers", CLOSURE_NAMES
    run(*closures, 0)  # waits until the headers are 40 s old

    figures = run(
        programs / "bench_misses", socket, library, servers.build / "examples/raw_nvrtc", FOLDER.parents[1] / "examples/reduce.cu", effort.misses, *options,
        environment=environment,
    )
    ours, raw = statistics.median(figures["ours"]), statistics.median(figures["raw"])
    yield Row(
        "miss, never seen (CUB reduction): raw NVRTC", milliseconds(figures["ours"]), milliseconds(figures["raw"]),
        f"{ours / raw:.2f}x, {(ours - raw) / 1000:+.1f} ms", "1.05x + 5 ms", "1.05x + 5 ms",
        ours <= 1.05 * raw + 5_000,
    )
    yield Row(
        "miss, never seen: raw NVRTC in a new process", milliseconds(figures["ours"]),
        milliseconds(figures["raw process"]), f"{ratio(figures['ours'], figures['raw process']):.2f}x",
    )

    figures = run(
        programs / "bench_misses", socket, library, servers.build / "examples/raw_nvrtc",
        FOLDER.parents[1] / "examples/reduce.cu", effort.misses, *elsewhere(servers, options), environment=environment,
    )
    value = ratio(figures["ours"], figures["raw"])
    yield Row(
        "miss, never seen, a CCCL of the client's own: raw NVRTC", milliseconds(figures["ours"]),
        milliseconds(figures["raw"]), f"{value:.2f}x", "1.15x", "1.10x", value <= 1.15,
    )

    figures = run(
        programs / "bench_preambles", servers.daemon("preambles", cuda_root), library, linker, FOLDER.parents[1] / "examples/reduce.cu", FOLDER, effort.misses,
        *options, environment=environment,
    )
    for what, ours, beside, bar in (
        ("miss, seen preamble (CUB reduction): raw NVRTC", "ours", "raw", 0.35),
        ("miss, seen preamble: raw NVRTC with --pch", "ours", "raw with pch", None),
        ("miss, CCCL's reduce, linked: raw NVRTC, nvJitLink", "ours reduce", "raw reduce", None),
    ):
        value = ratio(figures[ours], figures[beside])
        yield Row(
            what, milliseconds(figures[ours]), milliseconds(figures[beside]), f"{value:.2f}x",
            f"{bar:.2f}x" if bar else "", "0.30x" if bar else "", value <= bar if bar else None,
        )

    figures = run(*closures, effort.hit_calls)
    added = (statistics.median(figures["with"]) - statistics.median(figures["without"])) / 1000
    yield Row(
        f"hit, {CLOSURE_NAMES:,} names outside the toolchain: none", milliseconds(figures["with"]),
        milliseconds(figures["without"]), f"{added:+.1f} ms", "+5 ms", "+3 ms", added <= 5,
    )
    yield Row(
        f"hit, {LIBRARY_NAMES} names of a library: none", microseconds(figures["library"]), microseconds(figures["without"]),
        "", "", "200 us",
    )

    figures = run(
        programs / "bench_callers", socket, "-", FOLDER / "sort.cu", effort.storms, STORM_CALLERS, 1, "same",
        environment=environment,
    )
    value, most = ratio(figures["many"], figures["one"]), max(figures["many compiles"])
    yield Row(
        f"{STORM_CALLERS} processes, one new key: one process", milliseconds(figures["many"]),
        milliseconds(figures["one"]), f"{value:.2f}x, {most:.0f} compile" + "s" * (most != 1), "1.25x, 1 compile",
        "1.10x, 1 compile", value <= 1.25 and most == 1,
    )

    def swarm(which):
        return run(
            programs / "bench_callers", socket, library, FOLDER / "sort.cu", 1, SWARM_PROCESSES, effort.swarm_keys,
            which, *options, environment=environment,
        )

    figures = swarm("same")
    value, most = ratio(figures["many"], figures["raw"]), max(figures["many compiles"])
    keys = effort.swarm_keys
    yield Row(
        f"{SWARM_PROCESSES} processes x the same {keys} new keys: by themselves", milliseconds(figures["many"]),
        milliseconds(figures["raw"]), f"{value:.2f}x, {most:.0f} compiles", f"{keys} compiles",
        f"0.2x, {keys} compiles", most == keys,
    )
    figures = swarm("different")
    yield Row(
        f"{SWARM_PROCESSES} processes x {keys} different new keys: by themselves", milliseconds(figures["many"]),
        milliseconds(figures["raw"]), f"{ratio(figures['many'], figures['raw']):.2f}x", "", "1.05x",
    )


PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<3>; .reg .f32 %f<3>;
  ld.param.u64 %rd1, [p];
  ld.global.f32 %f1, [%rd1];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd1], %f2;
  ret;
}
"""


def under_run(servers, cuda_root, effort):
    """Measures the cost of `cccl-cache-cli run` for a program, and its hits beside those of the client."""
    socket = servers.daemon("run", cuda_root)
    library, _, _ = describe(servers, socket)
    programs, cli = servers.build / "tests/bench", servers.build / "cli/cccl-cache-cli"
    variables = json.loads(subprocess.run([cli, "--socket", socket, "--json", "env"], stdout=subprocess.PIPE, check=True).stdout)["variables"]

    figures = run(programs / "bench_processes", effort.processes, "env", *(f"{name}={value}" for name, value in variables.items()),
                  "/bin/true", "--", "env", *(f"UNUSED_{name}={value}" for name, value in variables.items()), "/bin/true")
    over = (statistics.median(figures["0"]) - statistics.median(figures["1"])) / 1000
    yield Row("a process under run: the same without", milliseconds(figures["0"]), milliseconds(figures["1"]), f"{over:+.2f} ms")

    figures = run(cli, "--socket", socket, "run", "--", programs / "bench_intercepted", socket, library,
                  effort.hit_passes * effort.hit_rounds * effort.hit_calls)
    over = statistics.median(figures["calls"]) - statistics.median(figures["client"])
    yield Row(
        "hit by NVRTC's calls under run: the client's", microseconds(figures["calls"]), microseconds(figures["client"]),
        f"{over:+.1f} us", "", "+2 us", None,
    )

    tool = next(pathlib.Path(cuda_root).rglob("bin/ptxas"))
    (servers.place / "k.ptx").write_text(PTX)
    words = ("-arch=sm_90", servers.place / "k.ptx", "-o", servers.place / "k.cubin")
    standin = servers.build / "client/interpose/cccl-cache-ptxas"
    figures = run(programs / "bench_processes", effort.processes, standin, "--for", tool, tool, *words, "--", "/bin/true", "--",
                  tool, *words, environment={"CCCL_CACHE_SOCKET": str(socket), "XDG_RUNTIME_DIR": str(servers.place)})
    over = (statistics.median(figures["0"]) - statistics.median(figures["1"])) / 1000
    yield Row("hit of ptxas: /bin/true", milliseconds(figures["0"]), milliseconds(figures["1"]), f"{over:+.2f} ms", "", "+5 ms")
    yield Row("hit of ptxas: ptxas", milliseconds(figures["0"]), milliseconds(figures["2"]), f"{ratio(figures['0'], figures['2']):.2f}x")
