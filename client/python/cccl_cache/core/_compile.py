# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Program.compile through the daemon."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any, Optional, Sequence, Union

from cuda.core import Program, ProgramOptions

import cccl_cache

from .._plugin.daemon import ask, own_client

Code = Union[str, bytes]

_logger = logging.getLogger("cccl_cache.core")

# The daemon makes precompiled headers by itself and shares them among the user's processes, so these options are ignored.
_PRECOMPILED_HEADERS = ("pch", "pch_verbose", "pch_messages", "instantiate_templates_in_pch")
# Options that write files, read files of an earlier compile, or need an object of this process. cuda.core compiles these.
_LOCAL = ("create_pch", "use_pch", "pch_dir", "time", "fdevice_time_trace", "debug")


def compile(
    code: Code,
    code_type: str,
    target_type: str = "cubin",
    *,
    options: Optional[ProgramOptions] = None,
    name_expressions: Sequence[str] = (),
    logs: Any = None,
    client: Optional[cccl_cache.Client] = None,
    wait: float = 120.0,
) -> Any:
    """Compiles a program, or gets an earlier result.

    Include paths, name expressions and precompiled headers, which ``Program.compile(cache=)`` refuses, are allowed. The
    key covers the contents of headers, and the result has the lowered names. The daemon precompiles headers by itself
    and ignores ``pch``.

    Parameters
    ----------
    code, code_type, options
        As for ``cuda.core.Program``. The default of ``options.arch`` is the architecture of the current device.
    target_type, name_expressions, logs
        As for ``Program.compile``. `logs` gets the compiler's messages, also on a hit.
    client
        The client. Default: a client that the whole process shares, made at its first use.
    wait
        Seconds to wait for the daemon before cuda.core compiles. After a wait times out, later calls wait only one second
        until the daemon answers.

    Returns
    -------
    cuda.core.ObjectCode

    Raises
    ------
    cccl_cache.CompileError
        The code does not compile. ``log`` has the compiler's messages. If the daemon can't serve a program, cuda.core
        compiles it and raises its own errors. That is the case without a daemon, for PTX as source, and for options that
        write files, read files of an earlier compile, or are unknown to this package.
    """
    options = options or ProgramOptions()
    try:
        made, log = from_daemon(code, code_type, target_type, options, name_expressions, client, wait)
    except cccl_cache.CompileError:
        raise
    except Exception as error:  # cuda.core may compile the program all the same, or has the better message
        _logger.info("compiled by this process: %s", error)
        return Program(code, code_type, options).compile(target_type, tuple(name_expressions), logs)
    if logs is not None and log:
        logs.write(log)
    return made


def from_daemon(
    code: Code,
    code_type: str,
    target_type: str,
    options: ProgramOptions,
    name_expressions: Sequence[str],
    client: Optional[cccl_cache.Client],
    wait: float,
    toolchain: Optional[str] = None,
) -> tuple[Any, str]:
    """Returns the daemon's result as a cuda.core.ObjectCode, and the compiler's messages. Raises any error.

    `toolchain` is the id of a toolchain. Default: the toolchain of the CUDA version that this process has loaded.
    """
    kind = str(code_type).lower()
    if kind not in ("c++", "nvvm"):
        raise ValueError(f"the daemon does not compile {code_type}")
    for name in _LOCAL:
        if getattr(options, name, None):
            raise ValueError(f"the option {name} is for this process alone")
    daemon = client or own_client()
    program = _program(code, kind, target_type, options, name_expressions, wait, toolchain)
    result = ask(daemon, lambda: daemon.run(program))
    if target_type == "ltoir":
        _check_linkable(result.toolchain.version)
    return result.to_object_code(options.name or ""), result.log


def _check_linkable(version: str) -> None:
    """Raises if this process can't link LTO-IR of that version: a linker takes no LTO-IR of a newer compiler."""
    from cuda.bindings import nvjitlink

    try:
        major, minor = nvjitlink.version()
    except Exception:  # this process has no linker
        return
    if tuple(map(int, version.split(".")[:2])) > (major, minor):
        raise RuntimeError(f"the nvJitLink of this process is of CUDA {major}.{minor}, the LTO-IR of CUDA {version}")


def _program(
    code: Code,
    kind: str,
    target_type: str,
    options: ProgramOptions,
    name_expressions: Sequence[str],
    wait: float,
    toolchain: Optional[str],
) -> Union[cccl_cache.Build, cccl_cache.Nvvm]:
    if kind == "nvvm":
        return _nvvm(code, target_type, options, wait, toolchain)
    served = {name: None for name in (*_PRECOMPILED_HEADERS, "use_bundled_headers") if hasattr(options, name)}
    plain = dataclasses.replace(options, **served)
    return cccl_cache.Build(
        code,
        arch=options.arch,
        options=_without_arch(plain.as_bytes("nvrtc", target_type)),
        name=options.name,
        name_expressions=tuple(name_expressions),
        toolchain=toolchain,
        toolchain_headers=bool(getattr(options, "use_bundled_headers", None)),
        emit=str(target_type),
        timeout=wait,
    )


def _nvvm(
    code: Code, target_type: str, options: ProgramOptions, wait: float, toolchain: Optional[str]
) -> cccl_cache.Nvvm:
    modules = [(options.name or "default_program", code), *(options.extra_sources or ())]
    return cccl_cache.Nvvm(
        modules,
        arch=options.arch.replace("sm_", "compute_"),
        options=_without_arch(options.as_bytes("nvvm", target_type)),
        libdevice=bool(options.use_libdevice),
        toolchain=toolchain,
        emit=str(target_type),
        timeout=wait,
    )


def _without_arch(options: Sequence[bytes]) -> list[str]:
    texts = [option.decode() for option in options]
    return [text for text in texts if not text.startswith(("-arch=", "--gpu-architecture="))]
