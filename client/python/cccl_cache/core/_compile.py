# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Program.compile, done by the daemon."""

from __future__ import annotations

import dataclasses
import logging
import weakref
from typing import Any, Callable, Optional, Sequence, Union

from cuda.core import Program, ProgramOptions

import cccl_cache

Code = Union[str, bytes]

_logger = logging.getLogger("cccl_cache.core")

# The daemon parses headers ahead by itself, where every process of the user has them.
_PRECOMPILED_HEADERS = ("pch", "pch_verbose", "pch_messages", "instantiate_templates_in_pch")
# They write files or read what an earlier compile wrote, or need what only this process has.
_LOCAL = ("create_pch", "use_pch", "pch_dir", "time", "fdevice_time_trace", "debug")

_BRIEFLY = 1.0
# At most one. Without a lock, which a fork could leave held: of clients made at one moment the first is kept.
_made: dict[str, cccl_cache.Client] = {}
_silent: weakref.WeakSet[cccl_cache.Client] = weakref.WeakSet()


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
    """Compiles a program, or gets what was compiled before.

    Include paths, name expressions and precompiled headers, which ``Program.compile(cache=)`` refuses, are served:
    headers are part of the key by their contents, lowered names come with the result, and the daemon precompiles
    headers by itself, so that ``pch`` says nothing to it.

    Parameters
    ----------
    code, code_type, options
        As for ``cuda.core.Program``. Without ``options.arch`` it is the current device's.
    target_type, name_expressions, logs
        As for ``Program.compile``. `logs` gets the compiler's messages, on a hit too.
    client
        The client to use; if not given, one for the whole process, made at its first use.
    wait
        Seconds for which the daemon is waited for before cuda.core compiles here. Once that was in vain, the daemon has
        a second at each call to say that it is alive, until it does.

    Returns
    -------
    cuda.core.ObjectCode

    Raises
    ------
    cccl_cache.CompileError
        The code does not compile; ``log`` is the compiler's. Where the daemon can't serve a program (it is not there,
        PTX as source, options that write files or read what others wrote, or that this package does not know), cuda.core
        compiles it here and raises what it raises.
    """
    options = options or ProgramOptions()
    kind = str(code_type).lower()
    if kind in ("c++", "nvvm") and not any(getattr(options, name, None) for name in _LOCAL):
        try:
            daemon = client or _own_client()
            program = _program(code, kind, target_type, options, name_expressions, wait)
            result = _ask(daemon, lambda: daemon.run(program))
            if target_type == "ltoir":
                _check_linkable(result.toolchain.version)
            made = result.to_object_code(options.name or "")
        except cccl_cache.CompileError:
            raise
        except Exception as error:  # whatever it is, cuda.core may do it, or says better why not
            _logger.info("compiled by this process: %s", error)
        else:
            if logs is not None and result.log:
                logs.write(result.log)
            return made
    return Program(code, code_type, options).compile(target_type, tuple(name_expressions), logs)


def _own_client() -> cccl_cache.Client:
    """One for all threads of this process and for its children, made at the first use.

    Raises
    ------
    NoDaemonError
        No socket may be trusted now; the next call looks again.
    """
    found: Optional[cccl_cache.Client] = _made.get("client")
    return found or _made.setdefault("client", cccl_cache.Client(fallback="error"))


def _ask(client: cccl_cache.Client, question: Callable[[], cccl_cache.Result]) -> cccl_cache.Result:
    """Runs a call. After one that timed out, the daemon has a second to show that it is alive.

    So a daemon that hangs costs a process the time that the question allows once, and a build that took too long costs
    the next one nothing. Any thread may call it.

    Raises
    ------
    TimeoutError
        There was no answer in time.
    """
    if client in _silent:
        client.health(timeout=_BRIEFLY)
        _silent.discard(client)
    try:
        return question()
    except TimeoutError:
        _silent.add(client)
        raise


def _check_linkable(version: str) -> None:
    """A linker takes no LTO-IR of a compiler that is newer than itself, and it is this process that will link."""
    from cuda.bindings import nvjitlink

    try:
        major, minor = nvjitlink.version()
    except Exception:  # it has no linker
        return
    if tuple(map(int, version.split(".")[:2])) > (major, minor):
        raise RuntimeError(f"the nvJitLink of this process is of CUDA {major}.{minor}, the LTO-IR of CUDA {version}")


def _program(
    code: Code, kind: str, target_type: str, options: ProgramOptions, name_expressions: Sequence[str], wait: float
) -> Union[cccl_cache.Build, cccl_cache.Nvvm]:
    if kind == "nvvm":
        return _nvvm(code, target_type, options, wait)
    served = {name: None for name in (*_PRECOMPILED_HEADERS, "use_bundled_headers") if hasattr(options, name)}
    plain = dataclasses.replace(options, **served)
    return cccl_cache.Build(
        code,
        arch=options.arch,
        options=_without_arch(plain.as_bytes("nvrtc", target_type)),
        name=options.name,
        name_expressions=tuple(name_expressions),
        toolchain_headers=bool(getattr(options, "use_bundled_headers", None)),
        emit=str(target_type),
        timeout=wait,
    )


def _nvvm(code: Code, target_type: str, options: ProgramOptions, wait: float) -> cccl_cache.Nvvm:
    modules = [(options.name or "default_program", code), *(options.extra_sources or ())]
    return cccl_cache.Nvvm(
        modules,
        arch=options.arch.replace("sm_", "compute_"),
        options=_without_arch(options.as_bytes("nvvm", target_type)),
        libdevice=bool(options.use_libdevice),
        emit=str(target_type),
        timeout=wait,
    )


def _without_arch(options: Sequence[bytes]) -> list[str]:
    texts = [option.decode() for option in options]
    return [text for text in texts if not text.startswith(("-arch=", "--gpu-architecture="))]
