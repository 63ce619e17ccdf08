# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m cccl_cache serve`` and ``enable`` start a user's own daemon from the package cccl_cache_daemon."""

from __future__ import annotations

import os
import sys

COMMANDS = ("serve", "enable")
_UNITS = ("cccl-cached.socket", "cccl-cached.service")


def start(command: str, words: list[str]) -> int:
    """Runs a command and returns its exit code. `serve` returns only if the daemon can't replace this process."""
    try:
        from cccl_cache_daemon import PLACE
    except ImportError:
        return _failed(command, "the daemon is not in this wheel, but in cccl_cache_daemon-*.whl, which scripts/packages "
                       "makes beside it: pip install both")
    if command == "serve":
        return _serve(os.path.join(PLACE, "cccl-cached"), words)
    if words:
        return _failed(command, f"takes no arguments: {' '.join(words)}", 2)
    return _enable(PLACE)


def _failed(command: str, why: str, status: int = 5) -> int:
    print(f"{command}: {why}", file=sys.stderr)
    return status


def _serve(program: str, words: list[str]) -> int:
    try:
        os.execv(program, [program, *words])
    except OSError as error:
        return _failed("serve", f"can't start {program}: {error.strerror}")


def _systemctl(*words: str) -> str:
    """Runs a command of the user's systemd. Returns the reason if it fails, else an empty text."""
    import subprocess

    try:
        done = subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True)
    except OSError as error:
        return f"systemctl: {error.strerror}"
    return "" if done.returncode == 0 else done.stderr.strip() or f"systemctl ended with {done.returncode}"


def _enable(place: str) -> int:
    """Writes the user's units and has systemd listen on the socket. The first connection then starts the daemon."""
    refused = _systemctl("show-environment")
    if refused:
        return _failed("enable", f"no systemd of this user answers ({refused}): "
                       "start the daemon with `python -m cccl_cache serve`")
    directory = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "systemd", "user")
    os.makedirs(directory, exist_ok=True)
    for unit in _UNITS:
        with open(os.path.join(place, unit + ".in"), encoding="utf-8") as template:
            text = _unit(template.read(), os.path.join(place, "cccl-cached"))
        written = os.path.join(directory, unit)
        with open(written + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(written + ".new", written)
    # try-restart replaces a daemon of an earlier version. Callers wait at the socket meanwhile.
    for words in (["daemon-reload"], ["enable", "--now", _UNITS[0]], ["try-restart", _UNITS[1]]):
        refused = _systemctl(*words)
        if refused:
            return _failed("enable", refused)
    print("the first connection starts the daemon; "
          f"to undo: systemctl --user disable --now {' '.join(_UNITS)}, and delete both from {directory}")
    return 0


def _unit(template: str, program: str) -> str:
    """Returns the unit for this program, without the template's documents, which the package does not contain."""
    quoted = program.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    lines = [line for line in template.splitlines(keepends=True) if not line.startswith("Documentation=")]
    return "".join(lines).replace("@CMAKE_INSTALL_FULL_BINDIR@/cccl-cached", f'"{quoted}"')
