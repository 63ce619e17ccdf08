# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""CuPy's calls of NVRTC through the daemon."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Callable, NamedTuple, Optional, Sequence

import cccl_cache

from .._circuit_breaker import CircuitBreaker
from .._plugin.canonical import Refused
from .._plugin.report import Report
from .._plugin.toolchain import OwnToolchain, nvrtc

# The daemon makes precompiled headers by itself and shares them among the user's processes, so these options are ignored.
_PRECOMPILED_HEADERS = ("--pch", "-pch")
# Options that write files, read files of an earlier compile, or need the source's own name. CuPy compiles these.
_LOCAL = re.compile(r"--?(create-pch|use-pch|pch-dir|time|fdevice-time-trace|device-debug|G)(=|$)")
_ARCH = re.compile(r"--?(arch|gpu-architecture)(=|$)")
_LTO = ("-dlto", "--dlink-time-opt")
_KINDS = {"cubin": "cubin", "ptx": "ptx", "lto": "ltoir"}


class Source(NamedTuple):
    """A program of CuPy. `method` is the kind of result: "cubin", "ptx" or "lto"."""

    text: str
    name: str
    name_expressions: tuple[str, ...]
    method: str


class Compiled(NamedTuple):
    """The result of NVRTC. `code` is None if the source does not compile."""

    code: Optional[bytes]
    lowered_names: dict[str, str]
    log: str


class Compiler:
    """Compiles programs through the daemon. Thread-safe; usable on both sides of a fork."""

    def __init__(self, connect: Callable[[], cccl_cache.Client], wait: float, report: Report):
        self._connect = connect
        self._breaker = CircuitBreaker(wait)
        self._report = report
        self._client: Optional[cccl_cache.Client] = None
        self._toolchain = OwnToolchain(nvrtc)

    def compile(self, source: Source, options: Sequence[str]) -> Optional[Compiled]:
        """Compiles a program. Returns None if CuPy must compile it; the report has the reason then. Raises nothing."""
        what = source.name or "a program"
        try:
            made = self._ask(source, options)
        except Refused as reason:
            self._report.not_cached(what, str(reason))
            made = None
        except Exception as error:
            self._breaker.failed(error)
            self._toolchain.failed(error)
            self._report.error(what, error)
            made = None
        if made is None:
            self._report.count("left_to_cupy")
        return made

    def _ask(self, source: Source, options: Sequence[str]) -> Optional[Compiled]:
        name = _name(source)
        arch, kind, plain = _plain(source.method, options)
        if self._client is None:
            self._client = self._connect()
        toolchain = self._toolchain.id(self._client, self._breaker.seconds)
        build = cccl_cache.Build(
            source.text, arch=arch, options=plain, name=name, name_expressions=source.name_expressions,
            toolchain=toolchain, toolchain_headers=False, emit=kind, timeout=self._breaker.seconds)
        try:
            result = self._client.run(build)
        except cccl_cache.CompileError as error:
            self._breaker.answered()
            if not error.log:
                raise Refused("the compiler says nothing of why it fails") from None
            self._report.count("failures")
            return Compiled(None, {}, _with_own_name(error.log, name, source.name))
        self._breaker.answered()
        code = result.artifacts[kind]
        self._report.count("hits" if result.outcome in ("hit", "joined") else "builds")
        return Compiled(code, result.lowered_names, _with_own_name(result.log, name, source.name))


def _name(source: Source) -> Optional[str]:
    """Returns a name for the source in place of CuPy's random name, or None if CuPy gives no name.

    NVRTC derives the names of static variables from it, so the name is derived from the source. Its directory does not
    exist, like that of CuPy's random name, and only root could make it.
    """
    if source.name in ("", "default_program"):
        return None
    return f"/cupy-program/{hashlib.sha1(source.text.encode()).hexdigest()}.cu"


def _with_own_name(log: str, name: Optional[str], own: str) -> str:
    return log if name is None else log.replace(name, own)


def _plain(method: str, options: Sequence[str]) -> tuple[str, str, list[str]]:
    """Returns the architecture, the kind of result and the other options. Raises Refused."""
    arch, *more = [option for option in options if _ARCH.match(option)] or [""]
    if more or not re.fullmatch("-arch=(sm|compute)_[0-9]+[a-z]?", arch):
        raise Refused("its options do not name one architecture")
    local = next((option for option in options if _LOCAL.match(option)), None)
    if local is not None:
        raise Refused(f"the option {local}")
    if any(option in _LTO for option in options) != (method == "lto"):
        raise Refused("LTO-IR, or no LTO-IR, against its options")
    if method == "cubin" and not arch.startswith("-arch=sm_"):
        raise Refused("a cubin for no GPU in particular")
    dropped = (arch, *_LTO, *_PRECOMPILED_HEADERS)
    return arch[len("-arch=") :], _KINDS[method], [option for option in options if option not in dropped]
