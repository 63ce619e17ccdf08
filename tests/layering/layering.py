# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes point down the layers only, and that third-party headers stop in their adapters.

layering.py ROOT: prints each include that is not allowed, with the reason; exit status 1 if there is one.
"""

import pathlib
import re
import sys

SOURCES = {".h", ".cc", ".c", ".cpp"}
ROOTS = ("proto", "daemon", "client", "cli")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# The contract between daemon and worker: what the worker may see of compile/.
WIRE = tuple(
    f"daemon/compile/{name}.h"
    for name in ("file_question", "frame", "job", "packet", "wire_reader", "wire_writer")
)

# Folder -> what of ours it may include, besides itself. The longest folder that fits a file counts.
LAYERS = {
    "proto": (),
    "daemon/core": ("proto/",),
    "daemon/files": ("daemon/core/", "proto/"),
    "daemon/snapshot": ("daemon/core/", "proto/"),
    "daemon/store": ("daemon/core/", "proto/"),
    "daemon/toolchain": ("daemon/core/", "proto/"),
    "daemon/compile": ("daemon/core/", "proto/"),
    "daemon/worker": (*WIRE, "daemon/core/", "proto/"),
    "daemon/service": ("daemon/core/", "proto/"),
    "daemon/configuration": ("daemon/core/", "proto/"),
    "daemon/process": ("daemon/configuration/", "daemon/core/", "proto/"),
    # The messages of the contract, and nothing else of the service; of the worker what calls the compilers.
    "daemon/local": (
        "daemon/compile/",
        "daemon/configuration/",
        "daemon/core/",
        "daemon/files/",
        "daemon/process/",
        "daemon/service/convert.h",
        "daemon/service/reply_head.h",
        "daemon/toolchain/",
        "daemon/worker/compiler_jobs.h",
        "daemon/worker/compiler_libraries.h",
        "proto/",
    ),
    "daemon": (
        "daemon/compile/",
        "daemon/configuration/",
        "daemon/core/",
        "daemon/files/",
        "daemon/process/",
        "daemon/service/",
        "daemon/snapshot/",
        "daemon/store/",
        "daemon/toolchain/",
        "proto/",
    ),
    "client/include": (),
    "client/src": ("proto/",),
    "client": ("proto/",),
    "cli": ("proto/",),
}

DAEMON_BUT_WORKER = (
    "daemon/core/",
    "daemon/files/",
    "daemon/snapshot/",
    "daemon/store/",
    "daemon/toolchain/",
    "daemon/compile/",
    "daemon/service/",
    "daemon/configuration/",
    "daemon/process/",
    "daemon/local/",
    "daemon/main.cc",
    "daemon/configured.cc",
    "daemon/housekeeping.cc",
)

# Header -> files or folders that may include it. The first row that fits a header counts.
ADAPTERS = (
    (r"cccl_cache/v1/.*\.pb-c\.h", ("client/src/",)),
    (r"cccl_cache/v1/.*\.pb\.h", ("daemon/service/",)),
    (r"cccl_cache/(c/)?[a-z_]+\.h", ("client/", "cli/")),
    (r"rocksdb/.*", ("daemon/store/",)),
    (r"zstd\.h", ("daemon/snapshot/compression.cc",)),
    (r"(grpc|grpcpp|google/protobuf)/.*", ("daemon/service/",)),
    (r"(nghttp2|protobuf-c)/.*", ("client/src/",)),
    (r"nettle/.*", ("proto/",)),
    (r"spdlog/.*", ("daemon/process/log.cc",)),
    (r"toml\+\+/.*", ("daemon/configuration/toml_file.cc",)),
    (r"CLI/.*", ("cli/", "daemon/configuration/command_line.cc")),
    (r"fmt/.*", (*DAEMON_BUT_WORKER, "cli/")),
    (r"seccomp\.h|linux/(seccomp|landlock|filter)\.h", ("daemon/worker/",)),
    (r"dlfcn\.h", (
        "daemon/worker/", "daemon/service/guarded_sockets.cc", "client/src/local_compiler_path.cc",
        "client/include/cccl_cache/driver.h",
    )),
    (r"(nvrtc|nvJitLink|nvvm|cuda|cuda_runtime.*)\.h", ()),
    (r"(sys|linux|asm|arpa|netinet)/.*", ("",)),
    (r"[^/]+", ("",)),
)


def layer_of(path):
    fits = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(fits, key=len) if fits else None


def complaint(path, header):
    """Why this file may not include this header; None if it may."""
    layer = layer_of(path)
    if layer is None:
        return "lies in no layer: add it to LAYERS"
    if header.startswith(tuple(root + "/" for root in ROOTS)):
        own = layer_of(header)
        if own == layer or header.startswith(LAYERS[layer]):
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
