# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m cccl_cache`` prints the daemon that answers, its toolchains, and the features that are on here.

Exit status: 0 if a daemon serves, 3 if there is no daemon, 5 for any other error.

``python -m cccl_cache run script.py`` runs a script so that its NVRTC and nvJitLink calls go to the daemon.

``python -m cccl_cache serve`` runs a daemon for this user. ``enable`` has the user's systemd start it at the first use.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import warnings
from importlib import import_module

import cccl_cache

from . import _library, _run, _serve
from ._client import COMPILER_OF_THE_PACKAGE

_PREFIX = "CCCL_CACHE_"
_PROCESS_VARIABLE = "CCCL_CACHE_PROCESS_BYTES"
_PLUGINS = {
    "cuda.compute": "cccl_cache.compute",
    "cupy": "cccl_cache.cupy",
    "CuTe DSL": "cccl_cache.cute",
    "FlashInfer": "cccl_cache.flashinfer",
    "JAX": "cccl_cache.jax",
    "numba-cuda": "cccl_cache.numba",
    "numba-cuda-mlir": "cccl_cache.numba_mlir",
    "TileLang": "cccl_cache.tilelang",
    "torch.compile": "cccl_cache.torch",
    "triton": "cccl_cache.triton",
    "TVM-FFI": "cccl_cache.tvm_ffi",
    "Warp": "cccl_cache.warp",
}
# Variables that other parts of cccl-cached read, besides those that turn plug-ins on.
_VARIABLES = {_PREFIX + name for name in (
    "PRIORITY", "PROCESS_BYTES", "SOCKET",  # clients
    "GROUP", "NVCC_RECORD", "RESERVED", "RUN_LIBRARIES", "RUN_REPORT", "RUN_WAIT_MS", "STEP_OF",  # programs under `run`
    "CUDA_JL", "LIBRARY",  # Julia
    "TRITON_GROUP", "TRITON_WAIT",
    "IN_JOBS",  # deploy/slurm
)}


def _daemon_lines(client: cccl_cache.Client) -> list[str]:
    """Describes the daemon: its version, its state and its toolchains."""
    health = client.health()
    found = client.toolchains()
    major = _library.cuda_major()
    lines = [
        f"cccl-cached {health.version} at {health.socket}: {'serving' if health.serving else 'not serving'}",
        f"  runs as uid {health.uid}, api minor {health.api_minor}, fingerprint layout {health.fingerprint_layout}",
        f"  client {cccl_cache.__version__}, Python {sys.version.split()[0]}",
    ]
    for toolchain in found.used:
        default = " (where a build names none)" if toolchain.selected_by_default else ""
        names = ", ".join(f"{each.name} {each.version}" for each in toolchain.components)
        lines.append(f"  CUDA {toolchain.version} in {toolchain.root}: {names}{default}")
    lines += [f"  not used: {each.root}: {each.reason}" for each in found.rejected]
    if major:
        lines.append(f"  this process has loaded CUDA {major}: its builds take that")
    return lines


def _tell(socket: str | None) -> int:
    try:
        client = cccl_cache.Client(socket)
        print("\n".join(_daemon_lines(client)))
        return 0 if client.health().serving else 5
    except cccl_cache.NoDaemonError as error:
        print(f"no daemon: {error}", file=sys.stderr)
        return 3
    except cccl_cache.Error as error:
        print(f"{error.status}: {error}", file=sys.stderr)
        return 5


def _turned_on() -> list[str]:
    """Returns a line for each feature: whether it is on in this environment, and how to change that. Asks no daemon."""
    switches = {name: import_module(plugin).switch for name, plugin in _PLUGINS.items()}
    with warnings.catch_warnings():  # the lines have the reasons for which the packages warn at their import
        warnings.simplefilter("ignore")
        plugins = [f"  {name}: {switch.told()}" for name, switch in switches.items()]
    return [
        f"  without a daemon: {_fallback()}",
        f"  cache within a process: {_process_cache()}",
        *plugins,
        *_unread({*_VARIABLES, *(switch.variable for switch in switches.values())}),
    ]


def _unread(known: set[str]) -> list[str]:
    """Returns a line for each variable that looks like one of ours and is none."""
    ends = {name[len(_PREFIX) :] for name in known}
    lines = []
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name not in known:
            similar = difflib.get_close_matches(name[len(_PREFIX) :], ends, 1)
            meant = f"; is {_PREFIX}{similar[0]} meant?" if similar else ""
            lines.append(f"  {name}: no part of cccl-cached reads this variable{meant}")
    return lines


def _fallback() -> str:
    if os.path.exists(COMPILER_OF_THE_PACKAGE):
        return f'builds are compiled here, by {COMPILER_OF_THE_PACKAGE} (fallback="local")'
    return f'builds fail, for there is no {COMPILER_OF_THE_PACKAGE} (fallback="error")'


def _process_cache() -> str:
    text = os.environ.get(_PROCESS_VARIABLE)
    if text is None:
        return f"on, 64 MiB ({_PROCESS_VARIABLE} is not set)"  # the library's own choice
    if text != "off" and not text.isdigit():
        return f"no client can be made: {_PROCESS_VARIABLE} is {text!r}, a number of bytes, or off, is expected"
    return f"{'off' if text == 'off' or int(text) == 0 else f'on, {int(text)} bytes'} ({_PROCESS_VARIABLE}={text})"


def main() -> int:
    if sys.argv[1:] and sys.argv[1] in _run.COMMANDS:
        return _run.start(sys.argv[1], sys.argv[2:])
    if sys.argv[1:] and sys.argv[1] in _serve.COMMANDS:
        return _serve.start(sys.argv[1], sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m cccl_cache", description="Tells whether a daemon answers, which, "
                                     "what it offers, and what is turned on here.",
                                     usage="%(prog)s [--socket SOCKET]\n"
                                     "       %(prog)s run [--start] [--compare] [--report[=each]] [--json] [--how audit|preload] "
                                     "[--socket SOCKET] "
                                     "script.py [ARGUMENT...]\n"
                                     "       %(prog)s env [--json] [--how audit|preload] [--socket SOCKET]\n"
                                     "       %(prog)s serve [FLAG...]\n"
                                     "       %(prog)s enable")
    parser.add_argument("--socket", help="the daemon's socket")
    status = _tell(parser.parse_args().socket)
    print("\n".join(_turned_on()))
    return status


if __name__ == "__main__":
    sys.exit(main())
