# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m cccl_cache``: whether a daemon answers, which, what it offers, and what is turned on here.

Exit status: 0 a daemon serves, 3 no daemon there, 5 anything else.
"""

from __future__ import annotations

import argparse
import sys

import cccl_cache

from . import _cuda, _turned_on


def _lines(client: cccl_cache.Client) -> list[str]:
    health = client.health()
    found = client.toolchains()
    major = _cuda.major()
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
    lines += [f"  {name}: {limit}" for name, limit in health.limits.items()]
    return lines


def _tell(socket: str | None) -> int:
    try:
        client = cccl_cache.Client(socket)
        print("\n".join(_lines(client)))
        return 0 if client.health().serving else 5
    except cccl_cache.NoDaemonError as error:
        print(f"no daemon: {error}", file=sys.stderr)
        return 3
    except cccl_cache.Error as error:
        print(f"{error.status}: {error}", file=sys.stderr)
        return 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cccl_cache", description="Tells whether a daemon answers, which, "
                                     "what it offers, and what is turned on here.")
    parser.add_argument("--socket", help="the daemon's socket")
    status = _tell(parser.parse_args().socket)
    print("\n".join(_turned_on.lines()))
    return status


if __name__ == "__main__":
    sys.exit(main())
