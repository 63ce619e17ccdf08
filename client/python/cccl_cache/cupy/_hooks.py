# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The changes to CuPy: its class for a program of NVRTC asks the daemon first.

All of CuPy's compiles use this class: raw, elementwise, reduction, fused and jitted kernels that CuPy's disk cache does
not have, and the empty program from whose PTX that cache reads NVRTC's build number.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

from .._plugin.switch import Patches
from ._compile import Compiler, Source

_OWN_HEADERS = "_cccl_cache_own_headers"


class CupyHooks:
    """Makes and undoes the changes. For one thread at a time."""

    def __init__(self, compiler: Compiler):
        self._compiler = compiler
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect earlier results."""
        from cupy.cuda import compiler

        program = compiler._NVRTCProgram
        self._patches.replace(program, "__init__", _marking(program.__init__))
        self._patches.replace(program, "compile", self._asking(program.compile, compiler.CompileException))

    def detach(self) -> None:
        """Undoes the changes."""
        self._patches.undo()

    def _asking(self, original: Callable[..., Any], exception: Callable[..., Exception]) -> Callable[..., Any]:
        @functools.wraps(original)
        def compile(program: Any, options: Sequence[str] = (), log_stream: Any = None) -> Any:
            made = None
            expressions = tuple(program.name_expressions or ())
            if not getattr(program, _OWN_HEADERS, True):
                source = Source(program.src, program.name, expressions, program.method)
                made = self._compiler.compile(source, options)
            if made is None:
                return original(program, options, log_stream)
            if made.code is None:
                raise exception(made.log, program.src, program.name, options, "nvrtc")
            if log_stream is not None:
                log_stream.write(made.log)
            if not expressions:
                return made.code, None
            return made.code, {each: made.lowered_names[each] for each in expressions}

        return compile


def _marking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Marks the programs that jitify has rewritten, because they have their own headers."""

    @functools.wraps(original)
    def __init__(program: Any, src: Any, name: Any = "default_program", headers: Any = (), *args: Any, **kwargs: Any) -> None:
        setattr(program, _OWN_HEADERS, bool(headers))
        original(program, src, name, headers, *args, **kwargs)

    return __init__
