# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes point down the layers only, and that third-party headers stop in their adapters.

layering.py ROOT: prints each include that is not allowed, with the reason; exit status 1 if there is one.
"""

import pathlib
import re
import sys

SOURCES = {".h", ".cc", ".c", ".cpp"}
ROOTS = ("base", "proto", "daemon", "client", "cli")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

CORE = tuple(f"daemon/core/{part}/" for part in ("model", "closure", "plan", "lookup", "run", "coordinator", "explain", "lease"))
MODEL, CLOSURE, PLAN, LOOKUP, RUN, COORDINATOR, EXPLAIN, LEASE = CORE
SYSTEM = "daemon/system/"
PROTOCOL = "daemon/compile/protocol/"
WORKER_FILES = "daemon/worker/files/"
SERVICE = tuple(f"daemon/service/{part}/" for part in ("transport", "limits", "wire", "calls"))
TRANSPORT, LIMITS, WIRE, CALLS = SERVICE

# Folder -> our folders that it may include, besides itself, base/ and proto/ (the public headers and base/ itself:
# none). The longest matching folder counts.
LAYERS = {
    "base": (),
    "proto": (),
    "daemon/core": (),
    "daemon/core/model": ("client/include/cccl_cache/either.h",),
    "daemon/core/closure": (MODEL,),
    "daemon/core/plan": (MODEL, CLOSURE),
    "daemon/core/lookup": (MODEL, CLOSURE, PLAN),
    "daemon/core/run": (SYSTEM, MODEL, CLOSURE, PLAN, LOOKUP),
    "daemon/core/explain": (MODEL, CLOSURE, PLAN, LOOKUP),
    "daemon/core/coordinator": (SYSTEM, MODEL, CLOSURE, PLAN, LOOKUP, RUN, EXPLAIN),
    "daemon/core/lease": (SYSTEM, MODEL),
    "daemon/system": (MODEL,),
    "daemon/files": (SYSTEM, MODEL),
    "daemon/releases": (SYSTEM, MODEL),
    "daemon/snapshot": (MODEL, CLOSURE, LOOKUP, LEASE),
    "daemon/store": (SYSTEM, MODEL, LOOKUP, LEASE),
    "daemon/remote": ("daemon/remote/redis/", SYSTEM, MODEL, LOOKUP, "daemon/snapshot/records.h"),
    "daemon/remote/redis": (SYSTEM, MODEL),
    "daemon/toolchain": (SYSTEM, MODEL),
    "daemon/compile/protocol": (MODEL,),
    "daemon/compile": (PROTOCOL, SYSTEM, MODEL),
    "daemon/worker": ("daemon/worker/", PROTOCOL, MODEL),
    "daemon/worker/compilers": (WORKER_FILES, PROTOCOL, MODEL),
    "daemon/worker/sandbox": (WORKER_FILES, PROTOCOL, MODEL),
    "daemon/worker/files": (PROTOCOL, MODEL),
    "daemon/service": (*SERVICE, SYSTEM, *CORE),
    "daemon/service/transport": (SYSTEM, MODEL),
    "daemon/service/limits": (SYSTEM, *CORE),
    "daemon/service/wire": CORE,
    "daemon/service/calls": (TRANSPORT, LIMITS, WIRE, SYSTEM, *CORE),
    "daemon/configuration": (SYSTEM, MODEL),
    "daemon/process": ("daemon/configuration/", SYSTEM, MODEL, COORDINATOR),
    # One build without a daemon. It uses the messages of the service, and the parts of the worker that call the
    # compilers.
    "daemon/local": (
        "daemon/toolchain/", "daemon/files/", "daemon/compile/", "daemon/worker/compilers/", WIRE, "daemon/configuration/",
        "daemon/process/", SYSTEM, *CORE,
    ),
    "daemon": (
        "daemon/compile/", "daemon/configuration/", "daemon/files/", "daemon/process/", "daemon/releases/", "daemon/service/",
        "daemon/remote/", "daemon/snapshot/", "daemon/store/", "daemon/system/", "daemon/toolchain/", *CORE,
    ),
    "client/include": (),
    "client/graph": ("client/include/",),
    "client/src": (),
    "client/src/transport": (),
    "client/src/wire": ("client/src/transport/",),
    "client/src/leases": ("client/src/wire/", "client/src/transport/"),
    "client/src/steps": ("client/src/leases/", "client/src/transport/"),
    "client/src/calls": ("client/src/wire/", "client/src/transport/"),
    "client/src/c_abi": ("client/src/",),
    # This code runs in programs without knowledge of the cache. It uses the C interface, the client's timing and
    # digests of files.
    "client/interpose": ("client/include/", "client/src/transport/", "client/src/calls/file_digest.h"),
    "client/standin": (
        "client/interpose/group.h", "client/interpose/report.h", "client/interpose/wait.h", "client/src/calls/file_digest.h",
        "client/src/leases/reservation.h",
    ),
    "client/nvcc": (
        "client/interpose/exec_words.h", "client/interpose/group.h", "client/interpose/loaded_names.h",
        "client/interpose/report.h", "client/interpose/wait.h", "client/standin/",
        "client/src/calls/file_digest.h",
    ),
    "client": (),
    # The counts of the stand-ins, and their list.
    "cli": (
        "client/interpose/c_library.h", "client/interpose/group.h", "client/interpose/loaded_names.h",
        "client/interpose/report.h", "client/interpose/level.h", "client/interpose/wait.h",
    ),
}

DAEMON_BUT_WORKER = (
    "daemon/core/",
    "daemon/system/",
    "daemon/files/",
    "daemon/releases/",
    "daemon/snapshot/",
    "daemon/store/",
    "daemon/remote/",
    "daemon/toolchain/",
    "daemon/compile/",
    "daemon/service/",
    "daemon/configuration/",
    "daemon/process/",
    "daemon/local/",
    "daemon/main.cc",
    "daemon/layer_options.cc",
    "daemon/housekeeping.cc",
)

# Header -> files or folders that may include it. The first matching row counts.
ADAPTERS = (
    (r"cccl_cache/v1/.*\.pb\.h", ("daemon/service/",)),
    (r"cccl_cache/(c/)?[a-z_]+\.h", ("client/", "cli/")),
    (r"rocksdb/.*", ("daemon/store/",)),
    (r"zstd\.h", ("proto/compression.cc",)),
    (r"(grpc|grpcpp|google/protobuf)/.*", ("daemon/service/",)),
    (r"nghttp2/.*", ("client/src/",)),
    (r"nettle/.*", ("proto/",)),
    (r"curses\.h", ("cli/top/screen.cc",)),
    (r"event2/.*", ("cli/stats/metrics_command.cc", "daemon/remote/redis/")),
    (r"hiredis/.*", ("daemon/remote/redis/redis_replies.cc",)),
    (r"openssl/.*", ("daemon/remote/redis/",)),
    (r"spdlog/.*", ("daemon/process/log.cc",)),
    (r"toml\+\+/.*", ("daemon/configuration/load.cc",)),
    (r"nlohmann/.*", ("cli/daemon_answers.cc",)),
    (r"CLI/.*", ("cli/", "daemon/configuration/command_line.cc")),
    (r"fmt/.*", (*DAEMON_BUT_WORKER, "cli/")),
    (r"seccomp\.h|linux/(seccomp|landlock|filter)\.h", ("daemon/worker/",)),
    (r"dlfcn\.h", (
        "daemon/worker/", "daemon/service/transport/guarded_sockets.cc", "client/src/calls/local_compiler.cc",
        "client/interpose/", "client/nvcc/recorder.h", "client/include/cccl_cache/driver.h",
        "cli/run/environment.cc",
    )),
    (r"(nvrtc|nvJitLink|nvvm|cuda|cuda_runtime.*)\.h", ()),
    (r"(sys|linux|asm|arpa|netinet|gnu)/.*", ("",)),
    (r"[^/]+", ("",)),
)


def layer_of(path):
    fits = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(fits, key=len) if fits else None


def complaint(path, header):
    """Returns why this file may not include this header, or None."""
    layer = layer_of(path)
    if layer is None:
        return "lies in no layer: add it to LAYERS"
    if header.startswith(tuple(root + "/" for root in ROOTS)):
        own = layer_of(header)
        shared = () if layer in ("base", "client/include") else ("base",) if layer == "proto" else ("base", "proto")
        if own == layer or own in shared or header.startswith(LAYERS[layer]):
            return None
        return f"{layer} may not include {own or 'that'}"
    for pattern, allowed in ADAPTERS:
        if re.fullmatch(pattern, header):
            if path.startswith(tuple(allowed)):
                return None
            return f"only {', '.join(allowed) or 'nobody'} may include it"
    return "is a library that no layer may use: add it to ADAPTERS"


def complaints(root):
    for top in ROOTS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            path = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                found = INCLUDE.match(line)
                reason = complaint(path, found.group(1)) if found else None
                if reason:
                    yield f"{path}:{number}: {found.group(1)}: {reason}"


def main():
    root = pathlib.Path(sys.argv[1])
    if not (root / "daemon/core").is_dir():
        sys.exit(f"{root} is not the project")
    wrong = list(complaints(root))
    print("\n".join(wrong) if wrong else "all includes point down")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
