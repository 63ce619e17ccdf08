# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What a program of this environment has turned on, whether a daemon answers or not; told, not changed."""

from __future__ import annotations

import os
from importlib import metadata

from ._client import COMPILER_OF_THE_PACKAGE

_VARIABLE = "CCCL_CACHE_PROCESS_BYTES"
_BYTES = 64 << 20  # the library's own choice


def lines() -> list[str]:
    """One for each thing, with the way to change it."""
    return [
        f"  without a daemon: {_fallback()}",
        f"  cache within a process: {_process_cache()}",
        f"  cuda.compute: {_compute()}",
    ]


def _fallback() -> str:
    if os.path.exists(COMPILER_OF_THE_PACKAGE):
        return f'builds are compiled here, by {COMPILER_OF_THE_PACKAGE} (fallback="local")'
    return f'builds fail, for there is no {COMPILER_OF_THE_PACKAGE} (fallback="error")'


def _process_cache() -> str:
    text = os.environ.get(_VARIABLE)
    if text is None:
        return f"on, {_BYTES} bytes ({_VARIABLE} is not set)"
    if text != "off" and not text.isdigit():
        return f"no client can be made: {_VARIABLE} is {text!r}, a number of bytes, or off, is expected"
    return f"{'off' if text == 'off' or int(text) == 0 else f'on, {int(text)} bytes'} ({_VARIABLE}={text})"


def _compute() -> str:
    try:
        metadata.version("cuda-cccl")
    except metadata.PackageNotFoundError:
        return "off: cuda-cccl is not installed"
    try:
        from .compute import status
        from .compute._release import tested_release

        release, why_off = tested_release()
    except Exception as error:  # of packages that are not ours
        return f"off: {error}"
    if why_off is not None:
        return f"off: {why_off}"
    if status()["on"]:
        return f"on, for cuda-cccl {release} (CCCL_CACHE_COMPUTE)"
    return f"off until cccl_cache.compute.install() is called or CCCL_CACHE_COMPUTE=1 is set, for cuda-cccl {release}"
